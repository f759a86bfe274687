//! Drafts of plans that a real Terraform (1.11.4) made; `tests/plans` holds what it printed, cut down.

mod properties;

use serde_json::{Value, json};

use super::*;
use crate::core::key::{DerivedKey, MasterKey};
use crate::core::plan::totals::ChangeKind;
use crate::core::plan::{Plan, Remark, Totals};

const CREATE: &str = include_str!("../../../../tests/plans/create.json");
const CHANGES: &str = include_str!("../../../../tests/plans/changes.json");
const CHANGES_DRAFT: &str = include_str!("../../../../tests/plans/changes.draft.json");
const DESTROY: &str = include_str!("../../../../tests/plans/destroy.json");
const TAINTED: &str = include_str!("../../../../tests/plans/tainted.json");
const NOTHING: &str = include_str!("../../../../tests/plans/nothing.json");
const OUTPUTS: &str = include_str!("../../../../tests/plans/outputs.json");
const UNMARKED: &str = include_str!("../../../../tests/plans/unmarked.json");
const ERRORED: &str = include_str!("../../../../tests/plans/errored.json");

/// Every secret the sample configuration knows.
const SECRETS: [&str; 3] = ["correct-horse", "battery-staple", "m-value"];

fn context() -> DraftContext {
    DraftContext {
        root: Root::try_from("live").unwrap(),
        mode: Mode::Normal,
        backend: json!({ "type": "local", "path": "/work/checkout/live/terraform.tfstate" }),
        workspace: "default".to_owned(),
        source: None,
        checkout_dir: "/work/checkout".to_owned(),
        hidden: Hidden::default(),
    }
}

fn read(json: &str) -> Draft {
    draft(json.as_bytes(), &context()).unwrap()
}

fn key() -> DerivedKey {
    MasterKey::new([7; 32]).for_digests()
}

fn sealed(json: &str) -> Plan {
    Plan::seal(read(json), &key()).unwrap()
}

/// A plan of one change of `thing.one`.
fn plan_of(change: &Value) -> String {
    json!({
        "format_version": "1.2",
        "resource_changes": [{
            "address": "thing.one",
            "mode": "managed",
            "provider_name": "p",
            "change": change,
        }],
    })
    .to_string()
}

fn update(before: &Value, after: &Value) -> Value {
    json!({ "actions": ["update"], "before": before, "after": after })
}

fn change_of(json: &str) -> Change {
    read(json).subject.changes.remove(0)
}

#[test]
fn a_plan_becomes_the_normal_form() {
    let golden: Draft = serde_json::from_str(CHANGES_DRAFT).unwrap();
    let draft = read(CHANGES);
    let text = serde_json::to_string_pretty(&draft).unwrap();
    assert_eq!(draft, golden, "{text}");
}

#[test]
fn a_plan_with_every_kind_of_change_is_counted() {
    let plan = sealed(CHANGES);
    let totals = Totals {
        create: 0,
        update: 2,
        replace: 1,
        delete: 2,
        forget: 1,
        other: 2,
        outputs: 3,
        ..Totals::default()
    };
    assert_eq!(plan.totals(), totals);
    let kind = |name: &str| {
        let named = |it: &&Change| it.address == format!("terraform_data.{name}");
        plan.subject.changes.iter().find(named).unwrap().kind()
    };
    assert_eq!(kind("moved_to"), ChangeKind::Move);
    assert_eq!(kind("imported"), ChangeKind::Import);
    assert_eq!(kind("cbd"), ChangeKind::Delete);
}

#[test]
fn a_plan_is_empty_only_when_nothing_happens() {
    let table = [
        (CREATE, false, false),
        (CHANGES, false, true),
        (DESTROY, false, true),
        (TAINTED, false, true),
        (NOTHING, true, false),
        (OUTPUTS, false, false),
        (UNMARKED, false, false),
    ];
    for (json, is_empty, is_destructive) in table {
        let plan = sealed(json);
        assert_eq!(
            (plan.is_empty(), plan.is_destructive()),
            (is_empty, is_destructive)
        );
    }
}

#[test]
fn a_deleted_deposed_object_alone_is_destructive() {
    let mut plan: Value = serde_json::from_str(&plan_of(&json!({
        "actions": ["delete"], "before": { "id": "1" }, "after": null
    })))
    .unwrap();
    plan["resource_changes"][0]["deposed"] = json!("ab12cd34");
    let plan = sealed(&plan.to_string());
    assert_eq!(plan.subject.changes[0].deposed.as_deref(), Some("ab12cd34"));
    assert!(plan.is_destructive());
}

