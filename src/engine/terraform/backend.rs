//! Where a root keeps its state, as Terraform recorded it: what tells states apart, and never a credential.

use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use url::Url;

use crate::core::key::hex;

/// What `init` writes into the tool's own folder.
#[derive(Deserialize)]
struct Record {
    backend: Option<Backend>,
}

#[derive(Deserialize)]
struct Backend {
    r#type: String,
    config: Option<Map<String, Value>>,
}

/// Attributes that say where a state is, of every backend that has them.
const PLACES: [&str; 24] = [
    "account",
    "address",
    "bucket",
    "container_name",
    "datacenter",
    "endpoint",
    "endpoints",
    "environment",
    "hostname",
    "key",
    "lock_address",
    "namespace",
    "organization",
    "path",
    "prefix",
    "region",
    "schema_name",
    "secret_suffix",
    "storage_account_name",
    "storage_custom_endpoint",
    "unlock_address",
    "workspace_dir",
    "workspace_key_prefix",
    "workspaces",
];

/// Environment variables that the `http` backend reads in place of attributes, which then are not in the record.
const HTTP_VARIABLES: [(&str, &str); 3] = [
    ("TF_HTTP_ADDRESS", "address"),
    ("TF_HTTP_LOCK_ADDRESS", "lock_address"),
    ("TF_HTTP_UNLOCK_ADDRESS", "unlock_address"),
];

/// Reads the record below a tool's own folder, with what the environment adds to it. Without a record the state is
/// a file in the root itself.
pub(super) fn read(data: &Path, env: &[(String, String)]) -> anyhow::Result<Value> {
    let path = data.join("terraform.tfstate");
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(json!({"type": "local"})),
        Err(error) => return Err(error).context("cannot read which backend Terraform recorded"),
    };
    let record: Record =
        serde_json::from_str(&text).context("cannot read which backend Terraform recorded")?;
    Ok(record
        .backend
        .map_or_else(|| json!({"type": "local"}), |it| places(it, env)))
}

/// Whether the state would be a file below `job`, and so be gone with it. `root` is where the tool runs.
pub(super) fn goes_with(backend: &Value, root: &Path, job: &Path) -> bool {
    if backend["type"] != "local" {
        return false;
    }
    let path = backend["path"].as_str().unwrap_or("terraform.tfstate");
    let mut resolved = PathBuf::new();
    for part in root.join(path).components() {
        match part {
            Component::ParentDir => {
                resolved.pop();
            }
            Component::CurDir => {}
            Component::RootDir | Component::Normal(_) | Component::Prefix(_) => resolved.push(part),
        }
    }
    resolved.starts_with(job)
}

fn places(backend: Backend, env: &[(String, String)]) -> Value {
    let mut config = backend.config.unwrap_or_default();
    if backend.r#type == "http" {
        for (variable, attribute) in HTTP_VARIABLES {
            let given = env.iter().find(|(name, _)| name == variable);
            if let (Some((_, value)), None | Some(Value::Null)) = (given, config.get(attribute)) {
                config.insert(attribute.to_owned(), value.as_str().into());
            }
        }
    }
    let mut kept: Map<String, Value> = config
        .into_iter()
        .filter(|(name, value)| PLACES.contains(&name.as_str()) && !value.is_null())
        .map(|(name, value)| (name, without_credentials(value)))
        .collect();
    kept.insert("type".to_owned(), backend.r#type.into());
    Value::Object(kept)
}

fn without_credentials(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(bare_address(text)),
        Value::Array(all) => all.into_iter().map(without_credentials).collect(),
        Value::Object(all) => all
            .into_iter()
            .map(|(name, value)| (name, without_credentials(value)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// A user, a password and a query may be credentials; two queries still tell two states apart by their hash.
fn bare_address(text: String) -> String {
    let Some(mut url) = Url::parse(&text).ok().filter(Url::has_host) else {
        return text;
    };
    let hash = url
        .query()
        .map(|it| hex(&Sha256::digest(it.as_bytes())[..8]));
    url.set_query(hash.as_deref());
    url.set_username("")
        .and(url.set_password(None))
        .expect("an address with a host may have a user");
    url.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backend(record: &Value, env: &[(String, String)]) -> Value {
        let folder = tempfile::tempdir().unwrap();
        let text = json!({"version": 3, "backend": record}).to_string();
        fs::write(folder.path().join("terraform.tfstate"), text).unwrap();
        read(folder.path(), env).unwrap()
    }

    #[test]
    fn credentials_are_left_out_and_places_kept() {
        let record = json!({"type": "s3", "hash": 1, "config": {
            "bucket": "states", "key": "app.tfstate", "secret_key": "s3cr3t", "profile": null, "region": null,
        }});
        assert_eq!(
            backend(&record, &[]),
            json!({"type": "s3", "bucket": "states", "key": "app.tfstate"})
        );
    }

    #[test]
    fn an_address_loses_its_password_and_hides_its_query() {
        let record = json!({"type": "http", "config": {"address": "https://ada:pw@tf.example/app?token=t0p"}});
        let address = backend(&record, &[])["address"].clone();
        let text = address.as_str().unwrap();
        assert!(text.starts_with("https://tf.example/app?"), "{text}");
        assert!(!text.contains("t0p"), "{text}");
    }

    #[test]
    fn an_address_from_the_environment_counts() {
        let env = [(
            "TF_HTTP_ADDRESS".to_owned(),
            "https://tf.example/a".to_owned(),
        )];
        assert_eq!(
            backend(&json!({"type": "http", "config": {"address": null}}), &env),
            json!({"type": "http", "address": "https://tf.example/a"})
        );
    }

    #[test]
    fn a_state_below_the_jobs_folder_goes_with_it() {
        for (backend, goes) in [
            (json!({"type": "local"}), true),
            (json!({"type": "local", "path": "../../x.tfstate"}), true),
            (
                json!({"type": "local", "path": "../../../x.tfstate"}),
                false,
            ),
            (json!({"type": "local", "path": "/states/x.tfstate"}), false),
            (json!({"type": "s3", "path": "x"}), false),
        ] {
            let root = Path::new("/jobs/1/checkout/net");
            assert_eq!(
                goes_with(&backend, root, Path::new("/jobs/1")),
                goes,
                "{backend}"
            );
        }
    }

    #[test]
    fn a_root_without_a_record_keeps_its_state_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path(), &[]).unwrap(), json!({"type": "local"}));
    }
}
