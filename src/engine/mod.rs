//! What plans and applies the runs of a wave. A new engine is a file here and an arm in each match of this file.

mod check;
mod made;
pub mod op;
mod progress;
mod scrub;
pub mod terraform;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use async_trait::async_trait;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::core::config::commands::Commands;
use crate::core::estate::Files;
use crate::core::gate::admit::Cleared;
use crate::core::ids::{Op, Root, WaveNumber};
use crate::core::job::Applied;
use crate::core::plan::Planned;
use crate::process;

pub use check::check;

/// A commit's files on this machine, and where an engine may keep its own beside them.
#[derive(Clone, Debug)]
pub struct Checkout {
    /// The repository's root directory. What is planned in it names it `$CHECKOUT`, so it may be another each time.
    pub dir: PathBuf,
    /// Texts of the files that say what the roots are, as they are committed.
    pub files: Files,
    /// Private to this job (0700), beside the checkout: plan files and tool data. It goes when the job ends.
    pub scratch: PathBuf,
    /// What must outlive the job is put here: a state that could not be uploaded.
    pub kept: PathBuf,
    /// Names and values that the tool's processes get beside a short list of safe ones.
    pub env: Vec<(String, String)>,
    /// Runs planned or applied at once.
    pub parallelism: usize,
    /// Roots whose state a root reads, where it is known: tells what a root without a plan waits for.
    pub reads: BTreeMap<Root, BTreeSet<Root>>,
    /// The op whose gates the runs wait at.
    pub op: Op,
    /// The wave of each root that is planned here.
    pub waves: BTreeMap<Root, WaveNumber>,
    /// Interrupts what runs, and lets nothing new start.
    pub stop: CancellationToken,
    /// What is being done, for people.
    pub doing: watch::Sender<String>,
}

impl Checkout {
    /// Files in the folder `checkout` of a job's own folder, planned one at a time, with nothing passed on.
    pub fn below(job: &Path) -> Self {
        Self {
            dir: job.join("checkout"),
            files: Files::new(),
            scratch: job.join("scratch"),
            kept: job.join("kept"),
            env: Vec::new(),
            parallelism: 1,
            reads: BTreeMap::new(),
            op: Op::tf_apply(),
            waves: BTreeMap::new(),
            stop: CancellationToken::new(),
            doing: watch::Sender::new("starting".to_owned()),
        }
    }
}

/// Something that plans and applies. Plan files never leave the job that made them.
#[async_trait]
pub trait Engine: Send + Sync {
    /// Plans `members`. A member that fails to plan is a [`Planned`] that says why; an error means none could be tried.
    /// `lock` is whether the plans will be applied, and so hold the state's lock while they are made.
    async fn plan(
        &self,
        checkout: &Checkout,
        members: &[Root],
        lock: Lock,
    ) -> anyhow::Result<Vec<Planned>>;

    /// Applies exactly what was cleared, from the plan files this process made. A failure lets the others finish.
    async fn apply(&self, checkout: &Checkout, cleared: &Cleared) -> anyhow::Result<Vec<Applied>>;
}

/// Whether a plan takes the state's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// It will be applied by this process.
    Take,
    /// A preview: it must not hold up an apply.
    Leave,
}

/// The tools that plan and apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    OpenTofu,
    Terraform,
}

/// A tool's program on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    pub kind: EngineKind,
    pub program: PathBuf,
    /// Our own program, which has the tool interrupted when this process dies (`tidegate leash`); none in tests.
    pub wrapper: Option<PathBuf>,
}

impl EngineKind {
    /// The name of its program.
    pub fn program(self) -> &'static str {
        match self {
            Self::OpenTofu => "tofu",
            Self::Terraform => "terraform",
        }
    }

    /// The name people know it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenTofu => "OpenTofu",
            Self::Terraform => "Terraform",
        }
    }
}

impl Tool {
    /// The tool that `given` is, or else the one the repository names, or else the one on `PATH`.
    pub fn detect(given: Option<&Path>, checkout: &Checkout) -> anyhow::Result<Self> {
        if let Some(program) = given {
            return Ok(Self::new(kind_of(program), program.to_owned()));
        }
        match named(checkout) {
            Some((kind, why)) => Self::on_path(kind).with_context(|| missing(kind, why)),
            None => installed().into_iter().next().context(
                "neither `tofu` nor `terraform` is on the runner's PATH: install one of them there",
            ),
        }
    }

