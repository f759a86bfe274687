//! Making a note fit its forge: what may be cut, in which order, and saying so.

use crate::core::note::text::{count, link};

/// What a part of a note is worth: what stands first here is cut first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// A root's folded changes.
    Diff,
    /// A tool's own words, folded.
    ToolText,
    /// What could not be followed.
    Warning,
    /// A line of the blast radius.
    Reader,
    /// A line of the wave table.
    Wave,
    /// A root that failed, and why.
    Failure,
    /// A resource that is destroyed or replaced.
    Destroy,
    /// What somebody has to do.
    Call,
    /// Never cut.
    Frame,
}

impl Rank {
    fn noun(self) -> &'static str {
        match self {
            Self::Diff => "folded change list",
            Self::ToolText => "folded tool message",
            Self::Warning => "warning",
            Self::Reader => "line of the blast radius",
            Self::Wave => "wave",
            Self::Failure => "failure",
            Self::Destroy => "destroyed or replaced resource",
            Self::Call => "command",
            Self::Frame => "line",
        }
    }

    fn cuts_largest_first(self) -> bool {
        match self {
            Self::Diff | Self::ToolText => true,
            Self::Warning
            | Self::Reader
            | Self::Wave
            | Self::Failure
            | Self::Destroy
            | Self::Call
            | Self::Frame => false,
        }
    }
}

/// A note in parts. The first one is the head, which the word on what was cut follows.
#[derive(Debug, Default)]
pub(super) struct Parts(Vec<(Rank, String)>);

/// Room for the word on what was cut, without the page's address.
const NOTICE_CHARS: usize = 500;

impl Parts {
    pub(super) fn add(&mut self, rank: Rank, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.0.push((rank, text));
        }
    }

    /// The note's text, within `max_chars`.
    pub(super) fn fit(mut self, max_chars: usize, page: Option<&str>) -> String {
        let length: usize = self.0.iter().map(|(_, text)| chars(text)).sum();
        if length > max_chars {
            let room = max_chars.saturating_sub(NOTICE_CHARS + page.map_or(0, chars));
            let cut = self.cut(length.saturating_sub(room));
            self.0
                .insert(1.min(self.0.len()), (Rank::Frame, notice(&cut, page)));
        }
        self.0.into_iter().map(|(_, text)| text).collect()
    }

    /// Empties parts until `excess` characters are gone; answers what they were.
    fn cut(&mut self, mut excess: usize) -> Vec<Rank> {
        let mut order: Vec<usize> = (0..self.0.len()).collect();
        order.sort_by_key(|it| {
            let (rank, text) = &self.0[*it];
            let largest = if rank.cuts_largest_first() {
                chars(text)
            } else {
                0
            };
            (*rank, usize::MAX - largest, usize::MAX - it)
        });
        let mut cut = Vec::new();
        for at in order {
            let (rank, text) = &mut self.0[at];
            if excess == 0 || *rank == Rank::Frame {
                break;
            }
            excess = excess.saturating_sub(chars(text));
            text.clear();
            cut.push(*rank);
        }
        cut
    }
}

/// What was cut, in one sentence; what should never be missing is named in bold.
fn notice(cut: &[Rank], page: Option<&str>) -> String {
    let mut kinds: Vec<Rank> = cut.to_vec();
    kinds.dedup();
    let counted: Vec<String> = kinds
        .iter()
        .map(|kind| {
            let number = cut.iter().filter(|it| *it == kind).count();
            let words = count(number, kind.noun());
            if *kind >= Rank::Failure {
                format!("**{words}**")
            } else {
                words
            }
        })
        .collect();
    let page = page.map_or_else(String::new, |it| {
        format!(" {}.", link("The page has everything", it))
    });
    format!(
        "\nCut, because this note would be too long: {}.{page}\n",
        counted.join(", ")
    )
}

/// Characters as the strictest forge counts them: an emoji is two.
pub(super) fn chars(text: &str) -> usize {
    text.encode_utf16().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> Parts {
        let mut parts = Parts::default();
        parts.add(Rank::Frame, "head\n");
        parts.add(Rank::Destroy, "destroys x\n");
        parts.add(Rank::Diff, "d".repeat(300));
        parts.add(Rank::Diff, "D".repeat(900));
        parts.add(Rank::Call, "/approve wave-1\n");
        parts
    }

    #[test]
    fn what_fits_is_left_alone() {
        let text = parts().fit(5000, None);
        assert_eq!(text.len(), 5 + 11 + 300 + 900 + 16);
    }

    #[test]
    fn the_largest_change_list_goes_first() {
        let text = parts().fit(1000, Some("https://x/p"));
        assert!(!text.contains('D') && text.contains("ddd"), "{text}");
        assert!(text.contains("1 folded change list. [The page has everything](<https://x/p>)."));
    }

    #[test]
    fn destroys_and_commands_outlive_everything_else() {
        let text = parts().fit(600, None);
        assert!(!text.contains("ddd"));
        assert!(text.contains("destroys x") && text.contains("/approve wave-1"));
    }

    #[test]
    fn an_emoji_counts_twice() {
        assert_eq!(chars("é🚀"), 3);
    }
}
