//! What an `/approve` binds: the wave it names or the one that waits, by the digest its author could see.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::core::command::{Command, DigestPrefix, Spelling, Target};
use crate::core::config::project::ApprovalRules;
use crate::core::effect::ShownAsk;
use crate::core::event::Commented;
use crate::core::gate::decide::set_of;
use crate::core::gate::facts::{Approval, ForgeUser};
use crate::core::gate::{AtBase, door};
use crate::core::ids::{Actor, Branch, Digest, Gate, Op, Pull, PullNumber, Root, Sha, WaveNumber};
use crate::core::person::Role;
use crate::core::plan::Plan;
use crate::core::refusal::Refusal;
use crate::core::rollout::Rollout;
use crate::core::rollout::ledger::{WaitsFor, waits_for};
use crate::core::rollout::pull::{Planning, PullMemory};

/// A wave that an approval would let out, and the digest that approval would bind.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    pub op: Op,
    pub gate: Gate,
    pub wave: WaveNumber,
    pub digest: Digest,
    /// The commit whose plans these are.
    pub commit: Sha,
    pub pr: PullNumber,
}

/// What an approval is decided from.
pub struct Inputs<'a> {
    pub said: &'a Commented,
    /// What the forge lets its author do now.
    pub role: Role,
    pub subject: Subject<'a>,
    pub target: Option<&'a Target>,
    pub digest: Option<&'a DigestPrefix>,
    /// What the note asked for, and since when.
    pub shown: &'a [ShownAsk],
    /// The branch whose pushes are let out.
    pub default_branch: Option<&'a Branch>,
    /// The approval rules at the base, or why they cannot be read.
    pub rules: Result<AtBase<ApprovalRules>, String>,
}

/// What a comment on a pull request speaks of: the rollout that carries it, or its open head.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    Rollout(&'a Rollout),
    Open(&'a PullMemory),
    /// Nobody looked at the pull request yet.
    Unknown,
}

impl<'a> Subject<'a> {
    /// The newest rollout of a pull request, else the pull request itself.
    pub fn of(rollout: Option<&'a Rollout>, memory: Option<&'a PullMemory>) -> Self {
        match (rollout, memory) {
            (Some(rollout), _) => Self::Rollout(rollout),
            (None, Some(memory)) => Self::Open(memory),
            (None, None) => Self::Unknown,
        }
    }

    /// Whose change it is.
    fn authors(self) -> Vec<Actor> {
        match self {
            Self::Rollout(rollout) => rollout.authors.clone(),
            Self::Open(memory) => memory.authors(),
            Self::Unknown => Vec::new(),
        }
    }

    fn waiting(self, pull: &Pull) -> Vec<Waiting> {
        match self {
            Self::Rollout(rollout) => waiting_in(rollout, pull),
            Self::Open(memory) => waiting_before_merge(memory),
            Self::Unknown => Vec::new(),
        }
    }
}

/// Decides what an `/approve` lets out, or refuses it with the reason.
pub fn decide(inputs: &Inputs) -> Result<Waiting, Refusal> {
    is_let_out(inputs)?;
    let waiting = inputs.subject.waiting(&inputs.said.pull);
    let chosen = choose(&waiting, inputs.target, inputs.digest)?;
    was_seen(chosen, inputs.shown, inputs.said.at)?;
    let rules = inputs.rules.as_ref().map_err(|why| {
        Refusal::new(
            format!("/approve {}", chosen.gate),
            format!("The rules at the base commit cannot be read: {why}"),
            "Nothing applies until they can be read.",
        )
    })?;
    let authors = inputs.subject.authors();
    door::who_may(&inputs.said.actor, inputs.role, &authors, rules)?;
    Ok(chosen.clone())
}

/// Refuses to approve what no merge would let out. The rules of another branch are not those of the default branch
/// either: whoever may write them could approve under them, and retarget.
fn is_let_out(inputs: &Inputs) -> Result<(), Refusal> {
    let target = match inputs.subject {
        Subject::Open(memory) => &memory.details.target,
        Subject::Rollout(_) | Subject::Unknown => return Ok(()),
    };
    if inputs.default_branch == Some(target) {
        return Ok(());
    }
    Err(Refusal::new(
        "/approve",
        format!(
            "This pull request goes into `{target}`, which is not the default branch, so nothing of it is let out."
        ),
        "What reaches the default branch is planned and approved there.",
    ))
}

/// Waves of a rollout that wait for an approval.
fn waiting_in(rollout: &Rollout, pull: &Pull) -> Vec<Waiting> {
    let waits = rollout
        .waves
        .iter()
        .filter_map(|wave| match waits_for(wave)? {
            WaitsFor::Approval(digest) => Some((wave, digest.clone())),
            WaitsFor::Ledger(_) | WaitsFor::Plan => None,
        });
    waits
        .map(|(wave, digest)| Waiting {
            op: rollout.op.clone(),
            gate: wave.gate(),
            wave: wave.number,
            digest,
            commit: rollout.commit.clone(),
            pr: pull.number,
        })
        .collect()
}

