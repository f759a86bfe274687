//! What people read: notes, replies and status lines, as Markdown.
//!
//! A pull request has one note, edited in place. It says what matters before anything has to be unfolded: totals,
//! failures with their reason, what is destroyed or replaced, where each wave stands, and what somebody has to do.
//! It is sorted by wave, then root, never by who finished first.

mod change;
pub mod diff;
mod fit;
mod gone;
mod plan;
mod radius;
pub mod reply;
mod rollout;
pub mod status;
mod table;
mod text;
mod wave;

pub use crate::core::note::wave::doing;

use std::collections::BTreeMap;

use crate::core::command::{Allowed, Command};
use crate::core::effect::Note;
use crate::core::estate::radius::Radius;
use crate::core::ids::{Branch, Digest, Sha, WaveNumber};
use crate::core::note::fit::{Parts, Rank};
use crate::core::note::plan::Planned;
use crate::core::note::text::{code, count, fence, fold, link, prose, sentences};
use crate::core::note::wave::WaveView;
use crate::core::rollout::Rollout;
use crate::core::rollout::pull::{Planning, PullMemory};

/// All that a pull request's note is made from.
#[derive(Clone, Copy, Debug)]
pub struct PullNote<'a> {
    pub memory: &'a PullMemory,
    /// The rollout that carries it, once it is merged; the note then tells how that goes.
    pub rollout: Option<&'a Rollout>,
    /// The set digest of each wave of the open pull request; none where a member has no plan.
    pub sets: &'a BTreeMap<WaveNumber, Option<Digest>>,
    /// Who approved exactly these digests already, as principals.
    pub approved: &'a BTreeMap<WaveNumber, Vec<String>>,
    /// Who reads what the plans change.
    pub radius: &'a Radius,
    /// The rules at base, and how commands are written on this forge.
    pub allowed: &'a Allowed,
    /// The only branch that lets anything out; none when it is not known.
    pub default_branch: Option<&'a Branch>,
    /// The page that shows everything.
    pub page: Option<&'a str>,
    /// The forge's limit.
    pub max_chars: usize,
}

impl PullNote<'_> {
    /// The branch it goes into, when its merge there lets nothing out.
    fn elsewhere(&self) -> Option<&Branch> {
        let target = &self.memory.details.target;
        self.default_branch
            .filter(|it| *it != target && self.rollout.is_none())
            .map(|_| target)
    }
}

/// Writes a pull request's note, and says which approvals a reader could give.
pub fn pull_note(input: &PullNote) -> Note {
    let (head, waves) = match (input.rollout, &input.memory.planning) {
        (Some(rollout), _) => {
            let waves = rollout::waves(rollout, input.allowed);
            (rollout_head(input, rollout, &waves), waves)
        }
        (None, Planning::Not { .. } | Planning::Running { .. } | Planning::Failed { .. }) => {
            return short(input, without_plans(input));
        }
        (
            None,
            Planning::Done {
                head,
                survey,
                plans,
                unplanned,
            },
        ) => {
            if survey.reach.members.is_empty() {
                return short(input, nothing_reached(head) + &gone::said(survey));
            }
            let planned = Planned {
                survey,
                plans,
                unplanned,
            };
            let waves = plan::waves(input, &planned);
            (plan_head(input, head, &waves), waves)
        }
    };
    Note {
        text: body(input, head, &waves).fit(input.max_chars, input.page),
        asks: waves.iter().filter_map(WaveView::ask).collect(),
    }
}

/// A note of a few sentences, which asks for nothing.
fn short(input: &PullNote, text: String) -> Note {
    let mut parts = Parts::default();
    parts.add(Rank::Frame, text);
    Note {
        text: parts.fit(input.max_chars, input.page),
        asks: Vec::new(),
    }
}

fn without_plans(input: &PullNote) -> String {
    let details = &input.memory.details;
    match &input.memory.planning {
        Planning::Not { .. } if details.is_fork() => {
            let whose = match details.head_repo {
                Some(_) => "Its commits are in another repository (a fork).",
                None => "The repository of its commits is gone, or was never shown to tidegate.",
            };
            format!(
                "### tidegate does not plan this pull request\n\n\
                 {whose} Planning runs the code it plans, and code from elsewhere never runs with this repository's \
                 credentials. Somebody who may write to this repository can look at the change, push it to a branch \
                 here, and open a pull request from that.\n"
            )
        }
        Planning::Not { why } => {
            format!(
                "### tidegate does not plan this pull request\n\n{}\n",
                sentences(why)
            )
        }
        Planning::Running { head } => format!(
            "### Planning {}\n\nThis note will show what the change would do.\n",
            code(head.short())
        ),
        Planning::Failed { head, why } => format!(
            "### {} could not be planned\n\n{}\n\nTo try again:\n\n{}",
            code(head.short()),
            sentences(why),
            fence(
                "",
                &Command::Plan { roots: Vec::new() }.line(input.allowed.spelling)
            )
        ),
        Planning::Done { head, .. } => nothing_reached(head),
    }
}

