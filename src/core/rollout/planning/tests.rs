//! What becomes of a pull request's head, by what happened to it before.

use super::*;
use crate::core::ids::RepoId;
use crate::core::job::Work;
use crate::core::rollout::Unplanned;
use crate::core::rollout::tests::{actor, details, plan, root, roots, sha, survey};

fn ground() -> Ground {
    Ground {
        merge_base: Some(sha('1')),
        rules: Ok(4),
        nothing: None,
    }
}

fn first_look() -> PullMemory {
    look(None, details(), &ground(), Wish::Event).memory
}

fn done(mut memory: PullMemory) -> PullMemory {
    memory.planning = Planning::Done {
        head: memory.details.head.clone(),
        survey: survey(),
        plans: vec![plan("network", "a"), plan("dns", "")],
        unplanned: vec![Unplanned {
            root: root("database"),
            why: "It waits for `network`, which has never applied.".to_owned(),
            detail: String::new(),
        }],
    };
    memory
}

fn again(only: &[&str]) -> Wish {
    Wish::Again { only: roots(only) }
}

/// The roots that a step's job is told to plan; none where no job starts, and no names for all of them.
fn planned_roots(step: &Step) -> Option<Vec<Root>> {
    let start = step.start.as_ref()?;
    match &start.work {
        Work::Plan { only, .. } => Some(only.clone()),
        Work::Wave { .. } => panic!("a pull request starts no wave"),
    }
}

#[test]
fn a_new_head_is_planned_against_its_merge_base() {
    let step = look(None, details(), &ground(), Wish::Event);
    let start = step.start.unwrap();
    assert_eq!((start.commit, start.base), (sha('3'), sha('1')));
    assert_eq!(start.parallelism, 4);
    assert_eq!(Some(start.key), step.memory.running_job());
}

#[test]
fn a_head_that_came_unheard_of_is_somebodys_push_and_a_known_one_is_nobodys() {
    let by = Actor::nobody;
    let newer = PullDetails {
        head: sha('4'),
        ..details()
    };
    let pushers = |head: PullDetails| {
        let step = look(
            Some(first_look()),
            head,
            &ground(),
            Wish::Pushed { by: by() },
        );
        step.memory.pushers
    };
    assert_eq!(pushers(newer), [by()]);
    assert_eq!(pushers(details()), []);
}

#[test]
fn a_newer_head_leaves_one_that_is_being_planned() {
    let newer = PullDetails {
        head: sha('4'),
        ..details()
    };
    let before = first_look();
    let after = look(Some(before.clone()), newer.clone(), &ground(), Wish::Event).memory;
    assert_eq!(before.head_left_by(&after), Some(&sha('3')));
    assert_eq!(before.head_left_by(&before), None);
    assert_eq!(done(before).head_left_by(&after), None);
}

#[test]
fn a_draft_is_planned_like_any_other() {
    let draft = PullDetails {
        is_draft: true,
        ..details()
    };
    assert!(look(None, draft, &ground(), Wish::Event).start.is_some());
}

#[test]
fn what_is_never_planned_says_why() {
    let fork = PullDetails {
        head_repo: Some(RepoId(9)),
        ..details()
    };
    let gone = PullDetails {
        head_repo: None,
        ..details()
    };
    let closed = PullDetails {
        state: PullState::Closed,
        ..details()
    };
    let merged = PullDetails {
        state: PullState::Merged { commit: None },
        ..details()
    };
    let unreadable = Ground {
        rules: Err("line 3 is no YAML".to_owned()),
        ..ground()
    };
    let unrelated = Ground {
        merge_base: None,
        ..ground()
    };
    let table = [
        (fork, ground(), "in a fork"),
        (gone, ground(), "in a fork"),
        (closed, ground(), "is closed"),
        (merged, ground(), "merged before its plan was made"),
        (
            details(),
            unreadable,
            "`main` cannot be read: line 3 is no YAML",
        ),
        (details(), unrelated, "no history with `main`"),
    ];
    for (details, ground, words) in table {
        for wish in [Wish::Event, again(&[])] {
            let step = look(Some(first_look()), details.clone(), &ground, wish);
            assert_eq!(step.start, None, "{words}");
            assert_eq!(step.cancel, first_look().running_job(), "{words}");
            let refusal = step.refusal().unwrap();
            assert!(refusal.why.contains(words), "{}", refusal.why);
        }
    }
}

#[test]
fn a_head_that_reaches_nothing_needs_no_job() {
    let ground = Ground {
        nothing: Some(Survey::default()),
        ..ground()
    };
    let newer = PullDetails {
        head: sha('4'),
        ..details()
    };
    for wish in [Wish::Event, again(&[])] {
        let before = first_look();
        let step = look(Some(before.clone()), newer.clone(), &ground, wish);
        assert_eq!((&step.start, &step.cancel), (&None, &before.running_job()));
        assert!(matches!(&step.memory.planning, Planning::Done { head, .. } if *head == sha('4')));
        assert!(step.memory.is_planned_on(&sha('1')));
        assert!(step.refusal().unwrap().why.contains("reaches no root"));
    }
}

#[test]
fn the_same_head_on_the_same_base_is_left_alone() {
    for memory in [first_look(), done(first_look())] {
        let step = look(Some(memory.clone()), details(), &ground(), Wish::Event);
        assert_eq!(step, Step::nothing(memory));
    }
}

