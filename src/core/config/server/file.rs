//! The server file's text in, the server's options or all complaints out.

use std::collections::BTreeSet;
// The addresses alone, as values: nothing of them opens a socket.
use ::core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use url::Url;

use super::{
    Account, ExecutorKind, ExecutorOptions, ForgeKind, ForgeOptions, JobUser, ServerOptions,
};
use crate::core::config::Complaint;
use crate::core::config::length;
use crate::core::config::section::{At, Later, Reader, Section};
use crate::core::config::server::keys::{EXECUTOR, FORGE, KEYS};
use crate::core::config::yaml::Value;
use crate::core::ids::ForgeHost;

/// The server file's usual name.
pub const FILE: &str = "tidegate-server.yml";

pub(super) const FORGE_KINDS: [(&str, ForgeKind); 3] = [
    ("github", ForgeKind::GitHub),
    ("forgejo", ForgeKind::Forgejo),
    ("gitea", ForgeKind::Forgejo),
];
pub(super) const EXECUTOR_KINDS: [(&str, ExecutorKind); 1] = [("local", ExecutorKind::Local)];

const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const LISTEN: SocketAddr = SocketAddr::new(LOCALHOST, 4141);
const LISTEN_PAGES: SocketAddr = SocketAddr::new(LOCALHOST, 4142);

impl Default for ExecutorOptions {
    fn default() -> Self {
        Self {
            kind: ExecutorKind::Local,
            parallel: 2,
            lease_seconds: 60,
            plan_env: Vec::new(),
            apply_env: Vec::new(),
            user: None,
            apply_user: None,
        }
    }
}

/// Reads a server file: the options, or all that is wrong with it.
pub fn read(file_name: &str, text: &str) -> Result<ServerOptions, Vec<Complaint>> {
    let (mut reader, node) = Reader::open(file_name, text, Later::NothingStarts)?;
    let options = read_options(&mut reader, &At::top(&node));
    reader.finish(options)
}

fn read_options(reader: &mut Reader, top: &At) -> Option<ServerOptions> {
    let keys = reader.section(top, &KEYS);
    let (listen, listen_pages) = read_addresses(reader, &keys);
    let hint = "give the address where the forge and the jobs reach `listen`";
    let public_url = reader.need(&keys, "public_url", hint, read_url);
    let forges = reader.need(&keys, "forges", "list at least one forge", read_forges);
    let executor = reader.get(&keys, "executor", read_executor);
    let data = reader.get(&keys, "data", read_path);
    let database = reader.get(&keys, "database", read_database);
    let key_file = reader.get(&keys, "key_file", read_path);
    Some(ServerOptions {
        public_url: public_url?,
        listen,
        listen_pages,
        data: data.unwrap_or_else(|| PathBuf::from("./data")),
        database,
        key_file,
        forges: forges?,
        executor: executor.unwrap_or_default(),
    })
}

fn read_addresses(reader: &mut Reader, keys: &Section) -> (SocketAddr, SocketAddr) {
    let listen = reader.get(keys, "listen", read_address).unwrap_or(LISTEN);
    let pages = reader
        .get(keys, "listen_pages", read_address)
        .unwrap_or(LISTEN_PAGES);
    let given = keys.get("listen_pages").or_else(|| keys.get("listen"));
    if let Some(at) = given.filter(|_| listen == pages) {
        let hint = "pages show plans and stay off the public address: give them another port";
        reader.wrong::<()>(at, "`listen` and `listen_pages` are the same address", hint);
    }
    (listen, pages)
}

fn read_address(reader: &mut Reader, at: &At) -> Option<SocketAddr> {
    let hint = "write an IP address and a port, such as `127.0.0.1:4141`";
    if let Value::Text(text) = &at.node.value
        && let Ok(address) = text.parse()
    {
        return Some(address);
    }
    reader.wrong(at, "is not an address", hint)
}

/// An `http` or `https` address without user, query or fragment; the text is not repeated, it could hold a secret.
fn read_url(reader: &mut Reader, at: &At) -> Option<Url> {
    let text = reader.text(at)?;
    let hint = "write it like `https://tidegate.acme.example`";
    let Ok(url) = Url::parse(text) else {
        return reader.wrong(at, "is not a URL", hint);
    };
    if !matches!(url.scheme(), "http" | "https") {
        return reader.wrong(at, "must be an `http` or `https` URL", hint);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return reader.wrong(at, "must not hold a user or a password", hint);
    }
    if url.query().is_some() || url.fragment().is_some() {
        return reader.wrong(at, "must end before `?` and `#`", hint);
    }
    Some(url)
}

