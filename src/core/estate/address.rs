//! Where a root keeps its state, as far as literals tell it.

use serde::{Deserialize, Serialize};
use url::Url;

use crate::core::estate::blocks::{Backend, Config, Value};
use crate::core::estate::paths;
use crate::core::ids::Root;

/// A state's address: roots whose addresses line up share a state. Never holds a credential.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StateAddress {
    /// The backend's type: `s3`, `http`, `local`, …; `remote` for a `cloud` block too.
    pub backend: String,
    /// What the bucket is in, when the type has one and it is named: azurerm's storage account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The bucket or container (consul: the host), when the type has one and it is named.
    pub bucket: Option<String>,
    /// Key, prefix, path or address: whatever tells one state from another within the type.
    pub key: String,
}

impl StateAddress {
    /// Whether both name one state: the same key, and the same bucket when both name one.
    pub fn lines_up(&self, other: &Self) -> bool {
        let agree = |a: &Option<String>, b: &Option<String>| a.is_none() || b.is_none() || a == b;
        self.backend == other.backend
            && self.key == other.key
            && agree(&self.bucket, &other.bucket)
            && agree(&self.account, &other.account)
    }

    /// Whether it tells one state from all others: nothing of it may come from outside the text.
    pub(super) fn is_whole(&self) -> bool {
        match self.backend.as_str() {
            "local" | "pg" | "http" | "kubernetes" | "remote" => true,
            "azurerm" => self.account.is_some() && self.bucket.is_some(),
            _ => self.bucket.is_some(),
        }
    }
}

/// What a backend block or a `terraform_remote_state` block says, and the root it stands in.
struct Place<'a> {
    config: &'a Config,
    root: &'a Root,
}

/// The address a root's own `backend` or `cloud` block gives, or why it cannot be told.
pub(super) fn of_backend(backend: &Backend, root: &Root) -> Result<StateAddress, String> {
    let config = &backend.config;
    address(&backend.kind, &Place { config, root })
}

/// The address that a `terraform_remote_state` block reads, or why it cannot be told.
pub(super) fn of_read(
    backend: Option<&Value>,
    config: Option<&Value>,
    root: &Root,
) -> Result<StateAddress, String> {
    let empty = Config::new();
    let kind = literal("backend", backend)?.ok_or_else(|| missing("backend"))?;
    let config = match config {
        Some(Value::Object(it)) => it,
        None => &empty,
        Some(Value::Text(_) | Value::Other) => return Err(not_literal("config")),
    };
    address(kind, &Place { config, root })
}

/// The address of a root that names no backend: a file beside the code.
pub(super) fn beside_the_code(root: &Root) -> StateAddress {
    local(root, "terraform.tfstate")
}

fn address(kind: &str, place: &Place<'_>) -> Result<StateAddress, String> {
    match kind {
        "local" => Ok(local(
            place.root,
            place.text("path")?.unwrap_or("terraform.tfstate"),
        )),
        "gcs" => {
            let bucket = place.named("bucket");
            let prefix = match place.text("prefix")? {
                None if bucket.is_none() => return Err(missing("prefix")),
                prefix => prefix.unwrap_or_default().trim_matches('/'),
            };
            Ok(new(kind, bucket, prefix))
        }
        "azurerm" => Ok(StateAddress {
            account: place.named("storage_account_name"),
            ..new(kind, place.named("container_name"), place.need("key")?)
        }),
        "pg" => postgres(place),
        "http" => Ok(new(
            kind,
            None,
            &without_credentials(place.need("address")?)?,
        )),
        "consul" => Ok(new(
            kind,
            place.named("address").map(host_of),
            place.need("path")?,
        )),
        "kubernetes" => {
            let namespace = place.text("namespace")?.unwrap_or("default");
            let suffix = place.need("secret_suffix")?;
            Ok(new(kind, None, &format!("{namespace}/{suffix}")))
        }
        "remote" | "cloud" => workspace(place),
        _ => object(kind, place),
    }
}

fn new(backend: &str, bucket: Option<String>, key: &str) -> StateAddress {
    StateAddress {
        backend: backend.to_owned(),
        account: None,
        bucket,
        key: key.to_owned(),
    }
}

fn local(root: &Root, path: &str) -> StateAddress {
    new("local", None, &paths::resolve(root.as_str(), path))
}

