//! How a rollout moves, as a conversation.

use super::*;
use crate::core::job::{JobEnd, Report};
use crate::core::outcome::Outcome;
use crate::core::rollout::ended::Asked;
use crate::core::rollout::tests::{digest, now, rollout};

fn two_waves() -> Rollout {
    rollout(&[(2, "network"), (3, "database")])
}

fn asked(state: WaveState) -> Asked {
    Asked {
        plans: Vec::new(),
        unplanned: Vec::new(),
        state,
        spent: None,
    }
}

fn said(outcome: Outcome) -> JobEnd {
    JobEnd::Said(Report {
        outcome,
        cancelled: false,
        plans: vec![],
        applied: vec![],
        error: None,
        survey: None,
    })
}

fn applying() -> WaveState {
    WaveState::Applying {
        digest: digest('a'),
        by: None,
    }
}

#[test]
fn waves_go_out_one_after_the_other() {
    let mut rollout = two_waves();
    let first = rollout.advance(now()).unwrap();
    assert_eq!(first.key.to_string(), "r-1/wave-2/1");
    assert_eq!(rollout.advance(now()), None, "one at a time");
    rollout.answered(WaveNumber(2), asked(applying()), now());
    rollout.ended(WaveNumber(2), &first.key, &said(Outcome::Done), now());
    let second = rollout.advance(now()).unwrap();
    assert_eq!(second.key.to_string(), "r-1/wave-3/1");
    rollout.answered(WaveNumber(3), asked(WaveState::Nothing), now());
    rollout.ended(WaveNumber(3), &second.key, &said(Outcome::Done), now());
    assert!(!rollout.is_open());
}

#[test]
fn a_wave_that_waits_holds_what_comes_after_and_starts_afresh_when_called() {
    let mut rollout = two_waves();
    let first = rollout.advance(now()).unwrap();
    let waits = WaveState::Waiting {
        digest: Some(digest('a')),
        why: "It replaces something.".to_owned(),
    };
    rollout.answered(WaveNumber(2), asked(waits), now());
    rollout.ended(WaveNumber(2), &first.key, &said(Outcome::Waiting), now());
    assert!(matches!(
        rollout.wave(WaveNumber(2)).unwrap().state,
        WaveState::Waiting { .. }
    ));
    assert_eq!(rollout.advance(now()), None);
    assert_eq!(rollout.call(None, now()).unwrap().key.attempt, Attempt(2));
}

#[test]
fn an_older_attempt_changes_nothing() {
    let mut rollout = two_waves();
    let first = rollout.advance(now()).unwrap();
    rollout.ended(
        WaveNumber(2),
        &first.key,
        &JobEnd::Lost {
            why: "its lease ran out".to_owned(),
        },
        now(),
    );
    rollout.call(None, now()).unwrap();
    let before = rollout.clone();
    assert!(!rollout.is_asking(WaveNumber(2), Attempt(1)));
    rollout.ended(WaveNumber(2), &first.key, &said(Outcome::Done), now());
    assert_eq!(rollout, before);
}

#[test]
fn what_cannot_be_called_is_refused_with_the_reason() {
    let mut rollout = two_waves();
    let why = |result: Result<JobSpec, Refusal>| result.unwrap_err().why;
    assert_eq!(
        why(rollout.call(Some(WaveNumber(9)), now())),
        "This change does not reach wave-9."
    );
    assert_eq!(
        why(rollout.call(Some(WaveNumber(3)), now())),
        "wave-3 comes after wave-2, which has not applied."
    );
    rollout.advance(now());
    assert_eq!(why(rollout.call(None, now())), "wave-2 is running already.");
}

#[test]
fn an_apply_in_progress_is_left_alone_when_a_rollout_stands_down() {
    let mut rollout = two_waves();
    rollout.advance(now());
    rollout.answered(WaveNumber(2), asked(applying()), now());
    rollout.stand_down(now());
    assert!(matches!(
        rollout.wave(WaveNumber(2)).unwrap().state,
        WaveState::Applying { .. }
    ));
    assert_eq!(
        rollout.wave(WaveNumber(3)).unwrap().state,
        WaveState::StoodDown
    );
}
