//! One server a data folder: two would take each other's work for left over, and fetch into the same mirrors.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::time::Instant;

/// How long a server waits for the one before it to stop: a replaced server finishes what is under way first.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// How often it looks.
const LOOK: Duration = Duration::from_millis(200);

/// The data folder, ours for as long as this lives. The kernel lets go of it however the process ends.
#[derive(Debug)]
pub(super) struct Alone {
    _file: File,
}

impl Alone {
    /// Takes the data folder, and waits when another server has it.
    pub(super) async fn take(data: &Path, patience: Duration) -> anyhow::Result<Self> {
        let path = data.join("lock");
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).mode(0o600);
        let file = file
            .open(&path)
            .with_context(|| format!("cannot open {}", path.display()))?;
        let start = Instant::now();
        let mut is_said = false;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => {
                    return Err(error).with_context(|| format!("cannot lock {}", path.display()));
                }
            }
            if start.elapsed() >= patience {
                bail!(
                    "another server uses the data folder {}: stop it, or give this one a folder of its own",
                    data.display()
                );
            }
            if !is_said {
                tracing::warn!(data = %data.display(), "another server uses the data folder: waiting until it stops");
                is_said = true;
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_data_folder_has_one_server_at_a_time() {
        let data = tempfile::tempdir().unwrap();
        let first = Alone::take(data.path(), Duration::ZERO).await.unwrap();
        let second = Alone::take(data.path(), Duration::ZERO).await.unwrap_err();
        assert!(second.to_string().contains("another server"), "{second}");
        drop(first);
        Alone::take(data.path(), Duration::ZERO).await.unwrap();
    }

    #[tokio::test]
    async fn a_server_waits_for_the_one_before_it_to_stop() {
        let data = tempfile::tempdir().unwrap();
        let first = Alone::take(data.path(), Duration::ZERO).await.unwrap();
        let next = Alone::take(data.path(), Duration::from_secs(60));
        let leave = async {
            tokio::task::yield_now().await;
            drop(first);
        };
        let (next, ()) = tokio::join!(next, leave);
        next.unwrap();
    }
}
