//! Claims lanes and calls handlers; what they decide is stored with the delivery's end.

use std::time::Duration;

use anyhow::anyhow;
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

use crate::core::event::Event;
use crate::forge::ForgeError;
use crate::handlers::{self, App};
use crate::outbox::{TRIES, pause};
use crate::serve::given_up;
use crate::store::{Claimed, Finished, Handled};

/// How long a claim holds without being renewed: as long as a lane stands still after a crash.
const LEASE: SignedDuration = SignedDuration::from_secs(30);
/// How often a claim is renewed while its delivery is handled.
const RENEWAL: Duration = Duration::from_secs(10);
/// How long a handler may take; it never waits for Terraform.
const LIMIT: Duration = Duration::from_secs(600);
/// How long to wait for a bell that other processes cannot ring.
const POLL: Duration = Duration::from_millis(500);

/// Handles deliveries until told to stop; the one under way is finished first.
pub(super) async fn run(app: App, worker: String, stop: CancellationToken) {
    let mut bell = app.store.bell().listen();
    while !stop.is_cancelled() {
        bell.forget();
        match handle_next(&app, &worker).await {
            Ok(true) => {}
            Ok(false) => {
                tokio::select! { () = bell.wait(POLL) => {}, () = stop.cancelled() => {} }
            }
            Err(error) => {
                tracing::error!(%error, "the inbox cannot be read");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

/// Handles the oldest delivery whose lane is free; false when there is none.
async fn handle_next(app: &App, worker: &str) -> sqlx::Result<bool> {
    let inbox = &app.store.inbox;
    let Some(claimed) = inbox.claim(worker, Timestamp::now(), LEASE).await? else {
        return Ok(false);
    };
    let lane = claimed.event.lane();
    let span = tracing::info_span!("delivery", id = %claimed.id, event = claimed.event.name(), lane = lane.as_str());
    handle(app, &claimed).instrument(span).await?;
    Ok(true)
}

/// Handles a delivery that is ours to its end, or gives it back.
pub(super) async fn handle(app: &App, claimed: &Claimed) -> sqlx::Result<()> {
    if claimed.attempt > TRIES {
        let why = "the server came to its end whenever it was tried";
        return give_up(app, claimed, why).await;
    }
    let handled = tokio::select! {
        handled = call_handler(app, &claimed.event) => handled,
        () = keep(app, claimed) => {
            tracing::warn!("another worker took the delivery over");
            return Ok(());
        }
    };
    match handled {
        Ok(handled) => finish(app, claimed, &handled).await,
        Err(error) => failed(app, claimed, &error).await,
    }
}

/// Calls the handlers on a task of their own, so that a bug in one is an error of this delivery alone.
async fn call_handler(app: &App, event: &Event) -> anyhow::Result<Handled> {
    let (app, event) = (app.clone(), event.clone());
    let handling = async move { handlers::handle(&app, &event, Timestamp::now()).await };
    let task = AbortOnDropHandle::new(tokio::spawn(handling.in_current_span()));
    match tokio::time::timeout(LIMIT, task).await {
        Ok(Ok(handled)) => handled,
        Ok(Err(error)) => Err(anyhow!("a bug in tidegate: its handler broke ({error})")),
        Err(_) => Err(anyhow!("it took longer than {} seconds", LIMIT.as_secs())),
    }
}

/// Renews a claim for as long as it is ours.
async fn keep(app: &App, claimed: &Claimed) {
    loop {
        tokio::time::sleep(RENEWAL).await;
        match app
            .store
            .inbox
            .renew(claimed, Timestamp::now(), LEASE)
            .await
        {
            Ok(true) => {}
            Ok(false) => return,
            // The next renewal may come through; if none does, what was handled is not stored.
            Err(error) => tracing::warn!(%error, "the claim of a delivery cannot be renewed"),
        }
    }
}

async fn finish(app: &App, claimed: &Claimed, handled: &Handled) -> sqlx::Result<()> {
    let (inbox, now) = (&app.store.inbox, Timestamp::now());
    match inbox.finish(claimed, handled, now).await? {
        Finished::Stored => tracing::info!(effects = handled.effects.len(), "handled"),
        Finished::LeaseLost => tracing::warn!("another worker took the delivery over"),
        Finished::Moved => {
            let error = anyhow!("the rollout moved while this was handled");
            return failed(app, claimed, &error).await;
        }
    }
    Ok(())
}

async fn failed(app: &App, claimed: &Claimed, error: &anyhow::Error) -> sqlx::Result<()> {
    let (attempt, why) = (claimed.attempt, format!("{error:#}"));
    if attempt >= TRIES {
        return give_up(app, claimed, &why).await;
    }
    let again = again_at(error, attempt, Timestamp::now());
    tracing::warn!(attempt, %again, error = why, "a delivery failed and is tried again");
    app.store.inbox.fail(claimed, &why, again).await
}

/// When to try again: after a growing pause, and not before the forge takes requests again.
fn again_at(error: &anyhow::Error, attempt: u32, now: Timestamp) -> Timestamp {
    limited_until(error)
        .unwrap_or(now)
        .max(now + pause(attempt))
}

/// Until when a forge wants no requests, where an error comes from that.
pub(super) fn limited_until(error: &anyhow::Error) -> Option<Timestamp> {
    error.chain().find_map(|it| match it.downcast_ref()? {
        ForgeError::Limited { until } => Some(*until),
        ForgeError::NotFound(_) | ForgeError::Forbidden(_) | ForgeError::Other(_) => None,
    })
}

/// Ends a delivery without success; whoever looks at its pull request is told.
async fn give_up(app: &App, claimed: &Claimed, why: &str) -> sqlx::Result<()> {
    tracing::error!(
        attempts = claimed.attempt,
        error = why,
        "a delivery was given up"
    );
    let told = given_up::answer(claimed, why);
    let (inbox, now) = (&app.store.inbox, Timestamp::now());
    inbox.give_up(claimed, why, told.as_slice(), now).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn a_limit_deep_in_an_error_is_waited_for() {
        let now = Timestamp::UNIX_EPOCH;
        let until = now + SignedDuration::from_mins(20);
        let limited = Err::<(), _>(ForgeError::Limited { until })
            .context("cannot read the pull request")
            .context("cannot look at it")
            .unwrap_err();
        assert_eq!(again_at(&limited, 1, now), until);
        assert_eq!(again_at(&anyhow!("down"), 1, now), now + pause(1));
    }

    #[test]
    fn a_limit_that_has_passed_still_pauses() {
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(1);
        let until = Timestamp::UNIX_EPOCH;
        let limited = ForgeError::Limited { until }.into();
        assert_eq!(again_at(&limited, 3, now), now + pause(3));
    }
}
