//! The ledger as the server remembers it: what became of it since the last tip that was seen, and who accepts a
//! rewritten one.

use anyhow::{Context, bail};
use jiff::Timestamp;

use crate::core::effect::Effect;
use crate::core::event::Event;
use crate::core::gate::change::Change as Became;
use crate::core::ids::{DeliveryId, Repo, Sha, WaveNumber};
use crate::core::rollout::Rollout;
use crate::handlers::desk::Desk;
use crate::handlers::{App, note, push};
use crate::ledger::{Acceptance, Ledger, Look, NewLine};
use crate::store::{Change, Handled};

/// How often we look again when another process remembers a tip at the same moment.
const TRIES: u32 = 5;

/// Looks at a ledger beside the tip that was last seen, and remembers where it stands unless it was rewritten.
pub(super) async fn look(app: &App, repo: &Repo, ledger: &Ledger) -> anyhow::Result<Look> {
    let branch = Ledger::branch();
    for _ in 0..TRIES {
        let seen = app.store.tip(repo, &branch).await?;
        let look = ledger.look(seen.as_ref()).await?;
        let moved = look.tip.as_ref().filter(|it| Some(*it) != seen.as_ref());
        let (Some(tip), Became::Grown | Became::Revoked(_)) = (moved, &look.change) else {
            return Ok(look);
        };
        if app
            .store
            .move_tip((repo, &branch), seen.as_ref(), tip)
            .await?
        {
            return Ok(look);
        }
    }
    bail!("the ledger of {} moves too fast to be seen", repo.name)
}

/// Remembers where our own facts stand before anybody acts on them: whoever takes them away from there is found out.
pub(super) async fn remember(
    app: &App,
    repo: &Repo,
    ledger: &Ledger,
    at: &Sha,
) -> anyhow::Result<()> {
    let branch = Ledger::branch();
    for _ in 0..TRIES {
        let seen = app.store.tip(repo, &branch).await?;
        if let Some(seen) = &seen
            && ledger.is_behind(at, seen).await?
        {
            return Ok(());
        }
        if let Became::Rewritten(_) = ledger.judge(seen.as_ref(), Some(at)).await? {
            bail!("the ledger of {} was rewritten meanwhile", repo.name);
        }
        if app
            .store
            .move_tip((repo, &branch), seen.as_ref(), at)
            .await?
        {
            return Ok(());
        }
    }
    bail!("the ledger of {} moves too fast to be seen", repo.name)
}

/// Somebody pushed to the ledger: a wave whose approval came goes on, and one that waits says when it was rewritten.
pub(super) async fn pushed(app: &App, repo: &Repo, now: Timestamp) -> anyhow::Result<Handled> {
    let desk = Desk::open(app, repo).await?;
    let ledger = Ledger::of(desk.mirror.clone());
    let look = look(app, repo, &ledger).await?;
    let mut handled = Handled::default();
    for (mut rollout, version) in open(app, &desk, repo).await? {
        if let Became::Rewritten(rewrite) = &look.change {
            if rollout.hold(rewrite, now) {
                handled.effects.extend(note::about(app, &rollout)?);
                let rollout = Box::new(rollout);
                handled.changes.push(Change::Rollout { rollout, version });
            }
            continue;
        }
        let facts = ledger.facts(&look, &rollout.op).await?;
        let called = rollout.let_go(&facts).and_then(|it| call(&rollout, it));
        let called = called.map(|it| Effect::Follow(Box::new(it)));
        handled.effects.extend(called);
    }
    Ok(handled)
}

fn call(rollout: &Rollout, wave: WaveNumber) -> Option<Event> {
    Some(Event::WaveCalled {
        repo: rollout.repo.clone(),
        branch: push::branch_of(rollout)?.clone(),
        rollout: rollout.id.clone(),
        wave,
    })
}

async fn open(app: &App, desk: &Desk, repo: &Repo) -> anyhow::Result<Vec<(Rollout, i64)>> {
    match desk.mirror.default_branch().await? {
        Some(branch) => Ok(app.store.open_rollouts(repo, &branch).await?),
        None => Ok(Vec::new()),
    }
}

/// A rewritten ledger, as somebody looks at it before they accept it.
#[derive(Debug)]
pub struct Rewritten {
    pub look: Look,
    /// The tip that was last seen.
    pub seen: Sha,
    ledger: Ledger,
}

/// Looks whether a repository's ledger was rewritten; none when it only grew.
pub async fn rewritten(app: &App, repo: &Repo) -> anyhow::Result<Option<Rewritten>> {
    let desk = Desk::open(app, repo).await?;
    let ledger = Ledger::of(desk.mirror);
    let seen = app.store.tip(repo, &Ledger::branch()).await?;
    let look = ledger.look(seen.as_ref()).await?;
    let is_rewritten = matches!(look.change, Became::Rewritten(_));
    Ok(seen
        .filter(|_| is_rewritten)
        .map(|seen| Rewritten { look, seen, ledger }))
}

/// Lets a rewritten ledger count from the tip that somebody looked at, says on it who accepted it, and has the waves
/// asked again that waited for that. Answers the new tip; none when the ledger moved after they looked.
pub async fn accept(
    app: &App,
    repo: &Repo,
    (rewritten, by): (&Rewritten, &str),
    now: Timestamp,
) -> anyhow::Result<Option<Sha>> {
    let acceptance = Acceptance {
        by,
        seen: &rewritten.seen,
        tip: rewritten.look.tip.as_ref(),
        at: now,
    };
    let (on, records) = (rewritten.look.tip.as_ref(), [NewLine::from(acceptance)]);
    let Some(tip) = rewritten.ledger.write_on(on, &records).await? else {
        return Ok(None);
    };
    let (branch, seen) = (Ledger::branch(), Some(&rewritten.seen));
    if !app.store.move_tip((repo, &branch), seen, &tip).await? {
        return Ok(None);
    }
    let look = rewritten.ledger.look(Some(&tip)).await?;
    let desk = Desk::open(app, repo).await?;
    for (rollout, _) in open(app, &desk, repo).await? {
        let facts = rewritten.ledger.facts(&look, &rollout.op).await?;
        if let Some(event) = rollout.let_go(&facts).and_then(|it| call(&rollout, it)) {
            let id = DeliveryId::try_from(format!("accepted/{tip}/{}", rollout.id));
            let id = id.context("a tip and a rollout make an id")?;
            app.store.inbox.file_own(&id, &event, now).await?;
        }
    }
    Ok(Some(tip))
}
