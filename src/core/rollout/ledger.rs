//! The ledger moved: what that means for a wave that waits.

use jiff::Timestamp;

use crate::core::gate::approval::{Record, Used};
use crate::core::gate::change::Rewrite;
use crate::core::gate::lines::Facts;
use crate::core::ids::{Digest, WaveNumber};
use crate::core::rollout::{Rollout, Wave, WaveState};

impl Rollout {
    /// Has the wave that waits say that the ledger was rewritten; answers whether that is news.
    pub fn hold(&mut self, rewrite: &Rewrite, now: Timestamp) -> bool {
        let why = rewrite.to_string();
        let waiting = self.waves.iter_mut().find(|it| waits_for(it).is_some());
        let Some(wave) = waiting.filter(|it| waits_for(it) != Some(WaitsFor::Ledger(&why))) else {
            return false;
        };
        wave.move_to(WaveState::Waiting { digest: None, why }, now);
        true
    }

    /// The wave that what stands on the ledger lets go on: it waits for an approval that is there, or for a rewritten
    /// ledger that counts again.
    pub fn let_go(&self, facts: &Facts) -> Option<WaveNumber> {
        let wave = self.current()?;
        let goes = match waits_for(wave)? {
            WaitsFor::Ledger(_) => true,
            WaitsFor::Approval(digest) => self.is_approved(wave, digest, facts),
            WaitsFor::Plan => false,
        };
        (goes && facts.rewritten.is_none()).then_some(wave.number)
    }

    fn is_approved(&self, wave: &Wave, digest: &Digest, facts: &Facts) -> bool {
        let (gate, names) = (&wave.gate(), &self.names());
        let record = Record { facts, gate, names };
        let newest = record.newest_approval(digest);
        newest.is_some_and(|it| it.digest.is_same(digest) && record.used(&it) == Used::Not)
    }
}

/// What a wave waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitsFor<'a> {
    Approval(&'a Digest),
    /// A ledger that counts; with what it says of the rewritten one.
    Ledger(&'a str),
    /// Something that has no plan yet.
    Plan,
}

/// What a wave waits for; none when it does not.
pub(super) fn waits_for(wave: &Wave) -> Option<WaitsFor<'_>> {
    match &wave.state {
        WaveState::Waiting {
            digest: Some(digest),
            ..
        }
        | WaveState::Refused {
            digest: Some(digest),
            ..
        } => Some(WaitsFor::Approval(digest)),
        WaveState::Waiting { digest: None, why } if Rewrite::is_why(why) => {
            Some(WaitsFor::Ledger(why))
        }
        WaveState::Waiting { digest: None, .. } | WaveState::Refused { digest: None, .. } => {
            Some(WaitsFor::Plan)
        }
        WaveState::NotStarted
        | WaveState::Planning
        | WaveState::Applying { .. }
        | WaveState::Applied { .. }
        | WaveState::Nothing
        | WaveState::Failed { .. }
        | WaveState::Lost { .. }
        | WaveState::Cancelled
        | WaveState::StoodDown => None,
    }
}
