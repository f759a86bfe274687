//! What binds, what is followed, and when the whole source enters.

use proptest::prelude::*;

use super::*;

fn files(pairs: &[(&str, &str)]) -> Files {
    pairs
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect()
}

fn gather(pairs: &[(&str, &str)]) -> BindingSource {
    binding_source(&files(pairs), &Root::try_from("app").unwrap())
}

fn words(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    names
        .into_iter()
        .map(|it| it.as_ref().to_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

/// What a root of one file binds, without the file's path.
fn texts(source: &str) -> Vec<String> {
    let texts = gather(&[("app/main.tf", source)]).texts.into_iter();
    texts
        .map(|it| {
            it.trim_start_matches("app/main.tf")
                .trim_start_matches([':', '\n', ' '])
                .to_owned()
        })
        .collect()
}

#[test]
fn blocks_that_plans_do_not_show_are_taken_as_written() {
    let source = "terraform {\n  required_version = \">= 1\" # why\n}\nprovider \"aws\" {\n  region=\"eu\"\n}\n\
                  output \"x\" {\n value = 1\n}\n";
    assert_eq!(
        texts(source),
        [
            "provider \"aws\" {\n  region=\"eu\"\n}",
            "terraform {\n  required_version = \">= 1\" # why\n}"
        ]
    );
}

#[test]
fn what_a_resource_runs_is_taken_in_its_order_with_its_repeats() {
    let source = r#"resource "terraform_data" "x" {
  for_each = local.hosts
  input    = "shown by the plan"
  provisioner "local-exec" {
    command = "b"
  }
  provisioner "local-exec" {
    command = "a"
  }
}
locals {
  hosts = toset(["h"])
  other = 1
}
"#;
    assert_eq!(
        texts(source),
        [
            "locals\nhosts = toset([\"h\"])",
            "resource.terraform_data.x\nfor_each = local.hosts\nprovisioner \"local-exec\" {\n    command = \"b\"\n  }\n\
             provisioner \"local-exec\" {\n    command = \"a\"\n  }",
        ]
    );
}

#[test]
fn the_same_command_on_another_resource_is_another_text() {
    let with = |first: &str, second: &str| {
        texts(&format!(
            "resource \"r\" \"a\" {{\n provisioner \"x\" {{\n c = \"{first}\"\n }}\n}}\nresource \"r\" \"b\" {{\n \
             provisioner \"x\" {{\n c = \"{second}\"\n }}\n}}\n"
        ))
    };
    assert_ne!(with("1", "2"), with("2", "1"));
}

#[test]
fn the_choice_of_a_provider_is_taken() {
    let source = "resource \"aws_vpc\" \"x\" {\n provider = aws.eu\n cidr = \"c\"\n}\n\
                  import {\n to = aws_vpc.x\n id = \"i\"\n provider = aws.eu\n}\n\
                  removed {\n from = aws_vpc.y\n connection {\n host = \"h\"\n }\n}\n\
                  removed {\n from = aws_vpc.z\n}\n";
    assert_eq!(
        texts(source),
        [
            "import {\n to = aws_vpc.x\n id = \"i\"\n provider = aws.eu\n}",
            "removed {\n from = aws_vpc.y\n connection {\n host = \"h\"\n }\n}",
            "resource.aws_vpc.x\nprovider = aws.eu",
        ]
    );
}

#[test]
fn locals_variables_and_data_are_followed_through() {
    let source = r#"provider "k8s" {
  host = "https://${local.host}:${data.aws_eks.main.port}"
  list = [for name in var.names : upper(name)]
  text = <<-EOT
    %{ for it in local.loop }${it}%{ endfor }
  EOT
}
locals {
  host   = local.domain["x"]
  domain = { x = var.domain }
  loop   = []
  unused = var.unused
}
variable "domain" {
  description = "not taken"
  default     = "example.com"
}
variable "names" {}
variable "unused" {
  default = 1
}
data "aws_eks" "main" {
  name = var.cluster
}
data "aws_eks" "other" {}
"#;
    let found = gather(&[("app/main.tf", source)]);
    let rest: Vec<_> = found
        .texts
        .iter()
        .filter(|it| !it.contains("provider \"k8s\""))
        .collect();
    assert_eq!(
        rest,
        [
            "app/main.tf\ndata \"aws_eks\" \"main\" {\n  name = var.cluster\n}",
            "app/main.tf: locals\ndomain = { x = var.domain }",
            "app/main.tf: locals\nhost   = local.domain[\"x\"]",
            "app/main.tf: locals\nloop   = []",
            "app/main.tf: variable.domain\ndefault     = \"example.com\"",
        ]
    );
    assert_eq!(words(&found.variables), "cluster domain names");
}

