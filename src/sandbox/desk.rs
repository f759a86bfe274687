//! The sandbox's state on disk: one document, replaced whole by every change.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use tokio::sync::{RwLock, RwLockReadGuard};

use crate::sandbox::model::Document;

/// The document's name in the sandbox's folder.
const FILE: &str = "sandbox.json";

/// The state, in memory and on disk.
pub(crate) struct Desk {
    file: PathBuf,
    document: RwLock<Document>,
}

impl Desk {
    /// Whether a folder holds a sandbox.
    pub(crate) fn is_there(dir: &Path) -> bool {
        dir.join(FILE).is_file()
    }

    /// Writes the first state of a sandbox.
    pub(crate) fn create(dir: &Path, document: &Document) -> anyhow::Result<()> {
        fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        // Hooks' secrets are in it.
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700))?;
        write_whole(&dir.join(FILE), &serde_json::to_vec(document)?)
    }

    pub(crate) fn open(dir: &Path) -> anyhow::Result<Self> {
        let file = dir.join(FILE);
        let bytes = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let document = serde_json::from_slice(&bytes)
            .with_context(|| format!("{} is not a sandbox's state", file.display()))?;
        Ok(Self {
            file,
            document: RwLock::new(document),
        })
    }

    pub(crate) async fn read(&self) -> RwLockReadGuard<'_, Document> {
        self.document.read().await
    }

    /// Changes the state, all of it or nothing: what `change` refuses and what cannot be written is not there.
    pub(crate) async fn change<T, E: From<anyhow::Error>>(
        &self,
        change: impl FnOnce(&mut Document) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut document = self.document.write().await;
        let mut changed = document.clone();
        let value = change(&mut changed)?;
        let bytes = serde_json::to_vec(&changed).map_err(anyhow::Error::from)?;
        write_whole(&self.file, &bytes)?;
        *document = changed;
        Ok(value)
    }
}

/// Replaces a file in one step, readable by its owner alone: after a crash it is the old one or the new one.
pub(crate) fn write_whole(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let write = || {
        let draft = file.with_extension("draft");
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut open = options.open(&draft)?;
        open.write_all(bytes)?;
        open.sync_data()?;
        fs::rename(&draft, file)
    };
    write().with_context(|| format!("cannot write {}", file.display()))
}
