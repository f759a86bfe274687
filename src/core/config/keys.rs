//! The tables of keys: what parses files is also what describes them to editors and people.

/// The keys a map may have.
pub(super) struct Keys {
    pub(super) read: &'static [Known],
    /// Known words that this version does not carry: refused, because ignoring one could drop a rule.
    pub(super) later: &'static [&'static str],
}

/// A key that is read.
pub(super) struct Known {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    /// What holds without it, as Markdown; none when it must be there.
    pub(super) default: Option<&'static str>,
    /// What it is for, as Markdown without a full stop.
    pub(super) about: &'static str,
}

/// What a key may hold, as far as a schema can say it; what reads it may refuse more.
pub(super) enum Shape {
    /// A text that is not blank.
    Text,
    /// A text of this form, a regular expression.
    Like(&'static str),
    Flag,
    /// A whole number within bounds.
    Whole(u32, u32),
    /// One of some words.
    Words(fn() -> Vec<&'static str>),
    List(&'static Self),
    /// A list that must have something in it.
    Some(&'static Self),
    /// A list of texts, of which one has this form.
    Holding(&'static str),
    Section(&'static Keys),
    /// A map with whatever keys.
    Entries(&'static Self),
    /// One of several.
    Any(&'static [Self]),
}

impl Known {
    /// A key that may be left out.
    pub(super) const fn new(
        name: &'static str,
        shape: Shape,
        default: &'static str,
        about: &'static str,
    ) -> Self {
        Self {
            name,
            shape,
            default: Some(default),
            about,
        }
    }

    /// A key that must be there.
    pub(super) const fn needed(name: &'static str, shape: Shape, about: &'static str) -> Self {
        Self {
            name,
            shape,
            default: None,
            about,
        }
    }
}

impl Keys {
    /// The names of the keys that are read.
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.read.iter().map(|it| it.name).collect()
    }
}

/// The names of words that stand for values.
pub(super) fn names<T>(words: &[(&'static str, T)]) -> Vec<&'static str> {
    words.iter().map(|(name, _)| *name).collect()
}
