//! The keys of the server file.

use crate::core::config::keys::{Keys, Known, Shape, names};
use crate::core::config::server::file::{EXECUTOR_KINDS, FORGE_KINDS};

const URL: Shape = Shape::Like("^https?://");
const ADDRESS: Shape = Shape::Like("^[0-9a-fA-F.:\\[\\]%]+:[0-9]+$");
/// Names of environment variables.
const NAMES: Shape = Shape::List(&Shape::Like("^[A-Za-z_][A-Za-z0-9_]*$"));
const USER: Shape = Shape::Any(&[Shape::Text, Shape::Whole(1, u32::MAX - 1)]);

pub(in crate::core::config) const KEYS: Keys = Keys {
    read: &[
        Known::needed(
            "public_url",
            URL,
            "where the forge and the jobs reach `listen`",
        ),
        Known::new(
            "listen",
            ADDRESS,
            "`127.0.0.1:4141`",
            "webhooks and the runner API",
        ),
        Known::new(
            "listen_pages",
            ADDRESS,
            "`127.0.0.1:4142`",
            "pages, `/healthz`, `/readyz`, `/metrics`: they show plans and have no login",
        ),
        Known::new(
            "data",
            Shape::Text,
            "`./data`",
            "SQLite file, key, mirrors of repositories, folders of jobs",
        ),
        Known::new(
            "database",
            Shape::Like("^postgres(ql)?://"),
            "SQLite in `data`",
            "`postgres://…`",
        ),
        Known::new(
            "key_file",
            Shape::Text,
            "`data/key`",
            "64 hex digits, made at the first start with mode 0600; the variable `TIDEGATE_KEY` instead where servers \
             share it. Back it up: with another key, waiting approvals are void",
        ),
        Known::needed(
            "forges",
            Shape::Some(&Shape::Section(&FORGE)),
            "the forges that are served, one entry each",
        ),
        Known::new(
            "executor",
            Shape::Any(&[
                Shape::Words(|| names(&EXECUTOR_KINDS)),
                Shape::Section(&EXECUTOR),
            ]),
            "`local`",
            "where jobs run: a kind, or a map that says more",
        ),
    ],
    later: &[],
};

pub(super) const FORGE: Keys = Keys {
    read: &[
        Known::needed(
            "kind",
            Shape::Words(|| names(&FORGE_KINDS)),
            "`github`, `forgejo`, or `gitea`, which is the same as `forgejo`",
        ),
        Known::needed(
            "url",
            URL,
            "`https://github.com`, or your own GitHub Enterprise Server, Forgejo or Gitea",
        ),
        Known::new(
            "api_url",
            URL,
            "from `url`",
            "`https://api.github.com`, `<url>/api/v3`, or Forgejo's `<url>/api/v1`",
        ),
        Known::new(
            "token_file",
            Shape::Text,
            "this or an app",
            "the access token of the account tidegate acts as",
        ),
        Known::new(
            "app_id",
            Shape::Whole(1, u32::MAX),
            "none",
            "the number of the GitHub App tidegate acts as ([github.md](github.md))",
        ),
        Known::new(
            "app_key_file",
            Shape::Text,
            "none",
            "the app's private key, PEM; refused when everybody on the machine may read it",
        ),
        Known::needed(
            "webhook_secret_files",
            Shape::Some(&Shape::Text),
            "accepted secrets; two while one is replaced. An empty one is refused",
        ),
        Known::new(
            "repos",
            Shape::Some(&Shape::Like("^[A-Za-z0-9_.*-]+(/[A-Za-z0-9_.*-]+)+$")),
            "`[\"*/*\"]`",
            "repositories that are served; `*` stays within one part",
        ),
    ],
    later: &[],
};

pub(super) const EXECUTOR: Keys = Keys {
    read: &[
        Known::new(
            "kind",
            Shape::Words(|| names(&EXECUTOR_KINDS)),
            "`local`",
            "jobs are processes on this machine",
        ),
        Known::new("parallel", Shape::Whole(1, 64), "2", "jobs at once"),
        Known::new(
            "lease",
            Shape::Like("^[1-9][0-9]*[sm]$"),
            "`60s`",
            "how long a job may be silent before it counts as lost",
        ),
        Known::new(
            "plan_env",
            NAMES,
            "none",
            "names of variables that jobs which only plan get from the server",
        ),
        Known::new(
            "apply_env",
            NAMES,
            "none",
            "names of variables that jobs which apply get",
        ),
        Known::new(
            "user",
            USER,
            "the server's own",
            "a user of this machine, by name or number, that jobs run as. Needs a server that runs as root",
        ),
        Known::new(
            "apply_user",
            USER,
            "`user`",
            "another one for jobs that apply, so that plans of pull requests see nothing of theirs",
        ),
    ],
    later: &[],
};