#[test]
fn digests_do_not_move_from_version_to_version() {
    let table = [
        (
            CREATE,
            "e83ac654acca395e231d52fd00c71772cadc08e262900605e75812f5589e02ad",
        ),
        (
            CHANGES,
            "5861db3bfddf911830b54f1b31c876350d5e7e74e837137104e0286b451f2e9b",
        ),
        (
            DESTROY,
            "bf4d37699fa138ddaa31c63f91e2c0e64f745079972c0d7d39a31c92104b0ebe",
        ),
        (
            TAINTED,
            "064e6908d1b73655191bbc2fbe571af8c8067d21b6de1a001a99d8ca9da8e378",
        ),
        (
            NOTHING,
            "b85a5323f6ad302eaafcd9ea7c9bb673c0b47840b7e675a54b6f4b7fe30cd8b8",
        ),
        (
            OUTPUTS,
            "d380bdcc407bba20bb620f8fc2ca8b3ee2e3c88ab4930d06e4c9b7e4fa7a4f7c",
        ),
        (
            UNMARKED,
            "72158d13d300b3dc62a217a4f9d762a74e704fee72f7320d8e1b7688bef16241",
        ),
    ];
    for (json, digest) in table {
        assert_eq!(sealed(json).digest.hex(), digest);
    }
}

