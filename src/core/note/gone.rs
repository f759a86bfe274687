//! Roots that a change takes away, in the open: what they manage stays, and nobody looks after it any more.

use crate::core::estate::Survey;
use crate::core::note::fit::{Parts, Rank};
use crate::core::note::text::{code, count, prose};
use crate::core::rollout::pull::Planning;

/// The most roots that are named.
const MOST: usize = 20;

/// Adds what the change takes away; nothing when it takes no root away.
pub(super) fn add(parts: &mut Parts, planning: &Planning) {
    if let Planning::Done { survey, .. } = planning {
        parts.add(Rank::Frame, said(survey));
    }
}

/// The roots that the change takes away, and what people must know of them.
pub(super) fn said(survey: &Survey) -> String {
    let gone = &survey.taken_away;
    if gone.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "\n**Takes {} away, and destroys nothing of it**: what it manages stays, and nothing plans it any more. To \
         destroy it, first let out a change that removes its resources, and then this one.\n\n",
        count(gone.len(), "root")
    );
    for (root, state) in gone.iter().take(MOST) {
        let place = match state {
            Some(state) => prose(&state.to_string()),
            None => "a place that cannot be told".to_owned(),
        };
        text.push_str(&format!("- {}, whose state stays in {place}\n", code(root)));
    }
    if gone.len() > MOST {
        text.push_str(&format!("- and {} more\n", gone.len() - MOST));
    }
    text
}

/// The same for a status; none when the change takes no root away.
pub(super) fn in_short(survey: &Survey) -> Option<String> {
    let gone = survey.taken_away.len();
    (gone > 0).then(|| {
        format!(
            "takes {} away and destroys nothing of it",
            count(gone, "root")
        )
    })
}
