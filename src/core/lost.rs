//! What a forge never delivered, told from what it shows and what is remembered.
//!
//! # Why
//!
//! Forges deliver once, or some times, and give up. So everything a delivery would have said is also told by looking:
//! what differs from what is remembered becomes the event that the delivery would have been. Handlers read everything
//! fresh, so an event that was not lost after all finds nothing left to do.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::core::command;
use crate::core::event::{Commented, Event};
use crate::core::ids::{Actor, Branch, CommentId, DeliveryId, PullNumber, Repo, Sha, UserId};
use crate::core::rollout::pull::{PullDetails, PullMemory, PullState};

/// How far back the first look at a repository goes. What is older is not made good: nobody waits for it any more.
pub const FIRST_LOOK: SignedDuration = SignedDuration::from_hours(1);
/// How far a look goes back behind the newest change that was seen: forges show some changes late, and not in order.
const OVERLAP: SignedDuration = SignedDuration::from_mins(10);
/// How old a change must be before it counts as lost while the server runs: its delivery may be on the way.
const ON_THE_WAY: SignedDuration = SignedDuration::from_mins(1);

/// How often a repository is looked at, if there are few.
const BETWEEN: SignedDuration = SignedDuration::from_mins(5);
/// How much of that a repository takes where there are many: a look is three requests, and forges count them.
const EACH: SignedDuration = SignedDuration::from_secs(6);
/// The pause after a look that could not be taken; doubled with each one after it.
const AGAIN: SignedDuration = SignedDuration::from_secs(15);

/// How long a repository is left alone between two looks, on a forge that has this many.
pub fn pause_between(repos: i64) -> SignedDuration {
    let many = i32::try_from(repos).unwrap_or(i32::MAX);
    EACH.saturating_mul(many).max(BETWEEN)
}

/// How long it is left alone after a look that could not be taken, the last of so many in a row.
pub fn pause_after(failures: u32, between: SignedDuration) -> SignedDuration {
    let doubled = 1_i32.checked_shl(failures.min(16)).unwrap_or(i32::MAX);
    AGAIN.saturating_mul(doubled).min(between)
}

/// A pull request as a list of its forge shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedPull {
    pub details: PullDetails,
    /// When anything about it changed last, by the forge's clock.
    pub updated_at: Timestamp,
}

/// A comment on a pull request as a list of its forge shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedComment {
    pub said: Commented,
    /// When it was written or edited last, by the forge's clock.
    pub updated_at: Timestamp,
    pub is_edited: bool,
    /// The key of the answer that it starts as. Anybody can paste one, so who wrote it is to be checked.
    pub answers: Option<String>,
}

/// The tips of branches.
pub type Tips = BTreeMap<Branch, Sha>;

/// What was seen when a repository was looked at last.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The newest change that was seen, by the forge's clock.
    pub until: Timestamp,
    pub tips: Tips,
}

impl Seen {
    /// Before the first look.
    pub fn nothing(now: Timestamp) -> Self {
        Self {
            until: now.saturating_sub(FIRST_LOOK).unwrap_or(now),
            tips: Tips::new(),
        }
    }

    /// From when on changes are asked for.
    pub fn since(&self) -> Timestamp {
        self.until.saturating_sub(OVERLAP).unwrap_or(self.until)
    }
}

/// What changed of a repository since some moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// The newest change first.
    pub pulls: Vec<ListedPull>,
    pub comments: Vec<ListedComment>,
}

/// What a look finds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    pub changes: Changes,
    pub tips: Tips,
}

/// What is remembered of the same things.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Remembered {
    pub pulls: BTreeMap<PullNumber, PullMemory>,
    /// The tips that were handled last.
    pub tips: Tips,
}

/// When a look is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The server has just started, and what was delivered before that is lost or filed.
    Start,
    /// The server runs, and a delivery may be on its way.
    Running,
}

/// An event that was not heard of, and the id it is filed under: the same for everybody who finds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Lost {
    pub id: DeliveryId,
    pub event: Event,
}

/// One look at a repository, as it is decided on.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    pub repo: &'a Repo,
    pub seen: &'a Seen,
    pub found: &'a Found,
    pub moment: Moment,
    pub now: Timestamp,
}

