//! Reading nodes as the values that keys ask for, collecting what is wrong on the way.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::core::config::Complaint;
use crate::core::config::keys::{Keys, names};
use crate::core::config::near::nearest;
use crate::core::config::yaml::{self, Key, Node, Place, Value};

/// A node, the path of the key that holds it, and where a complaint about it points.
#[derive(Clone)]
pub(super) struct At<'a> {
    pub(super) path: String,
    pub(super) place: Place,
    pub(super) node: &'a Node,
}

impl<'a> At<'a> {
    /// A file's outermost node.
    pub(super) fn top(node: &'a Node) -> Self {
        Self {
            path: String::new(),
            place: node.place,
            node,
        }
    }

    fn child(&self, key: &str, node: &'a Node) -> Self {
        let path = if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        };
        let place = node.place;
        Self { path, place, node }
    }
}

/// A map's values by key.
pub(super) struct Section<'a> {
    place: At<'a>,
    values: BTreeMap<&'a str, At<'a>>,
}

impl<'a> Section<'a> {
    pub(super) fn get(&self, key: &str) -> Option<&At<'a>> {
        self.values.get(key)
    }
}

/// What a key that this version does not carry means, said after each of them.
#[derive(Clone, Copy)]
pub(super) enum Later {
    NothingApplies,
    NothingStarts,
}

impl Later {
    fn hint(self) -> &'static str {
        match self {
            Self::NothingApplies => "nothing applies until it is removed",
            Self::NothingStarts => "the server does not start until it is removed",
        }
    }
}

/// A file being read, and what is wrong with it so far.
pub(super) struct Reader {
    file: String,
    later: Later,
    complaints: Vec<Complaint>,
}

impl Reader {
    /// Parses a file's text.
    pub(super) fn open(
        file: &str,
        text: &str,
        later: Later,
    ) -> Result<(Self, Node), Vec<Complaint>> {
        let mut reader = Self {
            file: file.to_owned(),
            later,
            complaints: Vec::new(),
        };
        match yaml::parse(text) {
            Ok(node) => Ok((reader, node)),
            Err((place, what)) => {
                reader.complain(place, "", what, "");
                Err(reader.complaints)
            }
        }
    }

    /// The value, unless something is wrong.
    pub(super) fn finish<T>(mut self, value: Option<T>) -> Result<T, Vec<Complaint>> {
        self.complaints.sort_by_key(|it| (it.line, it.column));
        match value {
            Some(value) if self.complaints.is_empty() => Ok(value),
            Some(_) | None => Err(self.complaints),
        }
    }

    fn complain(
        &mut self,
        place: Place,
        path: &str,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.complaints.push(Complaint {
            file: self.file.clone(),
            line: place.line,
            column: place.column,
            path: in_one_line(path),
            what: in_one_line(&what.into()),
            hint: hint.into(),
        });
    }

    /// Says what is wrong with a value; answers none, so that it can end a read.
    pub(super) fn wrong<T>(
        &mut self,
        at: &At,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) -> Option<T> {
        self.complain(at.place, &at.path, what, hint);
        None
    }

    fn unfit<T>(&mut self, at: &At, wanted: &str) -> Option<T> {
        match at.node.value {
            Value::Nothing => self.wrong(at, "has no value", "give it one or remove the key"),
            Value::Flag(_)
            | Value::Whole(_)
            | Value::Other
            | Value::Text(_)
            | Value::List(_)
            | Value::Map(_) => {
                let kind = at.node.value.kind();
                self.wrong(at, format!("must be {wanted}, and is {kind}"), "")
            }
        }
    }

