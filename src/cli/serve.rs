//! `tidegate serve`: the server.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use jiff::Timestamp;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use crate::cli::Usage;
use crate::cli::alone::{self, Alone};
use crate::cli::closed::{self, Guests};
use crate::cli::stop;
use crate::core::config::server::{self, Account, ExecutorKind, ForgeOptions, ServerOptions};
use crate::core::ids::ForgeHost;
use crate::core::key::{MasterKey, hex};
use crate::core::outcome::Outcome;
use crate::executor::Executor;
use crate::executor::local::{Local, LocalOptions};
use crate::forge::{Connection, Forge, Meter, Metered, ServedForge};
use crate::handlers::App;
use crate::handlers::estates::Estates;
use crate::outbox::World;
use crate::serve::{self, Server};
use crate::store::Store;

/// How long an interrupted job may take to write its state before it is killed.
const GRACE: Duration = Duration::from_secs(300);

/// Answers pull requests: receives webhooks, starts jobs, keeps the gates.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  tidegate serve\n  tidegate serve --config /etc/tidegate/tidegate-server.yml"
)]
pub(super) struct Args {
    /// The server's file; paths in it are relative to its folder.
    #[arg(long, env = "TIDEGATE_CONFIG", default_value = server::FILE, value_name = "FILE")]
    config: PathBuf,
    /// Log as JSON lines instead of text.
    #[arg(long)]
    log_json: bool,
}

/// The forges by host, to speak to and how they answer; and as those that may deliver.
#[derive(Default)]
struct Forges {
    forges: BTreeMap<ForgeHost, Arc<dyn Forge>>,
    meters: BTreeMap<ForgeHost, Meter>,
    served: Vec<ServedForge>,
}

/// Runs the server until it is interrupted or told to stop; running jobs go on and find the restarted server.
pub(super) async fn run(args: Args) -> anyhow::Result<Outcome> {
    start_log(&args);
    closed::close_process()?;
    let options = read_options(&args.config)?;
    let home = home_of(&args.config)?;
    let data = data_folder(&options, &home)?;
    let _alone = Alone::take(&data, alone::PATIENCE).await?;
    let server = build(&options, (&home, &data), &args.config).await?;
    let stop = CancellationToken::new();
    stop::on_signal(&stop)?;
    serve::run(server, stop).await?;
    Ok(Outcome::Done)
}

/// What handlers reach, for a command that is run beside the server.
pub(super) async fn app(file: &Path) -> anyhow::Result<App> {
    let options = read_options(file)?;
    let home = home_of(file)?;
    let data = home.join(&options.data);
    ensure!(
        data.is_dir(),
        Usage(format!(
            "there is no data folder {}: has the server run here?",
            data.display()
        ))
    );
    let key = master_key(&options, &home, &data)?;
    let store = Store::open(&database(&options, &data)).await?;
    let Forges { forges, .. } = forges(&options.forges, &home)?;
    app_of(&options, (store, forges), (&data, &key))
}

fn app_of(
    options: &ServerOptions,
    (store, forges): (Store, BTreeMap<ForgeHost, Arc<dyn Forge>>),
    (data, key): (&Path, &MasterKey),
) -> anyhow::Result<App> {
    Ok(App {
        store,
        forges: Arc::new(forges),
        mirrors: data.join("mirrors"),
        estates: Estates::default(),
        digest_key: key.for_digests(),
        pages: format!("http://{}/", options.listen_pages).parse()?,
    })
}

/// The folder of the server's file, which paths in it are relative to.
fn home_of(file: &Path) -> anyhow::Result<PathBuf> {
    let file = file.canonicalize()?;
    Ok(file.parent().map_or_else(PathBuf::new, Path::to_owned))
}

fn data_folder(options: &ServerOptions, home: &Path) -> anyhow::Result<PathBuf> {
    let data = home.join(&options.data);
    std::fs::create_dir_all(&data)
        .with_context(|| format!("cannot make the data folder {}", data.display()))?;
    Ok(data)
}

