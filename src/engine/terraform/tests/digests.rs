//! What moves the digest of a plan that a tool really made, what does not, and what such a plan counts as.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::*;
use crate::core::key::MasterKey;
use crate::core::plan::Plan;

/// Stands in every secret of the tables, so that none can be shown unseen.
const SECRET: &str = "hush";

/// A root in one state, and the texts that are planned against it.
struct Scenario {
    root: &'static str,
    /// The text its state comes from; none when it never applied.
    applied: &'static str,
    steps: &'static [Step],
    digests: Digests,
}

/// How the digests of a scenario's steps stand to each other.
#[derive(Clone, Copy, PartialEq)]
enum Digests {
    Equal,
    Different,
}
use Digests::{Different, Equal};

struct Step {
    altered: Altered,
    text: &'static str,
    /// What `beside.txt` of the root holds.
    beside: &'static str,
    actions: &'static str,
    says: Says,
}

/// What happened to the state behind the tool's back.
#[derive(Clone, Copy)]
enum Altered {
    Not,
    Tainted,
    Drifted,
    Deleted,
}
use Altered::{Deleted, Drifted, Tainted};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Says {
    Nothing,
    Change,
    Destruction,
    /// As `Change`, but planned again it has another digest.
    Unstable,
    NoDigest,
}
use Says::{Change, Destruction, NoDigest, Nothing, Unstable};

impl Step {
    const fn of(text: &'static str, actions: &'static str, says: Says) -> Self {
        Self {
            altered: Altered::Not,
            text,
            beside: "",
            actions,
            says,
        }
    }

    const fn when(self, altered: Altered) -> Self {
        Self { altered, ..self }
    }

    const fn beside(self, beside: &'static str) -> Self {
        Self { beside, ..self }
    }
}

const fn scenario(
    root: &'static str,
    applied: &'static str,
    steps: &'static [Step],
    digests: Digests,
) -> Scenario {
    Scenario {
        root,
        applied,
        steps,
        digests,
    }
}

/// `terraform_data.it` with a body, and what else stands in the file.
macro_rules! it {
    ($body:literal $(, $rest:literal)*) => {
        concat!("resource \"terraform_data\" \"it\" {\n", $body, "\n}\n" $(, $rest)*)
    };
}

const ONE: &str = it!("input = \"one\"");
const TRIGGER_ONE: &str = it!("triggers_replace = \"one\"");
const OUTPUT_ONE: &str = "output \"a\" { value = \"one\" }\n";
const PW_1: &str = it!("input = sensitive(\"hush-pw1\")");
const PW_2: &str = it!("input = sensitive(\"hush-pw2\")");
const IGNORING: &str = it!("input = \"one\"\nlifecycle { ignore_changes = [input] }");

const ACTIONS: &[Scenario] = &[
    scenario(
        "create",
        "",
        &[
            Step::of(ONE, "create", Change),
            Step::of(it!("input = \"two\""), "create", Change),
        ],
        Different,
    ),
    scenario(
        "update",
        ONE,
        &[
            Step::of(it!("input = \"two\""), "update", Change),
            Step::of(it!("input = \"three\""), "update", Change),
        ],
        Different,
    ),
    scenario(
        "tainted",
        ONE,
        &[
            Step::of(ONE, "", Nothing),
            Step::of(ONE, "delete,create", Destruction).when(Tainted),
        ],
        Different,
    ),
    scenario(
        "create-first",
        TRIGGER_ONE,
        &[
            Step::of(
                it!("triggers_replace = \"two\""),
                "delete,create",
                Destruction,
            ),
            Step::of(
                it!("triggers_replace = \"two\"\nlifecycle { create_before_destroy = true }"),
                "create,delete",
                Destruction,
            ),
        ],
        Different,
    ),
    // Taking the text away and saying that the resource goes come to the same.
    scenario(
        "removed",
        ONE,
        &[
            Step::of("", "delete", Destruction),
            Step::of(
                "removed {\n  from = terraform_data.it\n  lifecycle { destroy = true }\n}\n",
                "delete",
                Destruction,
            ),
        ],
        Equal,
    ),
    scenario(
        "forgotten",
        ONE,
        &[
            Step::of("", "delete", Destruction),
            Step::of(
                "removed {\n  from = terraform_data.it\n  lifecycle { destroy = false }\n}\n",
                "forget",
                Change,
            ),
        ],
        Different,
    ),
    scenario(
        "moved",
        ONE,
        &[Step::of(
            "resource \"terraform_data\" \"that\" {\n  input = \"one\"\n}\nmoved {\n  from = terraform_data.it\n  \
                to = terraform_data.that\n}\n",
            "no-op",
            Change,
        )],
        Different,
    ),
    scenario(
        "imported",
        "",
        &[
            Step::of(
                it!(
                    "",
                    "import {\n  to = terraform_data.it\n  id = \"abc\"\n}\n"
                ),
                "no-op",
                Change,
            ),
            Step::of(
                it!(
                    "input = 1",
                    "import {\n  to = terraform_data.it\n  id = \"abc\"\n}\n"
                ),
                "update",
                Change,
            ),
        ],
        Different,
    ),
];

