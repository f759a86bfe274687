//! Any command that can plan: two argv templates of the project's own, never a shell.
//!
//! The plan command writes what applying would do to the plan file, as [`crate::core::plan::op`] reads it. The apply
//! command gets the same file back, untouched, once the gate has cleared what it said. Runs go one after the other:
//! nothing is known of what two of them share. Both commands run in the repository's root folder.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use sha2::{Digest, Sha256};

use crate::core::config::commands::{Commands, Slots};
use crate::core::gate::admit::Cleared;
use crate::core::ids::Root;
use crate::core::job::Applied;
use crate::core::key::hex;
use crate::core::plan::op::{self, Told};
use crate::core::plan::{Draft, PlanResult, Planned, Subject};
use crate::engine::made::{AllMade, Made, make_folder};
use crate::engine::progress::Progress;
use crate::engine::scrub::scrub;
use crate::engine::{Checkout, Engine, Lock};
use crate::process::{Program, Ran};

/// How long a command may take.
const PLAN_LIMIT: Duration = Duration::from_secs(2 * 3600);
const APPLY_LIMIT: Duration = Duration::from_secs(24 * 3600);
/// How long an interrupted command may take to end.
const GRACE: Duration = Duration::from_secs(600);
/// How much of what a command prints is read.
const OUTPUT_CAP: usize = 1 << 20;
/// How large a plan file may be.
const FILE_CAP: u64 = 64 << 20;
/// How much of a command's last line a sentence holds, in characters.
const LONGEST_LINE: usize = 300;

/// The project's own commands, and the plan files they made in this process.
pub struct OwnCommands {
    commands: Commands,
    /// Our own program, which has a command interrupted when this process dies; none in tests.
    wrapper: Option<PathBuf>,
    made: AllMade,
}

/// Why a run did not plan or apply.
struct Failure {
    /// One sentence.
    why: String,
    /// The command's own text, scrubbed and capped.
    detail: String,
}

impl Failure {
    /// A failure of our own making: a clause, without a full stop.
    fn new(why: impl Into<String>) -> Self {
        Self {
            why: format!("{}.", why.into()),
            detail: String::new(),
        }
    }

    /// What a failed command said while it was `doing` something.
    fn said(checkout: &Checkout, doing: &str, ran: &Ran) -> Self {
        let outputs = [&ran.stderr, &ran.stdout];
        let texts = outputs.map(|it| scrub(checkout, &String::from_utf8_lossy(it)));
        let detail = texts.into_iter().find(|it| !it.is_empty());
        let detail = detail.unwrap_or_default();
        let ended = ran.ended();
        let last: String = detail
            .lines()
            .next_back()
            .unwrap_or_default()
            .trim()
            .trim_end_matches('.')
            .chars()
            .take(LONGEST_LINE)
            .collect();
        let mut why = if last.is_empty() {
            format!("{doing} failed: {ended}.")
        } else {
            format!("{doing} failed: {last} ({ended}).")
        };
        if ran.was_stopped && checkout.stop.is_cancelled() {
            why += " It was interrupted, because the job was told to stop.";
        } else if ran.was_stopped {
            why += " It took longer than it may, and was interrupted.";
        }
        Self { why, detail }
    }
}

impl OwnCommands {
    /// An engine that made no plan yet.
    pub fn new(commands: Commands, wrapper: Option<PathBuf>) -> Self {
        Self {
            commands,
            wrapper,
            made: AllMade::default(),
        }
    }

    async fn plan_one(
        &self,
        checkout: &Checkout,
        root: &Root,
        lock: Lock,
    ) -> Result<Told, Failure> {
        let file = fresh_file(checkout, root)
            .map_err(|it| Failure::new(format!("The runner cannot make a plan file: {it}")))?;
        let program = self.program(checkout, root, &self.commands.plan)?;
        let ran = run(checkout, program.limit(PLAN_LIMIT)).await?;
        if ran.code() != Some(0) {
            return Err(Failure::said(checkout, "Planning", &ran));
        }
        let made = seal(file)?;
        let bytes = fs::read(made.path())
            .map_err(|it| Failure::new(format!("The plan file cannot be read: {it}")))?;
        let told = op::read(&bytes).map_err(|it| Failure::new(format!("The plan command {it}")));
        match (&told, lock) {
            (Ok(_), Lock::Take) => self.made.keep(root, made),
            (Ok(_), Lock::Leave) | (Err(_), _) => made.discard(),
        }
        told
    }

