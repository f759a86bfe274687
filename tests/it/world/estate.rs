//! The estate of the stories: two tiny Terraform roots that read nothing of each other, and changes to them.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use tokio::process::Command;
use tokio::sync::OnceCell;

/// The roots, both in the first wave.
pub(crate) const ROOTS: [&str; 2] = ["network", "storage"];

/// Stands in a file for the address below which roots have their states.
const STATES: &str = "$STATES";

/// Files to write, by path.
#[derive(Clone)]
pub(crate) struct Change(Vec<(String, String)>);

/// A root's text: what it is made with, what forces a new one, what it tells others, and what else stands in it.
struct Root<'a> {
    input: &'a str,
    trigger: u32,
    output: u32,
    rest: &'a str,
}

/// A root as it first is.
const FIRST: Root<'_> = Root {
    input: "1",
    trigger: 1,
    output: 1,
    rest: "",
};

/// Changes a root in place.
pub(crate) fn updates(root: &str) -> Change {
    write(
        root,
        &Root {
            input: "2",
            ..FIRST
        },
    )
}

/// Changes a root in place in another way.
pub(crate) fn updates_otherwise(root: &str) -> Change {
    write(
        root,
        &Root {
            input: "3",
            ..FIRST
        },
    )
}

/// Replaces what a root holds.
pub(crate) fn replaces(root: &str) -> Change {
    write(
        root,
        &Root {
            trigger: 2,
            ..FIRST
        },
    )
}

/// Changes nothing but what a root tells others.
pub(crate) fn tells_otherwise(root: &str) -> Change {
    write(root, &Root { output: 2, ..FIRST })
}

/// Gives a root a sensitive value to hold.
pub(crate) fn keeps_a_password(root: &str) -> Change {
    let variable = "variable \"password\" {\n  type      = string\n  sensitive = true\n}\n";
    let changed = Root {
        input: "var.password",
        rest: variable,
        ..FIRST
    };
    write(root, &changed)
}

/// Replaces what a root holds, and gives it something whose apply writes `begun` and `done` to a file, and waits in
/// between while another file is there.
pub(crate) fn counts(root: &str, counter: &Path, barrier: &Path) -> Change {
    let (counter, barrier) = (counter.display(), barrier.display());
    let counted = format!(
        "resource \"terraform_data\" \"counted\" {{\n  provisioner \"local-exec\" {{\n    command = \"echo begun >> {counter}; \
         while [ -e {barrier} ]; do sleep 0.05; done; echo done >> {counter}\"\n  }}\n}}\n"
    );
    let changed = Root {
        trigger: 2,
        rest: &counted,
        ..FIRST
    };
    write(root, &changed)
}

/// Has a root print a value of its job's environment, which it does not call sensitive, in every form there is.
pub(crate) fn prints_a_password(root: &str) -> Change {
    let forms = "[var.password, base64encode(var.password), urlencode(var.password), jsonencode([var.password]), \
                 base64encode(\"tide:${var.password}\"), {(var.password) = 1}]";
    let changed = Root {
        input: forms,
        rest: "variable \"password\" {}\n",
        ..FIRST
    };
    write(root, &changed)
}

/// Has a root fail with words that hold a value of its job's environment.
pub(crate) fn fails_with_a_password(root: &str) -> Change {
    let rest = "variable \"password\" {}\noutput \"refused\" {\n  value = 1\n  precondition {\n    condition     = \
                var.password == \"\"\n    error_message = \"no: ${base64encode(var.password)} ${var.password}\"\n  }\n}\n";
    write(root, &Root { rest, ..FIRST })
}

/// Makes a root name something that is not there.
pub(crate) fn breaks(root: &str) -> Change {
    let nowhere = "output \"broken\" {\n  value = terraform_data.nowhere.id\n}\n";
    write(
        root,
        &Root {
            rest: nowhere,
            ..FIRST
        },
    )
}

/// Writes a file that is part of no root.
pub(crate) fn writes(path: &str, text: &str) -> Change {
    Change(vec![(path.to_owned(), text.to_owned())])
}

/// The repository as it first is.
pub(crate) fn first(rules: &str) -> Change {
    let roots = ROOTS.map(|root| write(root, &FIRST));
    roots
        .into_iter()
        .fold(writes("tidegate.yml", rules), Change::and)
}

impl Change {
    /// Both changes.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Writes the files into a checkout.
    pub(crate) fn write(&self, checkout: &Path, states: &str) {
        for (path, text) in &self.0 {
            let path = checkout.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text.replace(STATES, states)).unwrap();
        }
    }
}

fn write(root: &str, changed: &Root<'_>) -> Change {
    let state = format!("{STATES}/{root}");
    let backend = format!(
        "terraform {{\n  backend \"http\" {{\n    address        = \"{state}\"\n    lock_address   = \"{state}/lock\"\n    \
         unlock_address = \"{state}/lock\"\n    lock_method    = \"POST\"\n    unlock_method  = \"DELETE\"\n  }}\n}}\n"
    );
    writes(&format!("{root}/main.tf"), &(backend + &changed.text()))
}

impl Root<'_> {
    fn text(&self) -> String {
        format!(
            "resource \"terraform_data\" \"it\" {{\n  input            = {}\n  triggers_replace = {}\n}}\n\
             output \"told\" {{\n  value = {}\n}}\n{}",
            self.input, self.trigger, self.output, self.rest
        )
    }
}

/// The tool on this machine; none: the stories cannot be told, which is no success where `CI` says that all must be.
pub(crate) fn tool() -> Option<String> {
    let found = tidegate::engine::found_tool();
    if found.is_none() {
        assert!(
            std::env::var("CI").as_deref() != Ok("true"),
            "no terraform or tofu"
        );
        println!("skipped: no terraform or tofu");
    }
    found
}

/// The state of a root as it first is: made once by the tool itself, so it is of the tool's own making.
pub(crate) async fn first_state(tool: &str) -> Value {
    static STATE: OnceCell<Value> = OnceCell::const_new();
    STATE.get_or_init(|| apply_first(tool)).await.clone()
}

async fn apply_first(tool: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("main.tf"), FIRST.text()).unwrap();
    fs::write(folder.path().join("no.tfrc"), "").unwrap();
    for arguments in [
        ["init", "-input=false", "-no-color"],
        ["apply", "-auto-approve", "-no-color"],
    ] {
        let ran = Command::new(tool)
            .args(arguments)
            .current_dir(folder.path())
            .env("CHECKPOINT_DISABLE", "1")
            .env("TF_CLI_CONFIG_FILE", folder.path().join("no.tfrc"))
            .stdin(Stdio::null())
            .output()
            .await
            .unwrap();
        let complaint = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{tool} {arguments:?}: {complaint}");
    }
    let bytes = fs::read(folder.path().join("terraform.tfstate")).unwrap();
    let mut state: Value = serde_json::from_slice(&bytes).unwrap();
    // Notes show it, and it is drawn by lot.
    state["resources"][0]["instances"][0]["attributes"]["id"] = "the-first".into();
    state
}
