//! The commands of one root: what they are given, how long they may take, what becomes of their ends.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::core::ids::Root;
use crate::engine::made::{Made, make_folder};
use crate::engine::terraform::failure::Failure;
use crate::engine::terraform::{backend, place};
use crate::engine::{Checkout, Lock, Tool};
use crate::process::{Program, Ran};

/// How long a command may take.
const INIT_LIMIT: Duration = Duration::from_secs(30 * 60);
const PLAN_LIMIT: Duration = Duration::from_secs(2 * 3600);
const APPLY_LIMIT: Duration = Duration::from_secs(24 * 3600);
/// How long an interrupted command may take to end.
const PLAN_GRACE: Duration = Duration::from_secs(300);
/// An apply waits for the call in flight and writes its state; what is killed before that is lost.
const APPLY_GRACE: Duration = Duration::from_secs(600);
/// How much plan JSON is read.
const JSON_CAP: usize = 256 << 20;
/// A state that could not be uploaded, in the folder where the tool ran.
const ERRORED: &str = "errored.tfstate";

/// Which versions of providers a root uses, and their hashes.
const LOCK_FILE: &str = ".terraform.lock.hcl";

/// One root and the commands run in it.
pub(super) struct Run<'a> {
    tool: &'a Tool,
    checkout: &'a Checkout,
    root: &'a Root,
    folder: PathBuf,
}

impl<'a> Run<'a> {
    pub(super) fn new(tool: &'a Tool, checkout: &'a Checkout, root: &'a Root) -> Self {
        Self {
            tool,
            checkout,
            root,
            folder: place::folder(checkout, root),
        }
    }