/// The set digest of each wave that an open pull request reaches; none where a member has no plan.
pub fn sets_before_merge(memory: &PullMemory) -> BTreeMap<WaveNumber, Option<Digest>> {
    let Planning::Done { survey, plans, .. } = &memory.planning else {
        return BTreeMap::new();
    };
    let waves = survey.estate.reached_waves(&survey.reach);
    waves
        .into_iter()
        .map(|it| (it.number, set_of_wave(&it.members, plans)))
        .collect()
}

/// The set digest of a wave with these members; none where one of them has no plan.
pub fn set_of_wave(members: &[Root], plans: &[Plan]) -> Option<Digest> {
    let of_wave: Vec<&Plan> = plans
        .iter()
        .filter(|it| members.contains(&it.root))
        .collect();
    let is_whole = (members.iter()).all(|root| of_wave.iter().any(|it| it.root == *root));
    let set = set_of(&of_wave).ok().filter(|_| is_whole);
    set.map(|(digest, _)| digest)
}

/// Waves of an open pull request whose plans change something: they can be approved before the merge.
fn waiting_before_merge(memory: &PullMemory) -> Vec<Waiting> {
    let Planning::Done {
        head,
        survey,
        plans,
        ..
    } = &memory.planning
    else {
        return Vec::new();
    };
    let changing: Vec<_> = plans
        .iter()
        .filter(|it| !it.is_empty())
        .filter_map(|it| survey.estate.wave_of(&it.root))
        .collect();
    let sets = sets_before_merge(memory)
        .into_iter()
        .filter(|(wave, _)| changing.contains(wave));
    let waits = sets.filter_map(|(wave, digest)| Some((wave, digest?)));
    waits
        .map(|(wave, digest)| Waiting {
            op: Op::tf_apply(),
            gate: Gate::of_wave(wave),
            wave,
            digest,
            commit: head.clone(),
            pr: memory.pull.number,
        })
        .collect()
}

/// Chooses the wave an approval names, or the only one that waits; nothing is guessed.
fn choose<'a>(
    waiting: &'a [Waiting],
    target: Option<&Target>,
    digest: Option<&DigestPrefix>,
) -> Result<&'a Waiting, Refusal> {
    let what = Command::Approve {
        target: target.cloned(),
        digest: digest.cloned(),
    }
    .line(Spelling::Bare);
    let names: Vec<_> = waiting.iter().map(|it| format!("`{}`", it.gate)).collect();
    let refuse = |why: String| {
        let hint = match names.as_slice() {
            [] => "Nothing of this pull request waits for an approval now.".to_owned(),
            names => format!("These wait for an approval: {}.", names.join(", ")),
        };
        Err(Refusal::new(what.clone(), why, hint))
    };
    let found = match target {
        Some(Target::Env) => return refuse("Environments are not in this version yet.".to_owned()),
        Some(Target::Wave(number)) => waiting.iter().find(|it| it.wave == *number),
        None => match waiting {
            [only] => Some(only),
            [] => None,
            _ => return refuse("Several waves wait, and it does not say which one.".to_owned()),
        },
    };
    let Some(found) = found else {
        return refuse("That wave does not wait for an approval.".to_owned());
    };
    match digest.filter(|prefix| !prefix.begins(&found.digest)) {
        None => Ok(found),
        Some(prefix) => refuse(format!(
            "`{}` plans `{}` now, not `{prefix}`.",
            found.gate,
            found.digest.short()
        )),
    }
}

/// Refuses an approval of plans that its author could not have read, or that are not what the wave plans now.
fn was_seen(waiting: &Waiting, shown: &[ShownAsk], at: Timestamp) -> Result<(), Refusal> {
    let seen = door::ask_seen(shown, &waiting.gate, at)?;
    if seen.is_same(&waiting.digest) {
        return Ok(());
    }
    Err(Refusal::new(
        format!("/approve {}", waiting.gate),
        format!(
            "The note showed `{}`, and the wave plans `{}` now.",
            seen.short(),
            waiting.digest.short()
        ),
        "Read the note again, and approve what it shows.",
    ))
}

/// The approval line of a comment; `ordinal` is its place among the comment's commands.
pub fn fact(
    waiting: &Waiting,
    said: &Commented,
    ordinal: usize,
    principal: String,
    now: Timestamp,
) -> Approval {
    let repo = &said.pull.repo;
    Approval {
        id: format!(
            "approve/{}/{}/{}/{ordinal}",
            repo.forge, repo.id, said.comment
        ),
        op: waiting.op.clone(),
        gate: waiting.gate.clone(),
        timestamp: now,
        digest: waiting.digest.clone(),
        resolved_by: principal,
        user: Some(ForgeUser {
            forge: repo.forge.to_string(),
            id: said.actor.id,
        }),
        commit: waiting.commit.clone(),
        pr: Some(waiting.pr),
        url: Some(said.url.clone()),
    }
}

#[cfg(test)]
mod tests;
