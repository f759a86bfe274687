//! A plan job over 50 roots beside the same commands started bare.
//!
//!     cargo bench --bench planning [-- terraform|tofu]
//!
//! One side is all of a plan job, from its start by a server to its report: it asks what to do, fetches the commit,
//! finds what it reaches, and runs init, plan and show of each root. The other runs these commands with `xargs -P` in a
//! clone that is there already. In each round both run, and who goes first takes turns.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on has failed"
)]

mod measure;
mod stage;

use std::fs;
use std::path::Path;
use std::process::Stdio;

use measure::{median, print_machine, seconds};
use stage::plans::{Plans, env, estate, root, version};
use stage::{Stage, git};

const ROOTS: usize = 50;
const ROUNDS: u32 = 9;

/// What one root's commands are when they are started bare.
const BARE: &str = r#"cd "$1" && "$0" init -input=false -no-color >init.log &&
    { "$0" plan -input=false -no-color -detailed-exitcode -lock=false -out=plan >plan.log; [ $? = 2 ]; } &&
    "$0" show -json -no-color plan >plan.json"#;

#[tokio::main]
async fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let tool = given.iter().find(|it| !it.starts_with("--"));
    let tool = tool.map_or("terraform", String::as_str);
    let width = std::thread::available_parallelism().map_or(2, usize::from);
    print_machine(&format!(", {}, {width} at once", version(tool)));

    let scratch = tempfile::tempdir().unwrap();
    let env = env(scratch.path());
    let stage = Stage::start(&env).await;
    let origin = scratch.path().join("origin");
    fs::create_dir(&origin).unwrap();
    let plans = Plans::new(&stage, &origin, &estate(tool, ROOTS), width);

    let mut ratios = Vec::new();
    for round in 0..=ROUNDS {
        let clone = scratch.path().join(format!("bare-{round}"));
        git(
            &origin,
            &["clone", "--quiet", ".", &clone.display().to_string()],
        );
        let ours = plans.job(&stage, round);
        let bare = seconds(bare(&clone, tool, &env, width));
        let (ours, bare) = if round % 2 == 0 {
            let ours = ours.await;
            (ours, bare.await)
        } else {
            let bare = bare.await;
            (ours.await, bare)
        };
        let ratio = ours / bare;
        let note = if round == 0 { " (not counted)" } else { "" };
        println!("round {round}: tidegate {ours:.2} s, bare {bare:.2} s, ratio {ratio:.3}{note}");
        if round > 0 {
            ratios.push(ratio);
        }
    }
    println!(
        "planning {ROOTS} roots: median ratio {:.3} (aim: at most 1.05)",
        median(&ratios)
    );
}

/// Runs the same commands in a clone.
async fn bare(clone: &Path, tool: &str, env: &[(String, String)], width: usize) {
    let roots: Vec<String> = (0..ROOTS).map(root).collect();
    let ran = tokio::process::Command::new("xargs")
        .args(["-P", &width.to_string(), "-n", "1", "sh", "-c", BARE, tool])
        .current_dir(clone)
        .envs(env.iter().cloned())
        .stdin(list(clone, &roots))
        .status()
        .await
        .unwrap();
    assert!(ran.success(), "{ran}");
}

fn list(clone: &Path, roots: &[String]) -> Stdio {
    let file = clone.join("list");
    fs::write(&file, roots.join("\n")).unwrap();
    fs::File::open(file).unwrap().into()
}
