//! Takes pieces of source, and whatever they refer to.

use std::collections::BTreeSet;

use hcl_edit::Span;
use hcl_edit::structure::{Attribute, Block};
use hcl_edit::visit::Visit;

use super::BindingSource;
use super::reference::{Base, Read, Reference, References};
use super::source::{Parsed, Source, labels};
use crate::core::estate::paths;

/// A piece of a parsed file.
#[derive(Clone, Copy)]
enum Node<'b> {
    Attribute(&'b Attribute),
    Block(&'b Block),
}

/// What was taken so far, and what it refers to.
pub(super) struct Follow<'b> {
    source: &'b Source<'b>,
    taken: Taken,
    seen: BTreeSet<(String, Reference)>,
    queue: Vec<(String, Reference)>,
    is_lost: bool,
}

#[derive(Default)]
struct Taken {
    texts: BTreeSet<String>,
    files: BTreeSet<String>,
    folders: BTreeSet<String>,
    variables: BTreeSet<String>,
}

impl<'b> Follow<'b> {
    /// Nothing taken yet.
    pub(super) fn new(source: &'b Source<'b>) -> Self {
        Self {
            source,
            taken: Taken::default(),
            seen: BTreeSet::new(),
            queue: Vec::new(),
            is_lost: !source.is_complete,
        }
    }

    /// Takes everything that binds; none when something cannot be followed.
    pub(super) fn run(mut self) -> Option<BindingSource> {
        for file in &self.source.parsed {
            for block in file.body.blocks() {
                self.start(file, block);
            }
        }
        while let Some((dir, reference)) = self.queue.pop().filter(|_| !self.is_lost) {
            self.resolve(&dir, &reference);
        }
        (!self.is_lost).then(|| self.taken.into())
    }

    fn start(&mut self, file: &'b Parsed<'b>, block: &'b Block) {
        match (block.ident.as_str(), labels(block).as_slice()) {
            ("provider" | "terraform", _) => self.take(file, "", &[Node::Block(block)]),
            ("module", [label]) => match self.source.called(&file.dir, label) {
                Some(_) => self.take(
                    file,
                    &format!("module.{label}"),
                    &attributes(block, &["providers"]),
                ),
                None => self.take(file, "", &[Node::Block(block)]),
            },
            (kind, labels) => {
                let parts = binding_parts(block);
                match labels {
                    // Without a name of its own, only the whole block tells what its parts belong to.
                    [] if !parts.is_empty() => self.take(file, "", &[Node::Block(block)]),
                    labels => self.take(file, &format!("{kind}.{}", labels.join(".")), &parts),
                }
            }
        }
    }

