//! What the end of a plan job makes of a pull request.

use super::*;
use crate::core::ids::Attempt;
use crate::core::job::Report;
use crate::core::key::MasterKey;
use crate::core::plan::{Draft, PlanResult, Planned};
use crate::core::rollout::tests::{details, plan, root, roots, sha, subject, survey};

fn running(again: Option<&[&str]>) -> PullMemory {
    let mut memory = PullMemory::new(details());
    memory.attempt = Attempt(2);
    memory.planning = Planning::Running { head: sha('3') };
    memory.kept = again.map(|names| Kept {
        again: roots(names),
        survey: survey(),
        plans: vec![plan("dns", "old"), plan("network", "old")],
        unplanned: vec![Unplanned {
            root: root("database"),
            why: "It is broken.".to_owned(),
            detail: String::new(),
        }],
    });
    memory
}

fn made(name: &str, what: &str) -> Planned {
    Planned {
        root: root(name),
        result: PlanResult::Made(Draft {
            subject: subject(name, what),
            remarks: Vec::new(),
        }),
    }
}

fn failed(name: &str) -> Planned {
    Planned {
        root: root(name),
        result: PlanResult::Failed {
            why: "Terraform stopped.".to_owned(),
            detail: String::new(),
        },
    }
}

fn report(plans: Vec<Planned>) -> Report {
    Report {
        outcome: Outcome::Done,
        cancelled: false,
        plans,
        applied: Vec::new(),
        error: None,
        survey: Some(survey()),
    }
}

fn end(memory: &mut PullMemory, end: JobEnd) -> bool {
    let job = memory.job(&sha('3'));
    planned(memory, &job, end, &MasterKey::new([7; 32]).for_digests())
}

/// Roots, each with what is told of it.
type Told<'a> = Vec<(&'a str, &'a str)>;

/// Each planned root with what it replaces, and each root without a plan with the reason.
fn told(memory: &PullMemory) -> (Told<'_>, Told<'_>) {
    let Planning::Done {
        plans, unplanned, ..
    } = &memory.planning
    else {
        panic!("it is not done: {:?}", memory.planning)
    };
    let plans = plans.iter().map(|it| {
        let change = it.subject.changes.first();
        (
            it.root.as_str(),
            change.map_or("", |it| it.address.as_str()),
        )
    });
    let unplanned = unplanned
        .iter()
        .map(|it| (it.root.as_str(), it.why.as_str()));
    (plans.collect(), unplanned.collect())
}

#[test]
fn plans_and_failures_are_told_apart() {
    let mut memory = running(None);
    let said = report(vec![made("dns", "zone"), failed("network")]);
    assert!(end(&mut memory, JobEnd::Said(said)));
    let (plans, unplanned) = told(&memory);
    assert_eq!(plans, [("dns", "zone")]);
    assert_eq!(unplanned, [("network", "Terraform stopped.")]);
}

#[test]
fn a_job_that_found_nothing_says_why() {
    let cancelled = Report {
        cancelled: true,
        ..report(Vec::new())
    };
    let broken = Report {
        error: Some("A file is no HCL.".to_owned()),
        ..report(Vec::new())
    };
    let silent = Report {
        survey: None,
        ..report(Vec::new())
    };
    let table = [
        (
            JobEnd::Lost {
                why: "its lease ran out.".to_owned(),
            },
            "The plan job was lost: its lease ran out.",
        ),
        (JobEnd::Said(cancelled), "Planning was cancelled."),
        (JobEnd::Said(broken), "A file is no HCL."),
        (
            JobEnd::Said(silent),
            "The plan job ended without saying what it found.",
        ),
    ];
    for (how, why) in table {
        let mut memory = running(None);
        assert!(end(&mut memory, how));
        let (head, why) = (sha('3'), why.to_owned());
        assert_eq!(memory.planning, Planning::Failed { head, why });
    }
}

#[test]
fn the_end_of_an_older_attempt_or_of_another_head_changes_nothing() {
    let key = MasterKey::new([7; 32]).for_digests();
    let older = JobKey {
        attempt: Attempt(1),
        ..running(None).job(&sha('3'))
    };
    for job in [older, running(None).job(&sha('4'))] {
        let mut memory = running(None);
        let said = JobEnd::Said(report(Vec::new()));
        assert!(!planned(&mut memory, &job, said, &key));
        assert_eq!(memory, running(None));
    }
}

#[test]
fn the_plans_are_of_the_head_that_was_planned() {
    let mut memory = running(None);
    memory.details.head = sha('4');
    assert!(end(&mut memory, JobEnd::Said(report(Vec::new()))));
    let Planning::Done { head, .. } = memory.planning else {
        panic!("it is not done")
    };
    assert_eq!(head, sha('3'));
}

#[test]
fn roots_that_were_not_planned_again_keep_their_last_plans() {
    type Roots<'a> = &'a [(&'a str, &'a str)];
    let table: [(&[&str], Vec<Planned>, Roots, Roots); 3] = [
        (
            &["network"],
            vec![made("network", "new")],
            &[("dns", "old"), ("network", "new")],
            &[("database", "It is broken.")],
        ),
        (
            &["database"],
            vec![made("database", "new")],
            &[("dns", "old"), ("network", "old"), ("database", "new")],
            &[],
        ),
        (
            &["dns"],
            vec![failed("dns")],
            &[("network", "old")],
            &[("database", "It is broken."), ("dns", "Terraform stopped.")],
        ),
    ];
    for (again, found, plans, unplanned) in table {
        let mut memory = running(Some(again));
        assert!(end(&mut memory, JobEnd::Said(report(found))));
        assert_eq!(told(&memory), (plans.to_vec(), unplanned.to_vec()));
        assert_eq!(memory.kept, None);
    }
}

#[test]
fn roots_whose_second_planning_was_lost_have_no_plan() {
    let mut memory = running(Some(&["dns"]));
    let why = "its lease ran out.".to_owned();
    assert!(end(&mut memory, JobEnd::Lost { why }));
    let (plans, unplanned) = told(&memory);
    assert_eq!(plans, [("network", "old")]);
    let lost = "The plan job was lost: its lease ran out.";
    assert_eq!(unplanned, [("database", "It is broken."), ("dns", lost)]);
}
