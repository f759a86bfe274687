//! What an `/approve` lets out, and why it may let out nothing.

use super::*;
use crate::core::effect::Ask;
use crate::core::gate::{Base, Mode};
use crate::core::ids::CommentId;
use crate::core::rollout::Unplanned;
use crate::core::rollout::WaveState;
use crate::core::rollout::tests::{
    actor, details, digest, now, plan, pull, rollout, root, sha, survey,
};

fn waiting(number: u32, digit: char) -> Waiting {
    Waiting {
        op: Op::tf_apply(),
        gate: Gate::of_wave(WaveNumber(number)),
        wave: WaveNumber(number),
        digest: digest(digit),
        commit: sha('2'),
        pr: PullNumber(12),
    }
}

fn planned(plans: Vec<Plan>, unplanned: &[&str]) -> PullMemory {
    let mut memory = PullMemory::new(details());
    let unplanned = unplanned.iter().map(|it| Unplanned {
        root: root(it),
        why: "It is broken.".to_owned(),
        detail: String::new(),
    });
    memory.planning = Planning::Done {
        head: sha('3'),
        survey: survey(),
        plans,
        unplanned: unplanned.collect(),
    };
    memory
}

fn numbers(waiting: &[Waiting]) -> Vec<u32> {
    waiting.iter().map(|it| it.wave.0).collect()
}

#[test]
fn a_wave_is_chosen_by_name_or_by_being_the_only_one() {
    let wave = |number| Some(Target::Wave(WaveNumber(number)));
    let prefix = |digit: &str| DigestPrefix::read(&digit.repeat(12));
    let (none, one) = (vec![], vec![waiting(2, 'a')]);
    let both = vec![waiting(2, 'a'), waiting(3, 'b')];
    let nothing = "That wave does not wait for an approval. Nothing of this pull request waits for an approval now.";
    let table = [
        (&none, None, None, Err(nothing)),
        (&one, None, None, Ok(2)),
        (&one, None, prefix("a"), Ok(2)),
        (&one, wave(2), None, Ok(2)),
        (&both, wave(3), prefix("b"), Ok(3)),
        (
            &both,
            None,
            None,
            Err(
                "Several waves wait, and it does not say which one. These wait for an approval: `wave-2`, `wave-3`.",
            ),
        ),
        (
            &both,
            wave(7),
            None,
            Err(
                "That wave does not wait for an approval. These wait for an approval: `wave-2`, `wave-3`.",
            ),
        ),
        (
            &one,
            Some(Target::Env),
            None,
            Err("Environments are not in this version yet. These wait for an approval: `wave-2`."),
        ),
        (
            &one,
            wave(2),
            prefix("b"),
            Err(
                "`wave-2` plans `aaaaaaaaaaaa` now, not `bbbbbbbbbbbb`. These wait for an approval: `wave-2`.",
            ),
        ),
    ];
    for (waiting, target, digest, chosen) in table {
        let found = choose(waiting, target.as_ref(), digest.as_ref());
        let found = found
            .map(|it| it.wave.0)
            .map_err(|it| format!("{} {}", it.why, it.hint));
        assert_eq!(found, chosen.map_err(str::to_owned));
    }
}

#[test]
fn only_waves_that_ask_wait() {
    let mut rollout = rollout(&[(1, "dns"), (2, "network"), (3, "database"), (4, "idle")]);
    let states = [
        WaveState::Nothing,
        WaveState::Refused {
            digest: Some(digest('a')),
            moved: Vec::new(),
        },
        WaveState::Waiting {
            digest: Some(digest('b')),
            why: String::new(),
        },
        WaveState::Waiting {
            digest: None,
            why: String::new(),
        },
    ];
    for (wave, state) in rollout.waves.iter_mut().zip(states) {
        wave.state = state;
    }
    let found = waiting_in(&rollout, &pull());
    assert_eq!(found, [waiting(2, 'a'), waiting(3, 'b')]);
}

#[test]
fn before_the_merge_a_wave_can_be_approved_once_each_member_has_a_plan() {
    let (dns, network) = (plan("dns", ""), plan("network", "vpc"));
    let database = plan("database", "db");
    let table: [(Vec<Plan>, &[&str], &[u32]); 5] = [
        (
            vec![dns.clone(), network.clone(), database.clone()],
            &[],
            &[1, 2],
        ),
        (vec![dns.clone(), network.clone()], &["database"], &[1]),
        (vec![network.clone(), database.clone()], &["dns"], &[2]),
        // A member nobody speaks of has no plan either.
        (vec![network, database.clone()], &[], &[2]),
        // Nothing changes in the first wave.
        (vec![dns, plan("network", ""), database], &[], &[2]),
    ];
    for (plans, unplanned, waves) in table {
        let memory = planned(plans, unplanned);
        assert_eq!(numbers(&waiting_before_merge(&memory)), waves);
    }
}