fn read_path(reader: &mut Reader, at: &At) -> Option<PathBuf> {
    reader.text(at).map(PathBuf::from)
}

fn read_database(reader: &mut Reader, at: &At) -> Option<String> {
    let text = reader.text(at)?;
    if text.starts_with("postgres://") || text.starts_with("postgresql://") {
        return Some(text.to_owned());
    }
    let hint = "remove the key to keep everything in SQLite under `data`";
    reader.wrong(at, "must start with `postgres://`", hint)
}

fn read_forges(reader: &mut Reader, at: &At) -> Option<Vec<ForgeOptions>> {
    let items = reader.some(at, "names no forge", "list at least one")?;
    let mut hosts = BTreeSet::new();
    let mut forges = Vec::new();
    for item in &items {
        let Some(forge) = read_forge(reader, item) else {
            continue;
        };
        if !hosts.insert(forge.host()) {
            let what = format!("{} is there twice", forge.host());
            reader.wrong::<()>(item, what, "give all its repositories in one entry");
        }
        forges.push(forge);
    }
    Some(forges)
}

fn read_forge(reader: &mut Reader, at: &At) -> Option<ForgeOptions> {
    let keys = reader.section(at, &FORGE);
    let hint = "write `kind: github` or `kind: forgejo`";
    let kind = reader.need(&keys, "kind", hint, |reader, at| {
        reader.word(at, &FORGE_KINDS)
    });
    let hint = "give the address people open, such as `https://github.com`";
    let url = reader.need(&keys, "url", hint, read_forge_url);
    let api_url = reader.get(&keys, "api_url", read_url);
    let account = read_account(reader, &keys, kind);
    let hint = "name a file with the webhook secret; unsigned deliveries are never accepted";
    let secrets = reader.need(&keys, "webhook_secret_files", hint, read_secret_files);
    let repos = reader.get(&keys, "repos", read_repos);
    let (kind, url) = (kind?, url?);
    Some(ForgeOptions {
        kind,
        api_url: api_url.unwrap_or_else(|| api_of(kind, &url)),
        url,
        account: account?,
        webhook_secret_files: secrets?,
        repos: repos.unwrap_or_else(|| vec!["*/*".to_owned()]),
    })
}

/// A token, or an app with its key; not both, since one of them would be left unused.
fn read_account(reader: &mut Reader, keys: &Section, kind: Option<ForgeKind>) -> Option<Account> {
    if keys.get("app_id").is_none() && keys.get("app_key_file").is_none() {
        let hint = "name a file with the access token of the account tidegate acts as, or give `app_id` and `app_key_file`";
        let file = reader.need(keys, "token_file", hint, read_path);
        return file.map(|file| Account::Token { file });
    }
    if let (Some(ForgeKind::Forgejo), Some(at)) = (kind, keys.get("app_id")) {
        let hint = "give a `token_file` with the access token of the account tidegate acts as";
        return reader.wrong(at, "is there, and Forgejo and Gitea have no apps", hint);
    }
    if let Some(at) = keys.get("token_file") {
        let what = "is there beside `app_id` or `app_key_file`";
        reader.wrong::<()>(
            at,
            what,
            "act as an app or by a token, and remove the other",
        );
    }
    let hint = "give the app's number, from its settings page";
    let id = reader.need(keys, "app_id", hint, |reader, at| {
        reader.whole(at, 1..=u32::MAX)
    });
    let hint = "name the file with the app's private key (`.pem`)";
    let key_file = reader.need(keys, "app_key_file", hint, read_path);
    Some(Account::App {
        id: id?.into(),
        key_file: key_file?,
    })
}

/// A forge's host is its key in every row, so it must be a host name we can keep.
fn read_forge_url(reader: &mut Reader, at: &At) -> Option<Url> {
    let url = read_url(reader, at)?;
    match ForgeHost::try_from(url.host_str().unwrap_or_default()) {
        Ok(_) => Some(url),
        Err(error) => reader.wrong(at, error.to_string(), ""),
    }
}

