//! Text from plans and people as data: what may stand in a sentence, in code marks, in a fence, in HTML.
//!
//! Nothing that comes through here can end its fence, fold or table cell, mention anybody, link to anything or hide.

use std::fmt::Display;

/// The longest sentence that is repeated from elsewhere, in characters.
const LONGEST_SENTENCE: usize = 400;

/// The longest name, in characters.
const LONGEST_NAME: usize = 200;

/// A name or a value in code marks, on one line.
pub(super) fn code(text: impl Display) -> String {
    let text = visible(&capped(&text.to_string(), LONGEST_NAME));
    let marks = "`".repeat(longest_run(&text) + 1);
    let needs_room = text.starts_with('`') || text.ends_with('`') || text.trim().is_empty();
    let room = if needs_room { " " } else { "" };
    format!("{marks}{room}{text}{room}{marks}")
}

/// What `code` makes, for a cell of a table.
pub(super) fn cell(text: impl Display) -> String {
    code(text).replace('|', "\\|")
}

/// Several names in code marks: `a`, `b` and 7 more.
pub(super) fn names<T: Display>(names: impl IntoIterator<Item = T>, most: usize) -> String {
    let names: Vec<String> = names.into_iter().map(code).collect();
    if names.len() > most {
        let more = names.len() - most;
        return format!("{} and {more} more", names[..most].join(", "));
    }
    match names.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// A sentence that may hold code marks, and nothing else that Markdown knows.
pub(super) fn prose(text: &str) -> String {
    let text = visible(&capped(text.trim(), LONGEST_SENTENCE));
    let mut parts: Vec<&str> = text.split('`').collect();
    let rest = if parts.len().is_multiple_of(2) {
        parts.pop()
    } else {
        None
    };
    let mut prose = String::new();
    for (n, part) in parts.into_iter().enumerate() {
        if n.is_multiple_of(2) {
            prose.push_str(&plain(part));
        } else {
            prose.push_str(&code(part));
        }
    }
    if let Some(rest) = rest {
        prose.push_str("\\`");
        prose.push_str(&plain(rest));
    }
    prose
}

/// One sentence, or a first one and a list of what follows it line by line.
pub(super) fn sentences(text: &str) -> String {
    const MOST: usize = 20;
    let mut lines = text.lines().filter(|it| !it.trim().is_empty());
    let first = capitalised(&prose(lines.next().unwrap_or_default()));
    let rest: Vec<&str> = lines.collect();
    let items: String = rest
        .iter()
        .take(MOST)
        .map(|it| format!("\n- {}", prose(it)))
        .collect();
    let more = match rest.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!("\n- and {more} more"),
    };
    let gap = if rest.is_empty() { "" } else { "\n" };
    format!("{first}{gap}{items}{more}")
}

/// A sentence with its capital; what starts with a name, such as a path or code, stays as it is.
fn capitalised(sentence: &str) -> String {
    let word = sentence.split(' ').next().unwrap_or_default();
    if word.is_empty() || !word.bytes().all(|it| it.is_ascii_lowercase()) {
        return sentence.to_owned();
    }
    format!("{}{}", sentence[..1].to_ascii_uppercase(), &sentence[1..])
}

/// Text without any meaning in Markdown. The zero-width space after a sign keeps forges from making mentions,
/// references and links of it.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut before = ' ';
    for it in text.chars() {
        match it {
            '<' => plain.push_str("&lt;"),
            '>' => plain.push_str("&gt;"),
            '&' => plain.push_str("&amp;"),
            '@' | '!' => plain.extend([it, '\u{200b}']),
            '#' => plain.push_str("\\#\u{200b}"),
            '/' if before == ':' => plain.extend(['\u{200b}', it]),
            '.' if plain.ends_with("www") || plain.ends_with("WWW") => {
                plain.extend(['\u{200b}', it]);
            }
            '\\' | '*' | '_' | '[' | ']' | '|' | '~' | '$' | '^' | '=' => plain.extend(['\\', it]),
            it => plain.push(it),
        }
        before = it;
    }
    plain
}

