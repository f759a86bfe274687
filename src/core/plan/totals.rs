//! What a plan comes to: whether it is empty or destroys, and how much of what it does.

use std::fmt;
use std::ops::Add;

use crate::core::plan::{Action, Change, Plan, Subject, Totals};

/// What happens to one resource, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    Create,
    Update,
    Replace,
    Delete,
    Forget,
    Move,
    Import,
}

impl ChangeKind {
    /// The word as it stands in notes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Replace => "replace",
            Self::Delete => "delete",
            Self::Forget => "forget",
            Self::Move => "move",
            Self::Import => "import",
        }
    }
}

impl fmt::Display for ChangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Change {
    /// What happens to the resource: the strongest of its actions.
    pub fn kind(&self) -> ChangeKind {
        let has = |action| self.actions.contains(&action);
        if has(Action::Create) && (has(Action::Delete) || has(Action::Forget)) {
            ChangeKind::Replace
        } else if has(Action::Delete) {
            ChangeKind::Delete
        } else if has(Action::Create) {
            ChangeKind::Create
        } else if has(Action::Update) {
            ChangeKind::Update
        } else if has(Action::Forget) {
            ChangeKind::Forget
        } else if self.previous_address.is_some() {
            ChangeKind::Move
        } else {
            ChangeKind::Import
        }
    }

    /// Whether an object is deleted, also to be replaced, also a deposed one. Forgetting deletes nothing.
    pub fn is_destructive(&self) -> bool {
        self.actions.contains(&Action::Delete)
    }
}

impl Subject {
    /// Whether nothing would happen. An output that changes is something.
    pub fn is_empty(&self) -> bool {
        match &self.told {
            Some(told) => told.empty,
            None => self.changes.is_empty() && self.outputs.is_empty(),
        }
    }
}

impl Plan {
    /// Whether there is nothing to do. An output that changes is something.
    pub fn is_empty(&self) -> bool {
        self.subject.is_empty()
    }

    /// Whether it deletes or replaces anything. What does nothing does not, whatever its command says.
    pub fn is_destructive(&self) -> bool {
        match &self.subject.told {
            Some(told) => told.destructive && !told.empty,
            None => self.subject.changes.iter().any(Change::is_destructive),
        }
    }

    /// How much it would touch.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        if self.subject.told.is_some() {
            totals.told_destructive = u32::from(self.is_destructive());
            totals.told_changing = u32::from(!self.is_empty() && !self.is_destructive());
        }
        for change in &self.subject.changes {
            let count = match change.kind() {
                ChangeKind::Create => &mut totals.create,
                ChangeKind::Update => &mut totals.update,
                ChangeKind::Replace => &mut totals.replace,
                ChangeKind::Delete => &mut totals.delete,
                ChangeKind::Forget => &mut totals.forget,
                ChangeKind::Move | ChangeKind::Import => &mut totals.other,
            };
            *count += 1;
        }
        totals.outputs = u32::try_from(self.subject.outputs.len()).unwrap_or(u32::MAX);
        totals
    }
}

impl Add for Totals {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            create: self.create + other.create,
            update: self.update + other.update,
            replace: self.replace + other.replace,
            delete: self.delete + other.delete,
            forget: self.forget + other.forget,
            other: self.other + other.other,
            outputs: self.outputs + other.outputs,
            told_changing: self.told_changing + other.told_changing,
            told_destructive: self.told_destructive + other.told_destructive,
        }
    }
}

impl std::iter::Sum for Totals {
    fn sum<I: Iterator<Item = Self>>(totals: I) -> Self {
        totals.fold(Self::default(), Add::add)
    }
}
