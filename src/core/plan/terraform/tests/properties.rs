//! What moves the digest of a plan, and what does not.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::sealed;
use crate::core::ids::Digest;

/// A value as Terraform writes them.
fn some_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z$/é ]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-z$]{1,3}", inner, 0..3)
                .prop_map(|it| Value::Object(it.into_iter().collect())),
        ]
    })
}

/// The changes of a plan: some resources, each with what it was and what it will be.
fn some_changes() -> impl Strategy<Value = Vec<Value>> {
    let side = || prop::collection::btree_map("[a-z]{1,3}", some_value(), 0..4);
    prop::collection::vec((side(), side()), 1..5).prop_map(|sides| {
        let change = |(at, (before, after)): (usize, _)| {
            json!({
                "address": format!("thing.n{at}"), "mode": "managed", "provider_name": "p",
                "change": { "actions": ["update"], "before": before, "after": after },
            })
        };
        sides.into_iter().enumerate().map(change).collect()
    })
}

/// A plan's JSON with the keys of every object in the opposite order.
fn turned(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let pairs = map.iter().rev();
            let pairs: Vec<_> = pairs
                .map(|(key, it)| format!("{}: {}", json!(key), turned(it)))
                .collect();
            format!("{{{}}}", pairs.join(", "))
        }
        Value::Array(list) => format!(
            "[{}]",
            list.iter().map(turned).collect::<Vec<_>>().join(",")
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

fn digest_of(changes: &[Value]) -> Digest {
    let plan = json!({ "format_version": "1.2", "resource_changes": changes });
    sealed(&plan.to_string()).digest
}

proptest! {
    #[test]
    fn neither_the_order_of_changes_nor_of_keys_moves_a_digest(changes in some_changes()) {
        let digest = digest_of(&changes);
        let mut reversed = changes.clone();
        reversed.reverse();
        prop_assert_eq!(&digest_of(&reversed), &digest);
        let plan = json!({ "format_version": "1.2", "resource_changes": reversed });
        prop_assert_eq!(&sealed(&turned(&plan)).digest, &digest);
    }

    #[test]
    fn any_other_value_after_a_change_moves_a_digest(changes in some_changes(), at in 0usize..5, key in "[a-z]{1,3}", value in some_value()) {
        let mut moved = changes.clone();
        let at = at % moved.len();
        let change = &mut moved[at]["change"];
        let before = change["after"].get(&key).cloned();
        prop_assume!(before.as_ref() != Some(&value));
        // Terraform does not tell an attribute that is null from one that is not there.
        prop_assume!(!(before.is_none() && value.is_null()));
        change["after"][&key] = value;
        prop_assert_ne!(digest_of(&moved), digest_of(&changes));
    }

    #[test]
    fn one_change_more_moves_a_digest(changes in some_changes(), at in 0usize..5) {
        let mut fewer = changes.clone();
        fewer.remove(at % changes.len());
        prop_assert_ne!(digest_of(&fewer), digest_of(&changes));
    }
}