fn api_of(kind: ForgeKind, url: &Url) -> Url {
    let text = match (kind, url.host_str()) {
        (ForgeKind::GitHub, Some("github.com")) => "https://api.github.com".to_owned(),
        // Its own cloud, where data stays in one region.
        (ForgeKind::GitHub, Some(host)) if host.ends_with(".ghe.com") => {
            format!("https://api.{host}")
        }
        (ForgeKind::GitHub, _) => format!("{}/api/v3", url.as_str().trim_end_matches('/')),
        (ForgeKind::Forgejo, _) => format!("{}/api/v1", url.as_str().trim_end_matches('/')),
    };
    Url::parse(&text).expect("a URL with a longer path is a URL")
}

fn read_secret_files(reader: &mut Reader, at: &At) -> Option<Vec<PathBuf>> {
    let what = "names no file, so every delivery would be refused";
    let items = reader.some(at, what, "name at least one")?;
    Some(reader.texts(&items, |_, _, text| Some(PathBuf::from(text))))
}

fn read_repos(reader: &mut Reader, at: &At) -> Option<Vec<String>> {
    let hint = "remove the key to serve all that the account can see";
    let items = reader.some(at, "names no repository", hint)?;
    Some(reader.texts(&items, |reader, at, text| {
        if is_repo_pattern(text) {
            return Some(text.to_owned());
        }
        let hint = "write `owner/name`; `*` stands for any text within one part";
        let what = format!("`{text}` is not a repository pattern");
        reader.wrong(at, what, hint)
    }))
}

fn is_repo_pattern(text: &str) -> bool {
    let is_letter = |it: u8| it.is_ascii_alphanumeric() || b"-_.*".contains(&it);
    text.contains('/')
        && text.split('/').all(|part| {
            !matches!(part, "" | "." | "..") && !part.contains("**") && part.bytes().all(is_letter)
        })
}

/// A kind, or a map that says more.
fn read_executor(reader: &mut Reader, at: &At) -> Option<ExecutorOptions> {
    let default = ExecutorOptions::default();
    if !matches!(at.node.value, Value::Map(_)) {
        let kind = reader.word(at, &EXECUTOR_KINDS)?;
        return Some(ExecutorOptions { kind, ..default });
    }
    let keys = reader.section(at, &EXECUTOR);
    let kind = reader.get(&keys, "kind", |reader, at| reader.word(at, &EXECUTOR_KINDS));
    let parallel = reader.get(&keys, "parallel", |reader, at| reader.whole(at, 1..=64));
    let (user, apply_user) = read_users(reader, &keys);
    Some(ExecutorOptions {
        kind: kind.unwrap_or(default.kind),
        parallel: parallel.map_or(default.parallel, |it| it as usize),
        lease_seconds: reader
            .get(&keys, "lease", read_lease)
            .unwrap_or(default.lease_seconds),
        plan_env: reader
            .get(&keys, "plan_env", read_names)
            .unwrap_or_default(),
        apply_env: reader
            .get(&keys, "apply_env", read_names)
            .unwrap_or_default(),
        user,
        apply_user,
    })
}

fn read_users(reader: &mut Reader, keys: &Section) -> (Option<JobUser>, Option<JobUser>) {
    let user = reader.get(keys, "user", read_user);
    let apply_user = reader.get(keys, "apply_user", read_user);
    if let (None, Some(at)) = (keys.get("user"), keys.get("apply_user")) {
        let hint = "give `user` too: code of pull requests needs a user of its own first";
        reader.wrong::<()>(at, "is given without `user`", hint);
    }
    (user, apply_user)
}

/// A user's name or number, and never the one that may read everything.
fn read_user(reader: &mut Reader, at: &At) -> Option<JobUser> {
    let user = match &at.node.value {
        Value::Whole(_) => JobUser::Id(reader.whole(at, 0..=u32::MAX - 1)?),
        Value::Text(_)
        | Value::Nothing
        | Value::Flag(_)
        | Value::Other
        | Value::List(_)
        | Value::Map(_) => JobUser::Name(reader.text(at)?.to_owned()),
    };
    if user == JobUser::Id(0) || user == JobUser::Name("root".to_owned()) {
        let hint = "name a user that owns nothing of the server's";
        return reader.wrong(at, "may read all that the server keeps", hint);
    }
    Some(user)
}

fn read_lease(reader: &mut Reader, at: &At) -> Option<u32> {
    let text = match &at.node.value {
        Value::Text(text) => text.as_str(),
        Value::Nothing
        | Value::Flag(_)
        | Value::Whole(_)
        | Value::Other
        | Value::List(_)
        | Value::Map(_) => "",
    };
    match length::seconds(text, "sm").filter(|it| (10..=3600).contains(it)) {
        Some(seconds) => Some(seconds),
        None => reader.wrong(
            at,
            "must be a length from `10s` to `60m`",
            "the usual one is `60s`",
        ),
    }
}