const VALUES: &[Scenario] = &[
    scenario(
        "outputs",
        OUTPUT_ONE,
        &[
            Step::of(
                "output \"a\" { value = \"one\" }\noutput \"b\" { value = 1 }\n",
                "",
                Change,
            ),
            Step::of("output \"a\" { value = \"two\" }\n", "", Change),
            Step::of("", "", Change),
        ],
        Different,
    ),
    // The value stays; that it is secret from now on is a change.
    scenario(
        "marked",
        it!("input = \"hush\""),
        &[
            Step::of(it!("input = sensitive(\"hush\")"), "update", Change),
            Step::of(it!("input = sensitive(\"hush-2\")"), "update", Change),
        ],
        Different,
    ),
    scenario(
        "secret-created",
        "",
        &[
            Step::of(PW_1, "create", Change),
            Step::of(PW_2, "create", Change),
        ],
        Different,
    ),
    scenario(
        "secret-updated",
        PW_1,
        &[
            Step::of(PW_2, "update", Change),
            Step::of(it!("input = sensitive(\"hush-pw3\")"), "update", Change),
        ],
        Different,
    ),
    scenario(
        "number",
        "",
        &[
            Step::of(it!("input = 9007199254740992"), "create", Change),
            Step::of(it!("input = 9007199254740993"), "create", Change),
        ],
        Different,
    ),
    scenario(
        "unknown",
        "",
        &[
            Step::of(it!("input = timestamp()"), "create", Change),
            Step::of(it!("input = uuid()"), "create", Change),
        ],
        Equal,
    ),
    scenario(
        "moving",
        "",
        &[Step::of(it!("input = plantimestamp()"), "create", Unstable)],
        Different,
    ),
    scenario(
        "paths",
        "",
        &[
            Step::of(it!("input = path.cwd"), "create", Change),
            Step::of(it!("input = abspath(path.root)"), "create", Change),
        ],
        Equal,
    ),
    scenario(
        "read-later",
        "",
        &[Step::of(
            it!(
                "",
                "data \"terraform_remote_state\" \"it\" {\n  backend = \"local\"\n  config = { path = \
                    terraform_data.it.id }\n}\n"
            ),
            "create",
            Change,
        )],
        Different,
    ),
];

