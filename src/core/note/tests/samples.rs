//! Made-up plans, pull requests and rollouts for the notes' tests.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::core::command::{Allowed, Spelling};
use crate::core::config::project::ApprovalRules;
use crate::core::effect::Note;
use crate::core::estate::address::StateAddress;
use crate::core::estate::radius::{Downstream, Radius};
use crate::core::estate::{Estate, Reach, RootFacts, Survey};
use crate::core::gate::Policy;
use crate::core::ids::{
    Actor, Attempt, Branch, Digest, ForgeHost, Login, Op, Pull, PullNumber, Repo, RepoId, RepoName,
    RolloutId, Root, Sha, UserId, WaveNumber,
};
use crate::core::note::{PullNote, pull_note};
use crate::core::plan::op::Told;
use crate::core::plan::{Action, Change, Mode, OutputChange, Plan, Remark, Subject};
use crate::core::rollout::pull::{Planning, PullDetails, PullMemory, PullState};
use crate::core::rollout::{Rollout, Source, Unplanned, Wave, WaveState};

pub(super) const PAGE: &str = "https://tidegate.acme.example/github.com/7/pulls/12";

/// A case: everything a note is made from, owned.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) memory: PullMemory,
    pub(super) rollout: Option<Rollout>,
    pub(super) sets: BTreeMap<WaveNumber, Option<Digest>>,
    pub(super) approved: BTreeMap<WaveNumber, Vec<String>>,
    pub(super) radius: Radius,
    pub(super) allowed: Allowed,
    pub(super) default_branch: Option<Branch>,
    pub(super) max_chars: usize,
}

impl Case {
    pub(super) fn new(planning: Planning) -> Self {
        Self {
            memory: memory(planning),
            rollout: None,
            sets: BTreeMap::new(),
            approved: BTreeMap::new(),
            radius: Radius::default(),
            allowed: Allowed {
                gate: Policy::OnDestructive,
                approval: ApprovalRules::default(),
                spelling: Spelling::Bare,
            },
            default_branch: None,
            max_chars: 65_536,
        }
    }

    pub(super) fn planned(survey: Survey, plans: Vec<Plan>) -> Self {
        let mut sets = BTreeMap::new();
        for (number, _) in (1..).zip(&survey.estate.waves) {
            sets.insert(WaveNumber(number), Some(digest(&format!("set {number}"))));
        }
        let mut case = Self::new(Planning::Done {
            head: sha('3'),
            survey,
            plans,
            unplanned: Vec::new(),
        });
        case.sets = sets;
        case
    }

    pub(super) fn rolled_out(waves: Vec<Wave>) -> Self {
        let mut case = Self::new(Planning::Running { head: sha('3') });
        case.rollout = Some(rollout(waves));
        case
    }

    pub(super) fn input(&self) -> PullNote<'_> {
        PullNote {
            memory: &self.memory,
            rollout: self.rollout.as_ref(),
            sets: &self.sets,
            approved: &self.approved,
            radius: &self.radius,
            allowed: &self.allowed,
            default_branch: self.default_branch.as_ref(),
            page: Some(PAGE),
            max_chars: self.max_chars,
        }
    }

    pub(super) fn note(&self) -> Note {
        pull_note(&self.input())
    }

    /// Has the pull request go into a branch that lets nothing out.
    pub(super) fn elsewhere(mut self) -> Self {
        self.memory.details.target = Branch::try_from("next").unwrap();
        self.default_branch = Some(Branch::try_from("main").unwrap());
        self
    }

    /// Has the change take roots away whose states stay there.
    pub(super) fn take_away(&mut self, roots: &[(&str, Option<StateAddress>)]) {
        let Planning::Done { survey, .. } = &mut self.memory.planning else {
            panic!("nothing was planned")
        };
        let taken_away = roots
            .iter()
            .map(|(name, state)| (root(name), state.clone()));
        survey.taken_away = taken_away.collect();
    }

    /// Takes a root's plan away: it failed, for this reason.
    pub(super) fn without_plan(&mut self, name: &str, (why, detail): (&str, &str)) {
        let Planning::Done {
            plans, unplanned, ..
        } = &mut self.memory.planning
        else {
            panic!("nothing was planned")
        };
        plans.retain(|it| it.root.as_str() != name);
        unplanned.push(Unplanned {
            root: root(name),
            why: why.to_owned(),
            detail: detail.to_owned(),
        });
    }
}

pub(super) fn root(name: &str) -> Root {
    Root::try_from(name).unwrap()
}

pub(super) fn sha(digit: char) -> Sha {
    let head: String = format!("{digit}f9c21aa04b1")
        .chars()
        .chain("0".repeat(28).chars())
        .collect();
    Sha::try_from(head).unwrap()
}

/// A digest that is always the same for the same words.
pub(super) fn digest(words: &str) -> Digest {
    use sha2::Digest as _;
    let hex = crate::core::key::hex(&sha2::Sha256::digest(words));
    Digest::try_from(format!("jcs1-sha256:{hex}")).unwrap()
}

pub(super) fn actor(login: &str) -> Actor {
    Actor {
        id: UserId(1),
        login: Login::try_from(login).unwrap(),
        is_bot: false,
    }
}