    /// A map's values by key: unknown keys, repeated ones and those of later versions are complaints.
    pub(super) fn section<'a>(&mut self, at: &At<'a>, keys: &Keys) -> Section<'a> {
        let mut values = BTreeMap::new();
        for (key, value) in self.entries(at) {
            let name = key.name.as_str();
            if keys.names().contains(&name) {
                values.insert(name, value);
            } else if keys.later.contains(&name) {
                let what = "this version does not carry this key yet";
                self.complain(key.place, &value.path, what, self.later.hint());
            } else {
                self.complain(
                    key.place,
                    &value.path,
                    "unknown key",
                    suggestion(name, keys),
                );
            }
        }
        let place = at.clone();
        Section { place, values }
    }

    /// What a key holds; none when it is not there, or wrong, which then has its complaint.
    pub(super) fn get<T>(
        &mut self,
        section: &Section,
        key: &str,
        read: impl FnOnce(&mut Self, &At) -> Option<T>,
    ) -> Option<T> {
        section.get(key).and_then(|at| read(self, at))
    }

    /// What a key holds that must be there; `hint` says what to give.
    pub(super) fn need<T>(
        &mut self,
        section: &Section,
        key: &str,
        hint: &str,
        read: impl FnOnce(&mut Self, &At) -> Option<T>,
    ) -> Option<T> {
        match section.get(key) {
            Some(at) => read(self, at),
            None => {
                let at = section.place.child(key, section.place.node);
                self.wrong(&at, "missing", hint)
            }
        }
    }

    /// A map's entries by whatever keys it has, in the order of the file.
    pub(super) fn entries<'a>(&mut self, at: &At<'a>) -> Vec<(&'a Key, At<'a>)> {
        let Value::Map(map) = &at.node.value else {
            self.unfit::<()>(at, "a map");
            return Vec::new();
        };
        let mut entries: Vec<(&Key, At)> = Vec::new();
        for (key, node) in map {
            let value = at.child(&key.name, node);
            match entries.iter().find(|(it, _)| it.name == key.name) {
                Some((first, _)) => {
                    let what =
                        format!("the key is there twice, first on line {}", first.place.line);
                    self.complain(key.place, &value.path, what, "keep one");
                }
                None => entries.push((key, value)),
            }
        }
        entries
    }

    /// The items of a list.
    pub(super) fn list<'a>(&mut self, at: &At<'a>) -> Option<Vec<At<'a>>> {
        let Value::List(items) = &at.node.value else {
            return self.unfit(at, "a list");
        };
        let item = |(n, node): (usize, &'a Node)| At {
            path: format!("{}[{n}]", at.path),
            place: node.place,
            node,
        };
        Some(items.iter().enumerate().map(item).collect())
    }

    /// The items of a list that must have some.
    pub(super) fn some<'a>(&mut self, at: &At<'a>, what: &str, hint: &str) -> Option<Vec<At<'a>>> {
        let items = self.list(at)?;
        if items.is_empty() {
            return self.wrong(at, what, hint);
        }
        Some(items)
    }

    /// A text that is not blank and holds no control characters.
    pub(super) fn text<'a>(&mut self, at: &At<'a>) -> Option<&'a str> {
        let Value::Text(text) = &at.node.value else {
            return self.unfit(at, "a text");
        };
        if text.trim().is_empty() {
            return self.wrong(at, "is blank", "give it a value or remove the key");
        }
        if text.chars().any(char::is_control) {
            return self.wrong(at, "holds a control character", "");
        }
        Some(text)
    }

    /// Each item's text, made into a value by `item`.
    pub(super) fn texts<T>(
        &mut self,
        items: &[At],
        mut item: impl FnMut(&mut Self, &At, &str) -> Option<T>,
    ) -> Vec<T> {
        let read = items.iter().filter_map(|it| {
            let text = self.text(it)?;
            item(self, it, text)
        });
        read.collect()
    }

    /// One of some words.
    pub(super) fn word<T: Copy>(&mut self, at: &At, words: &[(&'static str, T)]) -> Option<T> {
        let names = names(words);
        let wanted = one_of(&names);
        let Value::Text(text) = &at.node.value else {
            return self.unfit(at, &wanted);
        };
        if let Some((_, word)) = words.iter().find(|(name, _)| name == text) {
            return Some(*word);
        }
        let hint = nearest(text, &names).map(did_you_mean).unwrap_or_default();
        self.wrong(at, format!("must be {wanted}"), hint)
    }

    /// A whole number within bounds.
    pub(super) fn whole(&mut self, at: &At, bounds: RangeInclusive<u32>) -> Option<u32> {
        let (least, most) = (bounds.start(), bounds.end());
        let wanted = format!("a whole number from {least} to {most}");
        let Value::Whole(number) = at.node.value else {
            return self.unfit(at, &wanted);
        };
        match u32::try_from(number).ok().filter(|it| bounds.contains(it)) {
            Some(number) => Some(number),
            None => self.wrong(at, format!("must be {wanted}"), ""),
        }
    }

    /// True or false.
    pub(super) fn flag(&mut self, at: &At) -> Option<bool> {
        match at.node.value {
            Value::Flag(flag) => Some(flag),
            Value::Nothing
            | Value::Whole(_)
            | Value::Other
            | Value::Text(_)
            | Value::List(_)
            | Value::Map(_) => self.unfit(at, "true or false"),
        }
    }
}

/// A key is whatever a file says, and a complaint is one line.
fn in_one_line(text: &str) -> String {
    text.chars()
        .map(|it| if it.is_control() { '\u{fffd}' } else { it })
        .collect()
}

fn suggestion(name: &str, keys: &Keys) -> String {
    let all = [keys.names(), keys.later.to_vec()].concat();
    nearest(name, &all).map_or_else(
        || format!("known here: {}", quoted(&keys.names())),
        did_you_mean,
    )
}

fn did_you_mean(word: &str) -> String {
    format!("did you mean `{word}`?")
}

fn one_of(names: &[&str]) -> String {
    match names {
        [only] => format!("`{only}`"),
        names => format!("one of {}", quoted(names)),
    }
}

fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|it| format!("`{it}`")).collect();
    names.join(", ")
}
