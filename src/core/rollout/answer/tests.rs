//! What each decision of a gate means for the job, the wave and the ledger.

use super::*;
use crate::core::gate::decide::Why;
use crate::core::gate::facts::Pending;
use crate::core::ids::{Gate, Op, WaveNumber};
use crate::core::job::{Clearance, Moved};
use crate::core::rollout::tests::{digest, now, root, sha};

fn pending() -> Pending {
    Pending {
        id: "r-1/wave-1/1/pending".to_owned(),
        op: Op::tf_apply(),
        gate: Gate::of_wave(WaveNumber(1)),
        timestamp: now(),
        expires_at: now(),
        digest: digest('a'),
        members: Vec::new(),
        commit: sha('2'),
        pr: None,
        description: String::new(),
        url: None,
    }
}

fn spend() -> Use {
    Use {
        id: "r-1/wave-1/1/use".to_owned(),
        op: Op::tf_apply(),
        gate: Gate::of_wave(WaveNumber(1)),
        timestamp: now(),
        digest: digest('a'),
        approved_at: now().to_string(),
        approved_by: "github:grace".to_owned(),
        members: Vec::new(),
        commit: sha('2'),
        pr: None,
        run_id: None,
    }
}

fn clearance() -> Clearance {
    Clearance {
        set: digest('a'),
        use_id: None,
        members: Vec::new(),
        left_alone: Vec::new(),
    }
}

fn moved() -> Vec<Moved> {
    vec![Moved {
        root: root("network"),
        approved: Some(digest('a')),
        now: Some(digest('b')),
    }]
}

fn waits(digest: Option<Digest>, why: &str) -> (Answer, WaveState) {
    let why = why.to_owned();
    let state = WaveState::Waiting {
        digest: digest.clone(),
        why: why.clone(),
    };
    (Answer::Wait { digest, why }, state)
}

fn applies(by: Option<&str>) -> (Answer, WaveState) {
    let state = WaveState::Applying {
        digest: digest('a'),
        by: by.map(str::to_owned),
    };
    (Answer::Apply(clearance()), state)
}

fn apply(spend: Option<Use>, by: Option<&str>) -> Decision {
    Decision::Apply {
        clearance: clearance(),
        spend,
        by: by.map(str::to_owned),
    }
}

fn wait(pending: Option<Pending>) -> Decision {
    Decision::Wait {
        digest: Some(digest('a')),
        why: Why::NotApproved,
        pending,
    }
}

#[test]
fn every_decision_is_an_answer_a_state_and_what_the_ledger_must_hold() {
    let refuse = Decision::Refuse {
        approved: digest('a'),
        by: "github:grace".to_owned(),
        moved: moved(),
        digest: digest('b'),
        pending: pending(),
    };
    let refused = (
        Answer::Refuse {
            moved: moved(),
            digest: Some(digest('b')),
        },
        WaveState::Refused {
            digest: Some(digest('b')),
            moved: moved(),
        },
    );
    let why = || "`network` has no plan.".to_owned();
    let failed = (
        Answer::Fail { why: why() },
        WaveState::Failed { why: why() },
    );
    let nobody = waits(Some(digest('a')), "Nobody has approved these plans yet.");
    let by = Some("github:grace");
    let table = [
        (
            Decision::Nothing,
            (Answer::Nothing, WaveState::Nothing),
            vec![],
        ),
        (apply(None, None), applies(None), vec![]),
        (
            apply(Some(spend()), by),
            applies(by),
            vec![Fact::Use(spend())],
        ),
        (wait(None), nobody.clone(), vec![]),
        (
            wait(Some(pending())),
            nobody,
            vec![Fact::Pending(pending())],
        ),
        (refuse, refused, vec![Fact::Pending(pending())]),
        (Decision::Fail { why: why() }, failed, vec![]),
    ];
    for (decision, (answer, state), facts) in table {
        let wanted = Decided {
            answer,
            state,
            facts,
        };
        assert_eq!(Decided::from(decision), wanted);
    }
}

#[test]
fn only_a_use_is_spent() {
    let table = [
        (apply(Some(spend()), None), Some(spend())),
        (apply(None, None), None),
        (wait(Some(pending())), None),
    ];
    for (decision, spent) in table {
        assert_eq!(Decided::from(decision).spent(), spent.as_ref());
    }
}

#[test]
fn unreadable_rules_wait_and_ask_for_nothing() {
    let why = "The rules at the base commit cannot be read, so nothing applies: line 3 is no YAML";
    let (answer, state) = waits(None, why);
    let facts = Vec::new();
    let wanted = Decided {
        answer,
        state,
        facts,
    };
    assert_eq!(Decided::unreadable("line 3 is no YAML"), wanted);
}
