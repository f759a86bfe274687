//! All that can happen. One `match` in `handlers` hands each to one handler.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::core::command::{Command, Verb};
use crate::core::ids::{Actor, Branch, CommentId, Pull, Repo, RolloutId, Sha, WaveNumber};
use crate::core::job::{JobEnd, JobKey};
use crate::core::refusal::Refusal;

/// Something that happened: on a forge, in a job, on the clock, or as a follow-up of our own.
///
/// An event names what to look at and carries what cannot be asked for again (who, when, which words);
/// everything else is read fresh by its handler, so an old delivery does no harm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A pull request was opened, reopened or made ready for review.
    PullOpened { pull: Pull, actor: Actor },
    /// The head of a pull request moved.
    PullPushed { pull: Pull, actor: Actor },
    /// A pull request got another target branch.
    PullRetargeted { pull: Pull, actor: Actor },
    /// A pull request was closed, with or without a merge.
    PullClosed {
        pull: Pull,
        merged: bool,
        actor: Actor,
    },
    /// A new comment on a pull request (never an edited one).
    Commented(Commented),
    /// A review was submitted or dismissed.
    Reviewed { pull: Pull, actor: Actor },
    /// A branch moved from `before` (all zero when it is new) to `after`.
    BranchPushed {
        repo: Repo,
        branch: Branch,
        before: Sha,
        after: Sha,
        actor: Actor,
    },
    /// A job ended, was lost, or was stopped.
    JobEnded {
        repo: Repo,
        lane: Lane,
        job: JobKey,
        end: JobEnd,
    },
    /// The app was given repositories.
    Installed { repos: Vec<Repo> },
    /// Repositories were taken away from the app.
    Removed { repos: Vec<Repo> },
    /// Follow-up in the branch's lane: somebody approved this wave or asked for it again.
    WaveCalled {
        repo: Repo,
        branch: Branch,
        rollout: RolloutId,
        wave: WaveNumber,
    },
    /// Follow-up in the pull request's lane: what its note shows has changed.
    NoteStale { pull: Pull },
}

/// A new comment on a pull request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Commented {
    pub pull: Pull,
    pub comment: CommentId,
    /// When the forge says it was written.
    pub at: Timestamp,
    pub actor: Actor,
    pub body: String,
    /// The comment's page.
    pub url: String,
    /// When we came upon it ourselves; none when it was delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_at: Option<Timestamp>,
}

/// After how long a comment commands nothing any more. A forge delivers at once, and again for some days; what comes
/// later is somebody who kept a delivery.
const FRESH: SignedDuration = SignedDuration::from_hours(7 * 24);

/// How late a comment may be found and still command everything: its author may be waiting for it.
const LATE: SignedDuration = SignedDuration::from_mins(5);

impl Commented {
    /// Refuses what somebody asked too long before we came upon it ourselves: the world may have moved on since. What
    /// changes nothing is done all the same.
    pub fn is_in_time(&self, command: &Command) -> Result<(), Refusal> {
        let late = self.found_at.map(|it| it.duration_since(self.at));
        let Some(late) = late.filter(|it| *it > LATE) else {
            return Ok(());
        };
        match command.verb() {
            Verb::Plan | Verb::Help => return Ok(()),
            Verb::Apply
            | Verb::Approve
            | Verb::Unapprove
            | Verb::Lock
            | Verb::Unlock
            | Verb::Env
            | Verb::Cancel => {}
        }
        let why = format!(
            "The forge did not deliver your comment, and it was found only {} after you wrote it. Much may have changed \
             since, so it is not done.",
            rough(late)
        );
        let hint = "Read the note, and write the comment again if it is still what you want.";
        Err(Refusal::new(command.to_string(), why, hint))
    }

    /// Refuses a comment that is too old to be what its author wants now.
    pub fn is_fresh(&self, now: Timestamp) -> Result<(), Refusal> {
        if now.duration_since(self.at) <= FRESH {
            return Ok(());
        }
        let why = format!(
            "It was written more than {} days ago, and much may have changed since.",
            FRESH.as_hours() / 24
        );
        let hint = "Write it again if it is still what you want.";
        Err(Refusal::new("the comment", why, hint))
    }
}

/// A length of time in words: `12 minutes`, `3 hours`, `2 days`.
fn rough(length: SignedDuration) -> String {
    let (count, unit) = match length.as_mins() {
        minutes @ ..120 => (minutes, "minutes"),
        minutes @ 120..2880 => (minutes / 60, "hours"),
        minutes => (minutes / 1440, "days"),
    };
    format!("{count} {unit}")
}

/// Deliveries of one lane are handled in order, one at a time; lanes run side by side.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Lane(String);

impl Lane {
    /// The lane of a pull request: `<host>/<repository id>#<number>`.
    pub fn of_pull(pull: &Pull) -> Self {
        Self(format!(
            "{}/{}#{}",
            pull.repo.forge, pull.repo.id, pull.number
        ))
    }

    /// The lane of a branch's rollouts: `<host>/<repository id>@<branch>`.
    pub fn of_branch(repo: &Repo, branch: &Branch) -> Self {
        Self(format!("{}/{}@{branch}", repo.forge, repo.id))
    }

    /// The lane as text, as it stands in the store.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn of_installation(repos: &[Repo]) -> Self {
        Self(repos.first().map_or_else(
            || "installation".to_owned(),
            |it| format!("{}/installation", it.forge),
        ))
    }
}