fn pull() -> Pull {
    Pull {
        repo: Repo {
            forge: ForgeHost::try_from("github.com").unwrap(),
            id: RepoId(7),
            name: RepoName::try_from("acme/infra").unwrap(),
        },
        number: PullNumber(12),
    }
}

fn memory(planning: Planning) -> PullMemory {
    PullMemory {
        pull: pull(),
        details: PullDetails {
            pull: pull(),
            title: "Move the network".to_owned(),
            url: "https://github.com/acme/infra/pull/12".to_owned(),
            author: actor("ada"),
            head: sha('3'),
            head_repo: Some(RepoId(7)),
            target: Branch::try_from("main").unwrap(),
            is_draft: false,
            state: PullState::Open,
        },
        planning,
        pushers: Vec::new(),
        base: None,
        kept: None,
        attempt: Attempt(1),
    }
}

fn rollout(waves: Vec<Wave>) -> Rollout {
    Rollout {
        id: RolloutId::try_from("r1").unwrap(),
        repo: pull().repo,
        op: Op::tf_apply(),
        source: Source::Push {
            branch: Branch::try_from("main").unwrap(),
            before: sha('8'),
            after: sha('9'),
        },
        commit: sha('9'),
        base: sha('8'),
        authors: vec![actor("ada")],
        pulls: vec![PullNumber(12)],
        waves,
        taken_over: Vec::new(),
        parallelism: 4,
        started: Timestamp::UNIX_EPOCH,
    }
}

pub(super) fn wave(number: u32, plans: Vec<Plan>, state: WaveState) -> Wave {
    Wave {
        number: WaveNumber(number),
        members: plans.iter().map(|it| it.root.clone()).collect(),
        state,
        attempt: Attempt(1),
        plans,
        asked_plans: Vec::new(),
        unplanned: Vec::new(),
        applied: Vec::new(),
        spent: None,
        moved_at: Timestamp::UNIX_EPOCH,
    }
}

/// A survey of waves of roots and who reads whom; all of them are reached.
pub(super) fn survey(waves: &[&[&str]], reads: &[(&str, &[&str])]) -> Survey {
    let waves: Vec<Vec<Root>> = waves
        .iter()
        .map(|it| it.iter().map(|it| root(it)).collect())
        .collect();
    let members: BTreeSet<Root> = waves.iter().flatten().cloned().collect();
    let mut roots: BTreeMap<Root, RootFacts> = members
        .iter()
        .map(|it| (it.clone(), RootFacts::default()))
        .collect();
    for (reader, of) in reads {
        roots.entry(root(reader)).or_default().reads = of.iter().map(|it| root(it)).collect();
    }
    Survey {
        estate: Estate {
            roots,
            waves,
            warnings: Vec::new(),
        },
        reach: Reach {
            touched: members.first().cloned().into_iter().collect(),
            members,
        },
        taken_away: BTreeMap::new(),
    }
}

pub(super) fn downstream(name: &str, wave: u32, reads: &[&str]) -> Downstream {
    Downstream {
        root: root(name),
        wave: WaveNumber(wave),
        reads: reads.iter().map(|it| root(it)).collect(),
        depth: 1,
        planned: true,
    }
}

pub(super) fn plan(name: &str, changes: Vec<Change>) -> Plan {
    let what = format!("{name} {changes:?}");
    Plan {
        root: root(name),
        digest: digest(&what),
        sent_sha256: String::new(),
        subject: Subject {
            root: root(name),
            mode: Mode::Normal,
            backend: json!({"type": "local"}),
            workspace: "default".to_owned(),
            changes,
            outputs: Vec::new(),
            source: Value::Null,
            key: Some("k1".to_owned()),
            told: None,
        },
        remarks: Vec::new(),
    }
}

/// A run of the project's own commands.
pub(super) fn told(name: &str, told: Told) -> Plan {
    Plan {
        root: root(name),
        digest: told.digest.clone(),
        sent_sha256: String::new(),
        subject: Subject::told(root(name), told),
        remarks: Vec::new(),
    }
}

impl Plan {
    pub(super) fn remarked(mut self, address: Option<&str>, text: &str) -> Self {
        self.remarks.push(Remark {
            address: address.map(str::to_owned),
            text: text.to_owned(),
        });
        self
    }

    pub(super) fn with_output(mut self, name: &str, before: Value, after: Value) -> Self {
        self.subject.outputs.push(OutputChange {
            name: name.to_owned(),
            actions: vec![Action::Update],
            before,
            after,
        });
        self
    }
}

pub(super) fn change(address: &str, actions: &[Action], (before, after): (Value, Value)) -> Change {
    Change {
        address: address.to_owned(),
        deposed: None,
        provider: "terraform.io/builtin/terraform".to_owned(),
        previous_address: None,
        actions: actions.to_vec(),
        importing: None,
        before,
        after,
    }
}

pub(super) fn create(address: &str, after: Value) -> Change {
    change(address, &[Action::Create], (Value::Null, after))
}

pub(super) fn update(address: &str, before: Value, after: Value) -> Change {
    change(address, &[Action::Update], (before, after))
}

pub(super) fn replace(address: &str, before: Value, after: Value) -> Change {
    change(address, &[Action::Delete, Action::Create], (before, after))
}

pub(super) fn destroy(address: &str, before: Value) -> Change {
    change(address, &[Action::Delete], (before, Value::Null))
}