    pub(super) fn root(&self) -> &'a Root {
        self.root
    }

    pub(super) fn checkout(&self) -> &'a Checkout {
        self.checkout
    }

    /// Gets the root's backend, modules and providers ready, in a fresh folder of the tool's own.
    pub(super) async fn init(&self) -> Result<(), Failure> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).map_err(|it| self.trouble("clear", &it))?;
        }
        make_folder(&self.folder_of_tool()).map_err(|it| self.trouble("make", &it))?;
        let mut init = vec!["init", "-input=false", "-no-color"];
        if self.dir()?.join(LOCK_FILE).exists() {
            // Providers that were locked are used as they are locked, and none beside them.
            init.push("-lockfile=readonly");
        }
        let program = self.program(&init)?;
        let ran = self
            .ran(program.limit(INIT_LIMIT).grace(PLAN_GRACE))
            .await?;
        self.expect_success("Initialising", &ran)
    }

    /// Where the root keeps its state, as the tool recorded it.
    pub(super) fn backend(&self) -> Result<Value, Failure> {
        backend::read(&self.folder_of_tool(), &self.checkout.env)
            .map_err(|error| Failure::new(format!("{error:#}")))
    }

    /// Why the root must not be applied, as a clause: a state that goes with the job would orphan what it holds.
    pub(super) fn loses_state(&self) -> Result<Option<&'static str>, Failure> {
        let (backend, dir) = (self.backend()?, self.dir()?);
        let job = self.checkout.scratch.canonicalize();
        let job = job.map_err(|it| self.trouble("find", &it))?;
        let is_lost = job
            .parent()
            .is_some_and(|job| backend::goes_with(&backend, &dir, job));
        Ok(is_lost.then_some(
            "its state would be a file beside it, gone with the job; give it a backend that stays, such as `s3`",
        ))
    }

    /// Plans the root; none when there is nothing to do.
    pub(super) async fn plan(&self, lock: Lock) -> Result<Option<Made>, Failure> {
        let file = self.folder.join("plan");
        let out = format!("-out={}", file.display());
        let lock = match lock {
            Lock::Take => "-lock-timeout=5m",
            Lock::Leave => "-lock=false",
        };
        let plan = [
            "plan",
            "-input=false",
            "-no-color",
            "-detailed-exitcode",
            lock,
            &out,
        ];
        let program = self.program(&plan)?.limit(PLAN_LIMIT).grace(PLAN_GRACE);
        let ran = self.ran(program).await?;
        match ran.code() {
            Some(0) => Ok(None),
            Some(2) => Made::seal(file)
                .map(Some)
                .map_err(|it| self.trouble("read", &it)),
            Some(_) | None => Err(self.failure("Planning", &ran)),
        }
    }

    /// The plan as JSON.
    pub(super) async fn show(&self, made: &Made) -> Result<Vec<u8>, Failure> {
        let file = made.path().to_string_lossy();
        let program = self.program(&["show", "-json", "-no-color", &file])?;
        let ran = self.ran(program.cap(JSON_CAP)).await?;
        self.expect_success("Reading the plan", &ran)?;
        if ran.was_cut {
            return Err(Failure::new(format!(
                "The plan is larger than {} MiB of JSON, which is more than can be shown and approved",
                JSON_CAP >> 20
            )));
        }
        Ok(ran.stdout)
    }

    /// Applies a plan file, if it still is the one that was made.
    pub(super) async fn apply(&self, made: &Made) -> Result<(), Failure> {
        if self.checkout.stop.is_cancelled() {
            return Err(Failure::new(
                "Nothing was applied: the job was told to stop before",
            ));
        }
        if !made.is_untouched() {
            return Err(Failure::new(
                "Nothing was applied: the plan file is not the one this job made",
            ));
        }
        let file = made.path().to_string_lossy();
        let program = self.program(&[
            "apply",
            "-input=false",
            "-no-color",
            "-lock-timeout=5m",
            &file,
        ])?;
        // A state of that name that was committed is not the one a failed apply leaves.
        let _ = fs::remove_file(self.dir()?.join(ERRORED));
        let ran = self
            .ran(program.limit(APPLY_LIMIT).grace(APPLY_GRACE))
            .await?;
        match self.expect_success("Applying", &ran) {
            Ok(()) => Ok(()),
            Err(failure) => Err(self.with_what_is_left(failure, &ran)),
        }
    }

    /// Adds what people must know after a failed apply: how it was stopped, and where its state is.
    fn with_what_is_left(&self, failure: Failure, ran: &Ran) -> Failure {
        let failure = match (ran.was_stopped, ran.code()) {
            (true, Some(_)) => failure.and("It was interrupted, and wrote its state."),
            (_, None) => failure.and(
                "It was killed: its state may lack what it did last, and may still be locked.",
            ),
            (false, Some(_)) => failure,
        };
        match self.keep_errored_state() {
            Ok(None) => failure,
            Ok(Some(path)) => failure.and(&format!(
                "Its state could not be uploaded; it is kept on the runner as {}: bring it in with `{} state push`.",
                path.display(),
                self.tool.kind.program()
            )),
            Err(error) => failure.and(&format!("Its state could not be uploaded, nor kept: {error}.")),
        }
    }

    fn keep_errored_state(&self) -> io::Result<Option<PathBuf>> {
        let left = self.checkout.dir.join(self.root.as_str()).join(ERRORED);
        if !left.exists() {
            return Ok(None);
        }
        let kept = self.checkout.kept.join(self.root.as_str());
        make_folder(&kept)?;
        let kept = kept.join(ERRORED);
        fs::rename(left, &kept)?;
        Ok(Some(kept))
    }

    fn expect_success(&self, doing: &str, ran: &Ran) -> Result<(), Failure> {
        match ran.code() {
            Some(0) => Ok(()),
            Some(_) | None => Err(self.failure(doing, ran)),
        }
    }

    fn failure(&self, doing: &str, ran: &Ran) -> Failure {
        let failure = Failure::said(self, doing, ran);
        if self.checkout.stop.is_cancelled() && ran.was_stopped {
            failure.and("The job was told to stop.")
        } else if ran.was_stopped {
            failure.and("It took longer than it may, and was interrupted.")
        } else {
            failure
        }
    }

    async fn ran(&self, program: Program) -> Result<Ran, Failure> {
        if self.checkout.stop.is_cancelled() {
            return Err(Failure::new("The job was told to stop"));
        }
        program.run().await.map_err(|error| {
            let program = self.tool.program.display();
            Failure::new(format!("`{program}` cannot be started: {error}"))
        })
    }

    fn program(&self, args: &[&str]) -> Result<Program, Failure> {
        let dir = self.dir()?;
        let scratch = self.folder.canonicalize();
        let scratch = scratch.map_err(|it| self.trouble("find", &it))?;
        let data = place::relative(&dir, &scratch).join("data");
        let mut program = Program::new(&self.tool.program)
            .args(args)
            .dir(&dir)
            .stop(&self.checkout.stop);
        for (name, value) in place::env(self.checkout) {
            program = program.env(name, value);
        }
        program = program.env("TF_DATA_DIR", data);
        Ok(match &self.tool.wrapper {
            Some(tidegate) => program.leashed(tidegate),
            None => program,
        })
    }

    fn dir(&self) -> Result<PathBuf, Failure> {
        place::enter(self.checkout, self.root)
            .map_err(|why| Failure::new(format!("Refused: {why}")))
    }

    /// The folder that the tool keeps for this root: its backend's record, modules, providers.
    fn folder_of_tool(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn trouble(&self, verb: &str, error: &io::Error) -> Failure {
        let folder = self.folder.display();
        Failure::new(format!("The runner cannot {verb} {folder}: {error}"))
    }
}
