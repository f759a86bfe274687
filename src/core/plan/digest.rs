//! Digests: RFC 8785 bytes under a kind, SHA-256.

use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::core::gate::facts::Member;
use crate::core::ids::{Digest, Root};
use crate::core::key::hex;
use crate::core::plan::Subject;

/// The kind of one Terraform plan's digest: our own, because the known form leaves out what a digest must cover.
pub const PLAN_KIND: &str = "tidegate-plan/1";

/// The kind of a wave's digest: chant's, so that approvals by other tools count here.
pub const SET_KIND: &str = "change-set";

/// A member that a set names twice, so that the set has no digest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is named twice in one wave")]
pub struct NamedTwice(pub Root);

/// Digests `subject` under `kind`: key order and white space do not matter, everything else does.
pub fn digest(kind: &str, subject: &Value) -> Digest {
    let hex = sha256_hex(&json!({ "kind": kind, "subject": subject }));
    Digest::try_from(format!("jcs1-sha256:{hex}")).expect("SHA-256 has 64 hex digits")
}

/// Digests what all plans of a wave do; the order of `members` does not matter.
pub fn set_digest(members: &[Member]) -> Result<Digest, NamedTwice> {
    let mut members: Vec<&Member> = members.iter().collect();
    members.sort_by(|a, b| utf16(&a.member).cmp(utf16(&b.member)));
    for pair in members.windows(2) {
        if pair[0].member == pair[1].member {
            return Err(NamedTwice(pair[0].member.clone()));
        }
    }
    Ok(digest(SET_KIND, &json!(members)))
}

/// The SHA-256 of a subject as a job sends it, in hex: what a clearance names.
pub fn subject_sha256(subject: &Subject) -> String {
    sha256_hex(subject)
}

/// The SHA-256 of a value's canonical bytes, in hex.
pub(super) fn sha256_hex(value: &impl Serialize) -> String {
    hex(&Sha256::digest(canonical(value)))
}

/// The canonical bytes of a value that has a JSON form.
pub(super) fn canonical(value: &impl Serialize) -> Vec<u8> {
    serde_json_canonicalizer::to_vec(value).expect("a value with a JSON form has a canonical one")
}

/// JavaScript's order of strings, which chant sorts by.
fn utf16(root: &Root) -> impl Iterator<Item = u16> {
    root.as_str().encode_utf16()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Vector {
        name: String,
        canonical: String,
        digest: Digest,
    }

    #[derive(Deserialize)]
    struct Canonical {
        kind: String,
        subject: Value,
    }

    fn vectors() -> Vec<(Vector, Canonical)> {
        let text = include_str!("../../../tests/vectors/digest.json");
        let vectors: Vec<Vector> = serde_json::from_str(text).unwrap();
        vectors
            .into_iter()
            .map(|vector| {
                let canonical = serde_json::from_str(&vector.canonical).unwrap();
                (vector, canonical)
            })
            .collect()
    }

    fn member(name: &str, digit: char) -> Member {
        Member {
            member: Root::try_from(name).unwrap(),
            plan_digest: Digest::try_from(format!("sha256:{}", digit.to_string().repeat(64)))
                .unwrap(),
        }
    }

    #[test]
    fn the_known_digests_come_out() {
        for (vector, canonical) in vectors() {
            let digest = digest(&canonical.kind, &canonical.subject);
            assert_eq!(digest, vector.digest, "{}", vector.name);
        }
    }

    #[test]
    fn a_set_digest_is_chants_whatever_the_order() {
        let mut sets = 0;
        for (vector, canonical) in vectors() {
            let members: Result<Vec<Member>, _> = serde_json::from_value(canonical.subject);
            let (SET_KIND, Ok(mut members)) = (canonical.kind.as_str(), members) else {
                continue;
            };
            members.reverse();
            let set = set_digest(&members).unwrap();
            assert_eq!(set, vector.digest, "{}", vector.name);
            sets += 1;
        }
        assert_eq!(sets, 9);
    }

    #[test]
    fn a_member_named_twice_has_no_set_digest() {
        let twice = [member("a", '1'), member("b", '1'), member("a", '2')];
        let root = Root::try_from("a").unwrap();
        assert_eq!(set_digest(&twice), Err(NamedTwice(root)));
    }

    #[test]
    fn the_prefix_of_a_member_is_part_of_the_set() {
        let old = member("a", '1');
        let mut new = old.clone();
        new.plan_digest =
            Digest::try_from(format!("jcs1-sha256:{}", old.plan_digest.hex())).unwrap();
        assert!(new.plan_digest.is_same(&old.plan_digest));
        assert_ne!(set_digest(&[old]), set_digest(&[new]));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            ".{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(".{0,4}", inner, 0..4)
                    .prop_map(|it| Value::Object(it.into_iter().collect())),
            ]
        })
    }

    /// The same value as text whose keys stand in the opposite order.
    fn reversed(value: &Value) -> String {
        match value {
            Value::Object(map) => {
                let pairs: Vec<_> = map
                    .iter()
                    .rev()
                    .map(|(key, value)| format!("{} :{}", json!(key), reversed(value)))
                    .collect();
                format!("{{{}}}", pairs.join(" ,"))
            }
            Value::Array(list) => {
                let items: Vec<_> = list.iter().map(reversed).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
        }
    }

    proptest! {
        #[test]
        fn key_order_never_moves_a_digest(value in any_json()) {
            let again: Value = serde_json::from_str(&reversed(&value)).unwrap();
            prop_assert_eq!(digest("k", &value), digest("k", &again));
        }

        #[test]
        fn different_values_have_different_digests(a in any_json(), b in any_json()) {
            prop_assert_eq!(a == b, digest("k", &a) == digest("k", &b));
        }

        #[test]
        fn another_kind_is_another_digest(value in any_json()) {
            prop_assert_ne!(digest("k", &value), digest("l", &value));
        }

        #[test]
        fn a_set_moves_with_any_member(digits in prop::collection::vec("[0-9a-e]", 1..6), at in 0usize..6) {
            let members: Vec<_> = digits
                .iter()
                .enumerate()
                .map(|(n, digit)| member(&format!("r{n}"), digit.chars().next().unwrap()))
                .collect();
            let mut moved = members.clone();
            let at = at % moved.len();
            moved[at] = member(&format!("r{at}"), 'f');
            let mut shuffled = members.clone();
            shuffled.rotate_left(at);
            prop_assert_eq!(set_digest(&members), set_digest(&shuffled));
            prop_assert_ne!(set_digest(&members), set_digest(&moved));
        }
    }
}
