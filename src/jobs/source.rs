//! The commit a job works on: its files, and what they say of the repository.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::time::Duration;

use anyhow::{Context, bail};

use crate::core::config::project::{self, Project};
use crate::core::estate::{Estate, Files, Survey, is_estate_file};
use crate::core::ids::{Root, Sha};
use crate::core::job::{JobSpec, Work};
use crate::engine::Checkout;
use crate::git::{self, Repository};
use crate::jobs::Unusable;
use crate::runner::Runner;

/// The pauses after fetches that failed; the one after the last of them counts.
const PAUSES: [Duration; 3] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
];

/// The commit a job works on and the one it is compared with, both in one repository without history.
pub(super) struct Source {
    repository: Repository,
    commit: Sha,
    base: Sha,
    files: Files,
    project: Project,
}

impl Source {
    /// Fetches the job's commits and checks the first one out. An order to stop ends it.
    pub(super) async fn fetch(
        runner: &Runner,
        spec: &JobSpec,
        checkout: &Checkout,
    ) -> anyhow::Result<Self> {
        checkout
            .doing
            .send_replace("fetching the commit".to_owned());
        let commits = match spec.work {
            Work::Plan { .. } => vec![&spec.commit, &spec.base],
            Work::Wave { .. } => vec![&spec.commit],
        };
        let repository = tokio::select! {
            fetched = fetched(runner, checkout, &commits) => fetched?,
            () = checkout.stop.cancelled() => bail!("the job was told to stop before it had its commit"),
        };
        Self::read(repository, spec.commit.clone(), spec.base.clone()).await
    }

    /// Reads what a commit's files say, in a repository that holds it and its base.
    pub(super) async fn read(
        repository: Repository,
        commit: Sha,
        base: Sha,
    ) -> anyhow::Result<Self> {
        let files = repository.texts(&commit, is_estate_file).await?;
        let project = read_project(&repository, &commit).await?;
        Ok(Self {
            repository,
            commit,
            base,
            files,
            project,
        })
    }

    /// The files that say what the roots are.
    pub(super) fn files(&self) -> &Files {
        &self.files
    }

    /// What the commit's own project file says. Its structure counts here; its gate and approval rules never do: the
    /// server reads those at the base.
    pub(super) fn project(&self) -> &Project {
        &self.project
    }

    /// The commit's roots and what it reaches of them, compared with its base; and the roots it touches or takes away
    /// as they were there.
    pub(super) async fn survey(&self) -> anyhow::Result<(Survey, Estate)> {
        let estate = Estate::read(&self.files, &self.project).map_err(|errors| all(&errors))?;
        let changed = self.repository.changed(&self.base, &self.commit).await?;
        let reach = estate.reach(&changed);
        let before = self.before(&reach.touched, &changed).await?;
        let taken_away = estate.taken_away(&before);
        let survey = Survey {
            estate,
            reach,
            taken_away,
        };
        Ok((survey, before))
    }

    /// Roots at the base, as far as they can be read: the touched ones, those whose files changed, and all of them when
    /// other directories were roots there.
    async fn before(&self, touched: &BTreeSet<Root>, changed: &[String]) -> anyhow::Result<Estate> {
        let there = read_project(&self.repository, &self.base).await;
        let roots = there.unwrap_or_default().roots;
        let has_other_roots = roots != self.project.roots;
        let folders: BTreeSet<&str> = (touched.iter().map(Root::as_str))
            .chain(changed.iter().map(|it| folder_of(it)))
            .collect();
        let keep = |path: &str| {
            is_estate_file(path) && (has_other_roots || folders.contains(folder_of(path)))
        };
        let files = self.repository.texts(&self.base, keep).await?;
        let project = Project {
            roots,
            ..Project::default()
        };
        Ok(Estate::read(&files, &project).unwrap_or_default())
    }
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(".", |(folder, _)| folder)
}

/// Checks the commits out. A fetch that fails may have met a server that restarts, so after a pause the spec is asked
/// for again, which waits until the server is back, and the fetch is made again.
async fn fetched(
    runner: &Runner,
    checkout: &Checkout,
    commits: &[&Sha],
) -> anyhow::Result<Repository> {
    let remote = runner.remote()?;
    for pause in PAUSES {
        let error = match git::checkout(&checkout.dir, &remote, commits).await {
            Ok(repository) => return Ok(repository),
            Err(error) => error,
        };
        tracing::warn!(
            error = format!("{error:#}"),
            "the commit could not be fetched, trying again"
        );
        tokio::time::sleep(pause).await;
        runner.spec().await?;
        tokio::fs::remove_dir_all(&checkout.dir).await?;
    }
    git::checkout(&checkout.dir, &remote, commits).await
}

async fn read_project(repository: &Repository, commit: &Sha) -> anyhow::Result<Project> {
    let name = project::FILE;
    let Some(bytes) = repository.show(commit, name).await? else {
        return Ok(Project::default());
    };
    let text = String::from_utf8(bytes).with_context(|| format!("{name} is not text"))?;
    project::read(name, &text)
        .map_err(|complaints| all(&complaints).context(format!("{name} has mistakes")))
}

/// All of several mistakes at once, a line each.
fn all(mistakes: &[impl Display]) -> anyhow::Error {
    let lines: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
    Unusable(lines.join("\n")).into()
}
