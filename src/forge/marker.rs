//! Hidden markers by which we find our own comments again. Anybody can paste one, so the author is checked as well.

/// The first line of our one note.
const NOTE: &str = "<!-- tidegate:note -->";

/// How many characters [`note`] puts before a text.
pub(super) const NOTE_CHARS: usize = NOTE.len() + 1;

/// The note's whole text, marker first.
pub(super) fn note(text: &str) -> String {
    format!("{NOTE}\n{text}")
}

/// Whether a comment starts as our note does.
pub(super) fn is_note(body: &str) -> bool {
    body.starts_with(NOTE)
}

/// An answer's whole text, the marker of its key first.
pub(super) fn reply(key: &str, text: &str) -> String {
    format!("{}\n{text}", reply_line(key))
}

/// Whether a comment starts as the answer with this key does.
pub(super) fn is_reply(body: &str, key: &str) -> bool {
    body.starts_with(&reply_line(key))
}

/// The key of the answer that a comment starts as; none when it starts as none. As [`reply`] wrote it, so a key that
/// holds a `>` comes back otherwise.
pub(super) fn answers(body: &str) -> Option<String> {
    let rest = body.strip_prefix("<!-- tidegate:reply:")?;
    let (key, _) = rest.split_once(" -->")?;
    Some(key.to_owned())
}

/// Whether two texts are the same to a reader: forges change line ends and drop blank ends.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let lines = |text: &str| text.replace("\r\n", "\n").trim_end().to_owned();
    lines(one) == lines(other)
}

/// A `>` in a key would end the comment early, and what follows would be seen.
fn reply_line(key: &str) -> String {
    let key = key.replace('>', "%3E").replace(['\r', '\n'], " ");
    format!("<!-- tidegate:reply:{key} -->")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_cannot_end_its_marker() {
        let body = reply("a --> @everybody", "text");
        assert_eq!(body.lines().next().unwrap().matches("-->").count(), 1);
        assert!(is_reply(&body, "a --> @everybody"));
        assert!(!is_reply(&body, "a"));
    }

    #[test]
    fn an_answer_tells_its_key() {
        assert_eq!(answers(&reply("7-0", "text")).unwrap(), "7-0");
        assert_eq!(answers(&note("text")), None);
        assert_eq!(answers("<!-- tidegate:reply:7-0"), None);
    }

    #[test]
    fn a_text_that_came_back_with_other_line_ends_is_the_same() {
        assert!(is_same("a\nb\n", "a\r\nb"));
        assert!(!is_same("a\nb", "a b"));
    }
}
