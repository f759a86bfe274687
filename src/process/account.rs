//! A user of this machine that programs are run as, and what the modes of files let such a user do.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, lchown};
use std::path::{Path, PathBuf};

use nix::unistd::{Uid, User, geteuid};

const READ: u32 = 0o4;
const WRITE: u32 = 0o2;
const ENTER: u32 = 0o1;

/// A user's number and its own group. What is run as it is in no other group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    uid: u32,
    gid: u32,
}

impl Account {
    /// The user of that name; none when there is no such user here.
    pub fn named(name: &str) -> io::Result<Option<Self>> {
        Ok(User::from_name(name)?.map(|it| Self::of(&it)))
    }

    /// The user of that number. One that has no name here gets the group of the same number.
    pub fn numbered(uid: u32) -> io::Result<Self> {
        let known = User::from_uid(Uid::from_raw(uid))?;
        Ok(known.map_or(Self { uid, gid: uid }, |it| Self::of(&it)))
    }

    fn of(user: &User) -> Self {
        Self {
            uid: user.uid.as_raw(),
            gid: user.gid.as_raw(),
        }
    }

    /// Whether this process may start programs as other users and give files to them.
    pub fn can_be_changed() -> bool {
        geteuid().is_root()
    }

    /// Whether it may read everything.
    pub fn is_root(self) -> bool {
        self.uid == 0
    }

    /// The user's and the group's number.
    pub(super) fn numbers(self) -> (u32, u32) {
        (self.uid, self.gid)
    }

    /// Gives it a file or folder; a symlink is not followed.
    pub fn own(self, path: &Path) -> io::Result<()> {
        lchown(path, Some(self.uid), Some(self.gid))
    }

    /// Whether it could read a file or list a folder, which it also could after changing what is its own.
    pub fn may_read(self, path: &Path) -> io::Result<bool> {
        Ok(self.is_let(&fs::metadata(path)?, READ) && self.stopped_at(path)?.is_none())
    }

    /// Whether it could put other files in a folder's place.
    pub fn may_write(self, path: &Path) -> io::Result<bool> {
        Ok(self.is_let(&fs::metadata(path)?, WRITE) && self.stopped_at(path)?.is_none())
    }

    /// The outermost folder on the way to a path that it may not enter; none when it gets there.
    pub fn stopped_at(self, path: &Path) -> io::Result<Option<PathBuf>> {
        let real = path.canonicalize()?;
        let mut above: Vec<&Path> = real.ancestors().skip(1).collect();
        above.reverse();
        for folder in above {
            if !self.is_let(&fs::metadata(folder)?, ENTER) {
                return Ok(Some(folder.to_owned()));
            }
        }
        Ok(None)
    }

    fn is_let(self, about: &Metadata, what: u32) -> bool {
        let mode = about.mode();
        if about.uid() == self.uid || self.is_root() {
            true
        } else if about.gid() == self.gid {
            (mode >> 3) & what != 0
        } else {
            mode & what != 0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    /// Whoever it is, nothing on this machine is theirs.
    const STRANGER: Account = Account {
        uid: 61_001,
        gid: 61_001,
    };

    /// A folder with these modes and a file in it with those.
    fn file(folder: u32, file: u32) -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("secret");
        fs::write(&path, "x").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(file)).unwrap();
        fs::set_permissions(home.path(), Permissions::from_mode(folder)).unwrap();
        (home, path)
    }

    #[test]
    fn a_stranger_reads_what_all_may_read_in_folders_that_all_may_enter() {
        for (folder, mode, may) in [
            (0o711, 0o644, true),
            (0o711, 0o640, false),
            (0o711, 0o600, false),
            (0o700, 0o644, false),
            (0o744, 0o644, false),
        ] {
            let (_home, path) = file(folder, mode);
            assert_eq!(
                STRANGER.may_read(&path).unwrap(),
                may,
                "{folder:o} {mode:o}"
            );
        }
    }

    #[test]
    fn what_is_its_own_is_no_secret_to_it_whatever_its_modes() {
        let (_home, path) = file(0o711, 0o000);
        let owner = fs::metadata(&path).unwrap();
        let owner = Account {
            uid: owner.uid(),
            gid: 61_001,
        };
        assert!(owner.may_read(&path).unwrap());
    }

    #[test]
    fn the_folder_that_stops_a_stranger_is_named() {
        let (home, path) = file(0o700, 0o644);
        let real = home.path().canonicalize().unwrap();
        assert_eq!(STRANGER.stopped_at(&path).unwrap(), Some(real));
    }

    #[test]
    fn a_user_that_is_not_here_is_none() {
        assert_eq!(Account::named("no-such-user-here").unwrap(), None);
        assert_eq!(Account::numbered(61_001).unwrap(), STRANGER);
    }
}
