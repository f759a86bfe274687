//! A pull request moved: plan its head, stop what is void, keep its note and statuses true.

use anyhow::Context;

use crate::core::config::project;
use crate::core::effect::Effect;
use crate::core::estate::{Estate, Survey, is_estate_file};
use crate::core::gate::Base;
use crate::core::ids::{Pull, Root, Sha};
use crate::core::refusal::Refusal;
use crate::core::rollout::planning::{self, Ground, Step, Wish};
use crate::core::rollout::pull::{PullDetails, PullMemory};
use crate::handlers::desk::{Desk, kept};
use crate::handlers::{App, note};
use crate::store::{Change, Handled};

/// Looks at a pull request's head, and plans it when it must be planned.
pub(super) async fn look(app: &App, pull: &Pull, wish: Wish) -> anyhow::Result<Handled> {
    let desk = Desk::open(app, &pull.repo).await?;
    let before = app.store.pull(pull).await?;
    let step = step(&desk, pull, before.clone(), wish).await?;
    act(app, &desk, before, step).await
}

/// Plans a pull request's head again because somebody asked, all of it or only some roots. What is remembered of it is
/// given, for the comment may have changed it already.
pub(super) async fn look_again(
    app: &App,
    pull: &Pull,
    before: Option<PullMemory>,
    only: Vec<Root>,
) -> anyhow::Result<Result<Handled, Refusal>> {
    let desk = Desk::open(app, &pull.repo).await?;
    let step = step(&desk, pull, before.clone(), Wish::Again { only }).await?;
    match step.refusal() {
        Some(refusal) => Ok(Err(refusal)),
        None => Ok(Ok(act(app, &desk, before, step).await?)),
    }
}

/// Takes note that a pull request was closed; its plan job is stopped. What a merge starts comes with the push.
pub(super) async fn closed(app: &App, pull: &Pull) -> anyhow::Result<Handled> {
    let Some(before) = app.store.pull(pull).await? else {
        return Ok(Handled::default());
    };
    let desk = Desk::open(app, &pull.repo).await?;
    let step = planning::closed(before.clone(), read(&desk, pull).await?);
    act(app, &desk, Some(before), step).await
}

/// Writes the note again: what it shows of the pull request's rollout has changed.
pub(super) async fn note_stale(app: &App, pull: &Pull) -> anyhow::Result<Handled> {
    let desk = Desk::open(app, &pull.repo).await?;
    // What is remembered stays as it is: a head that moved meanwhile is not planned, and has an event of its own.
    let memory = match app.store.pull(pull).await? {
        Some(memory) => memory,
        None => PullMemory::new(read(&desk, pull).await?),
    };
    let effects = note::of_pull(app, &desk, &memory).await?;
    Ok(Handled {
        changes: vec![Change::Pull(Box::new(memory))],
        effects,
    })
}

/// Remembers a step, does what it says, and writes what people read; nothing when it changes nothing.
async fn act(
    app: &App,
    desk: &Desk,
    before: Option<PullMemory>,
    step: Step,
) -> anyhow::Result<Handled> {
    if before.as_ref() == Some(&step.memory) {
        return Ok(Handled::default());
    }
    let mut effects: Vec<_> = step.cancel.map(Effect::Cancel).into_iter().collect();
    effects.extend(step.start.map(|it| Effect::Start(Box::new(it))));
    let left = before.as_ref().and_then(|it| it.head_left_by(&step.memory));
    effects.extend(left.map(|head| note::left(&step.memory.pull.repo, head)));
    effects.extend(note::of_pull(app, desk, &step.memory).await?);
    Ok(Handled {
        changes: vec![Change::Pull(Box::new(step.memory))],
        effects,
    })
}

async fn step(
    desk: &Desk,
    pull: &Pull,
    before: Option<PullMemory>,
    wish: Wish,
) -> anyhow::Result<Step> {
    let details = read(desk, pull).await?;
    let ground = ground(desk, &details).await?;
    Ok(planning::look(before, details, &ground, wish))
}

async fn read(desk: &Desk, pull: &Pull) -> anyhow::Result<PullDetails> {
    desk.forge
        .pull(pull)
        .await
        .context("cannot read the pull request")
}

/// Fetches the head and the target, and reads the rules at the target's tip.
async fn ground(desk: &Desk, details: &PullDetails) -> anyhow::Result<Ground> {
    let target = desk.mirror.remote_tip(&details.target).await?;
    let Some(target) = target else {
        return Ok(Ground {
            merge_base: None,
            rules: Err(format!("the branch `{}` is gone", details.target)),
            nothing: None,
        });
    };
    let head = desk.forge.head_ref(details.pull.number);
    let branch = format!("refs/heads/{}", details.target);
    desk.mirror.fetch(&[&kept(&head), &kept(&branch)]).await?;
    let merge_base = merge_base(desk, &details.head, &target).await?;
    let nothing = match &merge_base {
        // Of a fork nothing is read that could be hard to read.
        Some(base) if !details.is_fork() => nothing_reached(desk, base, &details.head).await,
        Some(_) | None => Ok(None),
    };
    Ok(Ground {
        merge_base,
        // What cannot be read here is said by the job, which reads it too.
        nothing: nothing.unwrap_or_default(),
        rules: desk
            .rules(&Base::of_pull(&target))
            .await?
            .map(|it| it.get().parallelism),
    })
}

/// What a change reaches when that is nothing, told from what it leaves alone: no file that says what the roots are.
async fn nothing_reached(desk: &Desk, base: &Sha, head: &Sha) -> anyhow::Result<Option<Survey>> {
    let changed = desk.mirror.changed(base, head).await?;
    let says_roots = |it: &String| is_estate_file(it) || it == project::FILE;
    if changed.iter().any(says_roots) {
        return Ok(None);
    }
    let Ok(read) = desk.read(head).await? else {
        return Ok(None);
    };
    let reach = read.estate.reach(&changed);
    let is_nothing = reach.members.is_empty();
    Ok(is_nothing.then(|| Survey {
        estate: Estate::clone(&read.estate),
        reach,
        ..Survey::default()
    }))
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