const STATES: &[Scenario] = &[
    scenario(
        "checked",
        ONE,
        &[
            Step::of(ONE, "", Nothing),
            Step::of(
                it!(
                    "input = \"one\"",
                    "check \"it\" {\n  assert {\n    condition = terraform_data.it.input == \"two\"\n    \
                        error_message = \"Not two.\"\n  }\n}\n"
                ),
                "",
                Nothing,
            ),
        ],
        Equal,
    ),
    scenario(
        "refused",
        ONE,
        &[Step::of(
            it!(
                "input = \"two\"\nlifecycle {\n  precondition {\n    condition = path.cwd == \"\"\n    error_message = \
                    \"No.\"\n  }\n}"
            ),
            "",
            NoDigest,
        )],
        Different,
    ),
    scenario(
        "drifted",
        ONE,
        &[
            Step::of(ONE, "update", Change).when(Drifted),
            Step::of(ONE, "create", Change).when(Deleted),
            Step::of(ONE, "", Nothing),
        ],
        Different,
    ),
    scenario(
        "drift-ignored",
        IGNORING,
        &[
            Step::of(IGNORING, "", Nothing).when(Drifted),
            Step::of(IGNORING, "", Nothing),
        ],
        Equal,
    ),
];

/// A provisioner that runs what `$command` says, and what else stands in the file.
macro_rules! running {
    ($command:literal $(, $rest:literal)*) => {
        concat!(
            "resource \"terraform_data\" \"it\" {\n  input = 1\n  provisioner \"local-exec\" {\n    command = ",
            $command,
            "\n  }\n}\n" $(, $rest)*
        )
    };
}

const SOURCE: &[Scenario] = &[
    scenario(
        "provisioner",
        "",
        &[
            Step::of(running!("\"echo one ${self.input}\""), "create", Change),
            Step::of(running!("\"echo two ${self.input}\""), "create", Change),
        ],
        Different,
    ),
    scenario(
        "behind-local",
        "",
        &[
            Step::of(
                running!("local.say", "locals { say = \"echo one\" }\n"),
                "create",
                Change,
            ),
            Step::of(
                running!("local.say", "locals { say = \"echo two\" }\n"),
                "create",
                Change,
            ),
        ],
        Different,
    ),
    scenario(
        "behind-variable",
        "",
        &[
            Step::of(
                running!("var.say", "variable \"say\" { default = \"echo one\" }\n"),
                "create",
                Change,
            ),
            Step::of(
                running!("var.say", "variable \"say\" { default = \"echo two\" }\n"),
                "create",
                Change,
            ),
        ],
        Different,
    ),
    scenario(
        "behind-file",
        "",
        &[
            Step::of(
                running!("file(\"${path.module}/beside.txt\")"),
                "create",
                Change,
            )
            .beside("echo one"),
            Step::of(
                running!("file(\"${path.module}/beside.txt\")"),
                "create",
                Change,
            )
            .beside("echo two"),
        ],
        Different,
    ),
];

#[tokio::test]
async fn what_happens_to_a_resource_is_in_the_digest() {
    hold(ACTIONS).await;
}

#[tokio::test]
async fn a_value_that_differs_is_another_digest_and_a_secret_is_not_shown() {
    hold(VALUES).await;
}

#[tokio::test]
async fn a_state_that_moved_counts_by_what_applying_would_do_about_it() {
    hold(STATES).await;
}

#[tokio::test]
async fn whatever_stands_behind_a_provisioner_is_in_the_digest() {
    hold(SOURCE).await;
}

/// Plans the first steps of all scenarios at once, then the second ones, and so on.
async fn hold(scenarios: &[Scenario]) {
    for tool in tools() {
        let mut place = Place::new(tool).await;
        let states = states(&mut place, scenarios);
        let mut digests: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let rounds = scenarios.iter().map(|it| it.steps.len()).max().unwrap();
        for round in 0..rounds {
            let steps: Vec<(&Scenario, &Step)> = scenarios
                .iter()
                .filter_map(|it| Some((it, it.steps.get(round)?)))
                .collect();
            for (scenario, step) in &steps {
                prepare(
                    &mut place,
                    scenario.root,
                    step,
                    states.get(scenario.applied),
                );
            }
            let roots: Vec<&str> = steps.iter().map(|(it, _)| it.root).collect();
            let here = place.plan(&roots).await;
            let other = place.in_another_job();
            let there = plan(&place.engine(), &other, &roots).await;
            fs::remove_dir_all(place.folder.path().join("job-2")).unwrap();
            for ((scenario, step), (here, there)) in steps.iter().zip(here.iter().zip(&there)) {
                let name = format!("{:?} {}, step {round}", place.tool.kind, scenario.root);
                let digest = hold_step(&name, step, here, there);
                digests.entry(scenario.root).or_default().extend(digest);
            }
        }
        for scenario in scenarios {
            hold_digests(scenario, digests.remove(scenario.root).unwrap_or_default());
        }
    }
}

