//! `tidegate doctor`: looks at an installation and says what to do.

mod home;
mod reach;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use crate::cli::serve;
use crate::core::config::server::{self, Account, ForgeOptions, ServerOptions};
use crate::core::finding::{self, Colours, Finding};
use crate::core::ids::RepoName;
use crate::core::outcome::Outcome;
use crate::engine;
use crate::forge::{Checkup, Connection};
use crate::git;
use crate::store;

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  tidegate doctor
  tidegate doctor --config /etc/tidegate/tidegate-server.yml --repo acme/infra
  tidegate doctor --json | jq '.findings[] | select(.level != \"ok\")'

Exit codes:
  0  everything works; there may be warnings
  1  something does not work
  2  the server's file cannot be read or is not right";

/// Looks at an installation, from its programs to its webhooks, and says what to do. Changes nothing.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The server's file; paths in it are relative to its folder.
    #[arg(long, env = "TIDEGATE_CONFIG", default_value = server::FILE, value_name = "FILE")]
    config: PathBuf,
    /// Repositories to look at one by one, in place of those that `repos` in the server's file names.
    #[arg(long, value_name = "OWNER/NAME", value_parser = repo)]
    repo: Vec<RepoName>,
    /// Say it as JSON.
    #[arg(long)]
    json: bool,
}

fn repo(text: &str) -> Result<RepoName, String> {
    RepoName::try_from(text).map_err(|error| error.to_string())
}

/// Checks everything, prints what was found, and fails when something does not work.
pub(super) async fn run(args: Args) -> anyhow::Result<Outcome> {
    let mut findings = vec![git::check().await];
    findings.extend(engine::check().await);
    let (said, options) = home::server_file(&args.config);
    let is_readable = options.is_some();
    findings.extend(said);
    if let Some(options) = options {
        findings.extend(installation(&args, &options).await);
    }
    print(&args, &findings)?;
    match is_readable {
        true => Ok(finding::outcome(&findings)),
        false => Ok(Outcome::Usage),
    }
}

async fn installation(args: &Args, options: &ServerOptions) -> Vec<Finding> {
    let home = &home::folder_of(&args.config);
    let data = home.join(&options.data);
    let mut findings = home::data_folder(&data);
    let (said, key) = home::key(options, home, &data);
    findings.extend(said);
    findings.push(store::check(&serve::database(options, &data)).await);
    let secrets = serve::secrets(options, home, &data, &args.config);
    findings.push(home::job_user(options, &data, &secrets));
    findings.extend(home::executor(&options.executor));
    let http = match serve::http_client() {
        Ok(http) => http,
        Err(error) => {
            let hint = "see that this machine has CA certificates";
            findings.push(Finding::fail("network", format!("{error:#}"), hint));
            return findings;
        }
    };
    for forge in &options.forges {
        findings.extend(home::webhook_secrets(forge, home));
        let checkup = checkup(&args.repo, options, forge);
        findings.extend(look_at(&checkup, home, http.clone()).await);
    }
    findings.extend(reach::check(options, key.as_ref(), &http).await);
    findings
}

fn checkup<'a>(
    repos: &'a [RepoName],
    options: &ServerOptions,
    forge: &'a ForgeOptions,
) -> Checkup<'a> {
    let hook = format!("/webhooks/{}", forge.kind.as_str());
    Checkup {
        options: forge,
        hook: reach::below(&options.public_url, &hook),
        repos,
    }
}

async fn look_at(checkup: &Checkup<'_>, home: &Path, http: reqwest::Client) -> Vec<Finding> {
    let forge = checkup.options;
    let what = match forge.account {
        Account::Token { .. } => "token",
        Account::App { .. } => "app key",
    };
    let secret = match serve::read_account(&forge.account, home) {
        Ok(secret) => secret,
        Err(error) => {
            let hint = match forge.account {
                Account::Token { .. } => {
                    "write the access token of the account tidegate acts as into it"
                }
                Account::App { .. } => "put the app's private key there, readable for us alone",
            };
            return vec![Finding::fail(forge.host(), format!("{error:#}"), hint)];
        }
    };
    let mut findings = home::secret_mode(what, &home.join(forge.account.file()));
    let connection = Connection {
        secret,
        http,
        clock: Arc::new(Timestamp::now),
    };
    findings.extend(forge.kind.check(checkup, connection).await);
    findings
}

fn print(args: &Args, findings: &[Finding]) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    if args.json {
        writeln!(stdout, "{:#}", finding::json(findings))?;
        return Ok(());
    }
    let colours = match stdout.is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        true => Colours::Ansi,
        false => Colours::Plain,
    };
    write!(stdout, "{}", finding::text(findings, colours))?;
    Ok(())
}
