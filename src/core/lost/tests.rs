//! What counts as lost, by what is shown and what is remembered.

use super::*;
use crate::core::ids::{Login, Pull, RepoId};

/// The number of the account that we are.
const ME: UserId = UserId(99);

fn sha(digit: char) -> Sha {
    Sha::try_from(digit.to_string().repeat(40)).unwrap()
}

fn actor(id: u64) -> Actor {
    Actor {
        id: UserId(id),
        login: Login::try_from(format!("user{id}")).unwrap(),
        is_bot: false,
    }
}

fn details() -> PullDetails {
    let repo = Repo {
        forge: "git.example".try_into().unwrap(),
        id: RepoId(1),
        name: "acme/infra".try_into().unwrap(),
    };
    PullDetails {
        pull: Pull {
            repo,
            number: PullNumber(12),
        },
        title: "Move the network".to_owned(),
        url: "https://git.example/acme/infra/pulls/12".to_owned(),
        author: actor(1),
        head: sha('3'),
        head_repo: Some(RepoId(1)),
        target: branch("main"),
        is_draft: false,
        state: PullState::Open,
    }
}

fn now() -> Timestamp {
    "2026-11-30T20:15:00Z".parse().unwrap()
}

fn minutes_ago(minutes: i64) -> Timestamp {
    now() - SignedDuration::from_mins(minutes)
}

fn branch(name: &str) -> Branch {
    Branch::try_from(name).unwrap()
}

fn merged() -> PullState {
    PullState::Merged { commit: None }
}

/// The pull request, changed by somebody ten minutes ago.
fn listed(details: PullDetails) -> ListedPull {
    ListedPull {
        details,
        updated_at: minutes_ago(10),
    }
}

fn comment(id: u64, body: &str) -> ListedComment {
    ListedComment {
        said: Commented {
            pull: details().pull,
            comment: CommentId(id),
            at: minutes_ago(10),
            actor: actor(2),
            body: body.to_owned(),
            url: String::new(),
            found_at: None,
        },
        updated_at: minutes_ago(10),
        is_edited: false,
        answers: None,
    }
}

/// Pull requests and comments as they are listed.
fn listing(pulls: Vec<ListedPull>, comments: Vec<ListedComment>) -> Found {
    Found {
        changes: Changes { pulls, comments },
        tips: Tips::new(),
    }
}

fn remembering(details: PullDetails) -> Remembered {
    Remembered {
        pulls: BTreeMap::from([(details.pull.number, PullMemory::new(details))]),
        tips: Tips::new(),
    }
}

/// What is lost of this, looked at now.
fn lost(moment: Moment, seen: &Seen, found: &Found, remembered: &Remembered) -> Vec<Lost> {
    let repo = details().pull.repo;
    let look = Look {
        repo: &repo,
        seen,
        found,
        moment,
        now: now(),
    };
    look.lost(remembered, ME)
}

fn names(lost: &[Lost]) -> Vec<&'static str> {
    lost.iter().map(|it| it.event.name()).collect()
}

#[test]
fn what_differs_from_what_is_remembered_was_not_heard_of() {
    let open = details();
    let with = |state| PullDetails { state, ..details() };
    let pushed = PullDetails {
        head: sha('8'),
        ..details()
    };
    let retargeted = PullDetails {
        target: branch("next"),
        ..details()
    };
    let cases = [
        (None, open.clone(), Some("pull-opened")),
        (None, with(PullState::Closed), None),
        (None, with(merged()), None),
        (Some(open.clone()), open.clone(), None),
        (Some(open.clone()), pushed.clone(), Some("pull-pushed")),
        (Some(open.clone()), retargeted, Some("pull-retargeted")),
        (
            Some(open.clone()),
            with(PullState::Closed),
            Some("pull-closed"),
        ),
        (Some(open.clone()), with(merged()), Some("pull-closed")),
        (Some(with(PullState::Closed)), open, Some("pull-opened")),
        (Some(with(PullState::Closed)), pushed, Some("pull-opened")),
        (Some(with(merged())), with(merged()), None),
    ];
    for (known, shown, expected) in cases {
        let found = listing(vec![listed(shown.clone())], Vec::new());
        let remembered = known.clone().map(remembering).unwrap_or_default();
        let lost = lost(Moment::Running, &Seen::nothing(now()), &found, &remembered);
        let expected: Vec<_> = expected.into_iter().collect();
        assert_eq!(names(&lost), expected, "{known:?} {shown:?}");
    }
}

#[test]
fn what_may_be_on_its_way_is_not_lost_yet_unless_the_server_just_started() {
    let pull = ListedPull {
        details: details(),
        updated_at: now() - SignedDuration::from_secs(20),
    };
    let said = Commented {
        at: now() - SignedDuration::from_secs(20),
        ..comment(7, "/plan").said
    };
    let comment = ListedComment {
        said,
        ..comment(7, "/plan")
    };
    let found = Found {
        changes: listing(vec![pull], vec![comment]).changes,
        tips: Tips::from([(branch("main"), sha('2'))]),
    };
    let seen = Seen {
        tips: Tips::from([(branch("main"), sha('1'))]),
        ..Seen::nothing(now())
    };
    let of = |moment| names(&lost(moment, &seen, &found, &Remembered::default()));
    assert_eq!(of(Moment::Running), Vec::<&str>::new());
    assert_eq!(
        of(Moment::Start),
        ["pull-opened", "branch-pushed", "commented"]
    );
}

