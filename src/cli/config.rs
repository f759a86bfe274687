//! `tidegate config`: checks the files people write, and describes them to editors.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use serde_json::json;

use crate::cli::Usage;
use crate::core::config::schema::{self, File};
use crate::core::config::{project, server};
use crate::core::estate::is_estate_file;
use crate::core::inspect::{self, Inspection};
use crate::core::outcome::Outcome;
use crate::git::Repository;

/// What `--help` of `check` ends with.
const CHECK_EXAMPLES: &str = "\
Examples:
  tidegate config check                        tidegate.yml of this checkout, against its roots
  tidegate config check --at origin/main       the same at a commit
  tidegate config check tidegate-server.yml    a server's file
  tidegate config check --json

Exit codes:
  0  nothing is wrong
  2  something is wrong, all of which was said";

/// What `--help` of `schema` ends with.
const SCHEMA_EXAMPLES: &str = "\
Examples:
  tidegate config schema > tidegate.schema.json
  tidegate config schema server

An editor with the YAML language server checks a file that begins with:
  # yaml-language-server: $schema=tidegate.schema.json";

/// Checks tidegate.yml or a server's file, and prints their JSON Schema.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    act: Act,
}

#[derive(Subcommand)]
enum Act {
    Check(Check),
    Schema(Schema),
}

/// Says all that is wrong with a file at once, each with line, column, key and the nearest known word.
///
/// A project file is held against the repository it is in: roots that it names must be there, and waves must have an
/// order.
#[derive(clap::Args)]
#[command(after_help = CHECK_EXAMPLES)]
struct Check {
    /// The file; tidegate.yml of this checkout when not given.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Checks tidegate.yml as it is at a commit.
    #[arg(long, value_name = "COMMIT", conflicts_with = "file")]
    at: Option<String>,
    /// What the file is; told from its name when not given.
    #[arg(long, value_name = "KIND")]
    kind: Option<Kind>,
    /// Say it as JSON.
    #[arg(long)]
    json: bool,
}

/// Prints the JSON Schema of a file, made from the same tables that read it.
#[derive(clap::Args)]
#[command(after_help = SCHEMA_EXAMPLES)]
struct Schema {
    /// Which file.
    #[arg(value_name = "KIND", default_value = "project")]
    kind: Kind,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// tidegate.yml, in a repository
    Project,
    /// tidegate-server.yml, beside the server
    Server,
}

/// Checks or describes.
pub(super) async fn run(args: Args) -> anyhow::Result<Outcome> {
    match args.act {
        Act::Check(check) => check.run().await,
        Act::Schema(schema) => schema.run(),
    }
}

impl Schema {
    fn run(&self) -> anyhow::Result<Outcome> {
        let file = match self.kind {
            Kind::Project => File::Project,
            Kind::Server => File::Server,
        };
        writeln!(std::io::stdout().lock(), "{:#}", schema::schema(file))?;
        Ok(Outcome::Done)
    }
}

impl Check {
    async fn run(&self) -> anyhow::Result<Outcome> {
        let (name, found) = match &self.file {
            Some(file) if self.is_server(file) => (file.display().to_string(), server_file(file)?),
            Some(file) => (file.display().to_string(), project_file(file).await?),
            None => {
                let here = here(&std::env::current_dir()?)?;
                (project::FILE.to_owned(), self.checkout(&here).await?)
            }
        };
        self.print(&name, &found)?;
        match found.complaints.is_empty() {
            true => Ok(Outcome::Done),
            false => Ok(Outcome::Usage),
        }
    }

    fn is_server(&self, file: &Path) -> bool {
        match self.kind {
            Some(kind) => matches!(kind, Kind::Server),
            None => {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                name.contains("server")
            }
        }
    }

    async fn checkout(&self, here: &Repository) -> anyhow::Result<Inspection> {
        let Some(named) = &self.at else {
            let file = here.dir().join(project::FILE);
            let text = file.exists().then(|| read(&file)).transpose()?;
            let files = here.texts_here(is_estate_file).await?;
            return Ok(inspect::project(project::FILE, text.as_deref(), &files));
        };
        let commit = here.resolve(named).await?;
        let commit = commit.ok_or_else(|| Usage(format!("there is no commit `{named}` here")))?;
        let bytes = here.show(&commit, project::FILE).await?;
        let text = bytes.map(|it| String::from_utf8_lossy(&it).into_owned());
        let files = here.texts(&commit, is_estate_file).await?;
        Ok(inspect::project(project::FILE, text.as_deref(), &files))
    }

    fn print(&self, name: &str, found: &Inspection) -> anyhow::Result<()> {
        let mut stdout = std::io::stdout().lock();
        if self.json {
            let mut said = json!(found);
            said["file"] = json!(name);
            said["ok"] = json!(found.complaints.is_empty());
            writeln!(stdout, "{said:#}")?;
            return Ok(());
        }
        for complaint in &found.complaints {
            writeln!(stdout, "{complaint}")?;
        }
        for warning in &found.warnings {
            writeln!(stdout, "warning: {warning}")?;
        }
        if found.complaints.is_empty() {
            writeln!(stdout, "{name} is right{}", counted(found))?;
        }
        Ok(())
    }
}

fn counted(found: &Inspection) -> String {
    match found.roots {
        0 => String::new(),
        roots => format!(" (roots: {roots}, waves: {})", found.waves),
    }
}

fn here(folder: &Path) -> anyhow::Result<Repository> {
    Repository::around(folder).ok_or_else(|| {
        let text = "this is not a checkout: name the file, or go into the repository";
        Usage(text.to_owned()).into()
    })
}

/// A file that is in no checkout has no repository to be held against.
async fn project_file(file: &Path) -> anyhow::Result<Inspection> {
    let text = read(file)?;
    let name = file.display().to_string();
    let whole = file.canonicalize()?;
    let repository = whole.parent().and_then(Repository::around);
    match repository {
        Some(here) if whole.parent() == Some(here.dir()) => {
            let files = here.texts_here(is_estate_file).await?;
            Ok(inspect::project(&name, Some(&text), &files))
        }
        Some(_) | None => Ok(Inspection {
            complaints: project::read(&name, &text).err().unwrap_or_default(),
            ..Inspection::default()
        }),
    }
}

fn server_file(file: &Path) -> anyhow::Result<Inspection> {
    let text = read(file)?;
    let read = server::read(&file.display().to_string(), &text);
    Ok(Inspection {
        complaints: read.err().unwrap_or_default(),
        ..Inspection::default()
    })
}

fn read(file: &Path) -> anyhow::Result<String> {
    let failed = |error| Usage(format!("cannot read {}: {error}", file.display()));
    Ok(std::fs::read_to_string(file).map_err(failed)?)
}