#[test]
fn a_head_that_is_not_planned_asks_for_nothing() {
    let memory = PullMemory::new(details());
    assert_eq!(waiting_before_merge(&memory), []);
    assert!(sets_before_merge(&memory).is_empty());
}

#[test]
fn what_was_seen_must_be_what_the_wave_plans_now() {
    let shown = |digit: char| ShownAsk {
        ask: Ask {
            gate: Gate::of_wave(WaveNumber(2)),
            digest: digest(digit),
        },
        shown_at: Timestamp::UNIX_EPOCH,
    };
    let moved = "The note showed `bbbbbbbbbbbb`, and the wave plans `aaaaaaaaaaaa` now.";
    let table = [
        (vec![shown('a')], None),
        (vec![shown('b')], Some(moved)),
        (vec![], Some("Nothing asks for an approval of wave-2.")),
    ];
    for (shown, refused) in table {
        let refusal = was_seen(&waiting(2, 'a'), &shown, now()).err();
        assert_eq!(refusal.map(|it| it.why).as_deref(), refused);
    }
}

#[test]
fn what_goes_into_another_branch_is_not_approved() {
    let refused = approved_into("release", 9, Role::Write, Ok(ApprovalRules::default()));
    let why = "This pull request goes into `main`, which is not the default branch, so nothing of it is let out.";
    assert_eq!(refused, Err(why.to_owned()));
}

/// Decides `/approve` by `who` on the planned pull request of user 1, to which user 2 pushed.
fn approved_by(who: u64, role: Role, rules: Result<ApprovalRules, &str>) -> Result<u32, String> {
    approved_into("main", who, role, rules)
}

/// The same where `default` is the repository's default branch.
fn approved_into(
    default: &str,
    who: u64,
    role: Role,
    rules: Result<ApprovalRules, &str>,
) -> Result<u32, String> {
    let mut memory = planned(vec![plan("dns", ""), plan("network", "vpc")], &["database"]);
    memory.pushers = vec![actor(2)];
    let digest = sets_before_merge(&memory)[&WaveNumber(1)].clone().unwrap();
    let ask = Ask {
        gate: Gate::of_wave(WaveNumber(1)),
        digest,
    };
    let said = Commented {
        pull: pull(),
        comment: CommentId(7),
        at: now(),
        actor: actor(who),
        body: "/approve".to_owned(),
        url: "https://git.example/acme/infra/pulls/12#7".to_owned(),
        found_at: None,
    };
    let decided = decide(&Inputs {
        said: &said,
        role,
        subject: Subject::of(None, Some(&memory)),
        target: None,
        digest: None,
        shown: &[ShownAsk {
            ask,
            shown_at: Timestamp::UNIX_EPOCH,
        }],
        default_branch: Some(&Branch::try_from(default).unwrap()),
        rules: rules
            .map(|it| AtBase::read(&Base::of_pull(&sha('1')), it))
            .map_err(str::to_owned),
    });
    decided.map(|it| it.wave.0).map_err(|it| it.why)
}

#[test]
fn neither_who_opened_a_pull_request_nor_who_pushed_to_it_approves_it() {
    let theirs =
        "It is your own change, and the target branch does not let authors approve theirs.";
    let rules = |author| ApprovalRules {
        mode: Mode::Ledger,
        author,
    };
    let unreadable = "The rules at the base commit cannot be read: line 3 is no YAML";
    let table = [
        (9, Role::Write, Ok(rules(false)), Ok(1)),
        (1, Role::Admin, Ok(rules(false)), Err(theirs)),
        (2, Role::Admin, Ok(rules(false)), Err(theirs)),
        (2, Role::Write, Ok(rules(true)), Ok(1)),
        (
            9,
            Role::Read,
            Ok(rules(true)),
            Err("Approving needs write access to this repository."),
        ),
        (9, Role::Write, Err("line 3 is no YAML"), Err(unreadable)),
    ];
    for (who, role, rules, verdict) in table {
        assert_eq!(
            approved_by(who, role, rules),
            verdict.map_err(str::to_owned)
        );
    }
}
