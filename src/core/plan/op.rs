//! What a project's own plan command says of a run: its digest, and whether it destroys or does anything.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::core::ids::{Digest, Root};
use crate::core::plan::{Mode, Subject};

/// What a plan command wrote into its plan file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// Names the plan: two plans that would do the same share one.
    pub digest: Digest,
    pub destructive: bool,
    pub empty: bool,
}

/// Why a plan file says nothing: a clause that goes on from "the plan command".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Untold {
    #[error("wrote a plan file that is no JSON object")]
    NoObject,
    #[error("wrote a plan file without a `planDigest`")]
    NoDigest,
    #[error("wrote a `planDigest` that is none; it must be `jcs1-sha256:` and 64 hex digits")]
    BadDigest,
}

/// Reads a plan file. `destructive` and `empty` count only when they are exactly `true`.
pub fn read(file: &[u8]) -> Result<Told, Untold> {
    let Ok(Value::Object(said)) = serde_json::from_slice(file) else {
        return Err(Untold::NoObject);
    };
    let digest = match said.get("planDigest").and_then(Value::as_str) {
        None | Some("") => return Err(Untold::NoDigest),
        Some(digest) => Digest::try_from(digest).map_err(|_| Untold::BadDigest)?,
    };
    let is_true = |name: &str| said.get(name) == Some(&Value::Bool(true));
    Ok(Told {
        digest,
        destructive: is_true("destructive"),
        empty: is_true("empty"),
    })
}

impl Subject {
    /// The subject of a run of which only its own command says what it does.
    pub fn told(root: Root, told: Told) -> Self {
        Self {
            root,
            mode: Mode::Normal,
            backend: Value::Null,
            workspace: String::new(),
            changes: Vec::new(),
            outputs: Vec::new(),
            source: Value::Null,
            key: None,
            told: Some(told),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::core::gate::facts::Member;
    use crate::core::plan::digest::{SET_KIND, digest, set_digest};

    fn a_digest() -> String {
        format!("jcs1-sha256:{}", "a".repeat(64))
    }

    fn read(file: Value) -> Result<Told, Untold> {
        super::read(file.to_string().as_bytes())
    }

    #[test]
    fn a_plan_file_names_its_digest_and_may_hold_more() {
        let file =
            json!({ "planDigest": a_digest(), "destructive": true, "empty": true, "steps": 3 });
        let told = Told {
            digest: Digest::try_from(a_digest()).unwrap(),
            destructive: true,
            empty: true,
        };
        assert_eq!(read(file), Ok(told));
    }

    #[test]
    fn nothing_but_true_is_true() {
        for other in [
            json!(false),
            json!(null),
            json!("true"),
            json!(1),
            json!([true]),
        ] {
            let told =
                read(json!({ "planDigest": a_digest(), "destructive": other, "empty": other }));
            let told = told.unwrap();
            assert!(!told.destructive && !told.empty, "{other}");
        }
        let bare = read(json!({ "planDigest": a_digest() })).unwrap();
        assert!(!bare.destructive && !bare.empty);
    }

    #[test]
    fn a_plan_file_without_a_digest_says_nothing() {
        for (file, why) in [
            (json!([]), Untold::NoObject),
            (json!({}), Untold::NoDigest),
            (json!({ "planDigest": "" }), Untold::NoDigest),
            (json!({ "planDigest": 7 }), Untold::NoDigest),
            (json!({ "planDigest": "v1.2" }), Untold::BadDigest),
        ] {
            assert_eq!(read(file.clone()), Err(why), "{file}");
        }
        assert_eq!(super::read(b"{\"planDigest\":"), Err(Untold::NoObject));
        assert_eq!(super::read(b""), Err(Untold::NoObject));
    }

    #[test]
    fn a_set_of_told_digests_is_chants() {
        let told = read(json!({ "planDigest": a_digest() })).unwrap();
        let member = Member {
            member: Root::try_from("dev").unwrap(),
            plan_digest: told.digest,
        };
        let chants = digest(
            SET_KIND,
            &json!([{ "member": "dev", "planDigest": a_digest() }]),
        );
        assert_eq!(set_digest(&[member]), Ok(chants));
    }
}
