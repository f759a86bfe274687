//! `tidegate plan`: what a change would do, without a server.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::cli::{Usage, serve, stop};
use crate::core::ids::Root;
use crate::core::key::{DerivedKey, MasterKey};
use crate::core::outcome::Outcome;
use crate::core::preview::{self, Change, Preview};
use crate::jobs::Unusable;
use crate::jobs::preview::{Found, Wanted};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  tidegate plan                          what the last commit reaches
  tidegate plan --base origin/main       what this branch reaches
  tidegate plan --root envs/dev --json
  TIDEGATE_KEY=$(cat data/key) tidegate plan --report plan.json

The commit that is checked out is planned in a folder of its own, as a job of the server plans it; what is not committed
is not planned. With the server's key the digests are those that the server computes.";

/// Names of the session and the machine, which no provider reads. (PATH and HOME are passed on anyway.)
const SESSION: [&str; 14] = [
    "COLUMNS", "DISPLAY", "HOSTNAME", "LINES", "LOGNAME", "MAIL", "OLDPWD", "PATH", "PWD", "SHELL",
    "SHLVL", "TERM", "USER", "_",
];

/// Plans what the checked-out commit reaches, and shows waves, digests and blast radius. Changes nothing, asks nobody.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// What the commit is compared with; its first parent when this is not given.
    #[arg(long, value_name = "REVISION")]
    base: Option<String>,
    /// Plans no more than these of the reached roots.
    #[arg(long, value_name = "ROOT", value_parser = root)]
    root: Vec<Root>,
    /// Say it as JSON.
    #[arg(long)]
    json: bool,
    /// Write the JSON to a file too.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// The program that plans, when the repository is not to be asked.
    #[arg(long, env = "TIDEGATE_TOOL", value_name = "PROGRAM")]
    tool: Option<PathBuf>,
}

fn root(text: &str) -> Result<Root, String> {
    Root::try_from(text.trim_end_matches('/')).map_err(|error| error.to_string())
}

/// Plans and prints; progress goes to standard error.
pub(super) async fn run(args: Args) -> anyhow::Result<Outcome> {
    let key = key()?;
    let scratch = tempfile::tempdir().context("cannot make a folder to plan in")?;
    let stop = CancellationToken::new();
    stop::on_signal(&stop)?;
    let (doing, said) = watch::channel(String::new());
    let wanted = wanted(&args, scratch.path(), (stop, doing))?;
    let progress = tokio::spawn(tell(said));
    let found = crate::jobs::preview::preview(&wanted).await;
    progress.abort();
    let found = found.map_err(as_usage)?;
    if found.is_dirty {
        eprintln!("what is not committed here is not planned");
    }
    let outcome = found.outcome;
    print(&args, &made(found, key.as_ref()))?;
    Ok(outcome)
}

fn wanted(
    args: &Args,
    scratch: &Path,
    (stop, doing): (CancellationToken, watch::Sender<String>),
) -> anyhow::Result<Wanted> {
    let is_passed = |name: &str| !SESSION.contains(&name) && !name.starts_with("TIDEGATE_");
    Ok(Wanted {
        folder: std::env::current_dir().context("cannot find the current folder")?,
        scratch: scratch.to_owned(),
        base: args.base.clone(),
        only: args.root.clone(),
        env: std::env::vars()
            .filter(|(name, _)| is_passed(name))
            .collect(),
        tool: args.tool.clone(),
        wrapper: Some(std::env::current_exe().context("cannot find our own program")?),
        stop,
        doing,
    })
}

async fn tell(mut said: watch::Receiver<String>) {
    while said.changed().await.is_ok() {
        let doing = said.borrow_and_update().clone();
        eprintln!("{doing}");
    }
}

fn made(found: Found, key: Option<&DerivedKey>) -> Preview {
    let change = Change {
        commit: &found.commit,
        base: &found.base,
        survey: &found.survey,
        plans: found.plans,
    };
    preview::preview(change, key)
}

fn key() -> anyhow::Result<Option<DerivedKey>> {
    let Ok(text) = std::env::var("TIDEGATE_KEY") else {
        return Ok(None);
    };
    let bytes = serve::from_hex(text.trim());
    let wrong =
        || Usage("TIDEGATE_KEY is not a key: it must be 64 hex digits (32 bytes)".to_owned());
    Ok(Some(MasterKey::new(bytes.ok_or_else(wrong)?).for_digests()))
}

fn as_usage(error: anyhow::Error) -> anyhow::Error {
    match error.is::<Unusable>() {
        true => Usage(format!("{error:#}")).into(),
        false => error,
    }
}

fn print(args: &Args, preview: &Preview) -> anyhow::Result<()> {
    let json = serde_json::to_string_pretty(preview)? + "\n";
    if let Some(file) = &args.report {
        std::fs::write(file, &json)
            .with_context(|| format!("cannot write the report to {}", file.display()))?;
    }
    let text = if args.json {
        json
    } else {
        preview::text(preview)
    };
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}
