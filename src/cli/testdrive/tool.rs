//! What the story plans and applies with: Terraform or OpenTofu, or this program's own sample commands without them.

use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};

use crate::cli::testdrive::stage::Stage;
use crate::engine;
use crate::process::Program;

/// What plans and applies the sample estate.
#[derive(Debug)]
pub(super) enum Tool {
    /// The program of this name on the path: `terraform` or `tofu`.
    Terraform(String),
    /// `tidegate sample-root`, as commands of the project's own.
    Sample,
}

impl Tool {
    /// The tool that is on the path, or else the sample commands.
    pub(super) fn find() -> Self {
        engine::found_tool().map_or(Self::Sample, Self::Terraform)
    }

    /// Its name, for people.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Terraform(name) => name,
            Self::Sample => "sample commands",
        }
    }

    /// What it adds to the project file; `program` is this program's path.
    pub(super) fn project_lines(&self, program: &Path) -> String {
        match self {
            Self::Terraform(_) => String::new(),
            Self::Sample => {
                let argv = |act: &str| {
                    json!([
                        program.to_string_lossy(),
                        "sample-root",
                        act,
                        "{target}",
                        "{plan}"
                    ])
                };
                let (plan, apply) = (argv("plan"), argv("apply"));
                format!("commands:\n  plan: {plan}\n  apply: {apply}\n")
            }
        }
    }

    /// Marks a resource of a root for replacement outside of any pull request, as somebody at their desk would in the
    /// clone `dir`.
    pub(super) async fn taint(
        &self,
        stage: &Stage,
        root: &Path,
        address: &str,
    ) -> anyhow::Result<()> {
        match self {
            Self::Terraform(name) => {
                run(stage, name, root, &["init", "-input=false", "-no-color"]).await?;
                run(stage, name, root, &["taint", "-no-color", address]).await
            }
            Self::Sample => {
                let root = root.file_name().unwrap_or_default().to_string_lossy();
                taint_sample(stage, &root).await
            }
        }
    }
}

async fn run(stage: &Stage, name: &str, root: &Path, args: &[&str]) -> anyhow::Result<()> {
    let mut program = Program::new(name)
        .args(args)
        .dir(root)
        .env("CHECKPOINT_DISABLE", "1");
    for (name, value) in stage.state_variables() {
        program = program.env(name, value);
    }
    let ran = program
        .run()
        .await
        .with_context(|| format!("cannot run {name}"))?;
    anyhow::ensure!(
        ran.code() == Some(0),
        "{name} {} failed: {}",
        args[0],
        ran.complaint()
    );
    Ok(())
}

async fn taint_sample(stage: &Stage, root: &str) -> anyhow::Result<()> {
    let mut state = stage.state(root).await?;
    let serial = state["serial"]
        .as_u64()
        .context("a state without a serial")?;
    state["serial"] = Value::from(serial + 1);
    state["tainted"] = Value::from(true);
    stage.write_state(root, &state).await
}
