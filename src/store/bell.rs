//! Wakes whoever waits for something to claim.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

/// Rings when something was filed, stored, performed or ended in this process.
#[derive(Clone, Default)]
pub struct Bell(Arc<watch::Sender<u64>>);

/// One who waits for the bell; a ring while it is busy is not lost.
pub struct Listener(watch::Receiver<u64>);

impl Bell {
    pub(super) fn ring(&self) {
        self.0.send_modify(|rings| *rings = rings.wrapping_add(1));
    }

    /// Listens from now on.
    pub fn listen(&self) -> Listener {
        Listener(self.0.subscribe())
    }
}

impl Listener {
    /// Forgets the rings so far; called before looking whether there is something to do.
    pub fn forget(&mut self) {
        self.0.mark_unchanged();
    }

    /// Waits for a ring since the last [`Listener::forget`], at most this long.
    pub async fn wait(&mut self, longest: Duration) {
        // No ring for that long is as good as one, and so is a bell that is gone.
        let _ = tokio::time::timeout(longest, self.0.changed()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_ring_while_its_listener_is_busy_wakes_it_later() {
        let bell = Bell::default();
        let mut listener = bell.listen();
        listener.forget();
        bell.ring();
        let longest = Duration::from_secs(60);
        let before = std::time::Instant::now();
        listener.wait(longest).await;
        assert!(before.elapsed() < longest);
    }
}
