//! An open pull request's waves: what they would do once it is merged, and which of them will wait.

use std::collections::BTreeSet;

use crate::core::effect::StatusState;
use crate::core::estate::Survey;
use crate::core::gate::Policy;
use crate::core::ids::{Digest, Root, WaveNumber};
use crate::core::note::PullNote;
use crate::core::note::gone;
use crate::core::note::text::{code, count, names};
use crate::core::note::wave::{Approvers, WaveView, doing};
use crate::core::plan::{Plan, Totals};
use crate::core::rollout::Unplanned;

/// What planning a head came to.
pub(super) struct Planned<'a> {
    pub(super) survey: &'a Survey,
    pub(super) plans: &'a [Plan],
    pub(super) unplanned: &'a [Unplanned],
}

/// What becomes of a wave after the merge.
enum Outlook<'a> {
    /// Its plans do nothing.
    Nothing,
    /// The merge is not into the branch that lets changes out.
    Stays,
    /// It applies without asking.
    Free,
    Asks(&'a Digest),
    Approved(&'a Digest, &'a [String]),
    /// A member has no plan, so there is nothing to approve yet.
    Unknown,
}

/// The reached waves, by number.
pub(super) fn waves<'a>(input: &PullNote<'a>, planned: &Planned<'a>) -> Vec<WaveView<'a>> {
    let waves = planned.survey.estate.waves.iter().zip(1_u32..);
    let reached = waves.filter_map(|(roots, number)| {
        let members: BTreeSet<&Root> = roots
            .iter()
            .filter(|it| planned.survey.reach.members.contains(*it))
            .collect();
        (!members.is_empty()).then(|| wave(input, planned, WaveNumber(number), members))
    });
    reached.collect()
}

fn wave<'a>(
    input: &PullNote<'a>,
    planned: &Planned<'a>,
    number: WaveNumber,
    members: BTreeSet<&'a Root>,
) -> WaveView<'a> {
    let mut plans: Vec<&Plan> = planned
        .plans
        .iter()
        .filter(|it| members.contains(&it.root))
        .collect();
    plans.sort_by_key(|it| &it.root);
    let mut unplanned: Vec<&Unplanned> = planned
        .unplanned
        .iter()
        .filter(|it| members.contains(&it.root))
        .collect();
    unplanned.sort_by_key(|it| &it.root);
    let mut view = WaveView {
        number,
        members: members.into_iter().collect(),
        plans,
        asked: Vec::new(),
        unplanned,
        applied: &[],
        digest: input.sets.get(&number).and_then(Option::as_ref),
        state: String::new(),
        call: None,
        asks: false,
    };
    let outlook = outlook(input, &view);
    view.digest = view.digest.filter(|_| is_known(&outlook));
    view.asks = matches!(outlook, Outlook::Asks(_));
    view.state = state(&outlook).to_owned();
    view.call = call(input, &view, &outlook);
    if let (Some(call), Some(_)) = (&mut view.call, view.digest) {
        call.push_str(&plans_again(&view.members, planned));
    }
    view
}

fn outlook<'a>(input: &PullNote<'a>, view: &WaveView<'a>) -> Outlook<'a> {
    if view.plans.len() < view.members.len() {
        return Outlook::Unknown;
    }
    if view.plans.iter().all(|it| it.is_empty()) {
        return Outlook::Nothing;
    }
    if input.elsewhere().is_some() {
        return Outlook::Stays;
    }
    let asks = match input.allowed.gate {
        Policy::Always => true,
        Policy::OnDestructive => view.plans.iter().any(|it| it.is_destructive()),
        Policy::Never => false,
    };
    if !asks {
        return Outlook::Free;
    }
    match (view.digest, input.approved.get(&view.number)) {
        (None, _) => Outlook::Unknown,
        (Some(digest), Some(by)) if !by.is_empty() => Outlook::Approved(digest, by),
        (Some(digest), Some(_) | None) => Outlook::Asks(digest),
    }
}

/// Whether it is known what the wave would do, so that its digest says something.
fn is_known(outlook: &Outlook) -> bool {
    match outlook {
        Outlook::Free | Outlook::Asks(_) | Outlook::Approved(..) => true,
        Outlook::Nothing | Outlook::Stays | Outlook::Unknown => false,
    }
}

