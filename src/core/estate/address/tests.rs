//! Every row of the table of addresses.

use super::*;
use crate::core::estate::blocks::{self, Blocks};

fn root() -> Root {
    Root::try_from("live/app").unwrap()
}

fn blocks_of(path: &str, text: &str) -> Blocks {
    blocks::read(path, text).unwrap()
}

/// The address as `[account|]bucket|key`, or the reason.
fn show(address: Result<StateAddress, String>) -> String {
    let Ok(it) = address else {
        return format!("? {}", address.unwrap_err());
    };
    let parts = [Some(it.backend), it.account, it.bucket, Some(it.key)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn own(path: &str, text: &str) -> String {
    show(of_backend(&blocks_of(path, text).backends[0], &root()))
}

fn check_own(rows: &[(&str, &str)]) {
    for (backend, wanted) in rows {
        let text = format!("terraform {{\n{backend}\n}}\n");
        assert_eq!(own("main.tf", &text), *wanted, "{backend}");
    }
}

#[test]
fn s3_is_its_bucket_and_key() {
    check_own(&[
        (
            "backend \"s3\" {\n bucket = \"b\"\n key = \"net\"\n}",
            "s3 b net",
        ),
        ("backend \"s3\" {\n key = \"net\"\n}", "s3 net"),
        (
            "backend \"s3\" {\n bucket = var.b\n key = \"net\"\n}",
            "s3 net",
        ),
        (
            "backend \"s3\" {\n bucket = \"b\"\n key = \"${var.env}/net\"\n}",
            "? `key` is not a literal",
        ),
        (
            "backend \"s3\" {\n bucket = \"b\"\n}",
            "? it names no `key`",
        ),
        ("backend \"s3\" {}", "? it names no `key`"),
        ("backend \"s3\" {\n key = null\n}", "? it names no `key`"),
    ]);
}

#[test]
fn gcs_is_its_bucket_and_prefix() {
    check_own(&[
        (
            "backend \"gcs\" {\n bucket = \"b\"\n prefix = \"net/\"\n}",
            "gcs b net",
        ),
        ("backend \"gcs\" {\n bucket = \"b\"\n}", "gcs b "),
        ("backend \"gcs\" {}", "? it names no `prefix`"),
        (
            "backend \"gcs\" {\n prefix = local.p\n}",
            "? `prefix` is not a literal",
        ),
    ]);
}

#[test]
fn azurerm_is_its_account_container_and_key() {
    check_own(&[
        (
            "backend \"azurerm\" {\n storage_account_name = \"a\"\n container_name = \"c\"\n key = \"net\"\n}",
            "azurerm a c net",
        ),
        (
            "backend \"azurerm\" {\n container_name = \"c\"\n key = \"net\"\n}",
            "azurerm c net",
        ),
        (
            "backend \"azurerm\" {\n container_name = \"c\"\n}",
            "? it names no `key`",
        ),
    ]);
}

#[test]
fn a_type_we_do_not_know_is_its_bucket_and_key_or_prefix() {
    check_own(&[
        (
            "backend \"oss\" {\n bucket = \"b\"\n prefix = \"p\"\n key = \"k\"\n}",
            "oss b p/k",
        ),
        ("backend \"new\" {\n prefix = \"p\"\n}", "new p"),
        ("backend \"new\" {\n key = \"k\"\n}", "new k"),
        ("backend \"new\" {\n path = \"k\"\n}", "? it names no `key`"),
    ]);
}

#[test]
fn local_is_a_path_in_the_repository() {
    check_own(&[
        (
            "backend \"local\" {\n path = \"../../state/app.tfstate\"\n}",
            "local state/app.tfstate",
        ),
        (
            "backend \"local\" {\n path = \"${path.module}/x.tfstate\"\n}",
            "local live/app/x.tfstate",
        ),
        ("backend \"local\" {}", "local live/app/terraform.tfstate"),
        (
            "backend \"local\" {\n path = \"/var/state/../app\"\n}",
            "local /var/app",
        ),
        (
            "backend \"local\" {\n path = \"../../../app\"\n}",
            "local ../app",
        ),
        (
            "backend \"local\" {\n path = var.path\n}",
            "? `path` is not a literal",
        ),
    ]);
    assert_eq!(
        show(Ok(beside_the_code(&root()))),
        "local live/app/terraform.tfstate"
    );
}

#[test]
fn pg_is_its_server_and_table_without_credentials() {
    check_own(&[
        (
            "backend \"pg\" {\n conn_str = \"postgres://ada:hush@DB.example:5432/states?sslmode=require\"\n}",
            "pg db.example/states/terraform_remote_state.states",
        ),
        (
            "backend \"pg\" {\n conn_str = \"postgres://db.example:6432/states\"\n schema_name = \"net\"\n}",
            "pg db.example:6432/states/net.states",
        ),
        (
            "backend \"pg\" {\n conn_str = \"host=db.example user=ada password=hush dbname='states'\"\n table_name = \"t\"\n}",
            "pg db.example/states/terraform_remote_state.t",
        ),
        (
            "backend \"pg\" {\n conn_str = \"postgres:///states\"\n}",
            "pg localhost/states/terraform_remote_state.states",
        ),
        (
            "backend \"pg\" {\n conn_str = \"postgres://ada:hush@db.example\"\n}",
            "? `conn_str` does not name a database",
        ),
        (
            "backend \"pg\" {\n conn_str = \"postgres://ada:hush@[/x\"\n}",
            "? `conn_str` does not name a database",
        ),
        ("backend \"pg\" {}", "? it names no `conn_str`"),
    ]);
}

#[test]
fn http_is_its_address_without_credentials_and_query() {
    check_own(&[
        (
            "backend \"http\" {\n address = \"https://ada:hush@GitLab.example:443/api/v4/state/net?x=1#y\"\n}",
            "http https://gitlab.example/api/v4/state/net",
        ),
        (
            "backend \"http\" {\n address = \"http://127.0.0.1:8080/net\"\n}",
            "http http://127.0.0.1:8080/net",
        ),
        (
            "backend \"http\" {\n address = \"ada:hush\"\n}",
            "? `address` is not an HTTP address",
        ),
        ("backend \"http\" {}", "? it names no `address`"),
    ]);
}

#[test]
fn consul_is_its_host_and_path() {
    check_own(&[
        (
            "backend \"consul\" {\n address = \"https://ada:hush@C.example:8501\"\n path = \"net\"\n}",
            "consul c.example:8501 net",
        ),
        (
            "backend \"consul\" {\n address = \"c.example:8500\"\n path = \"net\"\n}",
            "consul c.example:8500 net",
        ),
        ("backend \"consul\" {\n path = \"net\"\n}", "consul net"),
        ("backend \"consul\" {}", "? it names no `path`"),
    ]);
}

#[test]
fn kubernetes_is_its_namespace_and_suffix() {
    check_own(&[
        (
            "backend \"kubernetes\" {\n secret_suffix = \"net\"\n}",
            "kubernetes default/net",
        ),
        (
            "backend \"kubernetes\" {\n secret_suffix = \"net\"\n namespace = \"tf\"\n}",
            "kubernetes tf/net",
        ),
        ("backend \"kubernetes\" {}", "? it names no `secret_suffix`"),
    ]);
}

#[test]
fn remote_and_cloud_are_host_organization_and_workspace() {
    check_own(&[
        (
            "backend \"remote\" {\n organization = \"acme\"\n workspaces {\n name = \"net\"\n }\n}",
            "remote app.terraform.io/acme/net",
        ),
        (
            "cloud {\n hostname = \"TFE.example\"\n organization = \"acme\"\n workspaces {\n name = \"net\"\n }\n}",
            "remote tfe.example/acme/net",
        ),
        (
            "cloud {\n organization = \"acme\"\n workspaces {\n tags = [\"net\"]\n }\n}",
            "? `workspaces` gives no `name`",
        ),
        (
            "backend \"remote\" {\n organization = \"acme\"\n workspaces {\n prefix = \"net-\"\n }\n}",
            "? `workspaces` gives no `name`",
        ),
        (
            "cloud {\n organization = \"acme\"\n}",
            "? it names no `workspaces`",
        ),
        (
            "cloud {\n workspaces {\n name = \"net\"\n }\n}",
            "? it names no `organization`",
        ),
    ]);
}

#[test]
fn json_syntax_gives_the_same_addresses() {
    for (text, wanted) in [
        (
            r#"{"terraform": {"backend": {"s3": {"bucket": "b", "key": "net"}}}}"#,
            "s3 b net",
        ),
        (
            r#"{"terraform": {"backend": {"local": {"path": "${path.module}/../x"}}}}"#,
            "local live/x",
        ),
        (
            r#"{"terraform": [{"cloud": [{"organization": "acme", "workspaces": {"name": "net"}}]}]}"#,
            "remote app.terraform.io/acme/net",
        ),
        (
            r#"{"terraform": {"backend": {"s3": {"key": "${var.env}/net"}}}}"#,
            "? `key` is not a literal",
        ),
    ] {
        assert_eq!(own("main.tf.json", text), wanted, "{text}");
    }
}

#[test]
fn a_read_gives_the_address_of_the_backend_it_names() {
    for (body, wanted) in [
        (
            "backend = \"s3\"\n config = { bucket = \"b\", key = \"net\" }",
            "s3 b net",
        ),
        (
            "backend = \"local\"\n config = { path = \"../net/terraform.tfstate\" }",
            "local live/net/terraform.tfstate",
        ),
        (
            "backend = \"remote\"\n config = { organization = \"acme\", workspaces = { name = \"net\" } }",
            "remote app.terraform.io/acme/net",
        ),
        (
            "backend = \"gcs\"\n config {\n bucket = \"b\"\n prefix = \"net\"\n }",
            "gcs b net",
        ),
        (
            "backend = \"s3\"\n config = { key = \"${terraform.workspace}/net\" }",
            "? `key` is not a literal",
        ),
        (
            "backend = \"s3\"\n config = merge(local.state, {})",
            "? `config` is not a literal",
        ),
        (
            "backend = var.backend\n config = {}",
            "? `backend` is not a literal",
        ),
        ("config = {}", "? it names no `backend`"),
        ("backend = \"s3\"", "? it names no `key`"),
    ] {
        let text = format!("data \"terraform_remote_state\" \"net\" {{\n{body}\n}}\n");
        let read = &blocks_of("main.tf", &text).reads[0];
        let address = of_read(read.backend.as_ref(), read.config.as_ref(), &root());
        assert_eq!(show(address), wanted, "{body}");
    }
}

#[test]
fn addresses_line_up_by_key_and_by_what_both_name() {
    let state = |account: Option<&str>, bucket: Option<&str>, key: &str| StateAddress {
        account: account.map(str::to_owned),
        ..new("azurerm", bucket.map(str::to_owned), key)
    };
    let full = state(Some("a"), Some("c"), "net");
    for (other, wanted) in [
        (state(Some("a"), Some("c"), "net"), true),
        (state(None, Some("c"), "net"), true),
        (state(Some("a"), None, "net"), true),
        (state(None, None, "net"), true),
        (state(Some("b"), Some("c"), "net"), false),
        (state(None, Some("d"), "net"), false),
        (state(None, None, "app"), false),
        (new("s3", Some("c".to_owned()), "net"), false),
    ] {
        assert_eq!(full.lines_up(&other), wanted, "{other:?}");
        assert_eq!(other.lines_up(&full), wanted, "{other:?}");
    }
}
