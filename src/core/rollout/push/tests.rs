//! What a push starts, by what it reaches and what is unfinished.

use super::*;
use crate::core::ids::Root;
use crate::core::rollout::WaveState;
use crate::core::rollout::tests::{actor, main, now, repo, rollout, roots, sha, survey};

fn pushed() -> Pushed {
    Pushed {
        repo: repo(),
        branch: main(),
        before: sha('3'),
        after: sha('4'),
        authors: vec![actor(1)],
        pulls: vec![PullNumber(12)],
    }
}

fn ground(reached: &[&str]) -> Ground {
    let members: BTreeSet<Root> = roots(reached).into_iter().collect();
    Ground {
        estate: survey().estate.into(),
        reach: Reach {
            touched: members.clone(),
            members,
        },
        parallelism: 4,
    }
}

/// An unfinished rollout of commit `commit` over `base`, of one wave of one root.
fn unfinished(name: &str, (commit, base): (char, char), hour: i8) -> Rollout {
    Rollout {
        commit: sha(commit),
        base: sha(base),
        authors: vec![actor(2)],
        pulls: vec![PullNumber(10)],
        started: format!("2026-11-30T{hour:02}:00:00Z").parse().unwrap(),
        ..rollout(&[(1, name)])
    }
}

/// The reached waves as numbers and names.
fn waves(rollout: &Rollout) -> Vec<(u32, Vec<&str>)> {
    fn named(wave: &Wave) -> (u32, Vec<&str>) {
        let members = wave.members.iter().map(Root::as_str);
        (wave.number.0, members.collect())
    }
    rollout.waves.iter().map(named).collect()
}

#[test]
fn a_push_that_reaches_nothing_starts_nothing() {
    assert_eq!(rollout_of(pushed(), &ground(&[]), &[], now()), None);
}

#[test]
fn only_reached_roots_go_out_in_their_waves() {
    let ground = ground(&["network", "database"]);
    let rollout = rollout_of(pushed(), &ground, &[], now()).unwrap();
    assert_eq!(
        waves(&rollout),
        [(1, vec!["network"]), (2, vec!["database"])]
    );
    assert_eq!((rollout.base, rollout.commit), (sha('3'), sha('4')));
}

#[test]
fn the_first_push_is_judged_by_its_own_commit() {
    let table = [('0', '4'), ('3', '3')];
    for (before, base) in table {
        let pushed = Pushed {
            before: sha(before),
            ..pushed()
        };
        let rollout = rollout_of(pushed, &ground(&["dns"]), &[], now()).unwrap();
        assert_eq!(rollout.base, sha(base), "{before}");
    }
}

#[test]
fn what_it_meets_is_taken_over_with_the_oldest_base() {
    let older = unfinished("network", ('2', '1'), 8);
    let newer = Rollout {
        taken_over: vec![sha('7')],
        ..unfinished("database", ('3', '2'), 9)
    };
    let met = [newer, older];
    let rollout = rollout_of(pushed(), &ground(&["dns"]), &met, now()).unwrap();
    assert_eq!(
        waves(&rollout),
        [(1, vec!["dns", "network"]), (2, vec!["database"])]
    );
    assert_eq!(rollout.base, sha('1'));
    assert_eq!(rollout.taken_over, [sha('7'), sha('3'), sha('2')]);
    assert_eq!(rollout.authors, [actor(2), actor(1)]);
    assert_eq!(rollout.pulls, [PullNumber(10), PullNumber(12)]);
}

#[test]
fn what_has_applied_or_is_no_longer_there_is_not_taken_over() {
    let mut met = unfinished("network", ('2', '1'), 8);
    met.waves[0].state = WaveState::Nothing;
    let waves_left = [met, unfinished("deleted", ('3', '2'), 9)];
    let rollout = rollout_of(pushed(), &ground(&["dns"]), &waves_left, now()).unwrap();
    assert_eq!(waves(&rollout), [(1, vec!["dns"])]);
}

