//! A job's own folder, and what goes with the job.

use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// What a job makes in its folder and takes away at its end: files of the commit; plan files and tool data.
const GOING: [&str; 2] = ["checkout", "scratch"];

/// A job's own folder. What goes with the job is removed when this is dropped; a state that could not be uploaded
/// stays, in `kept`.
pub(super) struct Workplace {
    folder: PathBuf,
}

impl Workplace {
    /// Makes the folders of a job in `folder`, closed to others. It refuses a folder where another job is or was.
    pub(super) fn make(folder: &Path) -> anyhow::Result<Self> {
        let mut builder = DirBuilder::new();
        builder.mode(0o700);
        for name in GOING {
            let made = folder.join(name);
            builder.create(&made).with_context(|| {
                format!(
                    "cannot make {}: is another job in this folder?",
                    made.display()
                )
            })?;
        }
        let folder = folder
            .canonicalize()
            .with_context(|| format!("cannot find {}", folder.display()))?;
        Ok(Self { folder })
    }

    /// The job's folder, by its real path.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        for name in GOING {
            let going = self.folder.join(name);
            match fs::remove_dir_all(&going) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => {
                    tracing::warn!(folder = %going.display(), %error, "cannot remove a job's folder");
                }
            }
        }
    }
}
