//! What a check of an installation found: what is so, and what to do about it.

use std::fmt::Write;

use serde::Serialize;

use crate::core::outcome::Outcome;

/// One answer of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at, in a word or two, such as `store`.
    pub check: String,
    pub level: Level,
    /// What is so, without a full stop. Never a secret.
    pub what: String,
    /// What to do, without a full stop; empty when nothing is to be done.
    pub hint: String,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Ok,
    /// It works, and somebody should know.
    Warn,
    /// It does not work.
    Fail,
}

/// Whether levels are coloured; only a terminal shows colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    Plain,
    Ansi,
}

impl Finding {
    /// It is as it should be.
    pub fn ok(check: impl Into<String>, what: impl Into<String>) -> Self {
        Self::new(check.into(), Level::Ok, (what.into(), String::new()))
    }

    /// It works, and `hint` says how it would be better.
    pub fn warn(
        check: impl Into<String>,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::new(check.into(), Level::Warn, (what.into(), hint.into()))
    }

    /// It does not work, and `hint` says what to do.
    pub fn fail(
        check: impl Into<String>,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::new(check.into(), Level::Fail, (what.into(), hint.into()))
    }

    fn new(check: String, level: Level, (what, hint): (String, String)) -> Self {
        Self {
            check,
            level,
            what,
            hint,
        }
    }
}

/// How a command ends that found this: warnings stop nobody.
pub fn outcome(findings: &[Finding]) -> Outcome {
    match findings.iter().map(|it| it.level).max() {
        Some(Level::Fail) => Outcome::Failed,
        Some(Level::Warn | Level::Ok) | None => Outcome::Done,
    }
}

/// The findings for people: a line each with its hint below it, and a line that counts.
pub fn text(findings: &[Finding], colours: Colours) -> String {
    let width = findings.iter().map(|it| it.check.chars().count());
    let width = width.max().unwrap_or(0);
    let mut text = String::new();
    for finding in findings {
        let level = level(finding.level, colours);
        let (check, what) = (shown(&finding.check), shown(&finding.what));
        line(&mut text, &format!("{level}  {check:width$}  {what}"));
        if !finding.hint.is_empty() {
            let hint = shown(&finding.hint);
            line(&mut text, &format!("      {:width$}  → {hint}", ""));
        }
    }
    let count = |level| findings.iter().filter(|it| it.level == level).count();
    let (failed, warned) = (count(Level::Fail), count(Level::Warn));
    line(
        &mut text,
        &format!(
            "\n{} checked: {failed} failed, {warned} warned",
            findings.len()
        ),
    );
    text
}

/// The findings for programs.
pub fn json(findings: &[Finding]) -> serde_json::Value {
    serde_json::json!({
        "ok": outcome(findings) == Outcome::Done,
        "findings": findings,
    })
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a String takes any text");
}

fn level(level: Level, colours: Colours) -> String {
    let (word, colour) = match level {
        Level::Ok => ("ok  ", 32),
        Level::Warn => ("warn", 33),
        Level::Fail => ("FAIL", 31),
    };
    match colours {
        Colours::Plain => word.to_owned(),
        Colours::Ansi => format!("\u{1b}[{colour}m{word}\u{1b}[0m"),
    }
}

/// What comes from outside steers no terminal and stays in its line.
fn shown(text: &str) -> String {
    text.lines()
        .map(str::trim)
        .collect::<Vec<_>>()
        .join("; ")
        .replace(char::is_control, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Vec<Finding> {
        vec![
            Finding::ok("git", "git 2.39.5"),
            Finding::warn(
                "job user",
                "jobs run as our own user",
                "set `executor.user`",
            ),
            Finding::fail("store", "\u{1b}[31mgone\nfor good", "bring it back"),
        ]
    }

    #[test]
    fn each_finding_is_a_line_and_what_to_do_stands_below_it() {
        let wanted = "\
ok    git       git 2.39.5
warn  job user  jobs run as our own user
                → set `executor.user`
FAIL  store     \u{fffd}[31mgone; for good
                → bring it back

3 checked: 1 failed, 1 warned
";
        assert_eq!(text(&some(), Colours::Plain), wanted);
    }

    #[test]
    fn only_levels_are_coloured() {
        let coloured = text(&some(), Colours::Ansi);
        assert!(coloured.starts_with("\u{1b}[32mok  \u{1b}[0m  git       git 2.39.5\n"));
        assert_eq!(coloured.matches('\u{1b}').count(), 6);
    }

    #[test]
    fn warnings_stop_nobody_and_one_failure_does() {
        let all = some();
        assert_eq!(outcome(&all[..2]), Outcome::Done);
        assert_eq!(outcome(&all), Outcome::Failed);
        assert_eq!(outcome(&[]), Outcome::Done);
        assert_eq!(json(&all)["ok"], false);
        assert_eq!(json(&all)["findings"][1]["level"], "warn");
    }
}