async fn build(
    options: &ServerOptions,
    (home, data): (&Path, &Path),
    file: &Path,
) -> anyhow::Result<Server> {
    let guests = close(options, home, data, file)?;
    let key = master_key(options, home, data)?;
    let store = Store::open(&database(options, data)).await?;
    let Forges {
        forges,
        meters,
        served,
    } = forges(&options.forges, home)?;
    let app = app_of(options, (store.clone(), forges), (data, &key))?;
    let world = World {
        store,
        forges: app.forges.clone(),
        mirrors: app.mirrors.clone(),
        executor: executor(options, data, &guests)?,
    };
    Ok(Server {
        name: server_name(data)?,
        listen: options.listen,
        listen_pages: options.listen_pages,
        app,
        world,
        meters,
        served: Arc::new(served),
        token_key: key.for_tokens(),
        parallel: options.executor.parallel,
        lease_seconds: options.executor.lease_seconds,
    })
}

/// The database's address.
pub(super) fn database(options: &ServerOptions, data: &Path) -> String {
    let file = || format!("sqlite:{}", data.join("tidegate.db").display());
    options.database.clone().unwrap_or_else(file)
}

/// Closes what the server keeps to the users that jobs run as.
fn close(options: &ServerOptions, home: &Path, data: &Path, file: &Path) -> anyhow::Result<Guests> {
    let guests = Guests::find(&options.executor)?;
    guests.close(data)?;
    guests.check(data, &secrets(options, home, data, file))?;
    Ok(guests)
}

/// The files that nobody but the server may read.
pub(super) fn secrets(
    options: &ServerOptions,
    home: &Path,
    data: &Path,
    file: &Path,
) -> Vec<PathBuf> {
    let mut secrets = vec![key_file(options, home, data)];
    for forge in &options.forges {
        secrets.push(home.join(forge.account.file()));
        secrets.extend(forge.webhook_secret_files.iter().map(|it| home.join(it)));
    }
    // The database's address may hold a password.
    secrets.extend(options.database.is_some().then(|| file.to_owned()));
    secrets
}

pub(super) fn read_options(file: &Path) -> anyhow::Result<ServerOptions> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        Usage(format!(
            "cannot read the server's file {}: {error}",
            file.display()
        ))
    })?;
    server::read(&file.display().to_string(), &text).map_err(|complaints| {
        let lines: Vec<_> = complaints.iter().map(ToString::to_string).collect();
        Usage(format!(
            "the server's file is not right:\n  {}",
            lines.join("\n  ")
        ))
        .into()
    })
}

/// The installation's key: `TIDEGATE_KEY` where replicas share it, else a file, made at the first start.
fn master_key(options: &ServerOptions, home: &Path, data: &Path) -> anyhow::Result<MasterKey> {
    let (text, place) = match std::env::var("TIDEGATE_KEY") {
        Ok(text) => (text, "TIDEGATE_KEY".to_owned()),
        Err(_) => {
            let file = key_file(options, home, data);
            if !file.exists() {
                write_key(&file)
                    .with_context(|| format!("cannot write the key to {}", file.display()))?;
            }
            let text = std::fs::read_to_string(&file);
            (
                text.with_context(|| format!("cannot read the key in {}", file.display()))?,
                file.display().to_string(),
            )
        }
    };
    let bytes = from_hex(text.trim());
    Ok(MasterKey::new(bytes.with_context(|| {
        format!("{place} is not a key: it must be 64 hex digits (32 bytes)")
    })?))
}

/// The name that the server of a data folder has for as long as the folder is there; made at the first start.
fn server_name(data: &Path) -> anyhow::Result<String> {
    let file = data.join("name");
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    if !known.trim().is_empty() {
        return Ok(known.trim().to_owned());
    }
    let name = uuid::Uuid::now_v7().simple().to_string();
    std::fs::write(&file, &name)
        .with_context(|| format!("cannot write the server's name to {}", file.display()))?;
    Ok(name)
}

/// Where the installation's key is, when no variable holds it.
pub(super) fn key_file(options: &ServerOptions, home: &Path, data: &Path) -> PathBuf {
    let given = options.key_file.as_ref();
    given.map_or_else(|| data.join("key"), |it| home.join(it))
}

fn write_key(file: &Path) -> anyhow::Result<()> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| anyhow::anyhow!("the system has no randomness: {error}"))?;
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)?;
    writeln!(file, "{}", hex(&bytes))?;
    Ok(file.sync_all()?)
}

/// A key's bytes from its digits.
pub(super) fn from_hex(text: &str) -> Option<[u8; 32]> {
    let digits = (0..text.len()).step_by(2).map(|at| text.get(at..at + 2));
    let bytes: Option<Vec<u8>> = digits.map(|it| u8::from_str_radix(it?, 16).ok()).collect();
    bytes?.try_into().ok()
}

