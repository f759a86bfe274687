//! A preview without a server: what a checkout's commit reaches is planned where it is, and nobody is told.
//!
//! # Why a checkout of its own
//!
//! The commit is planned in a fresh folder, as every job plans it, so that its digests are those a server would
//! compute: what is not committed is not in them, and a plan leaves nothing behind in the folder people work in.

use std::path::PathBuf;

use anyhow::Context;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::core::estate::Survey;
use crate::core::ids::{Root, Sha};
use crate::core::outcome::Outcome;
use crate::core::plan::Planned;
use crate::core::remote::Remote;
use crate::core::rollout::planning;
use crate::engine::{self, Checkout};
use crate::git::{self, Repository};
use crate::jobs::plan;
use crate::jobs::source::Source;
use crate::jobs::workplace::Workplace;
use crate::jobs::{Unusable, report};

/// What is to be planned, and with what.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// A folder in the checkout.
    pub folder: PathBuf,
    /// A private folder for what goes with the preview.
    pub scratch: PathBuf,
    /// The revision to compare with; none is the first parent.
    pub base: Option<String>,
    /// No more than these roots; all that is reached when there are none.
    pub only: Vec<Root>,
    /// Names and values that the tool's processes get.
    pub env: Vec<(String, String)>,
    /// The tool's program, when the repository is not asked.
    pub tool: Option<PathBuf>,
    /// Our own program, which has the tool interrupted when this process dies.
    pub wrapper: Option<PathBuf>,
    pub stop: CancellationToken,
    /// What is being done, for people.
    pub doing: watch::Sender<String>,
}

/// What a commit reaches, and the plans of it.
#[derive(Clone, Debug)]
pub struct Found {
    pub commit: Sha,
    pub base: Sha,
    /// Whether something in the checkout is not committed, and so not planned.
    pub is_dirty: bool,
    pub survey: Survey,
    pub plans: Vec<Planned>,
    pub outcome: Outcome,
}

/// Plans what the checked-out commit reaches. What cannot be asked of this checkout is an [`Unusable`].
pub async fn preview(wanted: &Wanted) -> anyhow::Result<Found> {
    let here = Repository::around(&wanted.folder).ok_or_else(|| {
        Unusable(format!(
            "{} is not in a git repository: run this in a checkout",
            wanted.folder.display()
        ))
    })?;
    let (commit, base) = commits(&here, wanted).await?;
    let is_dirty = here.is_dirty().await?;
    let workplace = Workplace::make(&wanted.scratch)?;
    let mut checkout = checkout(&workplace, wanted);
    let remote = Remote {
        url: here.dir().display().to_string(),
        authorization: None,
    };
    wanted
        .doing
        .send_replace("checking the commit out".to_owned());
    let repository = git::checkout(&checkout.dir, &remote, &[&commit, &base])
        .await
        .context("cannot plan in a folder of its own")?;
    let source = Source::read(repository, commit.clone(), base.clone()).await?;
    let (survey, before) = source.survey().await?;
    planning::are_reached(&wanted.only, Some(&survey))
        .map_err(|refusal| Unusable(format!("{} {}", refusal.why, refusal.hint)))?;
    checkout.files.clone_from(source.files());
    checkout.parallelism = source.project().parallelism as usize;
    let commands = source.project().commands.clone();
    let (given, wrapper) = (wanted.tool.as_deref(), wanted.wrapper.clone());
    let report = match survey.reach.members.is_empty() {
        true => report(Outcome::Done),
        false => {
            let engine = engine::choose(commands, given, wrapper, &checkout)?;
            plan::run(
                checkout,
                engine.as_ref(),
                (survey.clone(), before),
                &wanted.only,
            )
            .await?
        }
    };
    Ok(Found {
        commit,
        base,
        is_dirty,
        survey,
        plans: report.plans,
        outcome: report.outcome,
    })
}

async fn commits(here: &Repository, wanted: &Wanted) -> anyhow::Result<(Sha, Sha)> {
    let head = here.resolve("HEAD").await?;
    let commit = head.ok_or_else(|| Unusable("there is no commit here yet".to_owned()))?;
    let (named, hint) = match &wanted.base {
        Some(named) => (
            named.as_str(),
            "fetch it, or name another commit with `--base`",
        ),
        None => (
            "HEAD^1",
            "fetch more history (such as `--depth 2`), or name a commit with `--base`",
        ),
    };
    let base = here.resolve(named).await?;
    let unknown = || {
        Unusable(format!(
            "there is no commit `{named}` to compare with: {hint}"
        ))
    };
    Ok((commit, base.ok_or_else(unknown)?))
}

fn checkout(workplace: &Workplace, wanted: &Wanted) -> Checkout {
    Checkout {
        env: wanted.env.clone(),
        stop: wanted.stop.clone(),
        doing: wanted.doing.clone(),
        ..Checkout::below(workplace.folder())
    }
}
