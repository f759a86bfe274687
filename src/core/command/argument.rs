//! What may follow each verb. All of it must be understood, or the command is refused with the reason.

use crate::core::command::word::{DigestPrefix, Ttl, wave};
use crate::core::command::{Command, EnvCommand, Target, Verb};
use crate::core::ids::{Root, WaveNumber};

/// The longest reason of a lock, in characters.
const LONGEST_REASON: usize = 200;

/// Reads the words after a verb; the error is a sentence.
pub(super) fn read(verb: Verb, words: &[&str]) -> Result<Command, String> {
    match verb {
        Verb::Plan => roots(words).map(|roots| Command::Plan { roots }),
        Verb::Apply => one_wave(words).map(|wave| Command::Apply { wave }),
        Verb::Approve => approve(words),
        Verb::Unapprove => one_wave(words).map(|wave| Command::Unapprove { wave }),
        Verb::Lock => reason(words).map(|reason| Command::Lock { reason }),
        Verb::Unlock => nothing(words).map(|()| Command::Unlock),
        Verb::Env => environment(words).map(Command::Env),
        Verb::Cancel => nothing(words).map(|()| Command::Cancel),
        Verb::Help => nothing(words).map(|()| Command::Help),
    }
}

fn roots(words: &[&str]) -> Result<Vec<Root>, String> {
    let mut roots = Vec::new();
    for word in words {
        let root = root(word)?;
        if !roots.contains(&root) {
            roots.push(root);
        }
    }
    Ok(roots)
}

fn root(word: &str) -> Result<Root, String> {
    if word.starts_with('-') {
        return Err(format!(
            "`{}` looks like a flag, and there are none.",
            shown(word)
        ));
    }
    if word.contains('`') {
        return Err("A root is written without backticks.".to_owned());
    }
    if word.contains(['"', '\'']) {
        return Err("A root is written without quotation marks.".to_owned());
    }
    Root::try_from(word).map_err(|_| {
        let word = shown(word);
        format!("`{word}` is not a root: write its path as the note shows it, such as `envs/dev`.")
    })
}

fn one_wave(words: &[&str]) -> Result<Option<WaveNumber>, String> {
    match words {
        [] => Ok(None),
        [word] => wave(word).map(Some).ok_or_else(|| not_a_wave(word)),
        [_, ..] => Err("It names more than one wave.".to_owned()),
    }
}

fn not_a_wave(word: &str) -> String {
    let word = shown(word);
    format!("`{word}` is not a wave: waves are `wave-1` to `wave-999`.")
}

fn approve(words: &[&str]) -> Result<Command, String> {
    let (target, rest) = match words {
        ["env", rest @ ..] => (Some(Target::Env), rest),
        [first, rest @ ..] => match wave(first) {
            Some(number) => (Some(Target::Wave(number)), rest),
            None => (None, words),
        },
        [] => (None, words),
    };
    let digest = match rest {
        [] => None,
        [word] => Some(DigestPrefix::read(word).ok_or_else(|| not_approvable(word))?),
        [_, ..] => return Err("It says more than one wave and one digest.".to_owned()),
    };
    Ok(Command::Approve { target, digest })
}

fn not_approvable(word: &str) -> String {
    let word = shown(word);
    format!(
        "`{word}` is neither a wave (`wave-2`) nor 8 to 64 digits of a digest (`1f0c2ab9d41e`)."
    )
}

fn reason(words: &[&str]) -> Result<Option<String>, String> {
    let reason = words.join(" ");
    if reason.chars().count() > LONGEST_REASON {
        return Err(format!(
            "The reason is longer than {LONGEST_REASON} characters."
        ));
    }
    if reason.chars().any(char::is_control) {
        return Err("The reason holds a control character.".to_owned());
    }
    Ok(Some(reason).filter(|it| !it.is_empty()))
}

fn environment(words: &[&str]) -> Result<EnvCommand, String> {
    match words {
        ["up"] => Ok(EnvCommand::Up),
        ["down"] => Ok(EnvCommand::Down),
        ["extend", time] => Ttl::read(time).map(EnvCommand::Extend).ok_or_else(|| {
            "The time is a number and `m`, `h` or `d`, up to `90d`, such as `24h`.".to_owned()
        }),
        [] | [_, ..] => Err("It does not say `up`, `down` or `extend` and a time.".to_owned()),
    }
}

fn nothing(words: &[&str]) -> Result<(), String> {
    if words.is_empty() {
        Ok(())
    } else {
        Err("Nothing may follow it on its line.".to_owned())
    }
}

/// A word as a reason may repeat it between code marks: short, and without marks of its own.
pub(super) fn shown(word: &str) -> String {
    const LONGEST: usize = 60;
    let word = word.replace('`', "'");
    match word.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &word[..end]),
        None => word,
    }
}