/// The states that applying leaves, by the text applied; each text is applied once.
fn states(place: &mut Place, scenarios: &[Scenario]) -> BTreeMap<&'static str, Value> {
    let mut states = BTreeMap::new();
    for (at, scenario) in scenarios.iter().enumerate() {
        if !scenario.applied.is_empty() && !states.contains_key(scenario.applied) {
            let root = format!("applied-{at}");
            place.write(&root, scenario.applied);
            place.apply_by_hand(&root);
            let state = fs::read(state_file(place, &root)).unwrap();
            states.insert(scenario.applied, serde_json::from_slice(&state).unwrap());
        }
    }
    states
}

fn state_file(place: &Place, root: &str) -> PathBuf {
    place.folder.path().join(format!("{root}.tfstate"))
}

/// Writes a step's text, and the state that it meets.
fn prepare(place: &mut Place, root: &str, step: &Step, state: Option<&Value>) {
    place.write(root, step.text);
    fs::write(
        place.checkout.dir.join(root).join("beside.txt"),
        step.beside,
    )
    .unwrap();
    if let Some(state) = state {
        let state = altered(state.clone(), step.altered).to_string();
        fs::write(state_file(place, root), state).unwrap();
    }
}

fn altered(mut state: Value, how: Altered) -> Value {
    let instance = "/resources/0/instances/0";
    match how {
        Altered::Not => {}
        Tainted => state.pointer_mut(instance).unwrap()["status"] = json!("tainted"),
        Drifted => {
            let attributes = &mut state.pointer_mut(instance).unwrap()["attributes"];
            for name in ["input", "output"] {
                attributes[name]["value"] = json!("drifted");
            }
        }
        Deleted => state["resources"] = json!([]),
    }
    state
}

/// Holds a step's plans in two jobs against what it says; their digest, if there is one for all time.
fn hold_step(name: &str, step: &Step, here: &Planned, there: &Planned) -> Option<String> {
    if step.says == NoDigest {
        assert!(!why(here).is_empty() && !why(there).is_empty(), "{name}");
        return None;
    }
    assert!(
        matches!(here.result, PlanResult::Made(_)),
        "{name}: {here:?}"
    );
    let (here, there) = (sealed(here), sealed(there));
    let text = json!(here).to_string();
    assert!(!text.contains(SECRET), "{name}: {text}");
    let actions: Vec<String> = here
        .subject
        .changes
        .iter()
        .flat_map(|it| &it.actions)
        .map(|it| json!(it).as_str().unwrap().to_owned())
        .collect();
    assert_eq!(actions.join(","), step.actions, "{name}: {text}");
    let expected = (step.says == Nothing, step.says == Destruction);
    let found = (here.is_empty(), here.is_destructive());
    assert_eq!(found, expected, "{name}: empty, destructive");
    let stable = here.digest == there.digest;
    assert_eq!(stable, step.says != Unstable, "{name}: {text}");
    stable.then(|| here.digest.hex().to_owned())
}

fn sealed(planned: &Planned) -> Plan {
    Plan::seal(
        draft(planned).clone(),
        &MasterKey::new([7; 32]).for_digests(),
    )
    .unwrap()
}

fn hold_digests(scenario: &Scenario, mut digests: Vec<String>) {
    let all = digests.len();
    digests.sort();
    digests.dedup();
    let distinct = match scenario.digests {
        Equal => 1,
        Different => all,
    };
    assert_eq!(digests.len(), distinct, "{}", scenario.root);
}
