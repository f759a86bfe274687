//! `tidegate ledger`: looks at a rewritten ledger, and accepts it.

use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Subcommand;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cli::{Usage, serve};
use crate::core::config::server;
use crate::core::gate::change::{Change, Rewrite};
use crate::core::ids::{Repo, RepoName};
use crate::core::outcome::Outcome;
use crate::handlers::App;
use crate::handlers::ledger::{self, Rewritten};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Run it on the server's machine, as the server's user. The server may be running.

Examples:
  tidegate ledger accept acme/infra
  tidegate ledger accept acme/infra --by ada --yes --json

Exit codes:
  0  accepted, or there was nothing to accept
  1  nobody agreed, or the ledger moved meanwhile: nothing was accepted
  2  usage or configuration error, nothing was changed";

/// Looks after the ledger: the branch that approvals and their uses stand on.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Accept(Accept),
}

/// Shows how a ledger was rewritten since the server saw it last, and lets it count again once somebody agrees.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
struct Accept {
    /// The repository.
    #[arg(value_name = "OWNER/NAME", value_parser = repo)]
    repo: RepoName,
    /// Accept without asking.
    #[arg(long)]
    yes: bool,
    /// Who accepts; it stands on the ledger. By default the user of this machine.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Say it as JSON.
    #[arg(long)]
    json: bool,
    /// The server's file; paths in it are relative to its folder.
    #[arg(long, env = "TIDEGATE_CONFIG", default_value = server::FILE, value_name = "FILE")]
    config: PathBuf,
}

fn repo(text: &str) -> Result<RepoName, String> {
    RepoName::try_from(text).map_err(|error| error.to_string())
}

/// Runs the sub-command.
pub(super) async fn run(args: Args) -> anyhow::Result<Outcome> {
    match args.command {
        Command::Accept(args) => accept(args).await,
    }
}

async fn accept(args: Accept) -> anyhow::Result<Outcome> {
    let app = serve::app(&args.config).await?;
    let repo = find(&app, &args.repo).await?;
    let Some(rewritten) = ledger::rewritten(&app, &repo).await? else {
        let told = format!(
            "The ledger of {} was not rewritten: there is nothing to accept.",
            repo.name
        );
        return say(
            &args,
            told,
            json!({"repo": repo.name, "rewritten": false, "accepted": false}),
        );
    };
    let by = whoever(&args)?;
    let Change::Rewritten(rewrite) = &rewritten.look.change else {
        bail!("the ledger moved while it was looked at");
    };
    if !args.json {
        say(&args, differences(&repo, &rewritten, rewrite), Value::Null)?;
    }
    if !args.yes && !agreed(&args)? {
        return Ok(Outcome::Failed);
    }
    let Some(tip) = ledger::accept(&app, &repo, (&rewritten, &by), Timestamp::now()).await? else {
        bail!(
            "the ledger moved after it was looked at, and nothing was accepted: run the command again"
        );
    };
    let told = format!(
        "Accepted by {by}. The ledger counts again from {}.",
        tip.short()
    );
    let said = json!({
        "repo": repo.name,
        "rewritten": true,
        "accepted": true,
        "by": by,
        "seen": rewritten.seen,
        "from": rewritten.look.tip,
        "tip": tip,
        "lines": lines(rewrite),
    });
    say(&args, told, said)
}

/// Who accepts: as they say, or as this machine knows them.
fn whoever(args: &Accept) -> anyhow::Result<String> {
    let known = ["SUDO_USER", "USER", "LOGNAME"];
    let known = known.iter().find_map(|it| std::env::var(it).ok());
    let by = args.by.clone().or(known).unwrap_or_default();
    if by.trim().is_empty() || by.chars().any(char::is_control) {
        bail!(Usage(
            "say who accepts it, in one line: `--by <name>`".to_owned()
        ));
    }
    Ok(by)
}

async fn find(app: &App, name: &RepoName) -> anyhow::Result<Repo> {
    let mut known = app.store.repos().await?;
    let rollouts = app.store.recent_rollouts(1000).await?;
    known.extend(rollouts.into_iter().map(|(rollout, _)| rollout.repo));
    let found = known.into_iter().find(|it| it.name == *name);
    found.ok_or_else(|| {
        let why = format!(
            "this server has let nothing out of a repository {name}; is it spelled as on its forge?"
        );
        Usage(why).into()
    })
}

fn differences(repo: &Repo, rewritten: &Rewritten, rewrite: &Rewrite) -> String {
    let mut said = format!(
        "The ledger of {} was rewritten. {}\n",
        repo.name, rewrite.history
    );
    for line in &rewrite.lines {
        said += &format!(
            "\n- {}:{}\n  {}\n",
            line.path,
            line.number,
            visible(&line.text)
        );
    }
    if rewrite.lines.is_empty() {
        said += "\nNo line that was there is gone or altered.\n";
    }
    let now = match &rewritten.look.tip {
        Some(tip) => format!("it stands at {}", tip.short()),
        None => "there is no ledger any more".to_owned(),
    };
    said + &format!(
        "\nWhat is listed stood there at {}; now {now}. Whoever accepts it says that approvals and uses of approvals \
         count as they stand now: an approval whose use is gone could be used again.",
        rewritten.seen.short()
    )
}

/// Text of a ledger with what could move a terminal's cursor made visible.
fn visible(text: &str) -> String {
    text.chars()
        .map(|it| if it.is_control() { '\u{fffd}' } else { it })
        .collect()
}

fn lines(rewrite: &Rewrite) -> Vec<Value> {
    let line = |it: &crate::core::gate::change::Place| json!({"path": it.path, "line": it.number, "text": it.text});
    rewrite.lines.iter().map(line).collect()
}

fn agreed(args: &Accept) -> anyhow::Result<bool> {
    let stdin = std::io::stdin();
    if args.json || !stdin.is_terminal() {
        bail!(Usage(
            "nobody is here to be asked: look at what changed, then say `--yes`".to_owned()
        ));
    }
    print!("Accept it? Type yes: ");
    std::io::stdout().flush()?;
    let mut answer = String::new();
    stdin
        .lock()
        .read_line(&mut answer)
        .context("cannot read the answer")?;
    Ok(answer.trim() == "yes")
}

fn say(args: &Accept, told: String, said: Value) -> anyhow::Result<Outcome> {
    let mut stdout = std::io::stdout().lock();
    if args.json {
        writeln!(stdout, "{said:#}")?;
    } else {
        writeln!(stdout, "{told}")?;
    }
    Ok(Outcome::Done)
}
