//! A sandbox forge as a process of its own, and a server's home beside it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cli::tidegate;

/// The secret our webhooks are signed with.
const SECRET: &str = "shared-between-us";
/// The access token of the account tidegate acts as.
pub(crate) const TOKEN: &str = "tide-secret-token";

/// A running forge with the repository `acme/infra`, and a folder for a server of it.
pub(crate) struct Forge {
    pub(crate) address: String,
    folder: TempDir,
    process: Child,
}

impl Forge {
    /// Starts it; the account `tide` has this role in `acme/infra`.
    pub(crate) fn start(role: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let seed = json!({
            "users": [{"login": "ada", "token": "ada-secret"},
                      {"login": "tide", "is_bot": true, "token": TOKEN}],
            "repos": [{"name": "acme/infra", "collaborators": {"ada": "write", "tide": role}, "hooks": []}],
        });
        fs::write(folder.path().join("seed.json"), seed.to_string()).unwrap();
        let arguments = ["sandbox", "--data", "forge", "--seed", "seed.json"];
        let mut process = tidegate(folder.path(), &arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        let stdout = process.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut address).unwrap();
        let forge = Self {
            address: address.trim().to_owned(),
            folder,
            process,
        };
        forge.furnish();
        forge
    }

    /// A folder with the server's file and its secrets, and nothing else.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn furnish(&self) {
        fs::create_dir(self.home()).unwrap();
        self.write("tidegate-server.yml", &self.server_file(4141));
        self.write("token", TOKEN);
        self.write("secret", SECRET);
    }

    /// A server's file that listens on this port and the one behind it.
    pub(crate) fn server_file(&self, port: u16) -> String {
        let (address, pages) = (&self.address, port + 1);
        format!(
            "public_url: http://127.0.0.1:{port}\nlisten: 127.0.0.1:{port}\nlisten_pages: 127.0.0.1:{pages}\n\
             forges:\n  - kind: github\n    url: {address}\n    api_url: {address}/api/v3\n    \
             token_file: token\n    webhook_secret_files: [secret]\n    repos: [acme/infra]\n"
        )
    }

    /// Writes a file of the home that only its owner can read.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let file = self.home().join(name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// Adds a webhook of `acme/infra`, as its administrator.
    pub(crate) async fn add_hook(&self, url: &str) {
        let path = format!("{}/api/v3/repos/acme/infra/hooks", self.address);
        let hook = json!({"config": {"url": url, "secret": SECRET, "content_type": "json"}});
        let answer = reqwest::Client::new()
            .post(path)
            .bearer_auth(TOKEN)
            .json(&hook)
            .send()
            .await
            .unwrap();
        assert!(answer.status().is_success(), "{}", answer.status());
    }
}

impl Drop for Forge {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The names of what is in a folder.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// The findings of a check, as `level what`, and the hints with them.
pub(crate) fn findings(check: &str, said: &Value) -> Vec<String> {
    let all = said["findings"].as_array().unwrap();
    let of_check = all.iter().filter(|it| it["check"] == check);
    let text = |it: &Value, key: &str| it[key].as_str().unwrap().to_owned();
    of_check
        .map(|it| {
            format!(
                "{} {} | {}",
                text(it, "level"),
                text(it, "what"),
                text(it, "hint")
            )
        })
        .collect()
}