fn nothing_reached(head: &Sha) -> String {
    format!(
        "### Nothing to plan in {}\n\nThis change reaches no root, so merging it applies nothing.\n",
        code(head.short())
    )
}

fn plan_head(input: &PullNote, head: &Sha, waves: &[WaveView]) -> String {
    let totals = waves.iter().map(WaveView::totals).sum();
    let unplanned: usize = waves.iter().map(|it| it.unplanned.len()).sum();
    let doing = doing(&totals).unwrap_or_else(|| match unplanned {
        0 => "nothing to change".to_owned(),
        _ => format!("{} could not be planned", count(unplanned, "root")),
    });
    let now = &input.memory.details.head;
    let stale = if now == head {
        String::new()
    } else {
        format!(
            "\nThe head is {} by now; this note will follow.\n",
            code(now.short())
        )
    };
    let title = format!("### Plan of {}: {doing}", code(head.short()));
    format!("{title}\n\n{}\n{stale}", scope(input, waves))
}

fn rollout_head(input: &PullNote, rollout: &Rollout, waves: &[WaveView]) -> String {
    let commit = code(rollout.commit.short());
    let stands = rollout::standing(rollout).words;
    format!(
        "### Rollout of {commit}: {stands}\n\n{}\n",
        scope(input, waves)
    )
}

/// How much is reached, and the page.
fn scope(input: &PullNote, waves: &[WaveView]) -> String {
    let roots: usize = waves.iter().map(|it| it.members.len()).sum();
    let unchanged: usize = waves.iter().map(WaveView::unchanged).sum();
    let unplanned: usize = waves.iter().map(|it| it.unplanned.len()).sum();
    let mut words = format!("{} in {}", count(roots, "root"), count(waves.len(), "wave"));
    if unchanged > 0 {
        words += &format!(", {unchanged} unchanged");
    }
    if unplanned > 0 {
        words += &format!(", **{unplanned} without a plan**");
    }
    let page = input
        .page
        .map(|it| format!(" {}", link("Everything on one page", it)));
    format!("{words}.{}", page.unwrap_or_default())
}

fn body(input: &PullNote, head: String, waves: &[WaveView]) -> Parts {
    let mut parts = Parts::default();
    parts.add(Rank::Frame, head);
    if let Some(branch) = input.elsewhere() {
        parts.add(Rank::Call, goes_elsewhere(branch));
    }
    change::add_failures(&mut parts, waves);
    if input.rollout.is_none() && waves.iter().any(|it| !it.unplanned.is_empty()) {
        parts.add(Rank::Call, how_to_plan_again(input));
    }
    change::add_destroys(&mut parts, waves);
    gone::add(&mut parts, &input.memory.planning);
    table::add(&mut parts, waves);
    for wave in waves {
        parts.add(Rank::Call, wave.call.clone().unwrap_or_default());
    }
    radius::add(&mut parts, input.radius);
    change::add_remarks(&mut parts, waves);
    change::add_diffs(&mut parts, waves);
    add_warnings(&mut parts, input);
    let help = code(Command::Help.line(input.allowed.spelling));
    parts.add(
        Rank::Frame,
        format!("\n{help} lists what can be said here.\n"),
    );
    parts
}

fn goes_elsewhere(branch: &Branch) -> String {
    format!(
        "\n**Its merge lets nothing out**: it goes into {}, which is not the default branch. \
         What reaches the default branch is planned and approved there.\n",
        code(branch.as_str())
    )
}

fn how_to_plan_again(input: &PullNote) -> String {
    let plan = Command::Plan { roots: Vec::new() };
    format!(
        "\nA push is planned by itself; to try this commit again: {}\n",
        code(plan.line(input.allowed.spelling))
    )
}

fn add_warnings(parts: &mut Parts, input: &PullNote) {
    let Planning::Done { survey, .. } = &input.memory.planning else {
        return;
    };
    let warnings = &survey.estate.warnings;
    if warnings.is_empty() || input.rollout.is_some() {
        return;
    }
    let lines: String = warnings
        .iter()
        .map(|it| format!("- {}\n", prose(it)))
        .collect();
    let title = format!("{} about who reads whom", count(warnings.len(), "warning"));
    parts.add(Rank::Warning, fold(&title, &lines));
}

#[cfg(test)]
mod tests;
