//! Claims lanes and calls handlers; what they decide is stored with the delivery's end.

use std::time::Duration;

use anyhow::anyhow;
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::core::event::Event;
use crate::handlers::{self, App};
use crate::store::{Claimed, Finished, Handled};

/// How long a handler may take before another worker may try.
const LEASE: SignedDuration = SignedDuration::from_mins(5);
/// How long to wait for a bell that other processes cannot ring.
const POLL: Duration = Duration::from_millis(500);
/// Tries after which a delivery is given up.
const TRIES: u32 = 12;

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
                tracing::error!(error = format!("{error:#}"), "the inbox cannot be read");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

/// Handles the oldest delivery whose lane is free; false when there is none.
pub(super) async fn handle_next(app: &App, worker: &str) -> anyhow::Result<bool> {
    let Some(claimed) = app
        .store
        .inbox
        .claim(worker, Timestamp::now(), LEASE)
        .await?
    else {
        return Ok(false);
    };
    let lane = claimed.event.lane();
    let span = tracing::info_span!("delivery", id = %claimed.id, event = claimed.event.name(), lane = lane.as_str());
    finish(app, &claimed).instrument(span).await?;
    Ok(true)
}

async fn finish(app: &App, claimed: &Claimed) -> anyhow::Result<()> {
    let error = match handle(app, &claimed.event).await {
        Ok(handled) => match app
            .store
            .inbox
            .finish(claimed, &handled, Timestamp::now())
            .await?
        {
            Finished::Stored => {
                tracing::info!(effects = handled.effects.len(), "handled");
                return Ok(());
            }
            Finished::LeaseLost => return Ok(()),
            Finished::Moved => anyhow!("the rollout moved while this was handled"),
        },
        Err(error) => error,
    };
    let (now, error) = (Timestamp::now(), format!("{error:#}"));
    if claimed.attempt >= TRIES {
        tracing::error!(attempts = claimed.attempt, error, "a delivery was given up");
        app.store.inbox.give_up(claimed, &error, &[], now).await?;
    } else {
        tracing::warn!(
            attempt = claimed.attempt,
            error,
            "a delivery failed and is tried again"
        );
        app.store
            .inbox
            .fail(claimed, &error, now + pause(claimed.attempt))
            .await?;
    }
    Ok(())
}

/// Calls the handlers on a task of their own, so that a bug in one is an error of this delivery alone.
async fn handle(app: &App, event: &Event) -> anyhow::Result<Handled> {
    let (app, event) = (app.clone(), event.clone());
    let task = tokio::spawn(
        async move { handlers::handle(&app, &event, Timestamp::now()).await }.in_current_span(),
    );
    match task.await {
        Ok(handled) => handled,
        Err(error) => Err(anyhow!("the handler broke: {error}")),
    }
}

/// A quarter of a second, doubled with each try, two minutes at most.
fn pause(attempt: u32) -> SignedDuration {
    let millis = 250_i64
        .checked_shl(attempt.saturating_sub(1).min(16))
        .unwrap_or(i64::MAX);
    SignedDuration::from_millis(millis.min(120_000))
}
