//! The sample estate: a canary, `network` ← `database` ← `app`, and a root that reads nothing of them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use url::Url;

use crate::cli::testdrive::tool::Tool;

/// The repository's files by path.
pub(super) type Files = BTreeMap<String, String>;

/// The sample estate as one tool reads it.
pub(super) struct Estate {
    /// Below it each root has its state.
    pub(super) states: Url,
    pub(super) tool: Tool,
}

/// One root of the estate, in the words of either tool.
struct Part {
    root: &'static str,
    /// The root whose state it reads.
    reads: Option<&'static str>,
    /// Its resources and outputs, for Terraform.
    resources: String,
    /// What it wants, for the sample commands.
    value: Value,
    /// Replaces it when it changes.
    replace_on: Value,
}

impl Estate {
    /// The repository as it first is.
    pub(super) fn files(&self, program: &std::path::Path) -> Files {
        let parts = [
            standing("canary", "probe", r#"{ region = "north" }"#),
            network("10.10.0.0/16"),
            database(15),
            app(),
            standing("billing", "ledger", r#"{ currency = "EUR" }"#),
        ];
        let mut files: Files = parts.iter().flat_map(|it| self.files_of(it)).collect();
        files.insert(
            "tidegate.yml".to_owned(),
            "gate: on-destructive\nwaves:\n  canary: [canary]\n".to_owned()
                + &self.tool.project_lines(program),
        );
        files.insert(
            "README.md".to_owned(),
            "# The infrastructure of Acme\n".to_owned(),
        );
        files
    }

    /// The change of the first pull request: another address range replaces the network.
    pub(super) fn wider_network(&self) -> Files {
        self.files_of(&network("10.20.0.0/16"))
    }

    /// The change of the second pull request: a newer major version replaces the database.
    pub(super) fn newer_database(&self) -> Files {
        self.files_of(&database(16))
    }

    /// Where a root keeps its state.
    pub(super) fn address(&self, root: &str) -> String {
        format!("{}{root}", self.states)
    }

    /// A root's files. Where its state is and what it reads stands in Terraform's words for both tools, because that is
    /// what the waves are made of.
    fn files_of(&self, part: &Part) -> Files {
        let root = part.root;
        let reads = part.reads.map(|it| self.reads(it)).unwrap_or_default();
        let main = self.backend(root) + &reads;
        let files = match self.tool {
            Tool::Terraform(_) => vec![("main.tf", main + &part.resources)],
            Tool::Sample => vec![("main.tf", main), ("sample.json", self.sample(part))],
        };
        files
            .into_iter()
            .map(|(name, text)| (format!("{root}/{name}"), text))
            .collect()
    }

    fn sample(&self, part: &Part) -> String {
        let reads: Vec<String> = part.reads.iter().map(|it| self.address(it)).collect();
        let sample = json!({
            "state": self.address(part.root),
            "reads": reads,
            "value": part.value,
            "replace_on": part.replace_on,
        });
        format!("{sample:#}\n")
    }

    fn reads(&self, root: &str) -> String {
        format!(
            "\ndata \"terraform_remote_state\" \"{root}\" {{\n  backend = \"http\"\n  config = {{\n    address = \"{}\"\n  }}\n}}\n",
            self.address(root)
        )
    }

    fn backend(&self, root: &str) -> String {
        let address = self.address(root);
        format!(
            "terraform {{\n  backend \"http\" {{\n    address        = \"{address}\"\n    lock_address   = \"{address}/lock\"\n    \
             unlock_address = \"{address}/lock\"\n    lock_method    = \"POST\"\n    unlock_method  = \"DELETE\"\n    \
             retry_wait_min = 1\n  }}\n}}\n"
        )
    }
}

/// A root that no pull request of the story changes.
fn standing(root: &'static str, resource_name: &str, input: &str) -> Part {
    Part {
        root,
        reads: None,
        resources: resource(resource_name, input, "[1]"),
        value: json!(resource_name),
        replace_on: json!(1),
    }
}

fn network(range: &str) -> Part {
    let quoted = format!("\"{range}\"");
    Part {
        root: "network",
        reads: None,
        resources: resource(
            "vpc",
            &format!("{{ range = {quoted} }}"),
            &format!("[{quoted}]"),
        ) + &output("vpc_id", "terraform_data.vpc.id")
            + &output("range", &quoted),
        value: json!(range),
        replace_on: json!(range),
    }
}

fn database(version: u32) -> Part {
    let server = resource(
        "server",
        &format!("{{ engine = {version} }}"),
        &format!("[{version}]"),
    );
    let firewall = resource(
        "firewall",
        "{ vpc = data.terraform_remote_state.network.outputs.vpc_id }",
        "[1]",
    );
    Part {
        root: "database",
        reads: Some("network"),
        resources: server
            + &firewall
            + &output("address", r#""db-${terraform_data.firewall.output.vpc}""#),
        value: json!({ "engine": version }),
        replace_on: json!(version),
    }
}

fn app() -> Part {
    Part {
        root: "app",
        reads: Some("database"),
        resources: resource(
            "release",
            "{ database = data.terraform_remote_state.database.outputs.address }",
            "[1]",
        ),
        value: json!("release"),
        replace_on: json!(1),
    }
}

fn resource(name: &str, input: &str, triggers: &str) -> String {
    format!(
        "\nresource \"terraform_data\" \"{name}\" {{\n  input            = {input}\n  triggers_replace = {triggers}\n}}\n"
    )
}

fn output(name: &str, value: &str) -> String {
    format!("\noutput \"{name}\" {{\n  value = {value}\n}}\n")
}
