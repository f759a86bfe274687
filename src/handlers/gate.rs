//! The server's side of the gate: a wave job asks, the ledger and the rules at base answer.

use anyhow::{Context, bail};
use jiff::Timestamp;

use crate::core::gate::decide::{self, Inputs, Writing};
use crate::core::ids::{DeliveryId, WaveNumber};
use crate::core::job::{Answer, JobKey, JobSpec, Question, Work};
use crate::core::plan::mask::Run;
use crate::core::rollout::Rollout;
use crate::core::rollout::answer::Decided;
use crate::core::rollout::ended::{self, Asked};
use crate::handlers::desk::Desk;
use crate::handlers::ledger::{look, remember};
use crate::handlers::{App, note};
use crate::ledger::{Appended, Ledger};

/// Answers a wave job's question. What the answer rests on stands in the store and on the ledger before it is given;
/// asked again (the answer was lost on its way), the same facts are recorded once.
pub async fn ask(
    app: &App,
    job: &JobSpec,
    question: Question,
    now: Timestamp,
) -> anyhow::Result<Answer> {
    let Work::Wave {
        rollout: id,
        wave: number,
        ..
    } = &job.work
    else {
        bail!("the job {} has no gate to ask at", job.key);
    };
    let runs = ended::sealed(question.plans, &app.digest_key);
    let (mut rollout, version) = app.known_rollout(id).await?;
    if !rollout.is_asking(*number, job.key.attempt) {
        return Ok(Answer::StandDown);
    }
    let desk = Desk::open(app, &job.repo).await?;
    let ledger = Ledger::of(desk.mirror.clone());

    let decided = decide(
        &Gathered {
            app,
            desk: &desk,
            ledger: &ledger,
            rollout: &rollout,
            job,
        },
        *number,
        &runs,
        now,
    )
    .await?;

    rollout.answered(*number, Asked::new(&decided, runs), now);
    if !app.store.save_rollout(&rollout, version).await? {
        // A newer push, or somebody's word, came in between; the job asks again.
        bail!("the rollout {id} moved while its gate decided");
    }
    if !decided.facts.is_empty()
        && let Appended::Written(at) | Appended::AlreadyThere(Some(at)) =
            ledger.append(&decided.facts).await?
    {
        remember(app, &job.repo, &ledger, &at).await?;
    }
    tell(app, &rollout, &job.key, now).await?;
    Ok(decided.answer)
}

/// Has the notes say that the wave applies, waits or was refused, without waiting for the job's end.
async fn tell(app: &App, rollout: &Rollout, job: &JobKey, now: Timestamp) -> anyhow::Result<()> {
    for (ordinal, event) in note::stale(rollout).enumerate() {
        let id = DeliveryId::try_from(format!("asked/{job}/{ordinal}"))?;
        app.store.inbox.file_own(&id, &event, now).await?;
    }
    Ok(())
}

/// What a decision is gathered from.
struct Gathered<'a> {
    app: &'a App,
    desk: &'a Desk,
    ledger: &'a Ledger,
    rollout: &'a Rollout,
    job: &'a JobSpec,
}

async fn decide(
    at: &Gathered<'_>,
    number: WaveNumber,
    runs: &[Run],
    now: Timestamp,
) -> anyhow::Result<Decided> {
    let wave = at
        .rollout
        .wave(number)
        .context("the rollout does not reach that wave")?;
    let rules = match at.desk.rules(&at.rollout.base()).await? {
        Ok(rules) => rules,
        Err(why) => return Ok(Decided::unreadable(&why)),
    };
    let look = look(at.app, &at.job.repo, at.ledger).await?;
    let facts = at.ledger.facts(&look, &at.rollout.op).await?;
    let (id, url) = (at.job.key.to_string(), at.app.page_of(at.rollout));
    let decision = decide::decide(&Inputs {
        op: &at.rollout.op,
        gate: &wave.gate(),
        policy: &rules.part(|it| it.gate),
        mode: &rules.part(|it| it.approval.mode),
        rollout: &at.rollout.names(),
        members: &wave.members,
        runs,
        facts: &facts,
        writing: Writing {
            now,
            id: &id,
            url: Some(&url),
            run_id: Some(&id),
        },
    });
    Ok(decision.into())
}

#[cfg(test)]
mod tests;
