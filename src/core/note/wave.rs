//! One wave as a note shows it, wherever it comes from: an open pull request or a rollout.

use crate::core::command::{Allowed, Command, DigestPrefix, Target};
use crate::core::effect::Ask;
use crate::core::gate::Mode;
use crate::core::ids::{Actor, Digest, Gate, Root, WaveNumber};
use crate::core::job::Applied;
use crate::core::note::text::{code, count, fence, names};
use crate::core::plan::totals::ChangeKind;
use crate::core::plan::{Plan, Totals};
use crate::core::rollout::Unplanned;

/// A wave, ready to be shown.
pub(super) struct WaveView<'a> {
    pub(super) number: WaveNumber,
    /// Sorted by name.
    pub(super) members: Vec<&'a Root>,
    /// Sorted by root.
    pub(super) plans: Vec<&'a Plan>,
    /// Plans of an earlier try that differ from those above: what somebody was asked to approve.
    pub(super) asked: Vec<&'a Plan>,
    pub(super) unplanned: Vec<&'a Unplanned>,
    /// How its members' applies ended.
    pub(super) applied: &'a [Applied],
    pub(super) digest: Option<&'a Digest>,
    /// Where it stands, in a few words of Markdown.
    pub(super) state: String,
    /// What somebody has to do about it, as Markdown.
    pub(super) call: Option<String>,
    /// Whether its digest is what a reader would approve.
    pub(super) asks: bool,
}

impl WaveView<'_> {
    /// What a person who reads the note would approve.
    pub(super) fn ask(&self) -> Option<Ask> {
        let digest = self.digest.filter(|_| self.asks)?;
        Some(Ask {
            gate: Gate::of_wave(self.number),
            digest: digest.clone(),
        })
    }

    /// Members whose plan does nothing.
    pub(super) fn unchanged(&self) -> usize {
        self.plans.iter().filter(|it| it.is_empty()).count()
    }

    pub(super) fn totals(&self) -> Totals {
        self.plans.iter().map(|it| it.totals()).sum()
    }
}

/// What plans do, in words: `destroys 1, replaces 2, updates 3`; none when they do nothing.
pub fn doing(totals: &Totals) -> Option<String> {
    let counted = [
        ("destroys", totals.delete),
        ("replaces", totals.replace),
        ("forgets", totals.forget),
        ("updates", totals.update),
        ("creates", totals.create),
        ("moves or imports", totals.other),
    ];
    let nouns = [
        ("destroys or replaces in", totals.told_destructive, "root"),
        ("changes", totals.told_changing, "root"),
        ("changes", totals.outputs, "output"),
    ];
    let counted = counted.iter().filter(|(_, number)| *number > 0);
    let nouns = nouns.iter().filter(|(_, number, _)| *number > 0);
    let words: Vec<String> = counted
        .map(|(verb, number)| format!("{verb} {number}"))
        .chain(
            nouns.map(|(verb, number, noun)| format!("{verb} {}", count(*number as usize, noun))),
        )
        .collect();
    Some(words.join(", ")).filter(|it| !it.is_empty())
}

/// Whether people must see a change without unfolding anything.
pub(super) fn is_always_open(kind: ChangeKind) -> bool {
    match kind {
        ChangeKind::Replace | ChangeKind::Delete | ChangeKind::Forget => true,
        ChangeKind::Create | ChangeKind::Update | ChangeKind::Move | ChangeKind::Import => false,
    }
}

/// Who may approve here, and how commands are written.
pub(super) struct Approvers<'a> {
    pub(super) allowed: &'a Allowed,
    pub(super) authors: Vec<&'a Actor>,
}

impl Approvers<'_> {
    /// How to approve a wave: who may, the command to copy, and how to name the plans.
    pub(super) fn how(&self, number: WaveNumber, digest: &Digest) -> String {
        if self.allowed.approval.mode == Mode::Sealed {
            return "Only a sealed approval counts here, and this version cannot check seals yet: \
                    it stays waiting.\n"
                .to_owned();
        }
        let line = |digest| {
            let target = Some(Target::Wave(number));
            Command::Approve { target, digest }.line(self.allowed.spelling)
        };
        format!(
            "{who}:\n\n{command}\nThat approves the plans shown here, {short}. \
             To name them in the comment: {pinned}\n",
            who = self.who(),
            command = fence("", &line(None)),
            short = code(digest.short()),
            pinned = code(line(DigestPrefix::read(digest.short()))),
        )
    }

    fn who(&self) -> String {
        let whoever = "Whoever may write to this repository can approve it";
        if self.allowed.approval.author || self.authors.is_empty() {
            return whoever.to_owned();
        }
        let authors = names(self.authors.iter().map(|it| &it.login), 5);
        format!("{whoever}, except {authors}, whose change it is")
    }
}

/// How to run a wave again.
pub(super) fn how_to_run_again(number: WaveNumber, allowed: &Allowed) -> String {
    let command = Command::Apply { wave: Some(number) };
    fence("", &command.line(allowed.spelling))
}
