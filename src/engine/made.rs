//! A plan file this process made: nothing else is ever applied.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use sha2::{Digest, Sha256};

use crate::core::ids::Root;
use crate::core::key::hex;

/// A plan file this process made, and what was in it.
#[derive(Debug)]
pub(super) struct Made {
    file: PathBuf,
    sha256: String,
}

impl Made {
    /// Closes a plan file to others and remembers what is in it.
    pub(super) fn seal(file: PathBuf) -> io::Result<Self> {
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
        let sha256 = sha256_of(&file)?;
        Ok(Self { file, sha256 })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.file
    }

    /// Whether it still holds what it held when it was made.
    pub(super) fn is_untouched(&self) -> bool {
        sha256_of(&self.file).is_ok_and(|it| it == self.sha256)
    }

    /// Removes a plan that will not be applied.
    pub(super) fn discard(self) {
        // The whole folder goes when the job ends; this one only goes early.
        let _ = fs::remove_file(self.file);
    }
}

/// The plan files of this process, one a root.
#[derive(Debug, Default)]
pub(super) struct AllMade(Mutex<BTreeMap<Root, Made>>);

impl AllMade {
    pub(super) fn keep(&self, root: &Root, made: Made) {
        self.all().insert(root.clone(), made);
    }

    /// A plan file is applied once.
    pub(super) fn take(&self, root: &Root) -> Option<Made> {
        self.all().remove(root)
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<Root, Made>> {
        self.0
            .lock()
            .expect("nothing panics while it holds this lock")
    }
}

/// Makes a folder that only we can look into, with those above it.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn sha256_of(file: &Path) -> io::Result<String> {
    Ok(hex(&Sha256::digest(fs::read(file)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_file_that_somebody_wrote_to_is_not_the_one_that_was_made() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("plan");
        fs::write(&file, "tide").unwrap();
        let made = Made::seal(file.clone()).unwrap();
        assert!(made.is_untouched());
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        fs::write(&file, "surge").unwrap();
        assert!(!made.is_untouched());
    }
}
