//! A pull request moved: plan its head, stop what is void, keep its note and statuses true.

use anyhow::Context;

use crate::core::effect::Effect;
use crate::core::gate::Base;
use crate::core::ids::{Pull, Sha};
use crate::core::rollout::planning::{self, Ground, Wish};
use crate::core::rollout::pull::{PullDetails, PullMemory};
use crate::handlers::desk::Desk;
use crate::handlers::{App, note};
use crate::store::{Change, Handled};

/// Looks at a pull request's head, and plans it when it must be planned.
pub(super) async fn look(app: &App, pull: &Pull, wish: Wish) -> anyhow::Result<Handled> {
    let desk = Desk::open(app, &pull.repo).await?;
    let details = desk
        .forge
        .pull(pull)
        .await
        .context("cannot read the pull request")?;
    let memory = app.store.pull(pull).await?;
    let ground = ground(&desk, &details).await?;

    let step = planning::look(memory.clone(), details, &ground, wish);
    if memory.as_ref() == Some(&step.memory) {
        return Ok(Handled::default());
    }

    let mut effects: Vec<_> = step.cancel.map(Effect::Cancel).into_iter().collect();
    effects.extend(step.start.map(|it| Effect::Start(Box::new(it))));
    effects.extend(note::of_pull(app, &desk, &step.memory).await?);
    Ok(Handled {
        changes: vec![Change::Pull(Box::new(step.memory))],
        effects,
    })
}

/// Takes note that a pull request was closed; its plan job is stopped. What a merge starts comes with the push.
pub(super) async fn closed(app: &App, pull: &Pull) -> anyhow::Result<Handled> {
    let Some(mut memory) = app.store.pull(pull).await? else {
        return Ok(Handled::default());
    };
    memory.details = app
        .forge(&pull.repo)?
        .pull(pull)
        .await
        .context("cannot read the pull request")?;
    let effects = memory
        .running_job()
        .map(Effect::Cancel)
        .into_iter()
        .collect();
    Ok(Handled {
        changes: vec![Change::Pull(Box::new(memory))],
        effects,
    })
}

/// Writes the note again: what it shows of the pull request's rollout has changed.
pub(super) async fn note_stale(app: &App, pull: &Pull) -> anyhow::Result<Handled> {
    let desk = Desk::open(app, &pull.repo).await?;
    let details = desk
        .forge
        .pull(pull)
        .await
        .context("cannot read the pull request")?;
    let memory = match app.store.pull(pull).await? {
        Some(memory) => PullMemory { details, ..memory },
        None => PullMemory::new(details),
    };
    let effects = note::of_pull(app, &desk, &memory).await?;
    Ok(Handled {
        changes: vec![Change::Pull(Box::new(memory))],
        effects,
    })
}

/// Fetches the head and the target, and reads the rules at the target's tip.
async fn ground(desk: &Desk, details: &PullDetails) -> anyhow::Result<Ground> {
    let target = desk.mirror.remote_tip(&details.target).await?;
    let Some(target) = target else {
        return Ok(Ground {
            merge_base: None,
            rules: Err(format!("the branch `{}` is gone", details.target)),
        });
    };
    let (head_ref, branch) = (
        desk.forge.head_ref(details.pull.number),
        format!("refs/heads/{}", details.target),
    );
    desk.mirror
        .fetch(&[&kept(&head_ref), &kept(&branch)])
        .await?;
    Ok(Ground {
        merge_base: merge_base(desk, &details.head, &target).await?,
        rules: desk
            .rules(&Base::of_pull(&target))
            .await?
            .map(|it| it.get().parallelism),
    })
}

/// The head may have moved since the forge was asked; then its own event is on the way.
async fn merge_base(desk: &Desk, head: &Sha, target: &Sha) -> anyhow::Result<Option<Sha>> {
    if !desk.mirror.has(head).await? {
        anyhow::bail!(
            "the head {} is not there yet, or not any more",
            head.short()
        );
    }
    desk.mirror.merge_base(head, target).await
}

/// Keeps a remote ref under its own name in the mirror.
pub(super) fn kept(name: &str) -> String {
    format!("+{name}:{name}")
}
