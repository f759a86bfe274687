//! The order to stop, as a person or a supervisor gives it to a process.

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Cancels `stop` at the first interrupt or request to end. The signals are listened for before this returns.
pub(super) fn on_signal(stop: &CancellationToken) -> anyhow::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for interrupts")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for the end")?;
    let stop = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        tracing::info!("stopping: what is under way is finished first");
        stop.cancel();
    });
    Ok(())
}
