//! What holds for every note, whatever plans and people wrote.

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use serde_json::json;

use super::samples::*;
use crate::core::ids::{Root, WaveNumber};
use crate::core::job::{Applied, Moved};
use crate::core::note::fit::chars;
use crate::core::note::status;
use crate::core::rollout::{Unplanned, WaveState};

/// What holds for every note: it fits, folds and fences and tables are closed, and nobody is mentioned.
pub(super) fn check_shape(text: &str, max_chars: usize) -> Result<(), String> {
    if chars(text) > max_chars {
        return Err(format!("{} characters of {max_chars}", chars(text)));
    }
    if !text.starts_with("### ") {
        return Err("no heading of ours first".to_owned());
    }
    let mut html = String::new();
    let mut inside_code = false;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Html(it) | Event::InlineHtml(it) => html.push_str(&it),
            Event::Start(Tag::CodeBlock(_)) => inside_code = true,
            Event::End(TagEnd::CodeBlock) => inside_code = false,
            Event::Start(Tag::Image { .. }) => return Err("an image".to_owned()),
            Event::Start(Tag::Link { dest_url, .. }) if *dest_url != *PAGE => {
                return Err(format!("a link to {dest_url}"));
            }
            Event::Start(Tag::Heading { .. })
                if format!("\n{text}").matches("\n### ").count() != 1 =>
            {
                return Err("a heading of somebody else's".to_owned());
            }
            Event::Text(it) if !inside_code => is_quiet(&it)?,
            _ => {}
        }
    }
    tables_are_whole(text)?;
    let tags: Vec<&str> = html
        .split('<')
        .skip(1)
        .filter_map(|it| it.split(['>', ' ']).next())
        .collect();
    let ours = [
        "details", "/details", "summary", "/summary", "code", "/code",
    ];
    if let Some(other) = tags.iter().find(|it| !ours.contains(it)) {
        return Err(format!("an element of somebody else's: {other}"));
    }
    for element in ["details", "summary", "code"] {
        let count = |name: &str| tags.iter().filter(|it| **it == name).count();
        if count(element) != count(&format!("/{element}")) {
            return Err(format!("{element} is not closed"));
        }
    }
    Ok(())
}

/// Every line of a table has as many cells as its head: the wave table five, that of what moved three.
fn tables_are_whole(text: &str) -> Result<(), String> {
    let mut fence = None;
    for line in text.lines() {
        let marks = line.len() - line.trim_start_matches('`').len();
        match fence {
            Some(open) if marks == open && line.len() == marks => fence = None,
            None if marks >= 3 => fence = Some(marks),
            None if line.starts_with('|') => {
                let bars = line.replace("\\|", "").matches('|').count();
                if bars != 6 && bars != 4 {
                    return Err(format!("a broken line of a table: {line}"));
                }
            }
            Some(_) | None => {}
        }
    }
    Ok(())
}

fn is_quiet(text: &str) -> Result<(), String> {
    let mentions = text.match_indices(['@', '#']);
    for (at, sign) in mentions {
        let next = text[at + 1..].chars().next();
        if next.is_some_and(char::is_alphanumeric) {
            return Err(format!("{sign} followed by {next:?} in {text:?}"));
        }
    }
    if text.contains("://") {
        return Err(format!("an address in {text:?}"));
    }
    Ok(())
}

fn nasty() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "\\PC{0,12}",
        Just("```\n".to_owned()),
        Just("~~~\n".to_owned()),
        Just("</details>\n\n".to_owned()),
        Just("<!-- ".to_owned()),
        Just("@acme/admins ".to_owned()),
        Just("#12 https://evil.example www.evil.example".to_owned()),
        Just("\n# heading\n".to_owned()),
        Just("\n| a | b |\n|---|---|\n".to_owned()),
        Just("\u{1b}[31m\0\r\n\t".to_owned()),
        Just("🚀".repeat(50)),
        Just("` `` ".to_owned()),
        Just("![x](http://x) [x]: /y".to_owned()),
    ];
    proptest::collection::vec(word, 0..6).prop_map(|it| it.concat())
}

fn nasty_root() -> impl Strategy<Value = String> {
    "[a-z`|<>@#\\[\\]*_~&! é]{1,12}".prop_filter("a root", |it| Root::try_from(it.as_str()).is_ok())
}

