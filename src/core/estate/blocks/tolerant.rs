//! A look at a text that does not parse: whether it would make its directory a root.

use super::{is_json, without_mark};

/// What is left of a text when comments and the insides of strings are gone.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Token<'a> {
    Word(&'a str),
    String,
    Open,
    Mark,
}

/// Whether a text that cannot be parsed names a backend, a provider or a cloud block outside comments.
pub(in crate::core::estate) fn looks_like_root(path: &str, text: &str) -> bool {
    let text = without_mark(text);
    if is_json(path) {
        return ["\"backend\"", "\"cloud\"", "\"provider\""]
            .iter()
            .any(|it| text.contains(it));
    }
    let tokens = tokens(text);
    tokens.windows(2).any(|pair| {
        matches!(
            pair,
            [Token::Word("backend" | "provider"), Token::String]
                | [Token::Word("cloud"), Token::Open]
        )
    })
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '#' => (None, line(rest)),
            '/' if rest.starts_with("//") => (None, line(rest)),
            '/' if rest.starts_with("/*") => {
                (None, rest.find("*/").map_or(rest.len(), |it| it + 2))
            }
            '"' => (Some(Token::String), string(rest)),
            '{' => (Some(Token::Open), 1),
            _ if is_word(first) => {
                let length = rest.find(|it| !is_word(it)).unwrap_or(rest.len());
                (Some(Token::Word(&rest[..length])), length)
            }
            _ if first.is_whitespace() => (None, first.len_utf8()),
            _ => (Some(Token::Mark), first.len_utf8()),
        };
        found.extend(token);
        rest = &rest[length..];
    }
    found
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-')
}

fn line(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}

/// The length of a string with its quotes; a string without an end stops at its line's.
fn string(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            '\n' => return at,
            '"' if !is_escaped => return at + 1,
            _ => is_escaped = character == '\\' && !is_escaped,
        }
    }
    text.len()
}
