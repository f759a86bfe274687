//! A branch moved: the default branch's push starts a rollout of what it reaches.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::Context;
use jiff::Timestamp;

use crate::core::effect::{Effect, Status, StatusContext, StatusState};
use crate::core::ids::{Actor, Branch, Pull, PullNumber, Repo, Sha};
use crate::core::rollout::pull::{PullDetails, PullState};
use crate::core::rollout::push::{self, Brought, Ground, Pushed, Standing, Step};
use crate::core::rollout::{Rollout, Source};
use crate::handlers::desk::{Desk, kept};
use crate::handlers::{App, note};
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
    let heads = desk.mirror.heads(push.branch).await?;
    let (Some(tip), true) = (heads.tip, heads.default.as_ref() == Some(push.branch)) else {
        return Ok(Handled::default());
    };
    let standing = standing(app, &desk, push, tip).await?;
    let Some(after) = standing.next().cloned() else {
        return Ok(Handled::default());
    };
    let pushed = found(app, &desk, push, (standing.handled, after)).await;
    let pushed = pushed.context("cannot tell whose push it is")?;
    let ground = match ground(&desk, &pushed).await? {
        Ok(ground) => ground,
        Err(why) => return Ok(held_up(&pushed, &why)),
    };
    let open = app.store.open_rollouts(push.repo, push.branch).await?;
    let met: Vec<_> = open
        .into_iter()
        .filter(|(it, _)| push::meets(it, &ground.reach))
        .collect();
    let old: Vec<Rollout> = met.iter().map(|(rollout, _)| rollout.clone()).collect();

    let rollout = push::rollout_of(pushed.clone(), &ground, &old, now);

    let moved = Change::Tip {
        repo: pushed.repo.clone(),
        branch: pushed.branch.clone(),
        tip: pushed.after.clone(),
    };
    let found = Found {
        rollout,
        met,
        moved,
    };
    act(app, &pushed, found, now)
}

/// Nothing can be let out, so the tip does not count as handled: the push that mends it brings what this one did.
fn held_up(pushed: &Pushed, why: &str) -> Handled {
    let said = format!("nothing applies: {why}");
    Handled {
        changes: Vec::new(),
        effects: vec![apply_status(pushed, StatusState::Failure, said)],
    }
}

/// Looks where the branch stands beside what was handled and what the event said.
async fn standing(app: &App, desk: &Desk, push: &Push<'_>, tip: Sha) -> anyhow::Result<Standing> {
    let name = format!("refs/heads/{}", push.branch);
    desk.mirror.fetch(&[&kept(&name)]).await?;
    let handled = app.store.tip(push.repo, push.branch).await?;
    let said = push.after.clone();
    let is_on_the_way = is_known(desk, &said).await?
        && desk.mirror.is_ancestor(&said, &tip).await?
        && match &handled {
            Some(handled) => said != *handled && descends(desk, handled, &said).await?,
            None => true,
        };
    Ok(Standing {
        handled,
        tip,
        said,
        is_on_the_way,
    })
}

/// Whether a commit came on top of another that is still there.
async fn descends(desk: &Desk, older: &Sha, newer: &Sha) -> anyhow::Result<bool> {
    Ok(is_known(desk, older).await? && desk.mirror.is_ancestor(older, newer).await?)
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

/// Finds which pull requests brought what was pushed, and whose change it is.
async fn found(
    app: &App,
    desk: &Desk,
    push: &Push<'_>,
    (handled, after): (Option<Sha>, Sha),
) -> anyhow::Result<Pushed> {
    let before = handled.unwrap_or_else(|| push.before.clone());
    let step = if before.is_zero() || descends(desk, &before, &after).await? {
        Step::Forward
    } else {
        Step::Forced
    };
    let (brought, authors) = brought(app, desk, push, (&before, &after)).await?;
    Ok(Pushed {
        repo: push.repo.clone(),
        branch: push.branch.clone(),
        before,
        after,
        authors: brought.authors(authors, push.actor, step),
        pulls: brought.pulls,
    })
}

/// The merged pull requests of the push's commits, and whose they are.
async fn brought(
    app: &App,
    desk: &Desk,
    push: &Push<'_>,
    (before, after): (&Sha, &Sha),
) -> anyhow::Result<(Brought, Vec<Actor>)> {
    let mut of_each = pulls_of_each(desk, push, (before, after)).await?;
    let named: BTreeSet<PullNumber> = of_each.iter().flatten().copied().collect();
    let mut authors = Vec::new();
    for number in named {
        let pull = Pull {
            repo: push.repo.clone(),
            number,
        };
        let details = desk.forge.pull(&pull).await;
        let details = details.context("cannot read the pull request")?;
        // A commit may also be part of a pull request that is still open, on top of the merged one.
        if is_in(desk, &details, after).await? {
            authors.extend(authors_of(app, &pull, details).await?);
        } else {
            for pulls in &mut of_each {
                pulls.retain(|it| *it != number);
            }
        }
    }
    Ok((Brought::new(&of_each), authors))
}

/// Whether a pull request is merged, or all of it is in what was pushed.
async fn is_in(desk: &Desk, details: &PullDetails, after: &Sha) -> anyhow::Result<bool> {
    match details.state {
        PullState::Merged { .. } => Ok(true),
        PullState::Open | PullState::Closed => descends(desk, &details.head, after).await,
    }
}

/// The pull requests of each commit of the push, oldest commit first.
async fn pulls_of_each(
    desk: &Desk,
    push: &Push<'_>,
    (before, after): (&Sha, &Sha),
) -> anyhow::Result<Vec<Vec<PullNumber>>> {
    let commits = if is_known(desk, before).await? {
        desk.mirror.commits(before, after).await?
    } else {
        vec![after.clone()]
    };
    let asked = push::asked_about(commits);
    let mut pulls = Vec::new();
    if asked.is_cut {
        pulls.push(Vec::new());
    }
    for commit in &asked.commits {
        let found = desk.forge.pulls_of_commit(push.repo, commit).await;
        pulls.push(found.context("cannot ask which pull request brought a commit")?);
    }
    Ok(pulls)
}

/// Whose change a pull request is, with those who pushed to it as far as we saw.
async fn authors_of(app: &App, pull: &Pull, details: PullDetails) -> anyhow::Result<Vec<Actor>> {
    let memory = app.store.pull(pull).await?;
    Ok(memory.map_or_else(|| vec![details.author], |it| it.authors()))
}

/// Whether a commit is there to compare with: a branch's first push has none, and a forced one may have lost it.
async fn is_known(desk: &Desk, commit: &Sha) -> anyhow::Result<bool> {
    Ok(!commit.is_zero() && desk.mirror.has(commit).await?)
}

/// Reads the pushed commit's estate and what the push reaches in it; or why nothing can be let out.
async fn ground(desk: &Desk, pushed: &Pushed) -> anyhow::Result<Result<Ground, String>> {
    let read = match desk.read(&pushed.after).await? {
        Ok(read) => read,
        Err(why) => return Ok(Err(why)),
    };
    let estate = Arc::clone(&read.estate);
    let reach = if is_known(desk, &pushed.before).await? {
        estate.reach(&desk.mirror.changed(&pushed.before, &pushed.after).await?)
    } else {
        estate.everything()
    };
    Ok(Ok(Ground {
        estate,
        reach,
        parallelism: read.project.parallelism,
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
