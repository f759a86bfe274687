//! The gate: one decision for a job in plain CI and for the server.
//!
//! The order of the rows is the product: what has no digest never applies; what changes nothing never waits; the
//! policy read at base says whether a person is asked; then the newest approval that speaks to this rollout decides.

use std::collections::BTreeSet;

use jiff::Timestamp;

pub use crate::core::gate::admit::Cleared;
use crate::core::gate::approval::{Approval, Names, Record, Used};
use crate::core::gate::decision::names;
pub use crate::core::gate::decision::{Decision, Why};
use crate::core::gate::facts::{Member, PENDING_LASTS, Pending, Use};
use crate::core::gate::lines::{Facts, UseLine};
use crate::core::gate::{AtBase, Mode, Policy};
use crate::core::ids::{Digest, Gate, Op, Root};
use crate::core::job::{Clearance, ClearedMember, Moved};
use crate::core::plan::Plan;
use crate::core::plan::digest::{NamedTwice, set_digest};
use crate::core::plan::mask::Run;

/// All that a gate's decision rests on.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    pub op: &'a Op,
    pub gate: &'a Gate,
    pub policy: &'a AtBase<Policy>,
    pub mode: &'a AtBase<Mode>,
    pub rollout: &'a Names,
    /// The wave's members; each must have its run.
    pub members: &'a [Root],
    pub runs: &'a [Run],
    /// The op's facts, as the ledger has them now.
    pub facts: &'a Facts,
    pub writing: Writing<'a>,
}

/// What enters the facts that a decision writes. The decision itself only asks whether a pending fact has expired.
#[derive(Clone, Copy, Debug)]
pub struct Writing<'a> {
    pub now: Timestamp,
    /// Names this question: asked again with the same id, the same facts are written, once.
    pub id: &'a str,
    /// Where people read about it.
    pub url: Option<&'a str>,
    /// The job that asks.
    pub run_id: Option<&'a str>,
}

/// Decides a wave's gate. An approval never counts for a digest other than its own.
pub fn decide(inputs: &Inputs) -> Decision {
    let plans = match planned(inputs) {
        Ok(plans) => plans,
        Err(decision) => return *decision,
    };
    let plans: Vec<&Plan> = plans.into_iter().filter(|it| !it.is_empty()).collect();
    if plans.is_empty() {
        return Decision::Nothing;
    }
    let asked = match Asked::of(inputs, &plans) {
        Ok(asked) => asked,
        Err(error) => return fail(error.to_string()),
    };
    if needs_approval(*inputs.policy.get(), &plans) {
        asked.by_approval()
    } else {
        asked.apply(None, None)
    }
}

/// Whether these plans wait for a person under `policy`. Plans that change nothing never do.
pub fn needs_approval(policy: Policy, plans: &[&Plan]) -> bool {
    match policy {
        Policy::Always => plans.iter().any(|it| !it.is_empty()),
        Policy::OnDestructive => plans.iter().any(|it| it.is_destructive()),
        Policy::Never => false,
    }
}

/// The members of a wave's set: what changes something.
pub fn set_of(plans: &[&Plan]) -> Result<(Digest, Vec<Member>), NamedTwice> {
    let changing = plans.iter().filter(|it| !it.is_empty());
    let members: Vec<_> = changing
        .map(|it| Member {
            member: it.root.clone(),
            plan_digest: it.digest.clone(),
        })
        .collect();
    Ok((set_digest(&members)?, members))
}

/// The plans of a wave whose every member has one.
fn planned<'a>(inputs: &Inputs<'a>) -> Result<Vec<&'a Plan>, Box<Decision>> {
    let roots: Vec<&Root> = inputs.runs.iter().map(Run::root).collect();
    let known: BTreeSet<_> = roots.iter().copied().collect();
    let members: BTreeSet<_> = inputs.members.iter().collect();
    if known != members || roots.len() != known.len() {
        let differing: Vec<_> = known.symmetric_difference(&members).copied().collect();
        return Err(Box::new(fail(format!(
            "The plans are not those of the wave's members: {}.",
            names(differing)
        ))));
    }
    let (mut plans, mut failed, mut deferred) = (Vec::new(), Vec::new(), Vec::new());
    for run in inputs.runs {
        match run {
            Run::Planned(plan) => plans.push(plan.as_ref()),
            Run::Failed { root, .. } => failed.push(root.clone()),
            Run::Deferred { root, .. } => deferred.push(root.clone()),
        }
    }
    if !failed.is_empty() {
        let why = format!("No plan could be made of {}.", names(&failed));
        return Err(Box::new(fail(why)));
    }
    if deferred.is_empty() {
        return Ok(plans);
    }
    Err(Box::new(Decision::Wait {
        digest: None,
        why: Why::Deferred(deferred),
        pending: None,
    }))
}