/// S3 and every type that we do not know: a bucket, and a key or a prefix or both.
fn object(kind: &str, place: &Place<'_>) -> Result<StateAddress, String> {
    let (prefix, key) = match kind {
        "s3" => (None, Some(place.need("key")?)),
        _ => (place.text("prefix")?, place.text("key")?),
    };
    let key = match (prefix, key) {
        (Some(prefix), Some(key)) => format!("{}/{key}", prefix.trim_end_matches('/')),
        (Some(only), None) | (None, Some(only)) => only.to_owned(),
        (None, None) => return Err(missing("key")),
    };
    Ok(new(kind, place.named("bucket"), &key))
}

fn workspace(place: &Place<'_>) -> Result<StateAddress, String> {
    let host = place.text("hostname")?.unwrap_or("app.terraform.io");
    let organization = place.need("organization")?;
    let workspaces = match place.config.get("workspaces") {
        Some(Value::Object(config)) => config,
        Some(Value::Text(_) | Value::Other) => return Err(not_literal("workspaces")),
        None => return Err(missing("workspaces")),
    };
    let workspaces = Place {
        config: workspaces,
        root: place.root,
    };
    let name = workspaces
        .text("name")?
        .ok_or("`workspaces` gives no `name`")?;
    let key = format!("{}/{organization}/{name}", host.to_lowercase());
    Ok(new("remote", None, &key))
}

fn postgres(place: &Place<'_>) -> Result<StateAddress, String> {
    let connection = place.need("conn_str")?;
    let server = if connection.contains("://") {
        server_of_url(connection)
    } else {
        server_of_words(connection)
    };
    // The text itself holds a password, so the reason must not quote it.
    let server = server.ok_or("`conn_str` does not name a database")?;
    let schema = place
        .text("schema_name")?
        .unwrap_or("terraform_remote_state");
    let table = place.text("table_name")?.unwrap_or("states");
    Ok(new("pg", None, &format!("{server}/{schema}.{table}")))
}

/// `host[:port]/database` of a `postgres://` URL.
fn server_of_url(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    let host = url
        .host_str()
        .filter(|it| !it.is_empty())
        .unwrap_or("localhost");
    let port = url.port().map(|it| it.to_string());
    server(host, port.as_deref(), url.path().trim_matches('/'))
}

/// `host[:port]/database` of libpq's `host=… dbname=…` form.
fn server_of_words(text: &str) -> Option<String> {
    let find = |name: &str| {
        let words = text.split_whitespace();
        let mut values = words.filter_map(|it| it.strip_prefix(name)?.strip_prefix('='));
        values.next_back().map(|it| it.trim_matches('\''))
    };
    let host = find("host").unwrap_or("localhost");
    server(host, find("port"), find("dbname")?)
}

fn server(host: &str, port: Option<&str>, database: &str) -> Option<String> {
    let host = host.to_lowercase();
    let port = port.filter(|it| *it != "5432").map(|it| format!(":{it}"));
    (!database.is_empty()).then(|| format!("{host}{}/{database}", port.unwrap_or_default()))
}

fn without_credentials(address: &str) -> Result<String, String> {
    let url = Url::parse(address).ok();
    let url = url.filter(|it| matches!(it.scheme(), "http" | "https"));
    let url = url.ok_or("`address` is not an HTTP address")?;
    // `origin` drops user, password and a default port; query and fragment stay behind as well.
    Ok(format!(
        "{}{}",
        url.origin().ascii_serialization(),
        url.path()
    ))
}

/// The host of consul's `address`, which may be written as a URL.
fn host_of(address: String) -> String {
    let host = address
        .rsplit_once("://")
        .map_or(address.as_str(), |(_, it)| it);
    let host = host.split('/').next().unwrap_or_default();
    host.rsplit('@').next().unwrap_or_default().to_lowercase()
}

impl<'a> Place<'a> {
    /// A literal; none when it is not given, an error when it is given otherwise.
    fn text(&self, name: &str) -> Result<Option<&'a str>, String> {
        literal(name, self.config.get(name))
    }

    fn need(&self, name: &str) -> Result<&'a str, String> {
        self.text(name)?.ok_or_else(|| missing(name))
    }

    /// A name that narrows the address when it is a literal. An order too many is better than one too few, so what is
    /// not a literal counts as not named.
    fn named(&self, name: &str) -> Option<String> {
        self.text(name).ok().flatten().map(str::to_owned)
    }
}

fn literal<'a>(name: &str, value: Option<&'a Value>) -> Result<Option<&'a str>, String> {
    match value {
        None => Ok(None),
        Some(Value::Text(text)) => Ok(Some(text)),
        Some(Value::Object(_) | Value::Other) => Err(not_literal(name)),
    }
}

fn not_literal(name: &str) -> String {
    format!("`{name}` is not a literal")
}

fn missing(name: &str) -> String {
    format!("it names no `{name}`")
}

#[cfg(test)]
mod tests;
