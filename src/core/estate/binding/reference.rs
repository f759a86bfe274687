//! What a piece of source refers to, and which files it reads.

use std::collections::BTreeSet;

use hcl_edit::expr::{Expression, FuncCall, Traversal, TraversalOperator};
use hcl_edit::structure::Block;
use hcl_edit::template::{Element, ForTemplateExpr};
use hcl_edit::visit::{self, Visit};
use hcl_edit::{Decorated, Ident};

/// Something that is defined elsewhere in the same directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reference {
    Local(String),
    Variable(String),
    /// A `data` or `ephemeral` block.
    Block {
        kind: &'static str,
        labels: [String; 2],
    },
    /// An output of a module; none is all of them.
    Output {
        module: String,
        output: Option<String>,
    },
}

/// A path that is read, as far as it is literal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Read {
    File(Base, String),
    /// Anything at or below.
    Below(Base, String),
    Anything,
}

/// Where a relative path starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Base {
    /// The directory the text is in.
    Module,
    /// The root's directory, in which Terraform runs.
    Root,
}

/// Collects what it visits refers to.
#[derive(Default)]
pub(super) struct References {
    pub(super) found: BTreeSet<Reference>,
    pub(super) reads: BTreeSet<Read>,
    /// Whether something refers to what only running it would tell.
    pub(super) is_lost: bool,
}

impl References {
    fn refer(&mut self, start: &str, operators: &[Decorated<TraversalOperator>]) {
        let names: Vec<_> = operators
            .iter()
            .map_while(|it| name(it.value()))
            .take(2)
            .collect();
        let reference = match (start, names.as_slice()) {
            ("local", [name, ..]) => Reference::Local((*name).to_owned()),
            ("var", [name, ..]) => Reference::Variable((*name).to_owned()),
            ("data", [kind, name]) => block("data", kind, name),
            ("ephemeral", [kind, name]) => block("ephemeral", kind, name),
            ("module", [module, ..]) => Reference::Output {
                module: (*module).to_owned(),
                output: output(operators),
            },
            _ => {
                self.is_lost |= is_namespace(start);
                return;
            }
        };
        self.found.insert(reference);
    }

    /// Paths that a provisioner reads without calling a function.
    fn provisioner(&mut self, block: &Block) {
        for attribute in block.body.attributes() {
            match (attribute.key.as_str(), &attribute.value) {
                ("script", path) => self.read(path),
                ("scripts", Expression::Array(paths)) => paths.iter().for_each(|it| self.read(it)),
                ("scripts", _) => {
                    self.reads.insert(Read::Anything);
                }
                ("source", path) => self.read_below(path),
                _ => {}
            }
        }
    }

    fn read(&mut self, path: &Expression) {
        self.reads.insert(path_of(path));
    }

    fn read_below(&mut self, path: &Expression) {
        self.reads.insert(match path_of(path) {
            Read::File(base, path) | Read::Below(base, path) => Read::Below(base, path),
            Read::Anything => Read::Anything,
        });
    }
}

impl Visit for References {
    fn visit_expr(&mut self, node: &Expression) {
        match node {
            Expression::Variable(name) => self.is_lost |= is_namespace(name.as_str()),
            node => visit::visit_expr(self, node),
        }
    }

    fn visit_traversal(&mut self, node: &Traversal) {
        match &node.expr {
            Expression::Variable(start) => self.refer(start.as_str(), &node.operators),
            start => self.visit_expr(start),
        }
        for operator in &node.operators {
            self.visit_traversal_operator(operator);
        }
    }

    fn visit_func_call(&mut self, node: &FuncCall) {
        match (node.name.name.as_str(), node.args.iter().next()) {
            ("fileset", Some(path)) => self.read_below(path),
            (name, Some(path)) if name.starts_with("file") || name == "templatefile" => {
                self.read(path)
            }
            _ => {}
        }
        visit::visit_func_call(self, node);
    }

    fn visit_block(&mut self, node: &Block) {
        if node.has_ident("provisioner") {
            self.provisioner(node);
        }
        visit::visit_block(self, node);
    }

    fn visit_for_template_expr(&mut self, node: &ForTemplateExpr) {
        // The library's own walk passes the collection over.
        self.visit_expr(&node.collection_expr);
        visit::visit_for_template_expr(self, node);
    }
}

fn is_namespace(name: &str) -> bool {
    matches!(name, "local" | "var" | "data" | "ephemeral" | "module")
}

fn name(operator: &TraversalOperator) -> Option<&str> {
    match operator {
        TraversalOperator::GetAttr(name) => Some(name.as_str()),
        TraversalOperator::Index(Expression::String(name)) => Some(name.as_str()),
        _ => None,
    }
}

fn block(kind: &'static str, of: &str, name: &str) -> Reference {
    Reference::Block {
        kind,
        labels: [of.to_owned(), name.to_owned()],
    }
}

/// The output that follows a module's name at once; behind an index it could be an attribute of an output.
fn output(operators: &[Decorated<TraversalOperator>]) -> Option<String> {
    match operators.get(1)?.value() {
        TraversalOperator::GetAttr(name) => Some(name.as_str().to_owned()),
        _ => None,
    }
}

fn path_of(path: &Expression) -> Read {
    match path {
        Expression::String(path) => Read::File(Base::Root, path.as_str().to_owned()),
        Expression::Parenthesis(inner) => path_of(inner.inner()),
        Expression::Traversal(it) => {
            base_of(it).map_or(Read::Anything, |it| Read::File(it, ".".to_owned()))
        }
        Expression::StringTemplate(template) => path_of_template(template.iter()),
        _ => Read::Anything,
    }
}

/// Reads a template up to its first part that is no literal; from there on any name below may be meant.
fn path_of_template<'a>(mut elements: impl Iterator<Item = &'a Element>) -> Read {
    let (base, mut path) = match elements.next() {
        Some(Element::Literal(text)) => (Base::Root, text.as_str().to_owned()),
        Some(Element::Interpolation(it)) => match &it.expr {
            Expression::Traversal(it) if base_of(it).is_some() => {
                (base_of(it).unwrap_or(Base::Root), ".".to_owned())
            }
            _ => return Read::Anything,
        },
        Some(Element::Directive(_)) | None => return Read::Anything,
    };
    for element in elements {
        let Element::Literal(text) = element else {
            let known = path.rfind('/').map_or("", |it| &path[..=it]);
            return if known.is_empty() {
                Read::Anything
            } else {
                Read::Below(base, known.to_owned())
            };
        };
        path.push_str(text.as_str());
    }
    Read::File(base, path)
}

fn base_of(traversal: &Traversal) -> Option<Base> {
    let variable: &Ident = traversal.expr.as_variable()?;
    let [operator] = traversal.operators.as_slice() else {
        return None;
    };
    match (variable.as_str(), name(operator.value())?) {
        ("path", "module") => Some(Base::Module),
        ("path", "root" | "cwd") => Some(Base::Root),
        _ => None,
    }
}