#[test]
fn each_time_a_branch_comes_somewhere_is_a_rollout_of_its_own() {
    let id = |pushed: Pushed| {
        rollout_of(pushed, &ground(&["dns"]), &[], now())
            .unwrap()
            .id
    };
    let later = "2026-12-01T00:00:00Z".parse().unwrap();
    let again = rollout_of(pushed(), &ground(&["dns"]), &[], later).unwrap();
    assert_ne!(id(pushed()), again.id, "the same commit again, later");
    let others = [
        Pushed {
            after: sha('5'),
            ..pushed()
        },
        Pushed {
            before: sha('5'),
            ..pushed()
        },
        Pushed {
            branch: "release".try_into().unwrap(),
            ..pushed()
        },
    ];
    for other in others {
        assert_ne!(id(other), id(pushed()));
    }
}

#[test]
fn rollouts_meet_where_what_is_left_is_reached() {
    let open = rollout(&[(1, "network"), (2, "database")]);
    let mut half = open.clone();
    half.waves[0].state = WaveState::Nothing;
    let mut stood_down = open.clone();
    stood_down.stand_down(now());
    let table = [
        (&open, "network", true),
        (&open, "database", true),
        (&open, "dns", false),
        (&half, "network", false),
        (&half, "database", true),
        (&stood_down, "network", false),
    ];
    for (rollout, reached, met) in table {
        assert_eq!(meets(rollout, &ground(&[reached]).reach), met, "{reached}");
    }
}

#[test]
fn a_pusher_is_an_author_only_of_what_came_without_a_pull_request() {
    let (twelve, ten) = (PullNumber(12), PullNumber(10));
    let table = [
        (
            vec![vec![ten], vec![twelve, ten]],
            vec![ten, twelve],
            vec![1],
        ),
        (vec![vec![ten], vec![]], vec![ten], vec![1, 9]),
        (vec![vec![]], vec![], vec![1, 9]),
    ];
    for (of_each, pulls, authors) in table {
        let brought = Brought::new(&of_each);
        assert_eq!(brought.pulls, pulls);
        let found = brought.authors(vec![actor(1), actor(1)], &actor(9), Step::Forward);
        let authors: Vec<_> = authors.into_iter().map(actor).collect();
        assert_eq!(found, authors);
    }
}

#[test]
fn who_sets_a_branch_back_is_an_author_though_no_commit_is_new() {
    let brought = Brought::new(&[]);
    let authors = brought.authors(Vec::new(), &actor(9), Step::Forced);
    assert_eq!(authors, [actor(9)]);
}

#[test]
fn a_delivery_counts_only_where_the_branch_has_been_since() {
    let standing = |handled: Option<char>, said: char, is_on_the_way| Standing {
        handled: handled.map(sha),
        tip: sha('3'),
        said: sha(said),
        is_on_the_way,
    };
    let table = [
        ("the next push", standing(Some('1'), '2', true), Some('2')),
        ("the last push", standing(Some('2'), '3', true), Some('3')),
        (
            "a replay of an old push",
            standing(Some('3'), '1', false),
            None,
        ),
        (
            "an old push, and a newer one is still to come",
            standing(Some('2'), '1', false),
            Some('3'),
        ),
        ("a forced push", standing(Some('9'), '3', false), Some('3')),
        ("the first push ever", standing(None, '3', true), Some('3')),
    ];
    for (what, standing, next) in table {
        assert_eq!(standing.next(), next.map(sha).as_ref(), "{what}");
    }
}

#[test]
fn of_a_huge_push_the_newest_commits_are_asked_about() {
    let commits = |count: usize| -> Vec<Sha> {
        let name = |number: usize| Sha::try_from(format!("{number:040x}")).unwrap();
        (0..count).map(name).collect()
    };
    for (count, asked, is_cut) in [(0, 0, false), (250, 250, false), (251, 250, true)] {
        let mut newest = commits(asked);
        newest.reverse();
        let wanted = Asked {
            commits: newest,
            is_cut,
        };
        assert_eq!(asked_about(commits(count)), wanted, "{count}");
    }
}