    fn on_path(kind: EngineKind) -> Option<Self> {
        process::find(kind.program()).map(|program| Self::new(kind, program))
    }

    fn new(kind: EngineKind, program: PathBuf) -> Self {
        Self {
            kind,
            program,
            wrapper: None,
        }
    }

    /// The engine that uses it.
    pub fn engine(self) -> Arc<dyn Engine> {
        match self.kind {
            EngineKind::OpenTofu | EngineKind::Terraform => {
                Arc::new(terraform::Terraform::new(self))
            }
        }
    }
}

/// The engine for a checkout: the project's own commands, or else the tool that [`Tool::detect`] finds. `wrapper` is our
/// own program, which has what runs interrupted when this process dies.
pub fn choose(
    commands: Option<Commands>,
    given: Option<&Path>,
    wrapper: Option<PathBuf>,
    checkout: &Checkout,
) -> anyhow::Result<Arc<dyn Engine>> {
    if let Some(commands) = commands {
        return Ok(Arc::new(op::OwnCommands::new(commands, wrapper)));
    }
    let tool = Tool::detect(given, checkout)?;
    Ok(Tool { wrapper, ..tool }.engine())
}

fn kind_of(program: &Path) -> EngineKind {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    if name.contains("tofu") {
        EngineKind::OpenTofu
    } else {
        EngineKind::Terraform
    }
}

/// The tool a repository names, and by what.
fn named(checkout: &Checkout) -> Option<(EngineKind, &'static str)> {
    let files = || checkout.files.keys().map(Path::new);
    let folders: BTreeSet<&Path> = files()
        .filter_map(Path::parent)
        .chain([Path::new("")])
        .collect();
    let has = |name: &str| {
        let mut paths = folders.iter().map(|it| checkout.dir.join(it).join(name));
        paths.any(|it| it.is_file())
    };
    if has(".opentofu-version") {
        Some((EngineKind::OpenTofu, "`.opentofu-version`"))
    } else if has(".terraform-version") {
        Some((EngineKind::Terraform, "`.terraform-version`"))
    } else if checkout.files.keys().any(|it| is_tofu_file(it)) {
        Some((EngineKind::OpenTofu, "its `.tofu` files"))
    } else {
        None
    }
}

fn is_tofu_file(path: &str) -> bool {
    path.ends_with(".tofu") || path.ends_with(".tofu.json")
}

/// The tools on `PATH`, the one that plans where a repository names none first.
pub fn installed() -> Vec<Tool> {
    [EngineKind::OpenTofu, EngineKind::Terraform]
        .into_iter()
        .filter_map(Tool::on_path)
        .collect()
}

/// The name of the tool on `PATH` that plans where a repository names none.
pub fn found_tool() -> Option<String> {
    let first = installed().into_iter().next();
    first.map(|it| it.kind.program().to_owned())
}

fn missing(kind: EngineKind, why: &str) -> String {
    format!(
        "the repository asks for {} by {why}, but `{}` is not on the runner's PATH: install it there",
        kind.name(),
        kind.program()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkout_with(folder: &Path, files: &[&str]) -> Checkout {
        let mut checkout = Checkout::below(folder);
        for file in files {
            let path = checkout.dir.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
            checkout.files.insert((*file).to_owned(), String::new());
        }
        checkout
    }

    fn named_by(files: &[&str]) -> Option<EngineKind> {
        let folder = tempfile::tempdir().unwrap();
        named(&checkout_with(folder.path(), files)).map(|(kind, _)| kind)
    }

    #[test]
    fn a_repository_names_its_tool() {
        let (tofu, terraform) = (Some(EngineKind::OpenTofu), Some(EngineKind::Terraform));
        for (files, expected) in [
            (&["app/main.tf"][..], None),
            (&[".terraform-version", "app/main.tofu"], terraform),
            (&[".terraform-version", ".opentofu-version"], tofu),
            (&["app/.terraform-version"], terraform),
            (&["app/main.tofu"], tofu),
        ] {
            assert_eq!(named_by(files), expected, "{files:?}");
        }
    }

    #[test]
    fn a_given_program_is_taken_whatever_the_repository_says() {
        let folder = tempfile::tempdir().unwrap();
        let checkout = checkout_with(folder.path(), &[".opentofu-version"]);
        let given = Path::new("/opt/terraform-1.11");
        let tool = Tool::detect(Some(given), &checkout).unwrap();
        assert_eq!(
            (tool.kind, tool.program.as_path()),
            (EngineKind::Terraform, given)
        );
    }
}
