//! Which approvals speak to a rollout, and which of them are used up.

use jiff::Timestamp;

use crate::core::gate::facts::Member;
use crate::core::gate::lines::{Facts, Line, LineKind, Naming, UseLine};
use crate::core::ids::{Digest, Gate, PullNumber, Root, Sha};

/// What a line must name to name this rollout: its commit and pull requests, and those of rollouts it took over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The commit that applies, or a pull request's head while it is open.
    pub commit: Sha,
    /// Commits of the rollouts it took over.
    pub taken_over: Vec<Sha>,
    /// Its pull requests and those of the rollouts it took over, oldest first.
    pub pulls: Vec<PullNumber>,
}

impl Names {
    /// Whether a line names this rollout.
    pub fn are_in(&self, naming: &Naming) -> bool {
        match naming {
            Naming::Bare => false,
            Naming::Named { pr, commit } => {
                let is_ours = |it: &Sha| *it == self.commit || self.taken_over.contains(it);
                pr.is_some_and(|it| self.pulls.contains(&it))
                    || commit.as_ref().is_some_and(is_ours)
            }
        }
    }
}

/// An approval that speaks to a rollout.
#[derive(Clone, Debug, PartialEq)]
pub struct Approval<'a> {
    pub digest: &'a Digest,
    pub by: &'a str,
    /// The line's own timestamp, as it has it.
    pub at: &'a str,
}

/// How far an approval is used.
#[derive(Clone, Debug, PartialEq)]
pub enum Used<'a> {
    Not,
    /// By this rollout, and the apply did not end or failed; `applied` are the members that did apply.
    Partly {
        by: &'a UseLine,
        applied: Vec<&'a Root>,
    },
    /// By this rollout to its end, or by another.
    Up,
}

/// The ledger as one rollout sees it at one gate.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    pub facts: &'a Facts,
    pub gate: &'a Gate,
    pub names: &'a Names,
}

impl<'a> Record<'a> {
    /// The newest approval that speaks to the rollout, which plans `planned`. Newest is by place, not by time.
    pub fn newest_approval(&self, planned: &Digest) -> Option<Approval<'a>> {
        let own_ask = self.pending().filter(|it| self.is_own(it)).last();
        let any_ask = self.pending().last();
        let speaks = |line: &Line, digest: &Digest| match (own_ask, &line.naming) {
            (Some(ask), _) if line.number < ask.number => false,
            (Some(_), Naming::Bare) => digest.is_same(planned) || !self.is_asked_by_others(digest),
            (None, Naming::Bare) => any_ask.is_none_or(|ask| line.number > ask.number),
            (Some(_) | None, Naming::Named { .. }) => self.is_own(line),
        };
        let approvals = self.lines().filter_map(approval);
        let speaking =
            approvals.filter(|(line, it)| !self.facts.is_void(line) && speaks(line, it.digest));
        speaking.last().map(|(_, it)| it)
    }

    /// How far this approval is used.
    pub fn used(&self, approval: &Approval) -> Used<'a> {
        let uses = self.uses_of(approval.digest);
        let uses: Vec<_> = uses
            .filter(|it| is_same_time(&it.approved_at, approval.at))
            .collect();
        let Some(newest) = uses.last() else {
            return Used::Not;
        };
        let ends = self.facts.ends.iter().filter(|it| {
            it.gate == newest.gate
                && is_same_time(&it.applied, &newest.timestamp)
                && is_same(it.digest.as_ref(), approval.digest)
        });
        let ends: Vec<_> = ends.collect();
        if !uses.iter().all(|it| self.names.are_in(&it.naming)) || ends.iter().any(|it| !it.failed)
        {
            return Used::Up;
        }
        Used::Partly {
            by: newest,
            applied: ends.iter().flat_map(|it| &it.members).collect(),
        }
    }

    /// Whether any run has used an approval of this digest at this gate.
    pub fn is_used_by_any(&self, digest: &Digest) -> bool {
        self.uses_of(digest).next().is_some()
    }

    /// The members of the set behind a digest, as whoever asked for it wrote them; none when nobody did.
    pub fn members_of(&self, digest: &Digest) -> &'a [Member] {
        let asks = self.pending().filter_map(|it| match &it.kind {
            LineKind::Pending { members, .. } if is_same(it.digest.as_ref(), digest) => {
                Some(members.as_slice())
            }
            LineKind::Pending { .. } | LineKind::Approval { .. } => None,
        });
        asks.filter(|it| !it.is_empty()).last().unwrap_or_default()
    }

    /// Whether the rollout's own request for this digest still stands: the gate's newest, and not expired.
    pub fn is_asked(&self, digest: &Digest, now: Timestamp) -> bool {
        let Some(newest) = self.pending().last() else {
            return false;
        };
        match &newest.kind {
            LineKind::Pending { expires_at, .. } => {
                self.is_own(newest)
                    && is_same(newest.digest.as_ref(), digest)
                    && expires_at.is_some_and(|it| it > now)
            }
            LineKind::Approval { .. } => false,
        }
    }

    fn lines(&self) -> impl Iterator<Item = &'a Line> {
        self.facts.lines.iter().filter(|it| it.is_of(self.gate))
    }

    fn pending(&self) -> impl Iterator<Item = &'a Line> {
        self.lines()
            .filter(|it| matches!(it.kind, LineKind::Pending { .. }))
    }

    fn is_own(&self, line: &Line) -> bool {
        self.names.are_in(&line.naming)
    }

    fn is_asked_by_others(&self, digest: &Digest) -> bool {
        self.pending()
            .any(|it| !self.is_own(it) && is_same(it.digest.as_ref(), digest))
    }

    fn uses_of(&self, digest: &Digest) -> impl Iterator<Item = &'a UseLine> {
        self.facts
            .uses
            .iter()
            .filter(|it| it.gate == self.gate.as_str() && is_same(it.digest.as_ref(), digest))
    }
}

/// A line as an approval of a plan; one without a digest approves nothing.
fn approval(line: &Line) -> Option<(&Line, Approval<'_>)> {
    let LineKind::Approval { by } = &line.kind else {
        return None;
    };
    let approval = Approval {
        digest: line.digest.as_ref()?,
        by,
        at: &line.timestamp,
    };
    Some((line, approval))
}

/// Whether a use is of the approval that a line is.
pub(super) fn is_use_of(used: &UseLine, line: &Line) -> bool {
    let is_of_digest = line
        .digest
        .as_ref()
        .is_some_and(|it| is_same(used.digest.as_ref(), it));
    used.gate == line.gate && is_of_digest && is_same_time(&used.approved_at, &line.timestamp)
}

fn is_same(one: Option<&Digest>, other: &Digest) -> bool {
    one.is_some_and(|it| it.is_same(other))
}

/// Whether two timestamps of the ledger name one instant, however each is written.
fn is_same_time(one: &str, other: &str) -> bool {
    let instant = |text: &str| text.parse::<Timestamp>().ok();
    one == other || instant(one).is_some_and(|it| instant(other) == Some(it))
}
