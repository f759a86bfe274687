//! A branch moved: the default branch's push starts a rollout of what it reaches.

use anyhow::Context;
use jiff::Timestamp;

use crate::core::effect::{Effect, Status, StatusContext, StatusState};
use crate::core::estate::{Estate, is_estate_file};
use crate::core::ids::{Actor, Branch, Pull, PullNumber, Repo, Sha};
use crate::core::rollout::push::{self, Ground, Pushed};
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
    let pushed = match who(app, &desk, push, tip).await {
        Ok(pushed) => pushed,
        Err(error) => return Err(error.context("cannot tell whose push it is")),
    };
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

/// Whose change it is: the authors of the pull requests that brought its commits, and the pusher of what came without.
async fn who(app: &App, desk: &Desk, push: &Push<'_>, tip: Option<Sha>) -> anyhow::Result<Pushed> {
    let before = tip.unwrap_or_else(|| push.before.clone());
    let commits = match before.is_zero() || !desk.mirror.has(&before).await? {
        true => vec![push.after.clone()],
        false => desk.mirror.commits(&before, push.after).await?,
    };
    let (mut pulls, mut direct): (Vec<PullNumber>, _) = (Vec::new(), false);
    for commit in &commits {
        let found = desk
            .forge
            .pulls_of_commit(push.repo, commit)
            .await
            .context("cannot ask which pull request it is")?;
        direct |= found.is_empty();
        pulls.extend(
            found
                .into_iter()
                .filter(|it| !pulls.contains(it))
                .collect::<Vec<_>>(),
        );
    }
    let mut authors = Vec::new();
    for number in &pulls {
        let pull = Pull {
            repo: push.repo.clone(),
            number: *number,
        };
        authors.push(
            app.forge(push.repo)?
                .pull(&pull)
                .await
                .context("cannot read the pull request")?
                .author,
        );
    }
    if direct {
        authors.push(push.actor.clone());
    }
    let (repo, branch, after) = (push.repo.clone(), push.branch.clone(), push.after.clone());
    Ok(Pushed {
        repo,
        branch,
        before,
        after,
        authors,
        pulls,
    })
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
    let known = !pushed.before.is_zero() && desk.mirror.has(&pushed.before).await?;
    let reach = match known {
        true => estate.reach(&desk.mirror.changed(&pushed.before, &pushed.after).await?),
        false => estate.everything(),
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