fn state(outlook: &Outlook) -> &'static str {
    match outlook {
        Outlook::Nothing => "nothing to apply",
        Outlook::Stays => "not let out by this merge",
        Outlook::Free => "applies once merged",
        Outlook::Asks(_) => "**waits for an approval**",
        Outlook::Approved(..) => "approved, applies once merged",
        Outlook::Unknown => "**not planned**",
    }
}

fn call(input: &PullNote, view: &WaveView, outlook: &Outlook) -> Option<String> {
    let number = view.number;
    match outlook {
        Outlook::Nothing | Outlook::Stays | Outlook::Free => None,
        Outlook::Asks(digest) => {
            let approvers = Approvers {
                allowed: input.allowed,
                authors: vec![&input.memory.details.author],
            };
            Some(format!(
                "\n**Wave {number} will wait for an approval once this is merged**: {why} {how}",
                why = why_it_waits(input.allowed.gate, view),
                how = approvers.how(number, digest),
            ))
        }
        Outlook::Approved(digest, by) => Some(format!(
            "\n**Wave {number} is approved** by {by}: once this is merged it applies, if it still plans {digest}.\n",
            by = names(*by, 5),
            digest = code(digest.short()),
        )),
        Outlook::Unknown => {
            let planned: BTreeSet<&Root> = view.plans.iter().map(|it| &it.root).collect();
            let missing = view.members.iter().filter(|it| !planned.contains(**it));
            let why = match names(missing, 8).as_str() {
                "" => "its plans have no digest".to_owned(),
                missing => format!("no plan of {missing}"),
            };
            Some(format!(
                "\n**Wave {number} has nothing to approve yet**: {why}.\n"
            ))
        }
    }
}

fn why_it_waits(gate: Policy, view: &WaveView) -> String {
    match gate {
        Policy::Always => "its plans change something, and the gate is `always`.".to_owned(),
        Policy::OnDestructive => {
            let Totals {
                delete,
                replace,
                told_destructive,
                ..
            } = view.totals();
            let destructive = Totals {
                delete,
                replace,
                told_destructive,
                ..Totals::default()
            };
            let doing = doing(&destructive).unwrap_or_default();
            format!("it {doing}, and the gate is `on-destructive`.")
        }
        Policy::Never => String::new(),
    }
}

/// A wave that reads what an earlier wave changes plans other values after it, and an approval binds what it names.
fn plans_again(members: &[&Root], planned: &Planned) -> String {
    let changed: BTreeSet<&Root> = planned
        .plans
        .iter()
        .filter(|it| !it.is_empty())
        .map(|it| &it.root)
        .collect();
    let facts = |root: &Root| planned.survey.estate.roots.get(root);
    let upstreams: BTreeSet<&Root> = members
        .iter()
        .filter_map(|it| facts(it))
        .flat_map(|it| &it.reads)
        .filter(|it| changed.contains(it) && !members.contains(it))
        .collect();
    if upstreams.is_empty() {
        return String::new();
    }
    format!(
        "\nIt reads {}, which an earlier wave changes, so it plans again after that. \
         An approval given now counts if the same plan comes out.\n",
        names(upstreams, 8)
    )
}

/// The state and the words of `tidegate/plan` for a head that was planned.
pub(super) fn summary(planned: &Planned, waves: &[WaveView]) -> (StatusState, String) {
    let roots = planned.survey.reach.members.len();
    if roots == 0 {
        let words = match gone::in_short(planned.survey) {
            Some(gone) => format!("this change {gone}"),
            None => "this change reaches no root".to_owned(),
        };
        return (StatusState::Success, words);
    }
    if let Some(first) = planned.unplanned.first() {
        let number = planned.unplanned.len();
        let words = format!(
            "{number} of {} could not be planned: {}",
            count(roots, "root"),
            first.root
        );
        return (StatusState::Failure, words);
    }
    let unchanged: usize = waves.iter().map(WaveView::unchanged).sum();
    let scope = format!("{} in {}", count(roots, "root"), count(waves.len(), "wave"));
    let totals = waves.iter().map(WaveView::totals).sum();
    let words = match doing(&totals) {
        None => format!("{scope}: nothing to change"),
        Some(doing) if unchanged == 0 => format!("{scope}: {doing}"),
        Some(doing) => format!("{scope}: {doing}, {unchanged} unchanged"),
    };
    let gone = gone::in_short(planned.survey).map_or_else(String::new, |it| format!("; {it}"));
    (StatusState::Success, words + &gone)
}