#[test]
fn a_branch_is_compared_with_where_it_was_handled_and_else_with_the_last_look() {
    // Handled, seen at the last look, there; what it is pushed from.
    let cases = [
        (None, None, '2', None),
        (Some('2'), None, '2', None),
        (Some('2'), Some('1'), '2', None),
        (Some('1'), Some('2'), '2', Some('1')),
        (Some('1'), None, '2', Some('1')),
        (None, Some('1'), '2', Some('1')),
        (None, Some('2'), '2', None),
    ];
    let tips = |it: Option<char>| {
        let tip = it.map(|it| (branch("main"), sha(it)));
        tip.into_iter().collect::<Tips>()
    };
    for (handled, seen, tip, from) in cases {
        let found = Found {
            tips: tips(Some(tip)),
            ..Found::default()
        };
        let remembered = Remembered {
            tips: tips(handled),
            ..Remembered::default()
        };
        let seen_before = Seen {
            tips: tips(seen),
            ..Seen::nothing(now())
        };
        let lost = lost(Moment::Start, &seen_before, &found, &remembered);
        let pushed = lost.first().map(|it| match &it.event {
            Event::BranchPushed { before, after, .. } => (before.clone(), after.clone()),
            other => panic!("{other:?}"),
        });
        let expected = from.map(|it| (sha(it), sha(tip)));
        assert_eq!(pushed, expected, "{handled:?} {seen:?} {tip}");
    }
}

#[test]
fn of_comments_only_new_unanswered_commands_of_people_on_our_pull_requests_are_lost() {
    let by = |who: Actor, it: ListedComment| ListedComment {
        said: Commented {
            actor: who,
            ..it.said
        },
        ..it
    };
    let me = actor(ME.0);
    let bot = Actor {
        is_bot: true,
        ..actor(3)
    };
    let elsewhere = Pull {
        number: PullNumber(77),
        ..details().pull
    };
    let answer = |who: Actor, key: &str| ListedComment {
        answers: Some(key.to_owned()),
        ..by(who, comment(50, "Not done"))
    };
    let comments = vec![
        comment(1, "/plan"),
        comment(2, "Looks right."),
        ListedComment {
            is_edited: true,
            ..comment(3, "/plan")
        },
        by(me.clone(), comment(4, "/plan")),
        by(bot, comment(5, "/plan")),
        comment(6, "/approve"),
        answer(me, "6-0"),
        comment(7, "/approve"),
        answer(actor(4), "7-0"),
        ListedComment {
            said: Commented {
                pull: elsewhere,
                ..comment(8, "/plan").said
            },
            ..comment(8, "/plan")
        },
    ];
    let found = listing(vec![listed(details())], comments);
    let lost = lost(
        Moment::Running,
        &Seen::nothing(now()),
        &found,
        &remembering(details()),
    );
    let said: Vec<_> = lost
        .iter()
        .map(|it| match &it.event {
            Event::Commented(said) => (said.comment.0, said.found_at),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(said, [(1, Some(now())), (7, Some(now()))]);
}

#[test]
fn whoever_finds_it_files_it_under_the_same_name() {
    let id = |updated_at| {
        let pull = ListedPull {
            details: details(),
            updated_at,
        };
        let found = listing(vec![pull], Vec::new());
        let lost = lost(
            Moment::Start,
            &Seen::nothing(now()),
            &found,
            &Remembered::default(),
        );
        lost[0].id.clone()
    };
    assert_eq!(id(minutes_ago(3)), id(minutes_ago(3)));
    assert_ne!(id(minutes_ago(3)), id(minutes_ago(2)));
}

#[test]
fn a_command_of_more_than_a_week_ago_is_left_alone() {
    let old = ListedComment {
        said: Commented {
            at: minutes_ago(8 * 24 * 60),
            ..comment(1, "/plan").said
        },
        ..comment(1, "/plan")
    };
    let found = listing(vec![listed(details())], vec![old]);
    let remembered = remembering(details());
    let lost = lost(Moment::Start, &Seen::nothing(now()), &found, &remembered);
    assert_eq!(lost, []);
}

#[test]
fn looks_are_rarer_where_there_are_many_repositories_and_after_failures() {
    let seconds = |it: SignedDuration| it.as_secs();
    assert_eq!(seconds(pause_between(1)), 300);
    assert_eq!(seconds(pause_between(100)), 600);
    let after = |failures| seconds(pause_after(failures, SignedDuration::from_mins(5)));
    assert_eq!((after(0), after(1), after(9)), (15, 30, 300));
    assert_eq!(after(u32::MAX), 300);
}

#[test]
fn the_next_look_starts_from_the_newest_change_by_the_forges_clock() {
    let repo = details().pull.repo;
    let next = |found: &Found, until| {
        let seen = Seen {
            until,
            tips: Tips::new(),
        };
        let look = Look {
            repo: &repo,
            seen: &seen,
            found,
            moment: Moment::Running,
            now: now(),
        };
        look.seen_next().until
    };
    assert_eq!(next(&Found::default(), minutes_ago(40)), minutes_ago(40));
    let found = listing(vec![listed(details())], Vec::new());
    assert_eq!(next(&found, minutes_ago(40)), minutes_ago(10));
    assert_eq!(next(&found, minutes_ago(2)), minutes_ago(2));
    let seen = Seen {
        until: minutes_ago(40),
        tips: Tips::new(),
    };
    assert!(seen.since() < minutes_ago(40));
}