#[test]
fn a_newer_head_stops_the_plan_of_the_older() {
    let newer = PullDetails {
        head: sha('4'),
        ..details()
    };
    let step = look(Some(first_look()), newer, &ground(), Wish::Event);
    assert_eq!(step.cancel, first_look().running_job());
    assert_eq!(step.start.unwrap().commit, sha('4'));
}

#[test]
fn the_same_head_is_planned_again_on_another_base() {
    let elsewhere = Ground {
        merge_base: Some(sha('5')),
        ..ground()
    };
    let retargeted = PullDetails {
        target: "release".try_into().unwrap(),
        ..details()
    };
    for wish in [Wish::Event, again(&["dns"])] {
        let memory = Some(done(first_look()));
        let step = look(memory, retargeted.clone(), &elsewhere, wish);
        assert_eq!(planned_roots(&step), Some(Vec::new()));
        assert_eq!(step.start.unwrap().base, sha('5'));
    }
}

#[test]
fn a_reopened_pull_request_is_planned_again() {
    let shut = PullDetails {
        state: PullState::Closed,
        ..details()
    };
    let closed = closed(done(first_look()), shut).memory;
    let step = look(Some(closed), details(), &ground(), Wish::Event);
    assert_eq!(step.start.unwrap().key.attempt, Attempt(2));
}

#[test]
fn somebody_who_pushes_shares_the_authorship_once() {
    let mut memory = None;
    for id in [2, 3, 2] {
        let by = actor(id);
        memory = Some(look(memory, details(), &ground(), Wish::Pushed { by }).memory);
    }
    assert_eq!(memory.unwrap().authors(), [actor(1), actor(2), actor(3)]);
}

#[test]
fn asking_again_plans_again_all_of_it_or_what_was_named() {
    let named = look(
        Some(done(first_look())),
        details(),
        &ground(),
        again(&["dns"]),
    );
    let twice = look(
        Some(named.memory.clone()),
        details(),
        &ground(),
        again(&["network"]),
    );
    let whole = look(Some(named.memory.clone()), details(), &ground(), again(&[]));
    let table = [
        (&named, vec!["dns"]),
        // What the stopped job was to plan is planned with the rest.
        (&twice, vec!["dns", "network"]),
        (&whole, vec![]),
    ];
    for (step, only) in table {
        assert_eq!(planned_roots(step), Some(roots(&only)));
    }
    assert_eq!(twice.cancel, named.memory.running_job());
}

#[test]
fn a_part_is_planned_again_only_where_the_rest_has_a_plan() {
    let mut failed = first_look();
    failed.planning = Planning::Failed {
        head: sha('3'),
        why: "The plan job was lost.".to_owned(),
    };
    let mut moved = done(first_look());
    moved.details.head = sha('2');
    moved.planning = match moved.planning {
        Planning::Done {
            survey,
            plans,
            unplanned,
            ..
        } => Planning::Done {
            head: sha('2'),
            survey,
            plans,
            unplanned,
        },
        other => other,
    };
    for memory in [None, Some(first_look()), Some(failed), Some(moved)] {
        let step = look(memory, details(), &ground(), again(&["dns"]));
        assert_eq!(planned_roots(&step), Some(Vec::new()));
        assert_eq!(step.memory.kept, None);
    }
}

#[test]
fn a_closed_pull_request_keeps_nothing_to_approve_and_a_merged_one_its_plans() {
    let merged = PullState::Merged { commit: None };
    let table = [
        (PullState::Closed, done(first_look()), false),
        (PullState::Closed, first_look(), false),
        (merged.clone(), done(first_look()), true),
        (merged, first_look(), false),
        (PullState::Open, done(first_look()), true),
    ];
    for (state, memory, is_kept) in table {
        let details = PullDetails { state, ..details() };
        let running = memory.running_job();
        let step = closed(memory.clone(), details.clone());
        assert_eq!(step.memory.details, details);
        assert_eq!(step.memory.planning == memory.planning, is_kept);
        assert_eq!((step.start, step.cancel), (None, running));
    }
}

#[test]
fn planning_a_merged_pull_request_again_is_refused() {
    let details = PullDetails {
        state: PullState::Merged { commit: None },
        ..details()
    };
    let step = look(Some(done(first_look())), details, &ground(), again(&[]));
    let why = step.refusal().unwrap().why;
    assert_eq!(
        why,
        "The pull request is merged. Its waves plan before they apply."
    );
}

#[test]
fn a_root_that_is_unknown_or_not_reached_is_refused_with_the_list() {
    let partly = look(
        Some(done(first_look())),
        details(),
        &ground(),
        again(&["dns"]),
    )
    .memory;
    let table = [
        ("network", None),
        (
            "netwrok",
            Some(
                "`netwrok` is not a root of this repository. Its roots are `database`, `dns`, `idle`, `network`.",
            ),
        ),
        (
            "idle",
            Some(
                "This change does not reach `idle`, so there is nothing to plan in it. It reaches `database`, `dns`, `network`.",
            ),
        ),
    ];
    for memory in [done(first_look()), partly] {
        for (name, refused) in &table {
            let refusal = are_reached(&roots(&[name]), memory.survey()).err();
            let text = refusal.map(|it| format!("{} {}", it.why, it.hint));
            assert_eq!(text.as_deref(), *refused);
        }
    }
    assert_eq!(
        are_reached(&roots(&["netwrok"]), first_look().survey()),
        Ok(())
    );
}