#[test]
fn no_secret_of_a_plan_is_in_its_draft() {
    for json in [
        CREATE, CHANGES, DESTROY, TAINTED, NOTHING, OUTPUTS, UNMARKED,
    ] {
        let text = serde_json::to_string(&read(json)).unwrap();
        for secret in SECRETS {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
}

#[test]
fn a_secret_is_hidden_where_terraform_lost_its_mark() {
    let change = json!({
        "actions": ["create"],
        "before": null,
        "after": { "password": "hunter22", "copy": { "url": "db://ada:hunter22@x" }, "name": "x" },
        "after_sensitive": { "password": true, "copy": {} },
    });
    let after = change_of(&plan_of(&change)).after;
    assert!(after["copy"]["url"]["$sensitive"].is_string());
    assert_eq!(after["name"], "x");
}

#[test]
fn a_secret_variable_is_hidden_everywhere() {
    let mut plan: Value = serde_json::from_str(&plan_of(&update(
        &json!({ "a": "old" }),
        &json!({ "a": "token is hunter22" }),
    )))
    .unwrap();
    plan["variables"] = json!({ "token": { "value": "hunter22\n" }, "open": { "value": "old" } });
    plan["configuration"] = json!({ "root_module": { "variables": {
        "token": { "sensitive": true }, "open": {}
    }}});
    let change = change_of(&plan.to_string());
    assert!(change.after["a"]["$sensitive"].is_string());
    assert_eq!(change.before["a"], "old");
}

#[test]
fn a_secret_of_an_upstream_output_or_a_data_source_is_hidden() {
    let mut plan: Value = serde_json::from_str(&plan_of(&update(
        &json!({}),
        &json!({ "a": "hunter22", "b": "letmein1", "c": "opensesame" }),
    )))
    .unwrap();
    plan["prior_state"] = json!({ "values": { "outputs": { "x": { "sensitive": true, "value": "hunter22" } },
    "root_module": { "child_modules": [{ "resources": [
        { "values": { "v": ["letmein1"] }, "sensitive_values": { "v": [true] } }
    ]}]}}});
    plan["resource_drift"] = json!([{ "address": "y.z", "change": {
        "actions": ["update"], "before": { "v": "opensesame" }, "before_sensitive": true
    }}]);
    let after = change_of(&plan.to_string()).after;
    for name in ["a", "b", "c"] {
        assert!(after[name]["$sensitive"].is_string(), "{name}");
    }
}

#[test]
fn a_mark_of_another_shape_than_its_value_hides_all_of_it() {
    let change = json!({
        "actions": ["create"],
        "before": null,
        "after": { "list": ["abc"], "map": { "k": "abc" } },
        "after_sensitive": { "list": { "0": true }, "map": [true] },
    });
    let after = change_of(&plan_of(&change)).after;
    assert!(after["list"]["$sensitive"].is_string());
    assert!(after["map"]["$sensitive"].is_string());
}

#[test]
fn what_is_secret_on_one_side_is_shown_on_neither() {
    for (before, after) in [
        (json!({}), json!({ "pin": true })),
        (json!({ "pin": true }), json!({})),
    ] {
        let change = json!({
            "actions": ["update"],
            "before": { "pin": "123" }, "after": { "pin": "123" },
            "before_sensitive": before, "after_sensitive": after,
        });
        let change = change_of(&plan_of(&change));
        assert!(change.before["pin"]["$sensitive"].is_string());
        assert_eq!(change.before, change.after);
    }
}

#[test]
fn an_update_holds_only_what_differs() {
    let change = change_of(&plan_of(&update(
        &json!({ "same": [1], "moved": 1, "gone": "x", "null": null }),
        &json!({ "same": [1], "moved": 2, "new": true }),
    )));
    let before = json!({ "gone": "x", "moved": { "$number": "1" }, "new": null });
    let after = json!({ "gone": null, "moved": { "$number": "2" }, "new": true });
    assert_eq!((change.before, change.after), (before, after));
}

#[test]
fn what_is_unknown_is_marked_where_the_value_is_missing() {
    let change = json!({
        "actions": ["create"], "before": null,
        "after": { "list": ["a", null], "block": [{ "x": 1 }], "none": null },
        "after_unknown": { "id": true, "list": [false, true], "block": [{ "y": true }], "none": { "z": true } },
    });
    let after = change_of(&plan_of(&change)).after;
    let unknown = json!({ "$unknown": true });
    assert_eq!(after["id"], unknown);
    assert_eq!(after["list"], json!(["a", unknown]));
    assert_eq!(after["block"][0]["y"], unknown);
    assert_eq!(after["none"]["z"], unknown);
}

#[test]
fn a_number_keeps_every_digit_it_was_written_with() {
    for token in [
        "9007199254740993",
        "1e30",
        "0.30000000000000004",
        "-0",
        "1.0",
    ] {
        let json =
            plan_of(&update(&json!({}), &json!({ "n": "TOKEN" }))).replace("\"TOKEN\"", token);
        assert_eq!(change_of(&json).after["n"], json!({ "$number": token }));
    }
}

#[test]
fn a_value_that_looks_like_a_mark_is_no_mark() {
    let change = change_of(&plan_of(&update(
        &json!({}),
        &json!({ "a": { "$unknown": true }, "b": { "$$x": "$CHECKOUT/y" } }),
    )));
    assert_eq!(change.after["a"], json!({ "$$unknown": true }));
    assert_eq!(change.after["b"], json!({ "$$$x": "$$CHECKOUT/y" }));
}

#[test]
fn the_path_of_the_checkout_does_not_enter() {
    let json = plan_of(&update(
        &json!({}),
        &json!({ "dir": "/work/checkout/live", "here": "/work/checkout", "other": "/work/checkout-2/live" }),
    ));
    let elsewhere = DraftContext {
        checkout_dir: "/srv/co/".to_owned(),
        backend: json!({ "type": "local", "path": "/srv/co/live/terraform.tfstate" }),
        ..context()
    };
    let moved = draft(
        json.replace("/work/checkout/", "/srv/co/")
            .replace("/work/checkout\"", "/srv/co\"")
            .as_bytes(),
        &elsewhere,
    );
    let draft = read(&json);
    assert_eq!(draft.subject.changes[0].after["dir"], "$CHECKOUT/live");
    assert_eq!(
        draft.subject.changes[0].after["other"],
        "/work/checkout-2/live"
    );
    assert_eq!(Ok(draft), moved);
}

#[test]
fn the_source_beside_the_plan_moves_the_digest_without_being_shown() {
    let with = |source: Option<&str>| {
        let context = DraftContext {
            source: source.map(str::to_owned),
            ..context()
        };
        let draft = draft(NOTHING.as_bytes(), &context).unwrap();
        Plan::seal(draft, &key()).unwrap()
    };
    let eu = with(Some("provider \"aws\" { region = \"eu\" }"));
    let us = with(Some("provider \"aws\" { region = \"us\" }"));
    assert_ne!(eu.digest, us.digest);
    assert_ne!(eu.digest, with(None).digest);
    assert!(eu.subject.source["$hmac"].is_string());
}

#[test]
fn reads_drift_versions_and_order_stay_out() {
    let mut plan: Value = serde_json::from_str(CHANGES).unwrap();
    plan["timestamp"] = json!("2030-01-01T00:00:00Z");
    plan["terraform_version"] = json!("1.99.0");
    plan["relevant_attributes"] = json!([{ "resource": "x" }]);
    plan["resource_drift"] =
        json!([{ "address": "a.b", "change": { "actions": ["update"], "before": { "x": 1 } } }]);
    let changes = plan["resource_changes"].as_array_mut().unwrap();
    changes.reverse();
    changes.push(json!({ "address": "data.a.b", "mode": "data", "change": { "actions": ["read"], "after": { "now": "12:00" } } }));
    let draft = draft(
        plan.to_string()
            .replace("1e30", "1000000000000000000000000000000")
            .as_bytes(),
        &context(),
    );
    assert_eq!(
        draft.unwrap().subject.changes.len(),
        read(CHANGES).subject.changes.len()
    );
}

#[test]
fn a_plan_that_nobody_can_vouch_for_has_no_digest() {
    let incomplete = json!({ "format_version": "1.2", "complete": false });
    let deferred = json!({ "format_version": "1.2", "deferred_changes": [{ "reason": "x" }] });
    let actions = json!({ "format_version": "1.2", "action_invocations": [{ "address": "x" }] });
    let version = json!({ "format_version": "2.0" });
    let table = [
        (ERRORED.to_owned(), PlanError::Errored),
        (incomplete.to_string(), PlanError::Incomplete),
        (deferred.to_string(), PlanError::Incomplete),
        (actions.to_string(), PlanError::RunsActions),
        (
            version.to_string(),
            PlanError::UnknownVersion("2.0".to_owned()),
        ),
    ];
    for (json, error) in table {
        assert_eq!(draft(json.as_bytes(), &context()), Err(error));
    }
}

#[test]
fn a_plan_that_breaks_off_is_none() {
    for end in [0, 1, CHANGES.len() / 2, CHANGES.trim_end().len() - 1] {
        let cut = &CHANGES.as_bytes()[..end];
        let error = draft(cut, &context()).unwrap_err();
        assert!(matches!(error, PlanError::Unreadable { .. }), "{end}");
    }
}

#[test]
fn an_action_that_is_not_known_has_no_digest() {
    let json = plan_of(&json!({ "actions": ["explode"], "before": "hunter22" }));
    let error = draft(json.as_bytes(), &context()).unwrap_err();
    assert!(matches!(error, PlanError::Unreadable { .. }));
    assert!(!error.to_string().contains("hunter22"));
}

#[test]
fn a_value_nested_without_end_is_refused() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let json = plan_of(&update(&json!({}), &json!({ "x": "DEEP" }))).replace("\"DEEP\"", &deep);
    let error = draft(json.as_bytes(), &context()).unwrap_err();
    assert!(matches!(
        error,
        PlanError::TooDeep | PlanError::Unreadable { .. }
    ));
}

#[test]
fn remarks_say_why_and_never_a_secret() {
    let remark = |address: Option<&str>, text: &str| Remark {
        address: address.map(str::to_owned),
        text: text.to_owned(),
    };
    let data = |name: &str| format!("terraform_data.{name}");
    assert_eq!(
        read(CHANGES).remarks,
        [
            remark(Some(&data("forgotten")), "no longer in the configuration"),
            remark(Some(&data("gone")), "no longer in the configuration"),
            remark(
                Some(&data("replaced")),
                "`triggers_replace` forces a replacement"
            ),
            remark(None, "check.high fails: the name is two"),
        ]
    );
    assert_eq!(
        read(TAINTED).remarks[0],
        remark(Some(&data("here")), "replaced because it is tainted")
    );
    let leaking = CHANGES.replace("the name is two", "not battery-staple");
    let last = read(&leaking).remarks.pop().unwrap();
    assert_eq!(
        last.text,
        "check.high fails, with a message that holds a secret"
    );
}

fn with_secret(json: &str) -> Result<Draft, PlanError> {
    let hidden = Hidden::new([("CLOUD_KEY", "wJalr-XUtnFEMI")]);
    let context = DraftContext {
        hidden,
        ..context()
    };
    draft(json.as_bytes(), &context)
}

#[test]
fn what_the_job_was_given_as_a_secret_is_shown_in_no_form() {
    let after = json!({
        "raw": "key=wJalr-XUtnFEMI",
        "base64": "a2V5OndKYWxyLVhVdG5GRU1J",
        "tags": { "wJalr-XUtnFEMI": "owner" },
        "region": "eu",
    });
    let plan = plan_of(&json!({ "actions": ["create"], "before": null, "after": after }));
    let draft = with_secret(&plan).unwrap();
    let Value::Object(shown) = &draft.subject.changes[0].after else {
        panic!("{draft:?}");
    };
    let is_hidden = |name: &str| shown[name].get("$sensitive").is_some();
    assert_eq!(["raw", "base64", "tags"].map(is_hidden), [true; 3]);
    assert_eq!(shown["region"], "eu");
    assert!(!serde_json::to_string(&draft).unwrap().contains("wJalr"));
}

#[test]
fn a_resource_that_is_named_by_a_secret_has_no_digest() {
    let plan = plan_of(&json!({ "actions": ["create"], "before": null, "after": {} }));
    let named = plan.replace("thing.one", "thing.one[\\\"wJalr-XUtnFEMI\\\"]");
    assert_ne!(named, plan);
    assert_eq!(with_secret(&named), Err(PlanError::NamesSecret));
    assert!(with_secret(&plan).is_ok());
}