const CALLER: &str = r#"module "m" {
  source    = "../m"
  for_each  = var.regions
  region    = local.regions[each.key]
  unused    = local.unused
  providers = { aws = aws.eu }
}
locals {
  regions = { a = "eu" }
  unused  = 1
}
"#;

const MODULE: &str = r#"provider "aws" {
  region = var.region
}
variable "region" {
  default = "us"
}
variable "unused" {}
"#;

#[test]
fn a_modules_variable_is_its_default_and_what_its_callers_pass() {
    let found = gather(&[
        ("app/main.tf", CALLER),
        ("m/main.tf", MODULE),
        ("other/main.tf", MODULE),
    ]);
    assert_eq!(
        found.texts,
        [
            "app/main.tf: locals\nregions = { a = \"eu\" }",
            "app/main.tf: module.m\nfor_each  = var.regions\nregion    = local.regions[each.key]",
            "app/main.tf: module.m\nproviders = { aws = aws.eu }",
            "m/main.tf\nprovider \"aws\" {\n  region = var.region\n}",
            "m/main.tf: variable.region\ndefault = \"us\"",
        ]
    );
    assert_eq!(words(&found.variables), "regions");
}

#[test]
fn an_output_of_a_module_is_followed_into_it() {
    let module = "output \"host\" {\n value = local.host\n}\noutput \"other\" {\n value = 1\n}\nlocals {\n host = \"h\"\n}\n";
    for (reference, wanted) in [
        ("module.m.host", 2),
        ("module.m[0].host", 3),
        ("module.m", 3),
    ] {
        let source = format!(
            "provider \"x\" {{\n a = {reference}\n}}\nmodule \"m\" {{\n source = \"../m\"\n}}\n"
        );
        let found = gather(&[("app/main.tf", &source), ("m/main.tf", module)]);
        let of_module = found.texts.iter().filter(|it| it.starts_with("m/")).count();
        assert_eq!(of_module, wanted, "{reference}");
    }
}

#[test]
fn a_call_of_a_module_from_elsewhere_is_taken_whole() {
    let source = "module \"m\" {\n source = \"acme/m/aws\"\n version = \"1.2.3\"\n command = local.c\n}\nlocals {\n c = 1\n}\n";
    assert_eq!(
        texts(source),
        [
            "module \"m\" {\n source = \"acme/m/aws\"\n version = \"1.2.3\"\n command = local.c\n}",
            "locals\nc = 1",
        ]
    );
}

#[test]
fn modules_that_call_each_other_in_a_circle_end() {
    let call = "module \"m\" {\n source = \"../m\"\n x = var.x\n}\nvariable \"x\" {}\nprovider \"p\" {\n x = var.x\n}\n";
    let found = gather(&[("app/main.tf", call), ("m/main.tf", call)]);
    assert!(
        found
            .texts
            .iter()
            .any(|it| it.starts_with("m/main.tf: module.m")),
        "{:?}",
        found.texts
    );
}