fn fail(why: String) -> Decision {
    Decision::Fail { why }
}

/// A wave that changes something, and the set digest it is asked about.
struct Asked<'a> {
    inputs: &'a Inputs<'a>,
    plans: &'a [&'a Plan],
    record: Record<'a>,
    digest: Digest,
    members: Vec<Member>,
}

impl<'a> Asked<'a> {
    fn of(inputs: &'a Inputs, plans: &'a [&'a Plan]) -> Result<Self, NamedTwice> {
        let (digest, members) = set_of(plans)?;
        Ok(Self {
            inputs,
            plans,
            record: Record {
                facts: inputs.facts,
                gate: inputs.gate,
                names: inputs.rollout,
            },
            digest,
            members,
        })
    }

    /// The rows of the table: what the newest approval that speaks to this rollout makes of the wave.
    fn by_approval(&self) -> Decision {
        if let Some(rewrite) = &self.inputs.facts.rewritten {
            return Decision::Wait {
                digest: None,
                why: Why::Rewritten(rewrite.clone()),
                pending: None,
            };
        }
        let newest = match self.inputs.mode.get() {
            Mode::Ledger | Mode::PrReview => self.record.newest_approval(&self.digest),
            Mode::Sealed => return self.wait_asked(Why::Sealed),
        };
        let Some(approval) = newest else {
            return self.wait_asked(self.nobody_approved());
        };
        let by = approval.by.to_owned();
        match self.record.used(&approval) {
            Used::Partly { by, applied } => self.go_on(by, &applied),
            Used::Not if approval.digest.is_same(&self.digest) => {
                let spend = self.spend(&approval);
                self.apply(Some(spend), Some(by))
            }
            Used::Up if approval.digest.is_same(&self.digest) => self.wait(Why::UsedUp { by }),
            Used::Not if !self.record.is_used_by_any(approval.digest) => self.refuse(&approval),
            Used::Not | Used::Up => self.wait(Why::OtherUsed {
                approved: approval.digest.clone(),
                by,
            }),
        }
    }

    /// Why no approval counts where none is there, with the newest lines that cannot be read.
    fn nobody_approved(&self) -> Why {
        let complaints = &self.inputs.facts.complaints;
        if complaints.is_empty() {
            return Why::NotApproved;
        }
        Why::Damaged(complaints.iter().rev().cloned().collect())
    }

    /// Goes on under an approval whose use did not end well, with the members that did not apply.
    fn go_on(&self, used: &UseLine, applied: &[&Root]) -> Decision {
        let by = used.approved_by.clone().unwrap_or_default();
        let is_left = |it: &&Member| !applied.contains(&&it.member);
        let left: Vec<&Member> = self.members.iter().filter(is_left).collect();
        if left.is_empty() {
            return Decision::Nothing;
        }
        let is_whole = used
            .digest
            .as_ref()
            .is_some_and(|it| it.is_same(&self.digest));
        let moved = left.iter().filter_map(|it| moved(&used.members, it));
        let moved: Vec<_> = moved.collect();
        if !moved.is_empty() && !is_whole {
            return self.wait(Why::LeftMoved { by, moved });
        }
        let left: Vec<&Root> = left.iter().map(|it| &it.member).collect();
        let mut clearance = self.clearance(|root| left.contains(&root));
        clearance.use_id.clone_from(&used.id);
        Decision::Apply {
            clearance,
            spend: None,
            by: Some(by),
        }
    }

    fn apply(&self, spend: Option<Use>, by: Option<String>) -> Decision {
        let mut clearance = self.clearance(|_| true);
        clearance.use_id = spend.as_ref().map(|it| it.id.clone());
        Decision::Apply {
            clearance,
            spend,
            by,
        }
    }

    fn clearance(&self, applies: impl Fn(&Root) -> bool) -> Clearance {
        let (members, left_alone) = self
            .plans
            .iter()
            .partition::<Vec<_>, _>(|it| applies(&it.root));
        let member = |it: &&Plan| ClearedMember {
            root: it.root.clone(),
            subject_sha256: it.sent_sha256.clone(),
        };
        Clearance {
            set: self.digest.clone(),
            use_id: None,
            members: members.into_iter().map(member).collect(),
            left_alone: left_alone.into_iter().map(|it| it.root.clone()).collect(),
        }
    }

    /// Waits, and asks for an approval if nobody has asked for this one yet.
    fn wait_asked(&self, why: Why) -> Decision {
        let stands = self.record.is_asked(&self.digest, self.inputs.writing.now);
        Decision::Wait {
            digest: Some(self.digest.clone()),
            why,
            pending: (!stands).then(|| self.pending()),
        }
    }

    /// Waits, and asks again: an approval that stands before the new request is void.
    fn wait(&self, why: Why) -> Decision {
        Decision::Wait {
            digest: Some(self.digest.clone()),
            why,
            pending: Some(self.pending()),
        }
    }

    fn refuse(&self, approval: &Approval) -> Decision {
        let approved = self.record.members_of(approval.digest);
        let changed = self.members.iter().filter_map(|it| moved(approved, it));
        let is_gone = |it: &&Member| !self.members.iter().any(|now| now.member == it.member);
        let gone = approved.iter().filter(is_gone).map(|it| Moved {
            root: it.member.clone(),
            approved: Some(it.plan_digest.clone()),
            now: None,
        });
        Decision::Refuse {
            approved: approval.digest.clone(),
            by: approval.by.to_owned(),
            moved: changed.chain(gone).collect(),
            digest: self.digest.clone(),
            pending: self.pending(),
        }
    }

    fn pending(&self) -> Pending {
        let Inputs {
            op,
            gate,
            rollout,
            writing,
            ..
        } = self.inputs;
        let roots = names(self.members.iter().map(|it| &it.member));
        let policy = self.inputs.policy.get().as_str();
        let mode = self.inputs.mode.get().as_str();
        Pending {
            id: format!("{}/pending", writing.id),
            op: (*op).clone(),
            gate: (*gate).clone(),
            timestamp: writing.now,
            expires_at: writing.now + PENDING_LASTS,
            digest: self.digest.clone(),
            members: self.members.clone(),
            commit: rollout.commit.clone(),
            pr: rollout.pulls.last().copied(),
            description: format!("{gate}: {roots}; gate {policy}, approval {mode}"),
            url: writing.url.map(str::to_owned),
        }
    }

    fn spend(&self, approval: &Approval) -> Use {
        let Inputs {
            op,
            gate,
            rollout,
            writing,
            ..
        } = self.inputs;
        Use {
            id: format!("{}/use", writing.id),
            op: (*op).clone(),
            gate: (*gate).clone(),
            timestamp: writing.now,
            digest: approval.digest.clone(),
            approved_at: approval.at.to_owned(),
            approved_by: approval.by.to_owned(),
            members: self.members.clone(),
            commit: rollout.commit.clone(),
            pr: rollout.pulls.last().copied(),
            run_id: writing.run_id.map(str::to_owned),
        }
    }
}

/// How a member moved from what was approved; none when it plans exactly that.
fn moved(approved: &[Member], now: &Member) -> Option<Moved> {
    let before = approved.iter().find(|it| it.member == now.member);
    let is_same = before.is_some_and(|it| it.plan_digest.is_same(&now.plan_digest));
    (!is_same).then(|| Moved {
        root: now.member.clone(),
        approved: before.map(|it| it.plan_digest.clone()),
        now: Some(now.plan_digest.clone()),
    })
}

#[cfg(test)]
mod tests;
