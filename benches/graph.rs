//! The graph of 2,000 roots: from a commit to waves and what a change reaches, and the same of a tree that is known.
//!
//!     cargo bench --bench graph

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on has failed"
)]

mod measure;
mod stage;

use tidegate::core::estate::is_estate_file;
use tidegate::core::ids::Sha;
use tidegate::git::Mirror;
use tidegate::handlers::estates::Estates;

use measure::{median, print_machine, seconds, share};
use stage::{commit, git};

const ROOTS: usize = 2000;
const ROUNDS: usize = 21;

#[tokio::main]
async fn main() {
    print_machine("");
    let home = tempfile::tempdir().unwrap();
    let files = estate();
    let head = commit(home.path(), &files);
    // As a fetch leaves it: in one pack.
    git(home.path(), &["repack", "--quiet", "-a", "-d"]);
    let mirror = Mirror::open(&home.path().join(".git"), None).await.unwrap();
    let bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
    println!(
        "{ROOTS} roots in {} files, {} KiB",
        files.len(),
        bytes >> 10
    );

    let estates = Estates::default();
    read(&estates, &mirror, &head).await;
    let (mut texts, mut fresh, mut known) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        texts.push(
            seconds(async { drop(mirror.texts(&head, is_estate_file).await.unwrap()) }).await,
        );
        fresh.push(seconds(read(&Estates::default(), &mirror, &head)).await);
        known.push(seconds(read(&estates, &mirror, &head)).await);
    }
    for (what, times) in [
        ("git reads the texts", &texts),
        ("the graph of a new tree, with that", &fresh),
        ("the graph of a known tree", &known),
    ] {
        let (middle, worst) = (median(times), share(times, 1.0));
        println!("{what}: median {middle:.4} s, slowest {worst:.4} s");
    }
    println!(
        "of the second allowed for a new tree: {:.3}; a known tree beside a new one: {:.4}",
        median(&fresh),
        median(&known) / median(&fresh)
    );
}

async fn read(estates: &Estates, mirror: &Mirror, commit: &Sha) {
    let read = estates.read(mirror, commit).await.unwrap().unwrap();
    assert_eq!(read.estate.roots.len(), ROOTS);
    let reach = read.estate.reach(&["roots/r0000/main.tf".to_owned()]);
    assert!(!read.estate.reached_waves(&reach).is_empty());
}

/// Roots as people write them: a backend, a provider, two modules, some resources, and the states of two others.
fn estate() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for number in 0..ROOTS {
        let folder = format!("roots/r{number:04}");
        let mut add = |name: &str, text: String| files.push((format!("{folder}/{name}"), text));
        add("backend.tf", backend(number));
        add("main.tf", main_of(number));
        add(
            "variables.tf",
            "variable \"region\" {\n  type    = string\n  default = \"eu-north-1\"\n}\n".to_owned(),
        );
        if number > 1 {
            add(
                "upstream.tf",
                [number / 2, number - 1].map(upstream).concat(),
            );
        }
    }
    for number in 0..100 {
        let text = "resource \"terraform_data\" \"this\" {\n  input = var.name\n}\n\nvariable \"name\" {\n  type = string\n}\n";
        files.push((format!("modules/m{number:02}/main.tf"), text.to_owned()));
    }
    files
}

fn backend(number: usize) -> String {
    format!(
        "terraform {{\n  required_version = \">= 1.6\"\n  backend \"s3\" {{\n    bucket = \"acme-states\"\n    \
         key    = \"r{number}/terraform.tfstate\"\n    region = \"eu-north-1\"\n  }}\n}}\n\nprovider \"aws\" {{\n  \
         region = var.region\n}}\n"
    )
}

fn main_of(number: usize) -> String {
    let module = |it: usize| {
        let module = (number * 7 + it * 13) % 100;
        format!(
            "module \"m{it}\" {{\n  source = \"../../modules/m{module:02}\"\n  name   = \"berth {number}\"\n}}\n\n"
        )
    };
    let resource = |it: usize| {
        format!(
            "resource \"aws_s3_bucket\" \"b{it}\" {{\n  bucket = \"acme-{number}-{it}\"\n\n  tags = {{\n    \
             Name  = \"berth ${{var.region}}\"\n    Owner = \"harbour\"\n  }}\n}}\n\n"
        )
    };
    (0..2).map(module).chain((0..6).map(resource)).collect()
}

fn upstream(number: usize) -> String {
    format!(
        "data \"terraform_remote_state\" \"r{number}\" {{\n  backend = \"s3\"\n  config = {{\n    \
         bucket = \"acme-states\"\n    key    = \"r{number}/terraform.tfstate\"\n    region = \"eu-north-1\"\n  }}\n}}\n\n"
    )
}