/// Text for HTML's code element.
pub(super) fn html(text: impl Display) -> String {
    let text = visible(&capped(&text.to_string(), LONGEST_NAME));
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

/// A fence that its text cannot end.
pub(super) fn fence(language: &str, text: &str) -> String {
    let marks = "`".repeat(longest_run(text).max(2) + 1);
    format!(
        "{marks}{language}\n{}\n{marks}\n",
        text.trim_end_matches('\n')
    )
}

/// A tool's own words for a fence: its lines stay, everything invisible is shown.
pub(super) fn tool_lines(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let lines = text.split('\n').map(|line| {
        let columns: Vec<String> = line.split('\t').map(visible).collect();
        columns.join("\t")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A fold: `title` is HTML, `body` is Markdown.
pub(super) fn fold(title: &str, body: &str) -> String {
    format!("\n<details><summary>{title}</summary>\n\n{body}\n</details>\n")
}

/// A link to one of our own pages.
pub(super) fn link(words: &str, url: &str) -> String {
    let url: String = url
        .chars()
        .filter(|it| !it.is_whitespace() && !it.is_control() && !matches!(it, '<' | '>' | '\\'))
        .collect();
    format!("[{words}](<{url}>)")
}

/// The text with everything that does not show, or that turns what shows around, as its number.
pub(super) fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for it in text.chars() {
        if is_hidden(it) {
            visible.extend(it.escape_default());
        } else {
            visible.push(it);
        }
    }
    visible
}

fn is_hidden(it: char) -> bool {
    it.is_control()
        || matches!(
            it,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        )
        || matches!(it, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        || matches!(it, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The text's beginning, with a mark and a count where the rest was.
pub(super) fn capped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => {
            let more = text[end..].chars().count();
            format!("{}… ({more} characters more)", &text[..end])
        }
        None => text.to_owned(),
    }
}

/// A count and its noun: `1 root`, `3 roots`.
pub(super) fn count(number: usize, noun: &str) -> String {
    if number == 1 {
        format!("1 {noun}")
    } else {
        format!("{number} {noun}s")
    }
}

fn longest_run(text: &str) -> usize {
    let runs = text.split(|it| it != '`').map(str::len);
    runs.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_marks_hold_whatever_they_are_given() {
        for (text, wanted) in [
            ("network", "`network`"),
            ("a`b", "``a`b``"),
            ("`", "`` ` ``"),
            ("", "`  `"),
            ("a\nb\0", "`a\\nb\\u{0}`"),
            ("\u{1b}[31m", "`\\u{1b}[31m`"),
            ("a\u{202e}b", "`a\\u{202e}b`"),
        ] {
            assert_eq!(code(text), wanted, "{text:?}");
        }
        assert_eq!(cell("a|b"), "`a\\|b`");
    }

    #[test]
    fn a_sentence_keeps_its_code_and_nothing_else() {
        for (text, wanted) in [
            ("`app` waits.", "`app` waits."),
            ("<img> & co", "&lt;img&gt; &amp; co"),
            ("ask @acme/admins", "ask @\u{200b}acme/admins"),
            ("`@acme` and @acme", "`@acme` and @\u{200b}acme"),
            ("see #12", "see \\#\u{200b}12"),
            ("![x](https://x)", "!\u{200b}\\[x\\](https:\u{200b}//x)"),
            ("an odd ` mark **x**", "an odd \\` mark \\*\\*x\\*\\*"),
            ("two\nlines", "two\\\\nlines"),
        ] {
            assert_eq!(prose(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(
            fence("text", "a\n````\nb"),
            "`````text\na\n````\nb\n`````\n"
        );
        assert_eq!(fence("", "a"), "```\na\n```\n");
    }

    #[test]
    fn names_are_listed_in_part() {
        assert_eq!(names(["a", "b", "c"], 5), "`a`, `b` and `c`");
        assert_eq!(names(["a", "b", "c"], 2), "`a`, `b` and 1 more");
    }
}