#[test]
fn files_that_are_read_are_listed_by_their_path_in_the_repository() {
    for (argument, files, folders) in [
        (r#"file("x.sh")"#, "app/x.sh", ""),
        (r#"file("${path.module}/x.sh")"#, "m/x.sh", ""),
        (
            r#"templatefile("${path.root}/../t/x.tpl", { a = 1 })"#,
            "t/x.tpl",
            "",
        ),
        (r#"filebase64sha256("./x.zip")"#, "app/x.zip", ""),
        (r#"file("${path.module}/run/${var.x}.sh")"#, "", "m/run"),
        (r#"file("run/a-${var.x}.sh")"#, "", "app/run"),
        (r#"file(var.x)"#, "", "app m"),
        (r#"file("${var.x}/y")"#, "", "app m"),
        (r#"fileset(path.module, "*.sh")"#, "", "m"),
        (r#"file("~/.ssh/id")"#, "", ""),
        (r#"file("/etc/hosts")"#, "", ""),
        (r#"file("../../x")"#, "", ""),
        (r#"upper("x.sh")"#, "", ""),
    ] {
        let module = format!("provider \"p\" {{\n a = {argument}\n}}\n");
        let found = gather(&[
            ("app/main.tf", "module \"m\" {\n source = \"../m\"\n}\n"),
            ("m/main.tf", &module),
        ]);
        assert_eq!(
            (words(&found.files), words(&found.folders)),
            (files.to_owned(), folders.to_owned()),
            "{argument}"
        );
    }
}

#[test]
fn scripts_and_sources_of_provisioners_are_files_too() {
    for (argument, files, folders) in [
        ("script = \"a.sh\"", "app/a.sh", ""),
        (
            "scripts = [\"a.sh\", \"${path.module}/b.sh\"]",
            "app/a.sh app/b.sh",
            "",
        ),
        ("scripts = local.all", "", "app"),
        ("source = \"conf/\"", "", "app/conf"),
    ] {
        let source =
            format!("resource \"r\" \"a\" {{\n provisioner \"x\" {{\n {argument}\n }}\n}}\n");
        let found = gather(&[("app/main.tf", &source)]);
        assert_eq!(
            (words(&found.files), words(&found.folders)),
            (files.to_owned(), folders.to_owned()),
            "{argument}"
        );
    }
}

#[test]
fn the_whole_source_enters_when_something_cannot_be_followed() {
    const REST: &str = "output \"x\" {\n value = file(\"y\")\n}\nvariable \"v\" {}\n";
    for (path, text) in [
        ("app/more.tf", "provider \"p\" {\n a = local[var.v]\n}\n"),
        ("app/more.tf", "provider \"p\" {\n a = keys(local)\n}\n"),
        (
            "app/more.tf",
            "provider \"p\" {\n a = [for it in var : it]\n}\n",
        ),
        ("app/more.tf", "provider \"p\" {\n a = data.x[var.v]\n}\n"),
        ("app/more.tf", "locals {\n a = ]\n}\n"),
        ("app/more.tf.json", "{}"),
        ("app/more.tf", "module \"m\" {\n source = \"./gone\"\n}\n"),
        (
            "app/more.tf",
            "module \"m\" {\n source = \"../../out\"\n}\n",
        ),
        ("app/more.tf", "module \"m\" {\n source = var.m\n}\n"),
    ] {
        let found = gather(&[("app/main.tf", REST), (path, text)]);
        assert_eq!(
            found.texts,
            [format!("app/main.tf:\n{REST}"), format!("{path}:\n{text}")],
            "{text}"
        );
        assert_eq!(words(&found.files), "app/y", "{text}");
        assert_eq!(words(&found.variables), "v", "{text}");
    }
}

#[test]
fn the_whole_source_is_that_of_the_modules_too() {
    let json = r#"{"module": {"m": {"source": "../m"}}, "variable": {"v": {}}, "provisioner": {}}"#;
    let found = gather(&[("app/main.tf.json", json), ("m/main.tf", MODULE)]);
    assert_eq!(
        found.texts,
        [
            format!("app/main.tf.json:\n{json}"),
            format!("m/main.tf:\n{MODULE}")
        ]
    );
    assert_eq!(words(&found.variables), "v");
    assert_eq!(words(&found.folders), "app");
}

#[test]
fn resources_and_names_of_arguments_are_nothing_to_follow() {
    let source =
        "provider \"p\" {\n a = aws_eks.main.host\n b = { local = 1, var = path.cwd }\n}\n";
    assert_eq!(texts(source).len(), 1);
}

#[test]
fn a_root_that_is_not_there_binds_nothing() {
    assert_eq!(gather(&[]), BindingSource::default());
}

proptest! {
    #[test]
    fn any_change_of_a_followed_text_changes_what_binds(value in "[a-z]{1,8}", other in "[a-z]{1,8}") {
        prop_assume!(value != other);
        let with = |value: &str| {
            let caller = format!("module \"m\" {{\n source = \"../m\"\n r = local.r\n}}\nlocals {{\n r = var.r\n}}\n\
                                  variable \"r\" {{\n default = \"{value}\"\n}}\n");
            let module = "variable \"r\" {}\nresource \"r\" \"a\" {\n connection {\n host = var.r\n }\n}\n";
            gather(&[("app/main.tf", &caller), ("m/main.tf", module)]).texts
        };
        prop_assert_ne!(with(&value), with(&other));
    }

    #[test]
    fn no_text_stops_the_gathering(text in any::<String>(), noise in "[a-z\"{}$%=.\\[\\]()\n]{0,60}") {
        let provider = format!("provider \"p\" {{\n a = {noise}\n}}\n");
        for path in ["app/main.tf", "app/main.tf.json"] {
            gather(&[(path, &text), ("app/more.tf", &provider)]);
        }
    }
}