fn read_names(reader: &mut Reader, at: &At) -> Option<Vec<String>> {
    let items = reader.list(at)?;
    Some(reader.texts(&items, read_name))
}

fn read_name(reader: &mut Reader, at: &At, text: &str) -> Option<String> {
    let is_letter = |it: u8| it.is_ascii_alphanumeric() || it == b'_';
    if !text.bytes().all(is_letter) || text.as_bytes()[0].is_ascii_digit() {
        let hint = "write names alone; values come from the server's environment";
        return reader.wrong(at, "is not the name of an environment variable", hint);
    }
    if text.starts_with("TIDEGATE_") {
        return reader.wrong(
            at,
            "would hand the server's own secrets to jobs",
            "remove it",
        );
    }
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALLEST: &str = include_str!("../../../../tests/config/valid/server-smallest.yml");

    #[test]
    fn the_smallest_file_gets_the_documented_defaults() {
        let options = read(FILE, SMALLEST).unwrap();
        let url = |text: &str| Url::parse(text).unwrap();
        let wanted = ServerOptions {
            public_url: url("https://tidegate.acme.example"),
            listen: "127.0.0.1:4141".parse().unwrap(),
            listen_pages: "127.0.0.1:4142".parse().unwrap(),
            data: "./data".into(),
            database: None,
            key_file: None,
            forges: vec![ForgeOptions {
                kind: ForgeKind::GitHub,
                url: url("https://github.com"),
                api_url: url("https://api.github.com"),
                account: Account::Token {
                    file: "token".into(),
                },
                webhook_secret_files: vec!["secret".into()],
                repos: vec!["*/*".to_owned()],
            }],
            executor: ExecutorOptions {
                kind: ExecutorKind::Local,
                parallel: 2,
                lease_seconds: 60,
                plan_env: Vec::new(),
                apply_env: Vec::new(),
                user: None,
                apply_user: None,
            },
        };
        assert_eq!(options, wanted);
    }

    #[test]
    fn a_forge_of_ones_own_has_its_api_beside_its_pages() {
        let options = read(
            FILE,
            &SMALLEST.replace("https://github.com", "https://git.acme.example:8443/"),
        )
        .unwrap();
        let forge = &options.forges[0];
        assert_eq!(
            forge.api_url.as_str(),
            "https://git.acme.example:8443/api/v3"
        );
        assert_eq!(forge.host().as_str(), "git.acme.example:8443");
    }

    #[test]
    fn forgejo_has_its_api_beside_its_pages_by_either_name() {
        for kind in ["forgejo", "gitea"] {
            let text = SMALLEST
                .replace("kind: github", &format!("kind: {kind}"))
                .replace("https://github.com", "https://git.acme.example/forge/");
            let forge = &read(FILE, &text).unwrap().forges[0];
            let api = "https://git.acme.example/forge/api/v1";
            assert_eq!(
                (forge.kind, forge.api_url.as_str()),
                (ForgeKind::Forgejo, api)
            );
        }
    }

    #[test]
    fn a_cloud_of_ones_own_region_has_its_api_on_a_host_of_its_own() {
        let options = read(
            FILE,
            &SMALLEST.replace("https://github.com", "https://acme.ghe.com"),
        );
        let api = &options.unwrap().forges[0].api_url;
        assert_eq!(api.as_str(), "https://api.acme.ghe.com/");
    }

    #[test]
    fn no_value_that_could_be_a_secret_is_repeated() {
        let text = "public_url: https://ada:hunter2@x\ndatabase: mysql://hunter2\nforges: hunter2\nexecutor:\n  plan_env: [hunter2=3]\n  apply_env: hunter2\n  lease: hunter2\n";
        for complaint in read(FILE, text).unwrap_err() {
            assert!(!complaint.to_string().contains("hunter2"), "{complaint}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(url in "https?://[a-z_0-9.:\\[\\]%-]{0,20}", rest in "[a-z: \\n\\[\\]{}-]{0,40}") {
            let _ = read(FILE, &SMALLEST.replace("https://github.com", &url));
            let _ = read(FILE, &format!("forges:\n  - url: {url}\n    {rest}"));
        }
    }
}
