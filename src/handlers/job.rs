//! A job ended, or a wave was called: the rollout moves on, and people read how far it got.

use anyhow::Context;
use jiff::Timestamp;

use crate::core::effect::Effect;
use crate::core::gate::facts::Fact;
use crate::core::ids::{Pull, RolloutId, WaveNumber};
use crate::core::job::{JobEnd, JobKey, Work};
use crate::core::rollout::planned;
use crate::handlers::desk::Desk;
use crate::handlers::{App, note};
use crate::store::{Change, Handled};

/// Takes the end of a job.
pub(super) async fn ended(
    app: &App,
    job: &JobKey,
    end: &JobEnd,
    now: Timestamp,
) -> anyhow::Result<Handled> {
    let stored = app
        .store
        .jobs
        .find(job)
        .await?
        .with_context(|| format!("the ended job {job} is not known"))?;
    match stored.spec.work {
        Work::Plan { pull, .. } => planned(app, &pull, job, end).await,
        Work::Wave { rollout, wave, .. } => wave_ended(app, &rollout, wave, (job, end), now).await,
    }
}

/// Runs a wave again after an approval or somebody's `/apply`.
pub(super) async fn called(
    app: &App,
    id: &RolloutId,
    wave: WaveNumber,
    now: Timestamp,
) -> anyhow::Result<Handled> {
    let (mut rollout, version) = app.known_rollout(id).await?;
    // Whoever called it was answered by the comment's handler; what changed since then needs no second answer.
    let Ok(spec) = rollout.call(Some(wave), now) else {
        return Ok(Handled::default());
    };
    let mut effects = vec![Effect::Start(Box::new(spec))];
    effects.extend(note::about(app, &rollout)?);
    Ok(Handled {
        changes: vec![Change::Rollout {
            rollout: Box::new(rollout),
            version,
        }],
        effects,
    })
}

async fn planned(app: &App, pull: &Pull, job: &JobKey, end: &JobEnd) -> anyhow::Result<Handled> {
    let mut memory = app
        .store
        .pull(pull)
        .await?
        .context("a plan job of an unknown pull request ended")?;
    if !planned::planned(&mut memory, job, end.clone(), &app.digest_key) {
        return Ok(Handled::default());
    }
    let desk = Desk::open(app, &pull.repo).await?;
    let effects = note::of_pull(app, &desk, &memory).await?;
    Ok(Handled {
        changes: vec![Change::Pull(Box::new(memory))],
        effects,
    })
}

async fn wave_ended(
    app: &App,
    id: &RolloutId,
    wave: WaveNumber,
    (job, end): (&JobKey, &JobEnd),
    now: Timestamp,
) -> anyhow::Result<Handled> {
    let (mut rollout, version) = app.known_rollout(id).await?;

    let finished = rollout.ended(wave, job, end, now);
    let next = rollout.advance(now);

    let mut effects: Vec<_> = finished
        .map(|it| Effect::Record {
            repo: rollout.repo.clone(),
            fact: Fact::Finished(it),
        })
        .into_iter()
        .collect();
    effects.extend(next.map(|it| Effect::Start(Box::new(it))));
    effects.extend(note::about(app, &rollout)?);
    Ok(Handled {
        changes: vec![Change::Rollout {
            rollout: Box::new(rollout),
            version,
        }],
        effects,
    })
}
