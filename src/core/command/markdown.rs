//! Which lines of a comment are read at all: those that people see as text, not as a quote, as code, or not at all.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::core::command::Command;
use crate::core::command::line;
use crate::core::refusal::Refusal;

/// The most commands that one comment may hold.
const MAX_COMMANDS: usize = 10;

/// HTML elements whose text is code, a quotation, or not shown.
const SILENT_ELEMENTS: [&str; 11] = [
    "blockquote",
    "q",
    "pre",
    "code",
    "samp",
    "kbd",
    "template",
    "script",
    "style",
    "textarea",
    "title",
];

/// Reads a comment's commands in order, each understood or refused. A comment with too many is refused as a whole.
pub fn read(body: &str) -> Vec<Result<Command, Refusal>> {
    let body = body.replace("\r\n", "\n").replace('\r', "\n");
    let shown = shown_text(&body);
    let quotes = fenced_quotes(&body);
    let found: Vec<_> = lines(&body)
        .filter(|it| is_in(&shown, it.start) && !is_in(&quotes, it.start))
        .filter_map(|it| line::read(&without_comments(&body[it])))
        .collect();
    if found.len() > MAX_COMMANDS {
        let why = format!(
            "The comment holds {} commands, and one comment may hold {MAX_COMMANDS}; none was run.",
            found.len()
        );
        let hint = "Ask for less at once, or in several comments.";
        return vec![Err(Refusal::new("the comment", why, hint))];
    }
    found
}

/// Whether one of some ranges, which follow each other, holds a place.
fn is_in(ranges: &[Range<usize>], at: usize) -> bool {
    let after = ranges.partition_point(|it| it.start <= at);
    ranges[..after].last().is_some_and(|it| it.contains(&at))
}

/// Each line's range from its first visible character to its end. Lines indented by four or more are left out: they
/// are code, or look like it.
fn lines(body: &str) -> impl Iterator<Item = Range<usize>> {
    let is_end = |it: char| {
        matches!(
            it,
            '\n' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    body.split(is_end).filter_map(move |line| {
        let start = line.as_ptr() as usize - body.as_ptr() as usize;
        let text = line.trim_start();
        let indent = &line[..line.len() - text.len()];
        let is_code = indent.contains('\t') || indent.chars().count() > 3;
        (!is_code && !text.is_empty()).then(|| start + indent.len()..start + line.len())
    })
}

/// The ranges that are shown as text.
fn shown_text(body: &str) -> Vec<Range<usize>> {
    let mut shown = Vec::new();
    let (mut inside, mut elements) = (0_usize, 0_usize);
    let mut html = String::new();
    for (event, range) in Parser::new_ext(body, Options::empty()).into_offset_iter() {
        match event {
            Event::Start(Tag::BlockQuote(_) | Tag::CodeBlock(_)) => inside += 1,
            Event::End(TagEnd::BlockQuote(_) | TagEnd::CodeBlock) => inside -= 1,
            Event::Html(text) => html.push_str(&text),
            Event::InlineHtml(text) => elements = still_open(elements, &text),
            Event::End(TagEnd::HtmlBlock) => {
                elements = still_open(elements, &html);
                html.clear();
            }
            Event::Text(_) if inside == 0 && elements == 0 => shown.push(range),
            _ => {}
        }
    }
    shown
}

/// How many silent elements are open after some HTML.
fn still_open(before: usize, html: &str) -> usize {
    let html = without_comments(html).to_lowercase();
    html.split('<').skip(1).fold(before, |open, tag| {
        let closes = tag.starts_with('/');
        let name = tag.trim_start_matches('/');
        let end = name.find(|it: char| !it.is_ascii_alphanumeric());
        let is_silent = SILENT_ELEMENTS.contains(&&name[..end.unwrap_or(name.len())]);
        match (is_silent, closes) {
            (true, false) => open + 1,
            (true, true) => open.saturating_sub(1),
            (false, _) => open,
        }
    })
}

/// The text with HTML comments left out; one that never ends takes the rest.
fn without_comments(text: &str) -> String {
    let mut parts = text.split("<!--");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let after = part.split_once("-->").map_or("", |(_, after)| after);
        kept.push(' ');
        kept.push_str(after);
    }
    kept
}

/// GitLab's quotes between two lines `>>>`, which plain Markdown does not know.
fn fenced_quotes(body: &str) -> Vec<Range<usize>> {
    let mut fences = Vec::new();
    let mut start = 0;
    for line in body.split_inclusive('\n') {
        if line.trim_end() == ">>>" {
            fences.push(start);
        }
        start += line.len();
    }
    fences.chunks_exact(2).map(|it| it[0]..it[1]).collect()
}
