//! The sample estate: a canary, `network` ← `database` ← `app`, and a root that reads nothing of them.

use std::collections::BTreeMap;

use url::Url;

/// The repository's files by path.
pub(super) type Files = BTreeMap<String, String>;

/// The repository as it first is. States live behind `states`, one address a root.
pub(super) fn files(states: &Url) -> Files {
    let roots = [
        (
            "canary",
            resource("probe", r#"{ region = "north" }"#, "[1]"),
        ),
        ("network", network("10.10.0.0/16")),
        ("database", database(states, 15)),
        ("app", app(states)),
        (
            "billing",
            resource("ledger", r#"{ currency = "EUR" }"#, "[1]"),
        ),
    ];
    let mut files: Files = roots
        .into_iter()
        .map(|(root, text)| (format!("{root}/main.tf"), backend(states, root) + &text))
        .collect();
    files.insert(
        "tidegate.yml".to_owned(),
        "gate: on-destructive\nwaves:\n  canary: [canary]\n".to_owned(),
    );
    files.insert(
        "README.md".to_owned(),
        "# The infrastructure of Acme\n".to_owned(),
    );
    files
}

/// The change of the first pull request: another address range replaces the network.
pub(super) fn wider_network(states: &Url) -> (String, String) {
    (
        "network/main.tf".to_owned(),
        backend(states, "network") + &network("10.20.0.0/16"),
    )
}

/// The change of the second pull request: a newer major version replaces the database.
pub(super) fn newer_database(states: &Url) -> (String, String) {
    (
        "database/main.tf".to_owned(),
        backend(states, "database") + &database(states, 16),
    )
}

fn network(range: &str) -> String {
    resource(
        "vpc",
        &format!(r#"{{ range = "{range}" }}"#),
        &format!(r#"["{range}"]"#),
    ) + &output("vpc_id", "terraform_data.vpc.id")
        + &output("range", &format!(r#""{range}""#))
}

fn database(states: &Url, version: u32) -> String {
    reads(states, "network")
        + &resource(
            "server",
            &format!("{{ engine = {version} }}"),
            &format!("[{version}]"),
        )
        + &resource(
            "firewall",
            "{ vpc = data.terraform_remote_state.network.outputs.vpc_id }",
            "[1]",
        )
        + &output("address", r#""db-${terraform_data.firewall.output.vpc}""#)
}

fn app(states: &Url) -> String {
    reads(states, "database")
        + &resource(
            "release",
            "{ database = data.terraform_remote_state.database.outputs.address }",
            "[1]",
        )
}

fn resource(name: &str, input: &str, triggers: &str) -> String {
    format!(
        "\nresource \"terraform_data\" \"{name}\" {{\n  input            = {input}\n  triggers_replace = {triggers}\n}}\n"
    )
}

fn output(name: &str, value: &str) -> String {
    format!("\noutput \"{name}\" {{\n  value = {value}\n}}\n")
}

fn reads(states: &Url, root: &str) -> String {
    format!(
        "\ndata \"terraform_remote_state\" \"{root}\" {{\n  backend = \"http\"\n  config = {{\n    address = \"{}\"\n  }}\n}}\n",
        address(states, root)
    )
}

fn backend(states: &Url, root: &str) -> String {
    let address = address(states, root);
    format!(
        "terraform {{\n  backend \"http\" {{\n    address        = \"{address}\"\n    lock_address   = \"{address}/lock\"\n    \
         unlock_address = \"{address}/lock\"\n    lock_method    = \"POST\"\n    unlock_method  = \"DELETE\"\n    \
         retry_wait_min = 1\n  }}\n}}\n"
    )
}

/// Where a root of the sample estate keeps its state.
pub(super) fn address(states: &Url, root: &str) -> String {
    format!("{states}{root}")
}