fn nasty_case() -> impl Strategy<Value = Case> {
    let roots = proptest::collection::btree_map(nasty_root(), (nasty(), nasty(), 0..5_u8), 1..12);
    (roots, nasty(), 2_500..20_000_usize, 1..4_usize).prop_map(|(roots, text, max_chars, width)| {
        let names: Vec<&str> = roots.keys().map(String::as_str).collect();
        let waves: Vec<&[&str]> = names.chunks(width).collect();
        let plans = roots.iter().map(|(name, (key, value, kind))| {
            let (before, after) = (
                json!({ key: [value, {"$number": "1"}] }),
                json!({ key: value, "x": {"$hmac": value} }),
            );
            let changes = match kind {
                0 => Vec::new(),
                1 => vec![create(key, after)],
                2 => vec![update(key, before, after)],
                3 => vec![replace(key, before, after), destroy(value, json!(null))],
                _ => vec![destroy(key, before)],
            };
            plan(name, changes)
                .remarked(Some(key), value)
                .remarked(None, key)
                .with_output(key, json!(value), json!(null))
        });
        let mut case = Case::planned(
            survey(&waves, &[(names[names.len() - 1], &names[..1])]),
            plans.collect(),
        );
        case.without_plan(names[0], (&text, &text));
        case.radius.changed = names.iter().map(|it| root(it)).collect();
        case.radius.downstream = names.iter().map(|it| downstream(it, 3, &names)).collect();
        case.approved.insert(WaveNumber(2), vec![text]);
        case.max_chars = max_chars;
        case
    })
}

fn nasty_wave_state() -> impl Strategy<Value = WaveState> {
    (nasty(), 0..11_u8, nasty_root()).prop_map(|(text, kind, name)| {
        let digest = digest(&text);
        match kind {
            0 => WaveState::NotStarted,
            1 => WaveState::Planning,
            2 => WaveState::Waiting {
                digest: Some(digest),
                why: text,
            },
            3 => WaveState::Applying {
                digest,
                by: Some(text),
            },
            4 => WaveState::Applied {
                digest,
                by: Some(text),
            },
            5 => WaveState::Nothing,
            6 => WaveState::Refused {
                digest: None,
                moved: vec![Moved {
                    root: root(&name),
                    approved: Some(digest.clone()),
                    now: None,
                }],
            },
            7 => WaveState::Failed { why: text },
            8 => WaveState::Lost { why: text },
            9 => WaveState::Cancelled,
            _ => WaveState::StoodDown,
        }
    })
}

proptest! {
    #[test]
    fn every_plan_note_keeps_its_shape(case in nasty_case()) {
        let note = case.note();
        prop_assert_eq!(check_shape(&note.text, case.max_chars), Ok(()), "{}", note.text);
        prop_assert!(status::of_plan(&case.input()).description.chars().count() <= 140);
    }

    #[test]
    fn every_rollout_note_keeps_its_shape(states in proptest::collection::vec((nasty_wave_state(), nasty_root(), nasty()), 1..8)) {
        let waves = (1..).zip(states).map(|(number, (state, name, text))| {
            let mut wave = wave(number, vec![plan(&name, vec![destroy(&text, json!({"a": text}))])], state);
            wave.unplanned.push(Unplanned { root: root(&name), why: text.clone(), detail: text.clone() });
            wave.applied.push(Applied { root: root(&name), error: Some(text.clone()) });
            wave
        });
        let mut case = Case::rolled_out(waves.collect());
        case.max_chars = 6_000;
        let note = case.note();
        prop_assert_eq!(check_shape(&note.text, case.max_chars), Ok(()), "{}", note.text);
        prop_assert!(status::of_apply(&case.input()).description.chars().count() <= 140);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_note_of_however_many_roots_fits(roots in 1..400_usize, width in 1..30_usize, name in nasty_root(), text in nasty(), max_chars in 2_500..8_000_usize) {
        let names: Vec<String> = (0..roots).map(|it| format!("{name}{it}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let waves: Vec<&[&str]> = names.chunks(width).collect();
        let plans = names.iter().map(|it| plan(it, vec![destroy(&text, json!({ "a": text }))]).remarked(None, &text));
        let mut case = Case::planned(survey(&waves, &[]), plans.collect());
        case.max_chars = max_chars;
        let note = case.note();
        prop_assert_eq!(check_shape(&note.text, max_chars), Ok(()), "{}", note.text);
    }
}