fn forges(all: &[ForgeOptions], home: &Path) -> anyhow::Result<Forges> {
    let http = http_client()?;
    let mut found = Forges::default();
    for options in all {
        let connection = Connection {
            secret: read_account(&options.account, home)?,
            http: http.clone(),
            clock: Arc::new(Timestamp::now),
        };
        let secrets = options
            .webhook_secret_files
            .iter()
            .map(|file| read_secret(&home.join(file)));
        let forge = options.kind.connect(options, connection);
        let forge = forge.with_context(|| format!("cannot use the forge {}", options.host()))?;
        let forge = Metered::new(forge);
        found.meters.insert(options.host(), forge.meter());
        found.forges.insert(options.host(), Arc::new(forge));
        found.served.push(ServedForge::new(
            options.clone(),
            secrets.collect::<anyhow::Result<_>>()?,
        )?);
    }
    Ok(found)
}

/// Reads what proves who we are. Whoever has an app's key is the app wherever it is installed, so nobody else may read it.
pub(super) fn read_account(account: &Account, home: &Path) -> anyhow::Result<SecretString> {
    let file = home.join(account.file());
    let secret = read_secret(&file)?;
    if let Account::App { .. } = account {
        let mode = std::fs::metadata(&file)?.permissions().mode();
        ensure!(
            mode & 0o007 == 0,
            "everybody on this machine may use the app's private key in {file}: `chmod 600 {file}`",
            file = file.display()
        );
    }
    Ok(secret)
}

/// What speaks to forges.
pub(super) fn http_client() -> anyhow::Result<reqwest::Client> {
    Ok(reqwest::Client::builder()
        .user_agent(concat!("tidegate/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_secs(10))
        .timeout(Duration::from_secs(60))
        .build()?)
}

/// A secret without what stands around it in its file.
pub(super) fn read_secret(file: &Path) -> anyhow::Result<SecretString> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read the secret in {}", file.display()))?;
    ensure!(
        !text.trim().is_empty(),
        "the secret in {} is empty",
        file.display()
    );
    Ok(text.trim().into())
}

fn executor(
    options: &ServerOptions,
    data: &Path,
    guests: &Guests,
) -> anyhow::Result<Arc<dyn Executor>> {
    match options.executor.kind {
        ExecutorKind::Local => Ok(Arc::new(Local::open(LocalOptions {
            program: std::env::current_exe().context("cannot find our own program")?,
            server: options.public_url.clone(),
            folder: data.join(closed::JOBS),
            plan_env: passed(&options.executor.plan_env)?,
            apply_env: passed(&options.executor.apply_env)?,
            plan_account: guests.plan.as_ref().map(|it| it.account),
            apply_account: guests.apply.as_ref().map(|it| it.account),
            grace: GRACE,
        })?)),
    }
}

/// The values of the variables that jobs get; one that is not set is said at start, not in the middle of an apply.
fn passed(names: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    let value = |name: &String| {
        let value = std::env::var(name).map_err(|_| {
            Usage(format!("jobs are to get {name} (`executor` in the server's file), but it is not set for the server"))
        })?;
        Ok((name.clone(), value))
    };
    names.iter().map(value).collect()
}

fn start_log(args: &Args) {
    let filter = EnvFilter::try_from_env("TIDEGATE_LOG")
        .unwrap_or_else(|_| EnvFilter::new("info,hyper=warn,sqlx=warn"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    if args.log_json {
        log.json().init();
    } else {
        let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
        log.with_ansi(colours).init();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_apps_key_that_everybody_may_read_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("key.pem");
        std::fs::write(&file, "hunter2").unwrap();
        let account = Account::App {
            id: 1,
            key_file: "key.pem".into(),
        };
        for (mode, is_read) in [(0o600, true), (0o640, true), (0o644, false), (0o604, false)] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            let read = read_account(&account, home.path()).map(drop);
            assert_eq!(read.is_ok(), is_read, "{mode:o}");
            let said = read
                .err()
                .map_or_else(|| "chmod 600".to_owned(), |it| it.to_string());
            assert!(
                said.contains("chmod 600") && !said.contains("hunter2"),
                "{said}"
            );
        }
    }
}
