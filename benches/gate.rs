//! What a gate costs as its ledger grows: the facts read out of their files, the approval found among them, and one
//! more fact pushed.
//!
//!     cargo bench --bench gate

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on has failed"
)]

mod measure;

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use tidegate::core::gate::approval::{Names, Record};
use tidegate::core::gate::facts::{Fact, Pending, gate_path};
use tidegate::core::gate::lines::Facts;
use tidegate::core::ids::{Branch, Digest, Gate, Op, PullNumber, Sha};
use tidegate::core::remote::Remote;
use tidegate::git::{Identity, Mirror, NewCommit, Push};
use tidegate::ledger::{Appended, Ledger};

use measure::{median, print_machine, seconds, share};

const SIZES: [usize; 2] = [10, 10_000];
const ROUNDS: usize = 15;

#[tokio::main]
async fn main() {
    print_machine("");
    let home = tempfile::tempdir().unwrap();
    let (mut found, mut pushed) = (Vec::new(), Vec::new());
    for size in SIZES {
        let text = lines(size);
        let (mut finding, mut pushing) = (Vec::new(), Vec::new());
        let ledger = ledger(&home.path().join(size.to_string()), &text).await;
        for round in 0..ROUNDS {
            finding.push(seconds(async { find(&text) }).await);
            let fact = [Fact::Pending(pending(size + round))];
            pushing.push(seconds(push(&ledger, &fact)).await);
        }
        say(
            &format!("{size} facts: read, and the approval found"),
            &finding,
        );
        say(&format!("{size} facts: one more pushed"), &pushing);
        found.push(median(&finding) / size as f64);
        pushed.push(median(&pushing));
    }
    println!(
        "of 10,000 beside of 10: {:.2} of the time for each fact read, {:.2} of the time to push one",
        found[1] / found[0],
        pushed[1] / pushed[0]
    );
}

fn say(what: &str, times: &[f64]) {
    let (middle, worst) = (median(times) * 1e3, share(times, 1.0) * 1e3);
    println!("{what}: median {middle:.3} ms, slowest {worst:.3} ms");
}

fn find(text: &str) {
    let facts = Facts::read(&Op::tf_apply(), text, "");
    let (gate, names) = (gate(), names(0));
    let record = Record {
        facts: &facts,
        gate: &gate,
        names: &names,
    };
    let approval = record.newest_approval(&digest(0)).unwrap();
    assert_eq!(approval.digest, &digest(0));
}

async fn push(ledger: &Ledger, facts: &[Fact]) {
    let appended = ledger.append(facts).await.unwrap();
    assert!(matches!(appended, Appended::Written(_)));
}

/// A ledger in a repository of its own, which has these lines already.
async fn ledger(folder: &Path, text: &str) -> Ledger {
    let origin = folder.join("origin.git");
    Mirror::open(&origin, None).await.unwrap();
    let remote = Remote {
        url: origin.display().to_string(),
        authorization: None,
    };
    let mirror = Mirror::open(&folder.join("mirror.git"), Some(remote))
        .await
        .unwrap();
    let files = [(gate_path(&Op::tf_apply()), text.as_bytes().to_vec())];
    let new = NewCommit {
        parent: None,
        files: &files,
        message: "Begin",
        by: Identity {
            name: "Ada",
            email: "ada@example.org",
        },
    };
    let branch = Branch::try_from("chant/lifecycle").unwrap();
    let first = mirror.write_commit(new).await.unwrap();
    let pushed = mirror.push_child(&branch, &first, None).await.unwrap();
    assert_eq!(pushed, Push::Landed);
    Ledger::of(mirror)
}

/// Requests and approvals of many rollouts; the first rollout's stand at the end.
fn lines(count: usize) -> String {
    let line = |at: usize| {
        let rollout = count / 2 - 1 - at / 2;
        let what = if at.is_multiple_of(2) {
            r#""kind":"pending","expiresAt":"2026-12-02T00:00:00.000Z""#
        } else {
            r#""kind":"resolution","resolvedBy":"github:ada""#
        };
        format!(
            r#"{{{what},"version":1,"op":"tf-apply","gate":"wave-2","timestamp":"2026-11-30T00:00:00.000Z","pr":{rollout},"id":"fact-{at}","commit":"{}","planDigest":"{}"}}"#,
            names(rollout).commit,
            digest(rollout)
        ) + "\n"
    };
    (0..count).map(line).collect()
}

fn pending(number: usize) -> Pending {
    let now = Timestamp::now();
    Pending {
        id: format!("ask-{number}"),
        op: Op::tf_apply(),
        gate: gate(),
        timestamp: now,
        expires_at: now + SignedDuration::from_hours(48),
        digest: digest(number),
        members: Vec::new(),
        commit: names(number).commit,
        pr: None,
        description: "wave-2: `app`".to_owned(),
        url: None,
    }
}

fn gate() -> Gate {
    Gate::try_from("wave-2").unwrap()
}

fn names(rollout: usize) -> Names {
    Names {
        commit: Sha::try_from(format!("{rollout:040x}")).unwrap(),
        taken_over: Vec::new(),
        pulls: vec![PullNumber(rollout as u64)],
    }
}

fn digest(number: usize) -> Digest {
    Digest::try_from(format!("jcs1-sha256:{number:064x}")).unwrap()
}
