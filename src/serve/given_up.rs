//! What people read of a delivery that was given up.

use crate::core::effect::Effect;
use crate::core::event::Event;
use crate::core::note::reply;
use crate::core::refusal::Refusal;
use crate::store::Claimed;

/// Answers on the pull request that a delivery is about, if it is about one: what was not done, why, what to do.
pub(super) fn answer(claimed: &Claimed, error: &str) -> Option<Effect> {
    Some(Effect::Reply {
        pull: claimed.event.pull()?.clone(),
        key: format!("given-up-{}", claimed.id),
        text: text(&claimed.event, claimed.attempt, error),
    })
}

fn text(event: &Event, tries: u32, error: &str) -> String {
    let (what, again) = match event {
        Event::Commented(said) => (
            said.body.trim().lines().next().unwrap_or_default(),
            "Once that is mended, write the comment again.",
        ),
        Event::PullOpened { .. }
        | Event::PullPushed { .. }
        | Event::PullRetargeted { .. }
        | Event::PullClosed { .. }
        | Event::Reviewed { .. }
        | Event::BranchPushed { .. }
        | Event::JobEnded { .. }
        | Event::Installed { .. }
        | Event::Removed { .. }
        | Event::WaveCalled { .. }
        | Event::NoteStale { .. } => (
            event.name(),
            "Once that is mended, comment `/plan` to have this pull request looked at again.",
        ),
    };
    let why = format!("It failed {tries} times, at last with: {error}.");
    reply::refused(&[Refusal::new(what, why, again)])
}
