//! What tidegate reads from strangers, each as a function of some bytes that panics when what must hold does not.
//!
//! `tests/it/fuzz.rs` calls these over the corpus and over some mutations of it in every run of the tests. By hand, and
//! for as long as one likes:
//!
//!     cargo +nightly fuzz run --fuzz-dir tests/fuzz comment

use hmac::{Hmac, KeyInit, Mac};
use http::HeaderMap;
use serde_json::{Value, json};
use sha2::Sha256;
use tidegate::core::command;
use tidegate::core::config::project;
use tidegate::core::config::server::{self, ForgeKind};
use tidegate::core::estate::binding::binding_source;
use tidegate::core::estate::{Estate, Files, is_estate_file};
use tidegate::core::gate::lines::Facts;
use tidegate::core::hidden::Hidden;
use tidegate::core::ids::{Op, Root};
use tidegate::core::key::{MasterKey, hex};
use tidegate::core::plan::terraform::{DraftContext, draft};
use tidegate::core::plan::{Mode, Plan};
use tidegate::forge::ServedForge;

/// What separates the parts of an input that has several.
const BETWEEN: &str = "\n====\n";

/// A comment: what is understood reads back as itself, and nothing quoted is a command.
pub fn comment(bytes: &[u8]) {
    let body = String::from_utf8_lossy(bytes);
    for command in command::read(&body).into_iter().flatten() {
        let printed = command.to_string();
        assert_eq!(command::read(&printed), [Ok(command)], "{printed:?}");
    }
    let quoted: String = body
        .split(['\n', '\r'])
        .map(|it| format!("> {it}\n"))
        .collect();
    assert_eq!(command::read(&quoted), [], "{quoted:?}");
}

/// A delivery: the event's name, then the body. Signed, it is read or refused; unsigned, it is never read.
pub fn webhook(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (name, body) = text.split_once('\n').unwrap_or(("push", &text));
    let forge = forge();
    let read = |headers: &HeaderMap| ForgeKind::GitHub.read(headers, body.as_bytes(), &forge);
    let Ok(name) = name.parse() else { return };
    let mut headers = HeaderMap::new();
    headers.insert("x-github-event", name);
    headers.insert(
        "x-github-delivery",
        "d-1".parse().expect("a header's value"),
    );
    assert!(read(&headers).is_err(), "read without a signature");
    let signature = signature(body.as_bytes())
        .parse()
        .expect("a header's value");
    headers.insert("x-hub-signature-256", signature);
    if let Ok(delivery) = read(&headers)
        && let Ok(event) = delivery.event
    {
        let stored = serde_json::to_string(&event).expect("an event has a JSON form");
        let again = serde_json::from_str(&stored).expect("a stored event can be read");
        assert_eq!(event, again);
    }
}

/// Plan JSON: what has a draft has one digest, and the draft survives its way to the server.
pub fn plan(bytes: &[u8]) {
    let context = DraftContext {
        root: Root::try_from("live").expect("a root's name"),
        mode: Mode::Normal,
        backend: json!({"type": "local"}),
        workspace: "default".to_owned(),
        source: None,
        checkout_dir: "/work/checkout".to_owned(),
        hidden: Hidden::default(),
    };
    let Ok(made) = draft(bytes, &context) else {
        return;
    };
    let sent = serde_json::to_string(&made).expect("a draft has a JSON form");
    let arrived = serde_json::from_str(&sent).expect("a sent draft can be read");
    assert_eq!(made, arrived);
    let key = MasterKey::new([7; 32]).for_digests();
    let sealed = Plan::seal(made, &key).expect("a draft of ours can be sealed");
    assert_eq!(
        Plan::seal(arrived, &key).map(|it| it.digest),
        Ok(sealed.digest)
    );
}

/// An op's two files on the ledger: every line is a fact, repeats one, or is complained about.
pub fn ledger(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (gates, uses) = text.split_once(BETWEEN).unwrap_or((&text, ""));
    let facts = Facts::read(&Op::tf_apply(), gates, uses);
    let count = |text: &str| text.lines().filter(|it| !it.trim().is_empty()).count();
    let read = facts.uses.len() + facts.ends.len() + facts.broken_uses();
    assert_eq!(read, count(uses), "a line of uses is lost");
    let of_gates = facts.complaints.len() - facts.broken_uses();
    assert!(
        facts.lines.len() + of_gates <= count(gates),
        "a line is read twice"
    );
    for line in facts.lines {
        let written = Value::Object(line.raw.clone()).to_string();
        let again = Facts::read(&Op::tf_apply(), &written, "");
        assert_eq!(again.lines.first().map(|it| &it.raw), Some(&line.raw));
    }
}

/// A project file: it is understood, or each complaint points into it.
pub fn project(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Err(complaints) = project::read(project::FILE, &text) else {
        return;
    };
    assert!(!complaints.is_empty(), "refused without a word");
    for complaint in complaints {
        assert!(complaint.line >= 1 && complaint.column >= 1, "{complaint}");
        assert!(complaint.line <= text.lines().count() + 1, "{complaint}");
    }
}

/// Terraform texts, each after its path: roots and waves come out, or a reason why not.
pub fn estate(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let files: Files = text
        .split(BETWEEN)
        .filter_map(|it| it.split_once('\n'))
        .filter(|(path, _)| is_estate_file(path))
        .map(|(path, text)| (path.to_owned(), text.to_owned()))
        .collect();
    match Estate::read(&files, &project::Project::default()) {
        Ok(estate) => {
            let standing: usize = estate.waves.iter().map(Vec::len).sum();
            assert_eq!(
                standing,
                estate.roots.len(),
                "a root stands in no wave, or in two"
            );
            for root in estate.roots.keys() {
                let source = binding_source(&files, root);
                assert_eq!(source, binding_source(&files, root));
            }
        }
        Err(errors) => assert!(!errors.is_empty(), "refused without a word"),
    }
}

fn forge() -> ServedForge {
    let file = "public_url: https://tidegate.example
forges:
  - kind: github
    url: https://github.com
    token_file: token
    webhook_secret_files: [secret]
    repos: [\"*/*\"]
";
    let options = server::read(server::FILE, file).expect("a server's file");
    let forge = options.forges.into_iter().next().expect("its forge");
    ServedForge::new(forge, vec!["tide".into()]).expect("a forge with a secret")
}

fn signature(body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(b"tide").expect("a key of any length");
    mac.update(body);
    format!("sha256={}", hex(&mac.finalize().into_bytes()))
}