    /// Takes the parts of one block as one text, in their own order.
    fn take(&mut self, file: &'b Parsed<'b>, address: &str, nodes: &[Node<'b>]) {
        if nodes.is_empty() {
            return;
        }
        let mut references = References::default();
        let mut text = file.path.to_owned();
        if !address.is_empty() {
            text.push_str(&format!(": {address}"));
        }
        for node in nodes {
            let span = match node {
                Node::Attribute(it) => {
                    references.visit_attr(it);
                    it.span()
                }
                Node::Block(it) => {
                    references.visit_block(it);
                    it.span()
                }
            };
            text.push('\n');
            text.push_str(span.and_then(|it| file.text.get(it)).unwrap_or(file.text));
        }
        self.taken.texts.insert(text);
        self.is_lost |= references.is_lost;
        self.taken
            .read(self.source.root, &file.dir, references.reads);
        for reference in references.found {
            let reference = (file.dir.clone(), reference);
            if self.seen.insert(reference.clone()) {
                self.queue.push(reference);
            }
        }
    }

    fn resolve(&mut self, dir: &str, reference: &Reference) {
        let source = self.source;
        match reference {
            Reference::Local(name) => {
                for (file, block) in source.blocks(dir, "locals") {
                    self.take(file, "locals", &attributes(block, &[name]));
                }
            }
            Reference::Variable(name) => self.variable(dir, name),
            Reference::Block {
                kind,
                labels: wanted,
            } => {
                let blocks = source.blocks(dir, kind).into_iter();
                for (file, block) in blocks.filter(|(_, it)| labels(it) == *wanted) {
                    self.take(file, "", &[Node::Block(block)]);
                }
            }
            Reference::Output { module, output } => {
                let Some(module) = source.called(dir, module) else {
                    return;
                };
                for (file, block) in source.blocks(module, "output") {
                    let name = labels(block).join(".");
                    if output.as_ref().is_none_or(|it| *it == name) {
                        self.take(
                            file,
                            &format!("output.{name}"),
                            &attributes(block, &["value"]),
                        );
                    }
                }
            }
        }
    }

    /// A variable is its default, and what every call of its module passes.
    fn variable(&mut self, dir: &str, name: &str) {
        let source = self.source;
        if dir == source.root {
            self.taken.variables.insert(name.to_owned());
        }
        let variables = source.blocks(dir, "variable").into_iter();
        for (file, block) in variables.filter(|(_, it)| labels(it) == [name]) {
            self.take(
                file,
                &format!("variable.{name}"),
                &attributes(block, &["default"]),
            );
        }
        for call in source.calls.iter().filter(|it| it.to == dir) {
            let blocks = source.blocks(&call.dir, "module").into_iter();
            for (file, block) in blocks.filter(|(_, it)| labels(it) == [call.label.as_str()]) {
                let parts = attributes(block, &[name, "count", "for_each"]);
                self.take(file, &format!("module.{}", call.label), &parts);
            }
        }
    }
}

/// Takes all source there is.
pub(super) fn whole(source: &Source<'_>) -> BindingSource {
    let mut taken = Taken::default();
    for file in &source.parsed {
        taken.texts.insert(format!("{}:\n{}", file.path, file.text));
        let mut references = References::default();
        references.visit_body(&file.body);
        taken.read(source.root, &file.dir, references.reads);
        if file.dir == source.root {
            let variables = file
                .body
                .get_blocks("variable")
                .map(|it| labels(it).join("."));
            taken.variables.extend(variables);
        }
    }
    for file in &source.opaque {
        taken.texts.insert(format!("{}:\n{}", file.path, file.text));
        if file.text.contains("file") || file.text.contains("provisioner") {
            taken.read(source.root, &file.dir, [Read::Anything]);
        }
        if file.dir == source.root {
            taken.variables.extend(file.variables.iter().cloned());
        }
    }
    taken.into()
}

/// What of a resource binds: the provider it chose, and what is run, with what decides how often.
fn binding_parts(block: &Block) -> Vec<Node<'_>> {
    let run = block.body.blocks();
    let run: Vec<_> = run
        .filter(|it| it.has_ident("provisioner") || it.has_ident("connection"))
        .collect();
    let names: &[&str] = match run.as_slice() {
        [] => &["provider"],
        _ => &["provider", "count", "for_each"],
    };
    let mut parts = attributes(block, names);
    parts.extend(run.into_iter().map(Node::Block));
    parts
}

fn attributes<'b>(block: &'b Block, names: &[&str]) -> Vec<Node<'b>> {
    let found = block
        .body
        .attributes()
        .filter(|it| names.contains(&it.key.as_str()));
    found.map(Node::Attribute).collect()
}

impl Taken {
    fn read(&mut self, root: &str, dir: &str, reads: impl IntoIterator<Item = Read>) {
        let at = |base: Base, path: &str| {
            let start = match base {
                Base::Module => dir,
                Base::Root => root,
            };
            paths::join(start, path).filter(|_| !path.starts_with('~'))
        };
        for read in reads {
            match read {
                Read::File(base, path) => self.files.extend(at(base, &path)),
                Read::Below(base, path) => self.folders.extend(at(base, &path)),
                Read::Anything => self.folders.extend([root.to_owned(), dir.to_owned()]),
            }
        }
    }
}

impl From<Taken> for BindingSource {
    fn from(taken: Taken) -> Self {
        Self {
            texts: taken.texts.into_iter().collect(),
            files: taken.files.into_iter().collect(),
            folders: taken.folders.into_iter().collect(),
            variables: taken.variables,
        }
    }
}
