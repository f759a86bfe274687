//! What people read: a pull request's note, the statuses of its head, and the status of a rollout's commit.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::command::{Allowed, Spelling};
use crate::core::config::project::Project;
use crate::core::effect::{Effect, Status};
use crate::core::estate::radius::{Radius, radius};
use crate::core::event::Event;
use crate::core::gate::Base;
use crate::core::ids::{Pull, Repo, Root, Sha};
use crate::core::note::{self, PullNote, status};
use crate::core::plan::Plan;
use crate::core::rollout::pull::{Planning, PullMemory};
use crate::core::rollout::{Rollout, approve};
use crate::forge::Forge;
use crate::handlers::App;
use crate::handlers::desk::Desk;

/// The note and the statuses of a pull request, as they must read now.
pub(super) async fn of_pull(
    app: &App,
    desk: &Desk,
    memory: &PullMemory,
) -> anyhow::Result<Vec<Effect>> {
    let rollout = app.rollout_of(&memory.pull).await?;
    let page = rollout.as_ref().map(|it| app.page_of(it));
    let heads = desk.heads(&memory.details.target).await?;
    let base = match &rollout {
        Some(rollout) => Some(rollout.base()),
        None => heads.tip.as_ref().map(Base::of_pull),
    };
    let input = PullNote {
        memory,
        rollout: rollout.as_ref(),
        sets: &approve::sets_before_merge(memory),
        approved: &BTreeMap::new(),
        radius: &radius_of(memory, rollout.as_ref()),
        allowed: &allowed_at(desk, base).await?,
        default_branch: heads.default.as_ref(),
        page: page.as_deref(),
        max_chars: desk.forge.limits().note_chars,
    };
    let (repo, head) = (&memory.pull.repo, &memory.details.head);
    let note = Effect::Note {
        pull: memory.pull.clone(),
        note: note::pull_note(&input),
    };
    let of_head = [status::of_plan(&input), status::of_apply(&input)].map(|it| set(repo, head, it));
    let of_commit = rollout
        .iter()
        .map(|it| of_commit(app, desk.forge.as_ref(), it));
    Ok(std::iter::once(note)
        .chain(of_head)
        .chain(of_commit)
        .collect())
}

/// What tells people of a rollout: the notes of its pull requests, which tell its commit's status too; that status alone
/// where it came without one.
pub(super) fn about(app: &App, rollout: &Rollout) -> anyhow::Result<Vec<Effect>> {
    if rollout.pulls.is_empty() {
        return Ok(vec![of_commit(
            app,
            app.forge(&rollout.repo)?.as_ref(),
            rollout,
        )]);
    }
    let stale = stale(rollout).map(|it| Effect::Follow(Box::new(it)));
    Ok(stale.collect())
}

/// The events that have the notes of a rollout's pull requests written again.
pub(super) fn stale(rollout: &Rollout) -> impl Iterator<Item = Event> {
    rollout.pulls.iter().map(|number| Event::NoteStale {
        pull: Pull {
            repo: rollout.repo.clone(),
            number: *number,
        },
    })
}

fn of_commit(app: &App, forge: &dyn Forge, rollout: &Rollout) -> Effect {
    let status = status::of_rollout(rollout, spelling(forge), &app.page_of(rollout));
    set(&rollout.repo, &rollout.commit, status)
}

/// What the rules allow that judge a pull request, or its rollout.
pub(super) async fn allowed(
    desk: &Desk,
    memory: &PullMemory,
    rollout: Option<&Rollout>,
) -> anyhow::Result<Allowed> {
    let base = match rollout {
        Some(rollout) => Some(rollout.base()),
        None => {
            let heads = desk.heads(&memory.details.target).await?;
            heads.tip.as_ref().map(Base::of_pull)
        }
    };
    allowed_at(desk, base).await
}

/// What the rules at base allow; rules that cannot be read are said elsewhere, and hold everything.
async fn allowed_at(desk: &Desk, base: Option<Base>) -> anyhow::Result<Allowed> {
    let rules = match base {
        Some(base) => desk.rules(&base).await?.ok(),
        None => None,
    };
    Ok(said_on(
        desk.forge.as_ref(),
        rules.as_ref().map_or(&Project::default(), |it| it.get()),
    ))
}

fn said_on(forge: &dyn Forge, project: &Project) -> Allowed {
    Allowed {
        gate: project.gate,
        approval: project.approval.clone(),
        spelling: spelling(forge),
    }
}

fn spelling(forge: &dyn Forge) -> Spelling {
    if forge.limits().swallows_bare_commands {
        Spelling::Prefixed
    } else {
        Spelling::Bare
    }
}

/// Who reads what changes: by the newest plans, the rollout's where it has made some.
fn radius_of(memory: &PullMemory, rollout: Option<&Rollout>) -> Radius {
    let Planning::Done { survey, plans, .. } = &memory.planning else {
        return Radius::default();
    };
    let newer = rollout
        .into_iter()
        .flat_map(|it| &it.waves)
        .flat_map(|it| &it.plans);
    let changing = |it: &&Plan| !it.is_empty();
    let changed: BTreeSet<Root> = plans
        .iter()
        .chain(newer)
        .filter(changing)
        .map(|it| it.root.clone())
        .collect();
    let planned: BTreeSet<Root> = plans.iter().map(|it| it.root.clone()).collect();
    radius(&survey.estate, &changed, &planned)
}

/// The status of a head that is not planned any more.
pub(super) fn left(repo: &Repo, head: &Sha) -> Effect {
    set(repo, head, status::of_left_head())
}

fn set(repo: &Repo, commit: &Sha, status: Status) -> Effect {
    Effect::Status {
        repo: repo.clone(),
        commit: commit.clone(),
        status,
    }
}