    async fn apply_one(&self, checkout: &Checkout, root: &Root) -> Result<(), Failure> {
        let nothing = |why: &str| Failure::new(format!("Nothing was applied: {why}"));
        let made = self
            .made
            .take(root)
            .ok_or_else(|| nothing("this job holds no plan file of this root"))?;
        if checkout.stop.is_cancelled() {
            return Err(nothing("the job was told to stop before"));
        }
        if !made.is_untouched() {
            return Err(nothing("the plan file is not the one this job made"));
        }
        let program = self.program(checkout, root, &self.commands.apply)?;
        let ran = run(checkout, program.limit(APPLY_LIMIT)).await?;
        match ran.code() {
            Some(0) => Ok(()),
            Some(_) | None => Err(Failure::said(checkout, "Applying", &ran)),
        }
    }

    fn program(
        &self,
        checkout: &Checkout,
        root: &Root,
        template: &[String],
    ) -> Result<Program, Failure> {
        let wave = *checkout
            .waves
            .get(root)
            .ok_or_else(|| Failure::new("It is in no wave, so its commands cannot be filled in"))?;
        let argv = Slots {
            op: &checkout.op,
            target: root,
            wave,
            plan: &plan_file(checkout, root).to_string_lossy(),
        }
        .fill(template);
        let (name, args) = argv
            .split_first()
            .ok_or_else(|| Failure::new("A command names no program"))?;
        let mut program = Program::new(name)
            .args(args)
            .dir(&checkout.dir)
            .stop(&checkout.stop)
            .grace(GRACE)
            .cap(OUTPUT_CAP);
        for (name, value) in &checkout.env {
            program = program.env(name, value);
        }
        Ok(match &self.wrapper {
            Some(tidegate) => program.leashed(tidegate),
            None => program,
        })
    }
}

#[async_trait]
impl Engine for OwnCommands {
    async fn plan(
        &self,
        checkout: &Checkout,
        members: &[Root],
        lock: Lock,
    ) -> anyhow::Result<Vec<Planned>> {
        let progress = Progress::start(checkout, "planning", members.len());
        let mut plans = Vec::new();
        for root in members {
            let told = progress.count(self.plan_one(checkout, root, lock).await);
            plans.push(Planned {
                root: root.clone(),
                result: result(root, told),
            });
        }
        Ok(plans)
    }

    async fn apply(&self, checkout: &Checkout, cleared: &Cleared) -> anyhow::Result<Vec<Applied>> {
        let plans = cleared.plans();
        let progress = Progress::start(checkout, "applying", plans.len());
        let mut all = Vec::new();
        for planned in plans {
            let ended = progress.count(self.apply_one(checkout, &planned.root).await);
            all.push(Applied {
                root: planned.root.clone(),
                error: ended.err().map(|it| it.why),
            });
        }
        Ok(all)
    }
}

fn result(root: &Root, told: Result<Told, Failure>) -> PlanResult {
    match told {
        Ok(told) => PlanResult::Made(Draft {
            subject: Subject::told(root.clone(), told),
            remarks: Vec::new(),
        }),
        Err(Failure { why, detail }) => PlanResult::Failed { why, detail },
    }
}

async fn run(checkout: &Checkout, program: Program) -> Result<Ran, Failure> {
    if checkout.stop.is_cancelled() {
        return Err(Failure::new("The job was told to stop"));
    }
    let ran = program.run().await;
    ran.map_err(|it| Failure::new(format!("The command cannot be started: {it}")))
}

/// A run's plan file, in a folder of its own; a whole hash, so that no two runs ever share one.
fn plan_file(checkout: &Checkout, root: &Root) -> PathBuf {
    let hash = hex(&Sha256::digest(root.as_str()));
    checkout.scratch.join(hash).join("plan.json")
}

/// The place of a plan file that is not there yet.
fn fresh_file(checkout: &Checkout, root: &Root) -> io::Result<PathBuf> {
    let file = plan_file(checkout, root);
    let folder = file.parent().unwrap_or(&checkout.scratch);
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    make_folder(folder)?;
    Ok(file)
}

fn seal(file: PathBuf) -> Result<Made, Failure> {
    let about = fs::symlink_metadata(&file)
        .map_err(|_| Failure::new("The plan command wrote no plan file to `{plan}`"))?;
    if !about.is_file() || about.len() > FILE_CAP {
        return Err(Failure::new(format!(
            "What the plan command wrote to `{{plan}}` is no file of at most {} MiB",
            FILE_CAP >> 20
        )));
    }
    Made::seal(file).map_err(|it| Failure::new(format!("The plan file cannot be closed: {it}")))
}

#[cfg(test)]
mod tests;
