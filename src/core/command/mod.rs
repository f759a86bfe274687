//! The comment grammar: one table makes the parser, the help and the manual.
//!
//! # Why these choices
//!
//! - Verbs are written in lower case: `/APPLY` is refused with the right spelling. A root's capitals matter, so nothing
//!   here may fold them, and one rule for the whole line is the one people remember.
//! - Prose that starts with some other `/word` is silence. A reply is only given to what was surely meant for us:
//!   `/tidegate <anything>`, or a verb of ours with one slip in it.
//! - Nothing is guessed. A line that is not wholly understood does nothing at all, and says why.

mod argument;
mod help;
mod line;
mod markdown;
mod odd;
mod word;

use std::fmt;

pub use help::{Allowed, help};
pub use markdown::read;
pub use word::{DigestPrefix, Ttl};

use crate::core::ids::{Root, WaveNumber};
use crate::core::refusal::Refusal;

/// What somebody asks in a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Plan the head again: these roots, or all that the change reaches.
    Plan {
        roots: Vec<Root>,
    },
    /// Run a wave again, or the one that stopped.
    Apply {
        wave: Option<WaveNumber>,
    },
    /// Approve what the note asked for; without a target the one thing that waits.
    Approve {
        target: Option<Target>,
        digest: Option<DigestPrefix>,
    },
    /// Take an unused approval back.
    Unapprove {
        wave: Option<WaveNumber>,
    },
    /// Hold the reached roots against other pull requests.
    Lock {
        reason: Option<String>,
    },
    Unlock,
    /// The pull request's own environment.
    Env(EnvCommand),
    /// Interrupt this pull request's jobs.
    Cancel,
    Help,
}

/// What an approval is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Wave(WaveNumber),
    Env,
}

/// What to do with the pull request's environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvCommand {
    Up,
    Down,
    Extend(Ttl),
}

/// The first word of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Plan,
    Apply,
    Approve,
    Unapprove,
    Lock,
    Unlock,
    Env,
    Cancel,
    Help,
}

/// A verb as it is written, what may follow it, and what it does.
#[derive(Clone, Copy, Debug)]
pub struct VerbRow {
    pub verb: Verb,
    pub word: &'static str,
    pub arguments: &'static str,
    pub does: &'static str,
    /// Whether this version carries it out; one that is not built is understood, and refused.
    pub is_built: bool,
}

const fn row(
    verb: Verb,
    word: &'static str,
    arguments: &'static str,
    does: &'static str,
) -> VerbRow {
    let is_built = match verb {
        Verb::Plan | Verb::Apply | Verb::Approve | Verb::Cancel | Verb::Help => true,
        Verb::Unapprove | Verb::Lock | Verb::Unlock | Verb::Env => false,
    };
    VerbRow {
        verb,
        word,
        arguments,
        does,
        is_built,
    }
}

/// Every verb, in the order the help shows them.
pub const VERBS: [VerbRow; 9] = [
    row(
        Verb::Plan,
        "plan",
        "[root…]",
        "plans the head again: all reached roots, or those",
    ),
    row(
        Verb::Apply,
        "apply",
        "[wave-<n>]",
        "runs the next wave again that failed, was lost, or waits with an approval",
    ),
    row(
        Verb::Approve,
        "approve",
        "[wave-<n> or env] [digest]",
        "approves the plans the note shows; without a wave, those of the one wave that waits",
    ),
    row(
        Verb::Unapprove,
        "unapprove",
        "[wave-<n>]",
        "takes an approval back, if no wave has used it",
    ),
    row(
        Verb::Lock,
        "lock",
        "[reason]",
        "holds the reached roots against other pull requests",
    ),
    row(Verb::Unlock, "unlock", "", "frees them"),
    row(
        Verb::Env,
        "env",
        "up, down or extend <time>",
        "starts, ends or keeps this pull request's own environment",
    ),
    row(
        Verb::Cancel,
        "cancel",
        "",
        "interrupts this pull request's jobs; state is written first",
    ),
    row(Verb::Help, "help", "", "shows this"),
];

/// How commands are written on a forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// `/approve wave-2`.
    Bare,
    /// `/tidegate approve wave-2`, where the forge keeps the bare form for itself.
    Prefixed,
}

impl Spelling {
    /// What stands before the verb.
    pub fn start(self) -> &'static str {
        match self {
            Self::Bare => "/",
            Self::Prefixed => "/tidegate ",
        }
    }
}

impl Verb {
    /// The verb's row in [`VERBS`].
    pub fn row(self) -> &'static VerbRow {
        let row = VERBS.iter().find(|it| it.verb == self);
        row.expect("every verb has its row: a test reads them all")
    }

    /// Whether this version carries it out.
    pub fn is_built(self) -> bool {
        self.row().is_built
    }
}

impl Command {
    /// The command's verb.
    pub fn verb(&self) -> Verb {
        match self {
            Self::Plan { .. } => Verb::Plan,
            Self::Apply { .. } => Verb::Apply,
            Self::Approve { .. } => Verb::Approve,
            Self::Unapprove { .. } => Verb::Unapprove,
            Self::Lock { .. } => Verb::Lock,
            Self::Unlock => Verb::Unlock,
            Self::Env(_) => Verb::Env,
            Self::Cancel => Verb::Cancel,
            Self::Help => Verb::Help,
        }
    }

    /// The line that asks for it.
    pub fn line(&self, spelling: Spelling) -> String {
        let start = spelling.start();
        let verb = self.verb().row().word;
        let arguments = self.arguments();
        if arguments.is_empty() {
            format!("{start}{verb}")
        } else {
            format!("{start}{verb} {}", arguments.join(" "))
        }
    }

    fn arguments(&self) -> Vec<String> {
        let wave = |it: &WaveNumber| format!("wave-{it}");
        match self {
            Self::Plan { roots } => roots.iter().map(Root::to_string).collect(),
            Self::Apply { wave: number } | Self::Unapprove { wave: number } => {
                number.iter().map(wave).collect()
            }
            Self::Approve { target, digest } => {
                let target = target.iter().map(Target::to_string);
                let digest = digest.iter().map(DigestPrefix::to_string);
                target.chain(digest).collect()
            }
            Self::Lock { reason } => reason.iter().cloned().collect(),
            Self::Env(EnvCommand::Up) => vec!["up".to_owned()],
            Self::Env(EnvCommand::Down) => vec!["down".to_owned()],
            Self::Env(EnvCommand::Extend(ttl)) => vec!["extend".to_owned(), ttl.to_string()],
            Self::Unlock | Self::Cancel | Self::Help => Vec::new(),
        }
    }

    /// Refuses a command that is understood but not in this version.
    pub fn refused_as_unbuilt(&self) -> Option<Refusal> {
        if self.verb().is_built() {
            return None;
        }
        let word = self.verb().row().word;
        Some(Refusal::new(
            self.to_string(),
            format!("`/{word}` is not in this version of tidegate yet."),
            "`/help` lists what is.",
        ))
    }
}

/// The bare line, which reads back as the same command.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line(Spelling::Bare))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wave(number) => write!(f, "wave-{number}"),
            Self::Env => f.write_str("env"),
        }
    }
}

#[cfg(test)]
mod tests;
