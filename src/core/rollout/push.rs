//! What a push to the default branch starts: nothing, or a rollout of what it reaches.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use crate::core::estate::{Estate, Reach};
use crate::core::ids::{Actor, Branch, Op, PullNumber, Repo, RolloutId, Sha};
use crate::core::key::hex;
use crate::core::rollout::{Rollout, Source, Wave};

/// A push as it was found: where the branch stood when we last looked, and where it stands now.
#[derive(Clone, Debug, PartialEq)]
pub struct Pushed {
    pub repo: Repo,
    pub branch: Branch,
    /// The tip we handled last; else what the event says was there before.
    pub before: Sha,
    pub after: Sha,
    /// Whose change it is.
    pub authors: Vec<Actor>,
    pub pulls: Vec<PullNumber>,
}

impl Pushed {
    /// The commit whose rules judge the push. Before the very first push there is none, so that one is judged by its
    /// own; afterwards it is the tip handled last, also when somebody deletes the branch and makes it anew.
    pub fn base(&self) -> &Sha {
        if self.before.is_zero() {
            &self.after
        } else {
            &self.before
        }
    }
}

/// The pull requests that brought a push.
#[derive(Clone, Debug, PartialEq)]
pub struct Brought {
    /// Each once, oldest first.
    pub pulls: Vec<PullNumber>,
    /// Whether a commit came without one.
    has_direct: bool,
}

impl Brought {
    /// Told from the pull requests of each commit, oldest commit first.
    pub fn new(of_each: &[Vec<PullNumber>]) -> Self {
        Self {
            pulls: union(of_each.iter().flatten()),
            has_direct: of_each.iter().any(Vec::is_empty),
        }
    }

    /// Whose change the push is: the authors of its pull requests, and the pusher of what came without one. Who sets a
    /// branch back makes a change of their own, even where no commit is new.
    pub fn authors(&self, of_pulls: Vec<Actor>, pusher: &Actor, step: Step) -> Vec<Actor> {
        let is_theirs = self.has_direct || step == Step::Forced;
        union(of_pulls.iter().chain(is_theirs.then_some(pusher)))
    }
}

/// The commits of a push, oldest first, of which the forge is asked what brought them: each is a request, and a forge
/// takes only so many an hour.
pub fn asked_about(mut newest_first: Vec<Sha>) -> Asked {
    let is_cut = newest_first.len() > MOST_ASKED;
    newest_first.truncate(MOST_ASKED);
    newest_first.reverse();
    Asked {
        commits: newest_first,
        is_cut,
    }
}

/// The most commits of one push that a forge is asked about.
const MOST_ASKED: usize = 250;

/// Commits to ask about.
#[derive(Debug, PartialEq)]
pub struct Asked {
    /// Oldest first.
    pub commits: Vec<Sha>,
    /// Whether older ones are left out: then nobody knows of these what brought them, so they count as pushed directly.
    pub is_cut: bool,
}

/// How a branch got from the tip that was handled last to where it is looked at now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// By commits on top.
    Forward,
    /// It was set to something else, or nothing is known of where it was.
    Forced,
}

/// Where a branch stands, as git tells it; a delivery may be old, repeated, or out of order.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The tip that was handled last.
    pub handled: Option<Sha>,
    /// Where the branch really is.
    pub tip: Sha,
    /// Where the delivery says it went.
    pub said: Sha,
    /// Whether `said` lies on the way from the handled tip to the real one.
    pub is_on_the_way: bool,
}

impl Standing {
    /// The commit to let out now; none when everything up to the real tip is handled. What a delivery says counts only
    /// where the branch has really been since.
    pub fn next(&self) -> Option<&Sha> {
        if self.handled.as_ref() == Some(&self.tip) {
            return None;
        }
        Some(if self.is_on_the_way {
            &self.said
        } else {
            &self.tip
        })
    }
}

/// What the pushed commit is made of, and which of it the push reaches.
#[derive(Clone, Debug, PartialEq)]
pub struct Ground {
    pub estate: Arc<Estate>,
    pub reach: Reach,
    /// Runs planned or applied at once, as the pushed commit has it.
    pub parallelism: u32,
}

/// Decides the rollout of a push; none when it reaches no root. Unfinished rollouts that it meets are taken over: the
/// new one covers what they left, and keeps the oldest base for its rules.
pub fn rollout_of(
    pushed: Pushed,
    ground: &Ground,
    met: &[Rollout],
    now: Timestamp,
) -> Option<Rollout> {
    let left: BTreeSet<_> = met.iter().flat_map(Rollout::left).cloned().collect();
    let mut reach = ground.reach.clone();
    reach.members.extend(
        left.into_iter()
            .filter(|root| ground.estate.roots.contains_key(root)),
    );
    if reach.members.is_empty() {
        return None;
    }
    let oldest = met.iter().min_by_key(|it| it.started);
    let base = oldest.map_or_else(|| pushed.base().clone(), |it| it.base.clone());
    let waves = ground.estate.reached_waves(&reach);
    Some(Rollout {
        id: rollout_id(&pushed, &base, now),
        repo: pushed.repo,
        op: Op::tf_apply(),
        source: Source::Push {
            branch: pushed.branch,
            before: pushed.before,
            after: pushed.after.clone(),
        },
        commit: pushed.after,
        base,
        authors: union(met.iter().flat_map(|it| &it.authors).chain(&pushed.authors)),
        pulls: union(met.iter().flat_map(|it| &it.pulls).chain(&pushed.pulls)),
        waves: waves
            .into_iter()
            .map(|it| Wave::new(it.number, it.members, now))
            .collect(),
        taken_over: met
            .iter()
            .flat_map(|it| it.taken_over.iter().chain([&it.commit]))
            .cloned()
            .collect(),
        parallelism: ground.parallelism,
        started: now,
    })
}

/// Whether an unfinished rollout and a new reach have a root in common.
pub fn meets(rollout: &Rollout, reach: &Reach) -> bool {
    rollout.is_open() && rollout.left().any(|root| reach.members.contains(root))
}

/// A branch may come to the same commit from the same base more than once: each time is a rollout of its own.
fn rollout_id(pushed: &Pushed, base: &Sha, now: Timestamp) -> RolloutId {
    use sha2::{Digest, Sha256};
    let Pushed {
        repo,
        branch,
        after,
        ..
    } = pushed;
    let text = format!(
        "{}\n{}\n{branch}\n{base}\n{after}\n{now}",
        repo.forge, repo.id
    );
    let digits = hex(&Sha256::digest(text.as_bytes())[..8]);
    RolloutId::try_from(format!("r-{digits}")).expect("letters and digits make an id")
}

fn union<'a, T: Clone + PartialEq + 'a>(items: impl Iterator<Item = &'a T>) -> Vec<T> {
    items.fold(Vec::new(), |mut kept, item| {
        if !kept.contains(item) {
            kept.push(item.clone());
        }
        kept
    })
}

#[cfg(test)]
mod tests;
