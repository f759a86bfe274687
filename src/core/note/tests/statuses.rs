//! The two statuses, each in one line.

use super::samples::*;
use super::{applied, network, open_case, waits};
use crate::core::effect::StatusState::{self, Failure, Pending, Success};
use crate::core::note::status;
use crate::core::rollout::WaveState;
use crate::core::rollout::pull::Planning;

fn check_plan(case: &Case, wanted: (StatusState, &str)) {
    let status = status::of_plan(&case.input());
    assert_eq!((status.state, status.description.as_str()), wanted);
}

fn check_apply(case: &Case, wanted: (StatusState, &str)) {
    let status = status::of_apply(&case.input());
    assert_eq!((status.state, status.description.as_str()), wanted);
}

#[test]
fn a_plan_is_told_in_totals() {
    let totals =
        "4 roots in 3 waves: replaces 1, updates 2, creates 1, changes 1 output, 1 unchanged";
    check_plan(&open_case(), (Success, totals));
    let waits = "applies after the merge; wave-1 will wait for an approval";
    check_apply(&open_case(), (Success, waits));
}

#[test]
fn a_root_without_a_plan_fails_the_plan() {
    let mut case = open_case();
    case.without_plan("database", ("x", ""));
    check_plan(
        &case,
        (Failure, "1 of 4 roots could not be planned: database"),
    );
}

#[test]
fn a_merge_into_another_branch_applies_nothing() {
    let words = "nothing: next is not the default branch";
    check_apply(&open_case().elsewhere(), (Success, words));
}

#[test]
fn nothing_reached_is_a_success() {
    let case = Case::planned(survey(&[], &[]), Vec::new());
    check_plan(&case, (Success, "this change reaches no root"));
    check_apply(&case, (Success, "nothing to apply"));
}

#[test]
fn planning_is_pending_and_holds_no_merge_up() {
    let case = Case::new(Planning::Running { head: sha('3') });
    check_plan(&case, (Pending, "planning"));
    check_apply(&case, (Success, "applies after the merge"));
}

#[test]
fn a_fork_is_never_green() {
    let mut case = Case::new(Planning::Not { why: String::new() });
    case.memory.details.head_repo = None;
    check_plan(&case, (Failure, "not planned: the commits are in a fork"));
}

#[test]
fn a_wave_that_waits_names_its_command() {
    let waves = vec![
        wave(1, vec![network()], applied("x")),
        wave(2, vec![network()], waits()),
    ];
    check_apply(
        &Case::rolled_out(waves),
        (Pending, "wave-2 waits: /approve wave-2"),
    );
}

#[test]
fn a_rollout_that_is_through_is_a_success() {
    let waves = vec![
        wave(1, vec![network()], applied("x")),
        wave(2, Vec::new(), WaveState::Nothing),
    ];
    check_apply(
        &Case::rolled_out(waves),
        (Success, "applied: 1 wave, 1 had nothing to do"),
    );
}

#[test]
fn a_long_description_is_cut_to_what_forges_take() {
    let why = "x".repeat(500);
    let case = Case::new(Planning::Failed {
        head: sha('3'),
        why,
    });
    assert_eq!(
        status::of_plan(&case.input()).description.chars().count(),
        140
    );
}

#[test]
fn what_has_ended_is_never_pending() {
    for state in [
        WaveState::Nothing,
        applied("x"),
        WaveState::Failed { why: String::new() },
        WaveState::Lost { why: String::new() },
        WaveState::Refused {
            digest: None,
            moved: Vec::new(),
        },
        WaveState::Cancelled,
        WaveState::StoodDown,
    ] {
        let case = Case::rolled_out(vec![wave(1, vec![network()], state.clone())]);
        assert_ne!(status::of_apply(&case.input()).state, Pending, "{state:?}");
    }
}

#[test]
fn what_stopped_is_not_pending_for_the_waves_behind_it() {
    for state in [
        WaveState::Failed { why: String::new() },
        WaveState::Lost { why: String::new() },
        WaveState::Refused {
            digest: None,
            moved: Vec::new(),
        },
        WaveState::Cancelled,
    ] {
        let waves = vec![
            wave(1, vec![network()], state.clone()),
            wave(2, Vec::new(), WaveState::NotStarted),
        ];
        assert_eq!(
            status::of_apply(&Case::rolled_out(waves).input()).state,
            Failure,
            "{state:?}"
        );
    }
}
