//! Both syntaxes, broken texts, and the tolerant look.

use proptest::prelude::*;

use super::*;

const HCL: &str = r#"
terraform {
  required_version = ">= 1.5"
  backend "s3" {
    bucket = "states"
    key    = "net.tfstate"
    region = var.region
    assume_role { role_arn = "arn" }
  }
}
provider "aws" {}
data "terraform_remote_state" "db" {
  count   = 2
  backend = "local"
  config  = { path = "${path.module}/../db.tfstate", "ca" = ("x"), token = null }
}
module "tags" { source = "../modules/tags" }
module "any" { source = local.source }
variable "region" {}
"#;

const JSON: &str = r#"{
  "//": "made by a program",
  "terraform": [{"backend": {"s3": {
    "bucket": "states", "key": "net.tfstate", "region": "${var.region}", "assume_role": [{"role_arn": "arn"}]
  }}}],
  "provider": {"aws": [{}, {"alias": "eu"}]},
  "data": {"terraform_remote_state": {"db": {
    "count": 2, "backend": "local",
    "config": {"path": "${path.module}/../db.tfstate", "ca": "x", "token": null}
  }}},
  "module": {"tags": {"source": "../modules/tags"}, "any": {"source": "${local.source}"}},
  "variable": {"region": {}}
}"#;

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

fn config(pairs: &[(&str, Value)]) -> Config {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect()
}

fn expected() -> Blocks {
    let call = |label: &str, source| ModuleCall {
        label: label.to_owned(),
        source: Some(source),
    };
    let mut calls = vec![
        call("tags", text("../modules/tags")),
        call("any", Value::Other),
    ];
    calls.sort_by(|a, b| a.label.cmp(&b.label));
    Blocks {
        backends: vec![Backend {
            kind: "s3".to_owned(),
            config: config(&[
                ("bucket", text("states")),
                ("key", text("net.tfstate")),
                ("region", Value::Other),
                (
                    "assume_role",
                    Value::Object(config(&[("role_arn", text("arn"))])),
                ),
            ]),
        }],
        is_live: false,
        has_provider: true,
        reads: vec![StateRead {
            label: "db".to_owned(),
            backend: Some(text("local")),
            config: Some(Value::Object(config(&[
                ("path", text("./../db.tfstate")),
                ("ca", text("x")),
            ]))),
        }],
        calls,
        variables: vec!["region".to_owned()],
    }
}

#[test]
fn both_syntaxes_say_the_same() {
    for (path, source) in [("main.tf", HCL), ("main.tf.json", JSON)] {
        let mut blocks = read(path, source).unwrap();
        blocks.calls.sort_by(|a, b| a.label.cmp(&b.label));
        assert_eq!(blocks, expected(), "{path}");
    }
}

#[test]
fn a_byte_order_mark_is_nothing() {
    let marked = format!("\u{feff}{HCL}");
    assert_eq!(read("main.tf", &marked), read("main.tf", HCL));
    let marked = format!("\u{feff}{JSON}");
    assert_eq!(read("main.tf.json", &marked), read("main.tf.json", JSON));
}

#[test]
fn a_broken_text_says_line_and_column() {
    let broken = read("main.tf", "provider \"aws\" {\n  region = = \"x\"\n}\n").unwrap_err();
    assert_eq!((broken.line, broken.column), (2, 12), "{}", broken.why);
    let broken = read("main.tf.json", "{\n  \"provider\": ]").unwrap_err();
    assert_eq!(broken.line, 2);
}

#[test]
fn a_text_without_any_word_that_matters_is_not_parsed() {
    assert_eq!(
        read("outputs.tf", "output \"x\" { ]"),
        Ok(Blocks::default())
    );
}

#[test]
fn a_text_of_absurd_length_is_not_parsed() {
    let long = format!("provider \"x\" {{}}\n#{}", " ".repeat(LONGEST));
    assert_eq!(
        read("main.tf", &long).unwrap_err().why,
        "it is longer than 8 MiB"
    );
}

#[test]
fn a_tolerant_look_sees_blocks_but_not_comments_or_strings() {
    for (path, source, wanted) in [
        ("a.tf", "terraform { backend \"s3\" {", true),
        ("a.tf", "provider   \"aws\" {", true),
        ("a.tf", "terraform {\n  cloud\n{", true),
        ("a.tf", "<<<<<<< HEAD\nprovider \"aws\" {}\n=======", true),
        ("a.tf", "x = \"http://a\" provider \"aws\" {", true),
        ("a.tf", "x = \"open\nprovider \"aws\" {", true),
        ("a.tf", "# provider \"aws\" {\n}", false),
        ("a.tf", "// cloud {\n}", false),
        ("a.tf", "/* backend \"s3\" { */ }", false),
        ("a.tf", "/* backend \"s3\" {", false),
        (
            "a.tf",
            "x = \"say \\\"x\\\" provider \\\"aws\\\"\" ]",
            false,
        ),
        ("a.tf", "required_provider \"aws\" {", false),
        ("a.tf", "x = aws.cloud ]", false),
        ("a.tf.json", "{\"terraform\": {\"backend\": {\"s3\"", true),
        ("a.tf.json", "{\"output\": {", false),
    ] {
        assert_eq!(looks_like_root(path, source), wanted, "{source}");
    }
}

proptest! {
    #[test]
    fn no_text_panics(source in any::<String>(), noise in "[a-z\"{}$%=.\\[\\]()<\n #/*-]{0,80}") {
        for text in [source.clone(), noise.clone(), format!("provider{noise}"), format!("module \"a\" {{{noise}}}")] {
            for path in ["main.tf", "main.tf.json"] {
                let _ = read(path, &text);
                let _ = looks_like_root(path, &text);
            }
        }
    }
}
