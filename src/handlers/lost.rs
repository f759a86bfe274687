//! Looks at a repository for what its forge never delivered.

use anyhow::Context;
use jiff::Timestamp;

use crate::core::ids::Repo;
use crate::core::lost::{Found, Look, Lost, Moment, Remembered, Seen, Tips};
use crate::handlers::App;
use crate::handlers::desk::Desk;
use crate::ledger::Ledger;

/// Finds what was not heard of since the last look, and answers what the next one starts from.
pub async fn look(
    app: &App,
    repo: &Repo,
    seen: &Seen,
    (moment, now): (Moment, Timestamp),
) -> anyhow::Result<(Vec<Lost>, Seen)> {
    let desk = Desk::open(app, repo).await?;
    let me = desk.forge.me().await?;
    let found = find(&desk, repo, seen).await?;
    let remembered = remembered(app, repo, &found).await?;

    let look = Look {
        repo,
        seen,
        found: &found,
        moment,
        now,
    };
    Ok((look.lost(&remembered, me.id), look.seen_next()))
}

async fn find(desk: &Desk, repo: &Repo, seen: &Seen) -> anyhow::Result<Found> {
    let changes = desk.forge.changes_since(repo, seen.since()).await;
    Ok(Found {
        changes: changes.context("cannot list what changed")?,
        tips: desk.mirror.tips(&Ledger::branch()).await?,
    })
}

async fn remembered(app: &App, repo: &Repo, found: &Found) -> anyhow::Result<Remembered> {
    let mut remembered = Remembered::default();
    for listed in &found.changes.pulls {
        let pull = &listed.details.pull;
        let memory = app.store.pull(pull).await?;
        remembered.pulls.extend(memory.map(|it| (pull.number, it)));
    }
    let mut tips = Tips::new();
    for branch in found.tips.keys() {
        let tip = app.store.tip(repo, branch).await?;
        tips.extend(tip.map(|it| (branch.clone(), it)));
    }
    Ok(Remembered { tips, ..remembered })
}
