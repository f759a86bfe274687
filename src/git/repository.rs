//! A repository's folder on this machine, bare or not: what is read of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail, ensure};

use crate::core::ids::Sha;
use crate::git::command;
use crate::process::Program;

/// How much text of one commit is read at once.
const TEXTS_CAP: usize = 256 << 20;

/// A repository's folder: objects are asked for by commit, so what it has checked out does not matter.
#[derive(Clone, Debug)]
pub struct Repository {
    dir: PathBuf,
}

/// One entry of a commit's tree, read recursively.
struct Entry {
    mode: String,
    object: String,
    path: String,
}

impl Entry {
    fn is_file(&self) -> bool {
        self.mode.starts_with("100")
    }

    fn is_symlink(&self) -> bool {
        self.mode == "120000"
    }
}

impl Repository {
    pub(super) fn at(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
        }
    }

    /// The repository that a folder is in; none when it is in none.
    pub fn around(folder: &Path) -> Option<Self> {
        let is_top = |it: &&Path| it.join(".git").exists();
        folder.ancestors().find(is_top).map(Self::at)
    }

    /// The commit that a branch, a tag or another revision names; none when there is no such commit here.
    pub async fn resolve(&self, revision: &str) -> anyhow::Result<Option<Sha>> {
        let commit = format!("{revision}^{{commit}}");
        let args = [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &commit,
        ];
        let ran = command::ran(self.git(args), &format!("find {revision}")).await?;
        match ran.code() {
            Some(0) => sha(&ran.stdout).map(Some),
            _ => Ok(None),
        }
    }

    /// Whether files differ from the commit that is checked out, or are not committed yet.
    pub async fn is_dirty(&self) -> anyhow::Result<bool> {
        let program = self.git(["status", "--porcelain", "--untracked-files=normal"]);
        let said = self.output(program, "look for uncommitted changes").await?;
        Ok(!said.is_empty())
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether the commit is here.
    pub async fn has(&self, commit: &Sha) -> anyhow::Result<bool> {
        let program = self
            .git(["cat-file", "--batch-check"])
            .stdin(format!("{commit}\n").into_bytes());
        let said = self
            .output(program, &format!("look for commit {commit}"))
            .await?;
        Ok(text(&said).split(' ').nth(1) == Some("commit"))
    }

    /// The bytes of a file at a commit, none when it has no such file. A symlink is an error: it is not followed,
    /// and whoever reads rules must not mistake it for an absent file.
    pub async fn show(&self, commit: &Sha, path: &str) -> anyhow::Result<Option<Vec<u8>>> {
        let what = format!("read {path} at {commit}");
        let program = self.git(["ls-tree", "-z", commit.as_str(), "--", path]);
        let entries = entries(&self.output(program, &what).await?)?;
        let Some(entry) = entries.iter().find(|it| it.path == path) else {
            return Ok(None);
        };
        ensure!(
            !entry.is_symlink(),
            "cannot {what}: it is a symlink, which is not followed"
        );
        if !entry.is_file() {
            return Ok(None);
        }
        let program = self.git(["cat-file", "blob", &entry.object]);
        Ok(Some(self.output(program, &what).await?))
    }

    /// Paths of all files at a commit, sorted; symlinks and submodules are not files.
    pub async fn paths(&self, commit: &Sha) -> anyhow::Result<Vec<String>> {
        let entries = self.tree(commit).await?;
        let files = entries.into_iter().filter(Entry::is_file);
        Ok(files.map(|it| it.path).collect())
    }

    /// Paths of all symlinks at a commit, sorted.
    pub async fn symlinks(&self, commit: &Sha) -> anyhow::Result<Vec<String>> {
        let entries = self.tree(commit).await?;
        let links = entries.into_iter().filter(Entry::is_symlink);
        Ok(links.map(|it| it.path).collect())
    }

    /// Texts of the files at a commit whose path is to be kept, by path; a symlink's text is the path it holds. Bytes
    /// that are no UTF-8 are replaced.
    pub async fn texts(
        &self,
        commit: &Sha,
        keep: impl Fn(&str) -> bool + Send,
    ) -> anyhow::Result<BTreeMap<String, String>> {
        let mut wanted = self.tree(commit).await?;
        wanted.retain(|it| (it.is_file() || it.is_symlink()) && keep(&it.path));
        if wanted.is_empty() {
            return Ok(BTreeMap::new());
        }
        let objects: String = wanted.iter().map(|it| it.object.clone() + "\n").collect();
        let program = self
            .git(["cat-file", "--batch"])
            .stdin(objects.into_bytes())
            .cap(TEXTS_CAP);
        let said = self
            .output(program, &format!("read the texts at {commit}"))
            .await?;
        let mut rest = said.as_slice();
        let mut texts = BTreeMap::new();
        for entry in wanted {
            let blob = next_blob(&mut rest)
                .with_context(|| format!("cannot read {} at {commit}", entry.path))?;
            texts.insert(entry.path, text(blob));
        }
        Ok(texts)
    }

    /// Texts of the files that stand in the folder now, committed or not, whose path is to be kept; what git ignores is
    /// left out. A symlink's text is the path it holds.
    pub async fn texts_here(
        &self,
        keep: impl Fn(&str) -> bool + Send,
    ) -> anyhow::Result<BTreeMap<String, String>> {
        let args = [
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ];
        let program = self.git(args).cap(TEXTS_CAP);
        let said = self.output(program, "list the files").await?;
        let mut texts = BTreeMap::new();
        for path in records(&said).map(text).filter(|it| keep(it)) {
            let file = self.dir.join(&path);
            let link = std::fs::read_link(&file).map(|it| it.to_string_lossy().into_owned());
            // A file that was deleted and not committed so is listed too.
            if let Ok(found) = link.or_else(|_| std::fs::read(&file).map(|it| text(&it))) {
                texts.insert(path, found);
            }
        }
        Ok(texts)
    }

    /// Paths that differ between two commits, a rename as both its names.
    pub async fn changed(&self, from: &Sha, to: &Sha) -> anyhow::Result<Vec<String>> {
        let program = self.git([
            "diff-tree",
            "-r",
            "--no-renames",
            "--ignore-submodules=none",
            "-z",
            "--name-only",
            from.as_str(),
            to.as_str(),
        ]);
        let said = self
            .output(program, &format!("compare {from} with {to}"))
            .await?;
        Ok(records(&said).map(text).collect())
    }

    /// The newest commit both descend from, none when they have nothing in common.
    pub async fn merge_base(&self, one: &Sha, other: &Sha) -> anyhow::Result<Option<Sha>> {
        let what = format!("find what {one} and {other} have in common");
        let program = self.git(["merge-base", one.as_str(), other.as_str()]);
        let ran = command::ran(program, &what).await?;
        match ran.code() {
            Some(0) => sha(&ran.stdout).map(Some),
            Some(1) => Ok(None),
            _ => bail!("cannot {what}: {}", command::complaint(&ran)),
        }
    }

    /// Whether `descendant` is `ancestor` or came after it.
    pub async fn is_ancestor(&self, ancestor: &Sha, descendant: &Sha) -> anyhow::Result<bool> {
        let what = format!("see whether {descendant} came after {ancestor}");
        let program = self.git([
            "merge-base",
            "--is-ancestor",
            ancestor.as_str(),
            descendant.as_str(),
        ]);
        let ran = command::ran(program, &what).await?;
        match ran.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => bail!("cannot {what}: {}", command::complaint(&ran)),
        }
    }

    /// Commits that `to` has and `from` has not, newest first.
    pub async fn commits(&self, from: &Sha, to: &Sha) -> anyhow::Result<Vec<Sha>> {
        let program = self.git(["rev-list", to.as_str(), &format!("^{from}")]);
        let said = self
            .output(program, &format!("list the commits from {from} to {to}"))
            .await?;
        text(&said).lines().map(|it| sha(it.as_bytes())).collect()
    }

    /// Commits up to `tip` that changed a file, newest first; of a merge, only what it merged into.
    pub async fn history(&self, tip: &Sha, path: &str) -> anyhow::Result<Vec<Sha>> {
        let program = self
            .git(["rev-list", "--first-parent", tip.as_str(), "--", path])
            .env("GIT_LITERAL_PATHSPECS", "1");
        let said = self
            .output(program, &format!("list the changes of {path} up to {tip}"))
            .await?;
        text(&said).lines().map(|it| sha(it.as_bytes())).collect()
    }

    /// The tree of a commit: equal trees are equal files.
    pub async fn tree_of(&self, commit: &Sha) -> anyhow::Result<Sha> {
        let program = self.git(["rev-parse", "--verify", &format!("{commit}^{{tree}}")]);
        let said = self
            .output(program, &format!("find the tree of {commit}"))
            .await?;
        sha(&said)
    }

    pub(super) fn git<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Program {
        command::git(&self.dir).args(args)
    }

    pub(super) async fn output(&self, program: Program, what: &str) -> anyhow::Result<Vec<u8>> {
        command::output(program, what)
            .await
            .with_context(|| format!("in {}", self.dir.display()))
    }

    async fn tree(&self, commit: &Sha) -> anyhow::Result<Vec<Entry>> {
        let program = self
            .git(["ls-tree", "-r", "-z", "--full-tree", commit.as_str()])
            .cap(TEXTS_CAP);
        let said = self
            .output(program, &format!("list the files at {commit}"))
            .await?;
        entries(&said)
    }
}