impl Event {
    /// The lane this event is handled in.
    pub fn lane(&self) -> Lane {
        match self {
            Self::PullOpened { pull, .. }
            | Self::PullPushed { pull, .. }
            | Self::PullRetargeted { pull, .. }
            | Self::PullClosed { pull, .. }
            | Self::Commented(Commented { pull, .. })
            | Self::Reviewed { pull, .. }
            | Self::NoteStale { pull } => Lane::of_pull(pull),
            Self::BranchPushed { repo, branch, .. } | Self::WaveCalled { repo, branch, .. } => {
                Lane::of_branch(repo, branch)
            }
            Self::JobEnded { lane, .. } => lane.clone(),
            Self::Installed { repos } | Self::Removed { repos } => Lane::of_installation(repos),
        }
    }

    /// The pull request it is about, if it is about one.
    pub fn pull(&self) -> Option<&Pull> {
        match self {
            Self::PullOpened { pull, .. }
            | Self::PullPushed { pull, .. }
            | Self::PullRetargeted { pull, .. }
            | Self::PullClosed { pull, .. }
            | Self::Commented(Commented { pull, .. })
            | Self::Reviewed { pull, .. }
            | Self::NoteStale { pull } => Some(pull),
            Self::BranchPushed { .. }
            | Self::JobEnded { .. }
            | Self::Installed { .. }
            | Self::Removed { .. }
            | Self::WaveCalled { .. } => None,
        }
    }

    /// The repositories it is about.
    pub fn repos(&self) -> &[Repo] {
        match self {
            Self::PullOpened { pull, .. }
            | Self::PullPushed { pull, .. }
            | Self::PullRetargeted { pull, .. }
            | Self::PullClosed { pull, .. }
            | Self::Commented(Commented { pull, .. })
            | Self::Reviewed { pull, .. }
            | Self::NoteStale { pull } => std::slice::from_ref(&pull.repo),
            Self::BranchPushed { repo, .. }
            | Self::JobEnded { repo, .. }
            | Self::WaveCalled { repo, .. } => std::slice::from_ref(repo),
            Self::Installed { repos } | Self::Removed { repos } => repos,
        }
    }

    /// The repository as a forge names it in this event; none of events of our own, which may be older than its name.
    pub fn told_of(&self) -> Option<&Repo> {
        match self {
            Self::PullOpened { pull, .. }
            | Self::PullPushed { pull, .. }
            | Self::PullRetargeted { pull, .. }
            | Self::PullClosed { pull, .. }
            | Self::Commented(Commented { pull, .. })
            | Self::Reviewed { pull, .. } => Some(&pull.repo),
            Self::BranchPushed { repo, .. } => Some(repo),
            Self::JobEnded { .. }
            | Self::Installed { .. }
            | Self::Removed { .. }
            | Self::WaveCalled { .. }
            | Self::NoteStale { .. } => None,
        }
    }

    /// The event's name in logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::PullOpened { .. } => "pull-opened",
            Self::PullPushed { .. } => "pull-pushed",
            Self::PullRetargeted { .. } => "pull-retargeted",
            Self::PullClosed { .. } => "pull-closed",
            Self::Commented(_) => "commented",
            Self::Reviewed { .. } => "reviewed",
            Self::BranchPushed { .. } => "branch-pushed",
            Self::JobEnded { .. } => "job-ended",
            Self::Installed { .. } => "installed",
            Self::Removed { .. } => "removed",
            Self::WaveCalled { .. } => "wave-called",
            Self::NoteStale { .. } => "note-stale",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::command;
    use crate::core::ids::{ForgeHost, Login, PullNumber, RepoId, RepoName, UserId};

    fn said(at: Timestamp) -> Commented {
        let repo = Repo {
            forge: ForgeHost::try_from("github.com").unwrap(),
            id: RepoId(7),
            name: RepoName::try_from("acme/infra").unwrap(),
        };
        Commented {
            pull: Pull {
                repo,
                number: PullNumber(1),
            },
            comment: CommentId(1),
            at,
            actor: Actor {
                id: UserId(1),
                login: Login::try_from("ada").unwrap(),
                is_bot: false,
            },
            body: "/apply".to_owned(),
            url: String::new(),
            found_at: None,
        }
    }

    fn evening() -> Timestamp {
        "2026-11-30T20:15:00Z".parse().unwrap()
    }

    #[test]
    fn a_comment_commands_for_a_week() {
        for (hours, is_fresh) in [(-1, true), (1, true), (7 * 24, true), (7 * 24 + 1, false)] {
            let now = evening() + SignedDuration::from_hours(hours);
            assert_eq!(said(evening()).is_fresh(now).is_ok(), is_fresh, "{hours}");
        }
    }

    #[test]
    fn what_was_found_late_is_done_only_where_it_lets_nothing_out() {
        let commands = [
            ("/plan", true),
            ("/help", true),
            ("/apply", false),
            ("/approve wave-1", false),
            ("/unapprove", false),
            ("/lock", false),
            ("/unlock", false),
            ("/env up", false),
            ("/cancel", false),
        ];
        for (text, is_harmless) in commands {
            let command = command::read(text).remove(0).unwrap();
            let found = |minutes: Option<i64>| Commented {
                found_at: minutes.map(|it| evening() + SignedDuration::from_mins(it)),
                ..said(evening())
            };
            assert!(found(None).is_in_time(&command).is_ok(), "{text}");
            assert!(found(Some(5)).is_in_time(&command).is_ok(), "{text}");
            let late = found(Some(6)).is_in_time(&command);
            assert_eq!(late.is_ok(), is_harmless, "{text}");
        }
    }

    #[test]
    fn the_answer_to_what_was_found_late_says_by_how_much() {
        for (minutes, words) in [(6, "6 minutes"), (130, "2 hours"), (3000, "2 days")] {
            let late = Commented {
                found_at: Some(evening() + SignedDuration::from_mins(minutes)),
                ..said(evening())
            };
            let refusal = late.is_in_time(&Command::Apply { wave: None }).unwrap_err();
            assert!(refusal.why.contains(words), "{}", refusal.why);
        }
    }
}
