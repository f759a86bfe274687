//! A branch moved: the default branch's push starts a rollout of what it reaches.

use anyhow::Context;
use jiff::Timestamp;

use crate::core::effect::{Effect, Status, StatusContext, StatusState};
use crate::core::estate::{Estate, is_estate_file};
use crate::core::ids::{Actor, Branch, Pull, PullNumber, Repo, Sha};
use crate::core::rollout::push::{self, Brought, Ground, Pushed};
use crate::core::rollout::{Rollout, Source};
use crate::handlers::desk::Desk;
use crate::handlers::{App, note, pull};
use crate::store::{Change, Handled};

/// The event's own words.
pub(super) struct Push<'a> {
    pub(super) repo: &'a Repo,
    pub(super) branch: &'a Branch,
    pub(super) before: &'a Sha,
    pub(super) after: &'a Sha,
    pub(super) actor: &'a Actor,
}

/// Starts the rollout of a push to the default branch.
pub(super) async fn pushed(app: &App, push: &Push<'_>, now: Timestamp) -> anyhow::Result<Handled> {
    let desk = Desk::open(app, push.repo).await?;
    if desk.mirror.default_branch().await?.as_ref() != Some(push.branch) {
        return Ok(Handled::default());
    }
    desk.mirror
        .fetch(&[&pull::kept(&format!("refs/heads/{}", push.branch))])
        .await?;
    let tip = app.store.tip(push.repo, push.branch).await?;
    if tip.as_ref() == Some(push.after) {
        return Ok(Handled::default());
    }
    let moved = Change::Tip {
        repo: push.repo.clone(),
        branch: push.branch.clone(),
        tip: push.after.clone(),
    };
    let pushed = found(app, &desk, push, tip)
        .await
        .context("cannot tell whose push it is")?;
    let ground = match ground(&desk, &pushed).await? {
        Ok(ground) => ground,
        Err(why) => {
            let effects = vec![apply_status(
                &pushed,
                StatusState::Failure,
                format!("nothing applies: {why}"),
            )];
            return Ok(Handled {
                changes: vec![moved],
                effects,
            });
        }
    };
    let open = app.store.open_rollouts(push.repo, push.branch).await?;
    let met: Vec<_> = open
        .into_iter()
        .filter(|(it, _)| push::meets(it, &ground.reach))
        .collect();
    let old: Vec<Rollout> = met.iter().map(|(rollout, _)| rollout.clone()).collect();

    let rollout = push::rollout_of(pushed.clone(), &ground, &old, now);

    act(
        app,
        &pushed,
        Found {
            rollout,
            met,
            moved,
        },
        now,
    )
}

/// A rollout that a push starts, the ones it takes over, and the branch's new tip.
struct Found {
    rollout: Option<Rollout>,
    met: Vec<(Rollout, i64)>,
    moved: Change,
}

fn act(app: &App, pushed: &Pushed, found: Found, now: Timestamp) -> anyhow::Result<Handled> {
    let mut handled = Handled {
        changes: vec![found.moved],
        effects: Vec::new(),
    };
    let Some(mut rollout) = found.rollout else {
        let said = "no root is reached: nothing to do".to_owned();
        handled
            .effects
            .push(apply_status(pushed, StatusState::Success, said));
        return Ok(handled);
    };
    for (mut old, version) in found.met {
        handled
            .effects
            .extend(old.planning_jobs().map(Effect::Cancel));
        old.stand_down(now);
        handled.changes.push(Change::Rollout {
            rollout: Box::new(old),
            version,
        });
    }
    handled
        .effects
        .extend(rollout.advance(now).map(|it| Effect::Start(Box::new(it))));
    handled.effects.extend(note::about(app, &rollout)?);
    handled.changes.push(Change::Rollout {
        rollout: Box::new(rollout),
        version: 0,
    });
    Ok(handled)
}

/// Finds where the branch stood, which pull requests brought what was pushed, and whose change it is.
async fn found(
    app: &App,
    desk: &Desk,
    push: &Push<'_>,
    tip: Option<Sha>,
) -> anyhow::Result<Pushed> {
    let before = tip.unwrap_or_else(|| push.before.clone());
    let brought = Brought::new(&pulls_of_each(desk, push, &before).await?);
    let mut authors = Vec::new();
    for number in &brought.pulls {
        let pull = Pull {
            repo: push.repo.clone(),
            number: *number,
        };
        authors.extend(authors_of(app, desk, &pull).await?);
    }
    Ok(Pushed {
        repo: push.repo.clone(),
        branch: push.branch.clone(),
        before,
        after: push.after.clone(),
        authors: brought.authors(authors, push.actor),
        pulls: brought.pulls,
    })
}

/// The pull requests of each commit of the push, oldest commit first.
async fn pulls_of_each(
    desk: &Desk,
    push: &Push<'_>,
    before: &Sha,
) -> anyhow::Result<Vec<Vec<PullNumber>>> {
    let commits = if is_known(desk, before).await? {
        desk.mirror.commits(before, push.after).await?
    } else {
        vec![push.after.clone()]
    };
    let mut pulls = Vec::new();
    for commit in &commits {
        let found = desk.forge.pulls_of_commit(push.repo, commit).await;
        pulls.push(found.context("cannot ask which pull request brought a commit")?);
    }
    Ok(pulls)
}

/// Whose change a pull request is, with those who pushed to it as far as we saw.
async fn authors_of(app: &App, desk: &Desk, pull: &Pull) -> anyhow::Result<Vec<Actor>> {
    if let Some(memory) = app.store.pull(pull).await? {
        return Ok(memory.authors());
    }
    let details = desk.forge.pull(pull).await;
    Ok(vec![
        details.context("cannot read the pull request")?.author,
    ])
}

/// Whether a commit is there to compare with: a branch's first push has none, and a forced one may have lost it.
async fn is_known(desk: &Desk, commit: &Sha) -> anyhow::Result<bool> {
    Ok(!commit.is_zero() && desk.mirror.has(commit).await?)
}

/// Reads the pushed commit's estate and what the push reaches in it; or why nothing can be let out.
async fn ground(desk: &Desk, pushed: &Pushed) -> anyhow::Result<Result<Ground, String>> {
    let project = match desk.project(&pushed.after).await? {
        Ok(project) => project,
        Err(why) => return Ok(Err(why)),
    };
    let files = desk.mirror.texts(&pushed.after, is_estate_file).await?;
    let estate = match Estate::read(&files, &project) {
        Ok(estate) => estate,
        Err(errors) => {
            return Ok(Err(errors
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(" ")));
        }
    };
    let reach = if is_known(desk, &pushed.before).await? {
        estate.reach(&desk.mirror.changed(&pushed.before, &pushed.after).await?)
    } else {
        estate.everything()
    };
    Ok(Ok(Ground {
        estate,
        reach,
        parallelism: project.parallelism,
    }))
}

fn apply_status(pushed: &Pushed, state: StatusState, description: String) -> Effect {
    Effect::Status {
        repo: pushed.repo.clone(),
        commit: pushed.after.clone(),
        status: Status {
            context: StatusContext::Apply,
            state,
            description,
            url: None,
        },
    }
}

/// The branch a rollout's lane is named after.
pub(super) fn branch_of(rollout: &Rollout) -> Option<&Branch> {
    match &rollout.source {
        Source::Push { branch, .. } => Some(branch),
        Source::Pull { .. } => None,
    }
}