impl Look<'_> {
    /// What the next look starts from.
    pub fn seen_next(&self) -> Seen {
        let pulls = self.found.changes.pulls.iter().map(|it| it.updated_at);
        let comments = self.found.changes.comments.iter().map(|it| it.updated_at);
        let newest = pulls.chain(comments).max();
        Seen {
            until: newest.map_or(self.seen.until, |it| it.max(self.seen.until)),
            tips: self.found.tips.clone(),
        }
    }

    /// What was not heard of, in an order in which it can have happened: words on a head come after the head.
    pub fn lost(&self, remembered: &Remembered, me: UserId) -> Vec<Lost> {
        let of_pulls = self.found.changes.pulls.iter().filter_map(|listed| {
            let memory = remembered.pulls.get(&listed.details.pull.number);
            self.of_pull(listed, memory)
        });
        let mut lost: Vec<_> = of_pulls.collect();
        // The list tells the newest change first.
        lost.reverse();
        lost.extend(self.of_tips(&remembered.tips));
        lost.extend(self.commands(me));
        lost
    }

    /// Whether the delivery of something that happened then may be on its way.
    fn is_on_the_way(&self, at: Timestamp) -> bool {
        self.moment == Moment::Running && self.now.duration_since(at) < ON_THE_WAY
    }

    fn of_pull(&self, listed: &ListedPull, memory: Option<&PullMemory>) -> Option<Lost> {
        if self.is_on_the_way(listed.updated_at) {
            return None;
        }
        let event = unheard(&listed.details, memory.map(|it| &it.details))?;
        let details = &listed.details;
        let what = format!("{}/{}", details.pull.number, event.name());
        let when = listed.updated_at.as_second();
        Some(self.named(&format!("{what}/{}/{when}", details.head), event))
    }

    /// A branch that stands elsewhere than where it was handled last. One that was never handled is told from the last
    /// look; what it held before the first one is not let out.
    fn of_tips(&self, handled: &Tips) -> Vec<Lost> {
        let moved = self.found.tips.iter().filter_map(|(branch, tip)| {
            let seen = self.seen.tips.get(branch);
            let before = handled.get(branch).or(seen).filter(|it| *it != tip)?;
            let stands = seen == Some(tip) || self.moment == Moment::Start;
            stands.then_some((branch, before, tip))
        });
        // A branch may go back and forth: the same step at another hour is another step.
        let hour = self.now.as_second() / 3600;
        let lost = moved.map(|(branch, before, tip)| {
            let event = Event::BranchPushed {
                repo: self.repo.clone(),
                branch: branch.clone(),
                before: before.clone(),
                after: tip.clone(),
                actor: Actor::nobody(),
            };
            self.named(&format!("push/{before}/{tip}/{hour}"), event)
        });
        lost.collect()
    }

    /// New comments with commands that nobody answered, as far as the lists tell; the inbox knows the others.
    fn commands(&self, me: UserId) -> Vec<Lost> {
        let pulls: BTreeSet<_> = (self.found.changes.pulls.iter())
            .map(|it| it.details.pull.number)
            .collect();
        let answered = self.answered(me);
        let unanswered = self.found.changes.comments.iter().filter(|it| {
            let Commented { actor, at, .. } = &it.said;
            let commands = !actor.is_bot && actor.id != me && !it.is_edited;
            // A comment is listed without its repository's number. The pull request it stands on has changed with it,
            // and is listed with one.
            // Whoever wrote longer ago does not wait for an answer any more.
            commands
                && it.said.is_fresh(self.now).is_ok()
                && pulls.contains(&it.said.pull.number)
                && !answered.contains(&it.said.comment)
                && !self.is_on_the_way(*at)
                && !command::read(&it.said.body).is_empty()
        });
        let lost = unanswered.map(|it| {
            let said = Commented {
                found_at: Some(self.now),
                ..it.said.clone()
            };
            self.named(&format!("comment/{}", said.comment), Event::Commented(said))
        });
        lost.collect()
    }

    /// The comments that we answered: the keys of our answers start with them.
    fn answered(&self, me: UserId) -> BTreeSet<CommentId> {
        let own = (self.found.changes.comments.iter()).filter(|it| it.said.actor.id == me);
        let keys = own.filter_map(|it| it.answers.as_deref());
        let ids = keys.filter_map(|it| it.split('-').next()?.parse().ok());
        ids.map(CommentId).collect()
    }

    fn named(&self, what: &str, event: Event) -> Lost {
        let Repo { forge, id, .. } = self.repo;
        let id = DeliveryId::try_from(format!("lost/{forge}/{id}/{what}"));
        Lost {
            id: id.expect("a host, numbers, names of ours and commits make an id"),
            event,
        }
    }
}

/// What a delivery would have said of a pull request; none when what is remembered is how it stands.
fn unheard(listed: &PullDetails, known: Option<&PullDetails>) -> Option<Event> {
    let (pull, actor) = (listed.pull.clone(), Actor::nobody());
    let is_open = listed.state == PullState::Open;
    let merged = matches!(listed.state, PullState::Merged { .. });
    let opened = || Event::PullOpened {
        pull: pull.clone(),
        actor: listed.author.clone(),
    };
    let Some(known) = known else {
        return is_open.then(opened);
    };
    match (is_open, known.state == PullState::Open) {
        (true, false) => Some(opened()),
        (false, true) => Some(Event::PullClosed {
            pull,
            merged,
            actor,
        }),
        (false, false) => None,
        (true, true) if listed.head != known.head => Some(Event::PullPushed { pull, actor }),
        (true, true) if listed.target != known.target => {
            Some(Event::PullRetargeted { pull, actor })
        }
        (true, true) => None,
    }
}

#[cfg(test)]
mod tests;
