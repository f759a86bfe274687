//! Answers to comments, as Markdown.

use crate::core::note::text::{code, prose};
use crate::core::refusal::Refusal;

/// Says why what a comment asked is not done, one refusal after the other.
pub fn refused(refusals: &[Refusal]) -> String {
    let lines = refusals.iter().map(|it| {
        let mut line = format!("Not done: {}\n\n{}", code(&it.what), prose(&it.why));
        if !it.hint.is_empty() {
            line += &format!(" {}", prose(&it.hint));
        }
        line + "\n"
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Says what came of a command, in a sentence.
pub fn answered(command: &str, sentence: &str) -> String {
    format!("{}: {}\n", code(command), prose(sentence))
}