/// Reads one commit id.
pub(super) fn sha(said: &[u8]) -> anyhow::Result<Sha> {
    Ok(Sha::try_from(text(said).trim())?)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn records(said: &[u8]) -> impl Iterator<Item = &[u8]> {
    said.split(|it| *it == 0).filter(|it| !it.is_empty())
}

/// Reads `<mode> <type> <object>\t<path>` records.
fn entries(said: &[u8]) -> anyhow::Result<Vec<Entry>> {
    let entry = |record: &[u8]| {
        let record = text(record);
        let (about, path) = record.split_once('\t')?;
        let mut words = about.split(' ');
        Some(Entry {
            mode: words.next()?.to_owned(),
            object: words.nth(1)?.to_owned(),
            path: path.to_owned(),
        })
    };
    records(said)
        .map(|it| entry(it).ok_or_else(|| anyhow!("git lists a tree in a form we do not know")))
        .collect()
}

/// Takes the next `<object> blob <size>\n<bytes>\n` off what `cat-file --batch` printed.
fn next_blob<'a>(rest: &mut &'a [u8]) -> anyhow::Result<&'a [u8]> {
    let end = rest.iter().position(|it| *it == b'\n');
    let end = end.context("git printed less than it was asked for")?;
    let head = text(&rest[..end]);
    let size: Option<usize> = head.rsplit(' ').next().and_then(|it| it.parse().ok());
    let start = end + 1;
    match size {
        Some(size) if rest.len() > start + size => {
            let blob = &rest[start..start + size];
            *rest = &rest[start + size + 1..];
            Ok(blob)
        }
        Some(_) | None => bail!("git says: {head}"),
    }
}
