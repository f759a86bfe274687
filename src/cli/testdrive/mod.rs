//! `tidegate testdrive`: the whole tide on this machine, with nothing but this program and git, and with Terraform or
//! OpenTofu where one of them is.

mod estate;
mod people;
mod stage;
mod story;
mod tool;
mod watch;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;
use serde::Serialize;

use crate::cli::Usage;
use crate::cli::testdrive::stage::Stage;
use crate::cli::testdrive::tool::Tool;
use crate::core::outcome::Outcome;

/// Plays the whole tide on this machine: a sandbox forge, a server, pull requests, gates, real applies.
///
/// Nothing outside the drive's own folder is touched, and nothing is fetched.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tidegate testdrive              play it step by step, then keep running: open the printed addresses\n  \
    tidegate testdrive --headless   play it to its end; exit 0 only if every step was seen\n  \
    tidegate testdrive --sample     play it with sample commands, also where there is a Terraform or OpenTofu\n  \
    tidegate testdrive --headless --json story.json")]
pub(super) struct Args {
    /// Play to the end and leave; exit 0 only if every step was seen.
    #[arg(long)]
    headless: bool,
    /// Plan and apply with sample commands, as where there is no Terraform and no OpenTofu.
    #[arg(long)]
    sample: bool,
    /// Write each step with what was seen, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Where to keep the sandbox, the server and their logs; a temporary folder when not given.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Says a line. Who has stopped reading wants no more of it, and the story goes on to its end.
macro_rules! say {
    ($($words:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stdout(), $($words)*);
    }};
}

/// One step of the story.
#[derive(Debug, Serialize)]
struct Step {
    step: &'static str,
    /// What was seen; none when the step failed or was not reached.
    seen: Option<String>,
    error: Option<String>,
    seconds: f64,
}

/// Everything a reader of `--json` gets.
#[derive(Serialize)]
struct Played<'a> {
    version: &'static str,
    tool: &'a str,
    complete: bool,
    steps: &'a [Step],
}

/// Plays the story; headless it ends with it, else it keeps running until interrupted.
pub(super) async fn run(args: Args) -> anyhow::Result<Outcome> {
    let tool = tool(&args);
    let kept = args
        .dir
        .clone()
        .map_or_else(Folder::temporary, Folder::named)?;
    say!(
        "tidegate testdrive on {}, in {}",
        tool.name(),
        kept.path().display()
    );
    let stage = Stage::start(kept.path(), tool).await?;
    say!("  sandbox forge  {}", stage.forge);
    say!("  tidegate       {}\n", stage.pages);

    let steps = play(&stage).await;
    let complete = steps.iter().all(|it| it.seen.is_some());
    if let Some(file) = &args.json {
        let played = Played {
            version: env!("CARGO_PKG_VERSION"),
            tool: stage.estate.tool.name(),
            complete,
            steps: &steps,
        };
        let text = serde_json::to_string_pretty(&played)? + "\n";
        std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    if !args.headless {
        say!("\nOpen the addresses above; press Ctrl-C to stop.");
        tokio::signal::ctrl_c().await?;
    }
    stage.stop().await;
    say!(
        "\n{}",
        if complete {
            "Every step was seen."
        } else {
            "The story broke off."
        }
    );
    if !complete {
        kept.keep();
    }
    Ok(if complete {
        Outcome::Done
    } else {
        Outcome::Failed
    })
}

/// What the story runs on; where there is no Terraform, it says so.
fn tool(args: &Args) -> Tool {
    if args.sample {
        return Tool::Sample;
    }
    let tool = Tool::find();
    match tool {
        Tool::Terraform(_) => {}
        Tool::Sample => say!(
            "There is no `terraform` and no `tofu` on the path, so the same story is played with sample commands of this \
             program:\nthe same waves, gates and approvals, on roots that are only a value in a state."
        ),
    }
    tool
}

/// Plays every step in order; after the first that fails, the rest is not reached.
async fn play(stage: &Stage) -> Vec<Step> {
    let mut played = Vec::new();
    let mut story = story::Story::new(stage);
    for (number, step) in story::STEPS.iter().enumerate() {
        let start = Instant::now();
        let result = story.play(step.act).await;
        let seconds = (start.elapsed().as_secs_f64() * 1000.0).round() / 1000.0;
        let error = result.as_ref().err().map(|it| format!("{it:#}"));
        let (mark, text) = match (&result, &error) {
            (Ok(seen), _) => ("ok", seen.as_str()),
            (Err(_), error) => ("FAILED", error.as_deref().unwrap_or_default()),
        };
        say!(
            "{:>2} {mark:<6} {} ({seconds:.1} s)\n          {text}",
            number + 1,
            step.name
        );
        let failed = error.is_some();
        played.push(Step {
            step: step.name,
            seen: result.ok(),
            error,
            seconds,
        });
        if failed {
            break;
        }
    }
    for step in &story::STEPS[played.len()..] {
        played.push(Step {
            step: step.name,
            seen: None,
            error: Some("not reached".to_owned()),
            seconds: 0.0,
        });
    }
    played
}

/// The drive's folder: a temporary one goes away at the end, unless something failed and its logs are wanted.
enum Folder {
    Temporary(tempfile::TempDir),
    Named(PathBuf),
}

impl Folder {
    fn temporary() -> anyhow::Result<Self> {
        Ok(Self::Temporary(
            tempfile::Builder::new().prefix("tidegate-").tempdir()?,
        ))
    }

    fn named(dir: PathBuf) -> anyhow::Result<Self> {
        let empty = std::fs::read_dir(&dir)
            .map(|mut it| it.next().is_none())
            .unwrap_or(true);
        if !empty {
            return Err(Usage(format!("{} is not empty; name a new folder", dir.display())).into());
        }
        std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        Ok(Self::Named(dir.canonicalize()?))
    }

    fn path(&self) -> &std::path::Path {
        match self {
            Self::Temporary(dir) => dir.path(),
            Self::Named(dir) => dir,
        }
    }

    fn keep(self) {
        if let Self::Temporary(dir) = self {
            say!("Its logs are kept in {}", dir.keep().display());
        }
    }
}
