//! The beat beside the work: it keeps the job's lease, carries what the job is doing, and brings the order to stop.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::engine::Checkout;
use crate::runner::Runner;

/// Beats are no closer together than this, however much there is to say.
const CLOSEST: Duration = Duration::from_secs(1);

/// A job's lease, renewed until this is dropped. When it cannot be, the job is stopped before it ends.
pub(super) struct Lease {
    task: JoinHandle<()>,
    lost: Arc<OnceLock<String>>,
}

impl Lease {
    /// Starts beating.
    pub(super) fn keep(runner: &Arc<Runner>, checkout: &Checkout) -> Self {
        let lost = Arc::default();
        let beats = Beats {
            runner: runner.clone(),
            doing: checkout.doing.subscribe(),
            stop: checkout.stop.clone(),
            lost: Arc::clone(&lost),
        };
        Self {
            task: tokio::spawn(beats.run()),
            lost,
        }
    }

    /// Why the lease was lost, in a sentence; none while it holds.
    pub(super) fn lost(&self) -> Option<String> {
        self.lost.get().cloned()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Beats {
    runner: Arc<Runner>,
    doing: watch::Receiver<String>,
    stop: CancellationToken,
    lost: Arc<OnceLock<String>>,
}

impl Beats {
    /// Goes on after an order to stop: writing the state takes as long as it takes.
    async fn run(mut self) {
        loop {
            let doing = self.doing.borrow_and_update().clone();
            let answer = match self.runner.beat(&doing).await {
                Ok(answer) => answer,
                Err(error) => {
                    let why =
                        format!("The job was stopped, because its lease was lost: {error:#}.");
                    self.lost.get_or_init(|| why);
                    self.stop.cancel();
                    return;
                }
            };
            if answer.cancel {
                self.stop.cancel();
            }
            self.pause(Duration::from_secs(answer.lease_seconds.into()) / 3)
                .await;
        }
    }

    /// Waits for news, but not so long that the lease could end.
    async fn pause(&mut self, longest: Duration) {
        let shortest = CLOSEST.min(longest);
        sleep(shortest).await;
        // Whoever says what is being done is gone when the work is; then there is no news, only time.
        if let Ok(Err(_)) = timeout(longest - shortest, self.doing.changed()).await {
            sleep(longest - shortest).await;
        }
    }
}
