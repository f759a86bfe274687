//! `tidegate sample-root`: what the test drive plans and applies with where there is no Terraform and no OpenTofu.
//!
//! A sample root is a folder with a `sample.json`: where its state is, the states it reads, the value it wants, and what
//! forces a replacement. The state lives in the sandbox, as Terraform's would.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::{Subcommand, ValueHint};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::core::outcome::Outcome;
use crate::core::plan::digest;

/// Plans or applies a sample root; for `commands` in the test drive's `tidegate.yml`.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    act: Act,
}

#[derive(Subcommand)]
enum Act {
    /// Writes what applying the root would do to PLAN.
    Plan(Files),
    /// Does what PLAN says, if the state is still the one it was made for.
    Apply(Files),
}

#[derive(clap::Args)]
struct Files {
    /// The root's folder.
    #[arg(value_hint = ValueHint::DirPath)]
    root: PathBuf,
    /// The plan's file.
    plan: PathBuf,
}

/// A sample root, as its `sample.json` has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sample {
    state: String,
    reads: Vec<String>,
    value: Value,
    replace_on: Value,
}

/// A plan file: what the engine reads of it, and what the apply needs.
#[derive(Deserialize, Serialize)]
struct PlanFile {
    #[serde(rename = "planDigest")]
    plan_digest: String,
    destructive: bool,
    empty: bool,
    serial: u64,
    state: String,
    next: Value,
}

/// Plans or applies one sample root.
pub(super) async fn run(args: Args) -> anyhow::Result<Outcome> {
    match args.act {
        Act::Plan(files) => plan(&files).await?,
        Act::Apply(files) => apply(&files).await?,
    }
    Ok(Outcome::Done)
}

async fn plan(files: &Files) -> anyhow::Result<()> {
    let sample: Sample = read_json(&files.root.join("sample.json"))?;
    let states = States::new();
    let now = states.get(&sample.state).await?;
    let mut reads = Vec::new();
    for address in &sample.reads {
        let state = states
            .get(address)
            .await?
            .with_context(|| format!("{address} was never applied"))?;
        reads.push(state["outputs"].clone());
    }
    let planned = decide(&sample, now.as_ref(), reads);
    std::fs::write(&files.plan, serde_json::to_vec_pretty(&planned)?)
        .with_context(|| format!("cannot write {}", files.plan.display()))
}

fn decide(sample: &Sample, now: Option<&Value>, reads: Vec<Value>) -> PlanFile {
    let serial = now.and_then(|it| it["serial"].as_u64()).unwrap_or(0);
    let tainted = now.is_some_and(|it| it["tainted"] == true);
    let wanted = json!({ "value": sample.value, "reads": reads, "replace_on": sample.replace_on });
    let replaces = now.is_some_and(|it| tainted || it["wanted"]["replace_on"] != sample.replace_on);
    let was = now.map_or(Value::Null, |it| it["wanted"].clone());
    // A replaced sample gets another identity, and hands on what it reads, so that what reads it changes too.
    let generation = now
        .and_then(|it| it["outputs"]["generation"].as_u64())
        .unwrap_or(0)
        + u64::from(replaces);
    let subject = json!({ "was": was, "wanted": wanted, "tainted": tainted });
    PlanFile {
        plan_digest: digest::digest("sample-root", &subject).to_string(),
        destructive: replaces,
        empty: was == wanted && !tainted,
        serial,
        state: sample.state.clone(),
        next: json!({
            "serial": serial + 1,
            "tainted": false,
            "wanted": wanted,
            "outputs": { "value": sample.value, "generation": generation, "reads": wanted["reads"] },
        }),
    }
}

async fn apply(files: &Files) -> anyhow::Result<()> {
    let plan: PlanFile = read_json(&files.plan)?;
    let states = States::new();
    let serial = states
        .get(&plan.state)
        .await?
        .and_then(|it| it["serial"].as_u64())
        .unwrap_or(0);
    ensure!(
        serial == plan.serial,
        "the state moved since the plan was made (serial {serial}, not {})",
        plan.serial
    );
    if plan.empty {
        Ok(())
    } else {
        states.put(&plan.state, &plan.next).await
    }
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> anyhow::Result<T> {
    let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("cannot understand {}", path.display()))
}

/// The sandbox's states, reached with the variables that Terraform's `http` backend takes.
struct States {
    http: reqwest::Client,
    user: String,
    password: Option<String>,
}

impl States {
    fn new() -> Self {
        Self {
            http: reqwest::Client::new(),
            user: std::env::var("TF_HTTP_USERNAME").unwrap_or_default(),
            password: std::env::var("TF_HTTP_PASSWORD").ok(),
        }
    }

    async fn get(&self, address: &str) -> anyhow::Result<Option<Value>> {
        let answer = self
            .http
            .get(address)
            .basic_auth(&self.user, self.password.as_ref())
            .send()
            .await?;
        match answer.status().as_u16() {
            404 => Ok(None),
            200 => Ok(Some(answer.json().await?)),
            other => bail!("the state at {address} answers {other}"),
        }
    }

    async fn put(&self, address: &str, state: &Value) -> anyhow::Result<()> {
        let request = self
            .http
            .post(address)
            .basic_auth(&self.user, self.password.as_ref())
            .json(state);
        request
            .send()
            .await?
            .error_for_status()
            .with_context(|| format!("cannot write the state at {address}"))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(value: u64, replace_on: u64) -> Sample {
        Sample {
            state: "here".to_owned(),
            reads: vec![],
            value: json!(value),
            replace_on: json!(replace_on),
        }
    }

    #[test]
    fn a_sample_that_is_as_wanted_plans_nothing() {
        let first = decide(&sample(1, 1), None, vec![]);
        assert!(!first.empty && !first.destructive);
        assert!(decide(&sample(1, 1), Some(&first.next), vec![]).empty);
    }

    #[test]
    fn another_trigger_or_a_taint_replaces_it_under_another_digest() {
        let now = decide(&sample(1, 1), None, vec![]).next;
        let other = decide(&sample(1, 2), Some(&now), vec![]);
        let mut tainted = now.clone();
        tainted["tainted"] = json!(true);
        let tainted = decide(&sample(1, 2), Some(&tainted), vec![]);
        assert!(other.destructive && tainted.destructive);
        assert_ne!(other.plan_digest, tainted.plan_digest);
    }
}
