//! The files of a root and of the local modules it calls, parsed.

use std::collections::BTreeSet;

use hcl_edit::structure::{Block, Body};

use crate::core::estate::Files;
use crate::core::estate::blocks::{self, Blocks, hcl};
use crate::core::estate::folder::{self, Text};
use crate::core::estate::roots::{self, Called};
use crate::core::ids::Root;

/// A root and the local modules it calls, through and through.
pub(super) struct Source<'a> {
    /// The root's directory.
    pub(super) root: &'a str,
    pub(super) parsed: Vec<Parsed<'a>>,
    /// Files that are in JSON syntax or do not parse.
    pub(super) opaque: Vec<Opaque<'a>>,
    pub(super) calls: Vec<Call>,
    /// Whether every file parsed and every local module was found.
    pub(super) is_complete: bool,
}

/// A parsed file.
pub(super) struct Parsed<'a> {
    pub(super) dir: String,
    pub(super) path: &'a str,
    /// The text that the body's spans count in.
    pub(super) text: &'a str,
    pub(super) body: Body,
}

/// A file that is only known as text.
pub(super) struct Opaque<'a> {
    pub(super) dir: String,
    pub(super) path: &'a str,
    pub(super) text: &'a str,
    pub(super) variables: Vec<String>,
}

/// A call of a local module.
pub(super) struct Call {
    pub(super) dir: String,
    pub(super) label: String,
    pub(super) to: String,
}

impl<'a> Source<'a> {
    /// Reads the root's directory and every local module.
    pub(super) fn load(files: &'a Files, root: &'a Root) -> Self {
        let mut source = Self {
            root: root.as_str(),
            parsed: Vec::new(),
            opaque: Vec::new(),
            calls: Vec::new(),
            is_complete: true,
        };
        let mut seen = BTreeSet::from([root.as_str().to_owned()]);
        let mut queue = vec![root.as_str().to_owned()];
        while let Some(dir) = queue.pop() {
            let texts = folder::texts_of(files, &dir);
            source.is_complete &= !texts.is_empty();
            for text in texts {
                let blocks = source.add(&dir, &text);
                let modules = source.add_calls(&dir, &blocks).into_iter();
                queue.extend(modules.filter(|it| seen.insert(it.clone())));
            }
        }
        source
    }

    fn add(&mut self, dir: &str, it: &Text<'a>) -> Blocks {
        if !blocks::is_json(it.path)
            && let Ok(text) = blocks::readable(it.text)
            && let Ok(body) = hcl::parse(text)
        {
            let blocks = hcl::blocks(&body);
            self.parsed.push(Parsed {
                dir: dir.to_owned(),
                path: it.path,
                text,
                body,
            });
            return blocks;
        }
        self.is_complete = false;
        let mut blocks = blocks::read(it.path, it.text).unwrap_or_default();
        self.opaque.push(Opaque {
            dir: dir.to_owned(),
            path: it.path,
            text: it.text,
            variables: std::mem::take(&mut blocks.variables),
        });
        blocks
    }

    fn add_calls(&mut self, dir: &str, blocks: &Blocks) -> Vec<String> {
        let mut modules = Vec::new();
        for call in &blocks.calls {
            match roots::local_module(dir, call.source.as_ref()) {
                Called::Local(to) => {
                    self.calls.push(Call {
                        dir: dir.to_owned(),
                        label: call.label.clone(),
                        to: to.clone(),
                    });
                    modules.push(to);
                }
                Called::Remote => {}
                Called::Outside | Called::Unknown => self.is_complete = false,
            }
        }
        modules
    }

    /// The blocks of one kind in a directory, each with its file.
    pub(super) fn blocks(&self, dir: &str, kind: &str) -> Vec<(&Parsed<'a>, &Block)> {
        let files = self.parsed.iter().filter(|it| it.dir == dir);
        let blocks = files.flat_map(|file| file.body.blocks().map(move |it| (file, it)));
        blocks.filter(|(_, it)| it.has_ident(kind)).collect()
    }

    /// The local module that a call in a directory leads to.
    pub(super) fn called(&self, dir: &str, label: &str) -> Option<&str> {
        let mut calls = self.calls.iter();
        let call = calls.find(|it| it.dir == dir && it.label == label)?;
        Some(&call.to)
    }
}

/// A block's labels as texts.
pub(super) fn labels(block: &Block) -> Vec<&str> {
    block.labels.iter().map(|it| it.as_str()).collect()
}
