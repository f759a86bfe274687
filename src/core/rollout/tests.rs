//! What the tests of rollouts share: made-up people, pull requests, plans and rollouts.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::core::estate::{Estate, Reach, RootFacts, Survey};
use crate::core::ids::{
    Actor, Branch, Digest, Login, Op, Pull, PullNumber, Repo, RepoId, RolloutId, Root, Sha, UserId,
    WaveNumber,
};
use crate::core::key::hex;
use crate::core::plan::{Action, Change, Mode, Plan, Subject};
use crate::core::rollout::pull::{PullDetails, PullState};
use crate::core::rollout::{Rollout, Source, Wave};

pub(super) fn now() -> Timestamp {
    "2026-11-30T20:15:00Z".parse().unwrap()
}

pub(super) fn sha(digit: char) -> Sha {
    Sha::try_from(digit.to_string().repeat(40)).unwrap()
}

pub(super) fn root(name: &str) -> Root {
    Root::try_from(name).unwrap()
}

pub(super) fn roots(names: &[&str]) -> Vec<Root> {
    names.iter().map(|it| root(it)).collect()
}

pub(super) fn digest(digit: char) -> Digest {
    Digest::try_from(format!("jcs1-sha256:{}", digit.to_string().repeat(64))).unwrap()
}

pub(super) fn actor(id: u64) -> Actor {
    Actor {
        id: UserId(id),
        login: Login::try_from(format!("user{id}")).unwrap(),
        is_bot: false,
    }
}

pub(super) fn repo() -> Repo {
    Repo {
        forge: "git.example".try_into().unwrap(),
        id: RepoId(1),
        name: "acme/infra".try_into().unwrap(),
    }
}

pub(super) fn main() -> Branch {
    "main".try_into().unwrap()
}

pub(super) fn pull() -> Pull {
    Pull {
        repo: repo(),
        number: PullNumber(12),
    }
}

/// An open pull request of user 1, at head `3`.
pub(super) fn details() -> PullDetails {
    PullDetails {
        pull: pull(),
        title: "Move the network".to_owned(),
        url: "https://git.example/acme/infra/pulls/12".to_owned(),
        author: actor(1),
        head: sha('3'),
        head_repo: Some(RepoId(1)),
        target: main(),
        is_draft: false,
        state: PullState::Open,
    }
}

/// One wave of two roots and one of a third; all but `idle`, which nothing reaches.
pub(super) fn survey() -> Survey {
    let waves = vec![roots(&["dns", "network"]), roots(&["database", "idle"])];
    let reached = roots(&["dns", "network", "database"]);
    let members: BTreeSet<Root> = reached.into_iter().collect();
    Survey {
        estate: Estate {
            roots: (waves.iter().flatten())
                .map(|it| (it.clone(), RootFacts::default()))
                .collect(),
            waves,
            warnings: Vec::new(),
        },
        reach: Reach {
            touched: members.clone(),
            members,
        },
        taken_away: std::collections::BTreeMap::new(),
    }
}

/// A root's subject that replaces something called `what`; nothing when that is empty.
pub(super) fn subject(name: &str, what: &str) -> Subject {
    let change = |address: &str| Change {
        address: address.to_owned(),
        deposed: None,
        provider: "terraform.io/builtin/terraform".to_owned(),
        previous_address: None,
        actions: vec![Action::Delete, Action::Create],
        importing: None,
        before: json!({"name": "old"}),
        after: json!({"name": "new"}),
    };
    Subject {
        root: root(name),
        mode: Mode::Normal,
        backend: json!({"type": "local"}),
        workspace: "default".to_owned(),
        changes: Some(what)
            .filter(|it| !it.is_empty())
            .map(change)
            .into_iter()
            .collect(),
        outputs: Vec::new(),
        source: Value::Null,
        told: None,
        key: None,
    }
}

/// A plan that replaces something called `what`; nothing when that is empty.
pub(super) fn plan(name: &str, what: &str) -> Plan {
    use sha2::Digest as _;
    let digits = hex(&sha2::Sha256::digest(format!("{name} {what}")));
    Plan {
        root: root(name),
        digest: Digest::try_from(format!("jcs1-sha256:{digits}")).unwrap(),
        sent_sha256: String::new(),
        subject: subject(name, what),
        remarks: Vec::new(),
    }
}

/// A rollout of commit `2` over base `1`, a wave of one root after the other.
pub(super) fn rollout(waves: &[(u32, &str)]) -> Rollout {
    let wave = |&(number, name): &(u32, &str)| Wave::new(WaveNumber(number), roots(&[name]), now());
    Rollout {
        id: RolloutId::try_from("r-1").unwrap(),
        repo: repo(),
        op: Op::tf_apply(),
        source: Source::Push {
            branch: main(),
            before: sha('1'),
            after: sha('2'),
        },
        commit: sha('2'),
        base: sha('1'),
        authors: Vec::new(),
        pulls: Vec::new(),
        waves: waves.iter().map(wave).collect(),
        taken_over: Vec::new(),
        parallelism: 4,
        started: now(),
    }
}
