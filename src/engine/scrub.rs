//! A tool's own text made fit for people: no value of the environment, no path of this machine, not too long.

use crate::engine::Checkout;

/// How much of a tool's text is kept.
const CAP: usize = 20_000;
/// Shorter values are no secrets, and would be found everywhere.
const SHORTEST: usize = 4;

/// Ends of names whose values are no secrets, and help to understand a message.
const PLAIN: [&str; 3] = ["_REGION", "_USER", "_USERNAME"];

/// Values that are no secrets, and would be found everywhere.
const WORDS: [&str; 2] = ["true", "false"];

/// Makes a tool's text fit for people.
pub(super) fn scrub(checkout: &Checkout, text: &str) -> String {
    let mut text = text.trim().to_owned();
    for (name, secret) in secrets(checkout) {
        text = text.replace(secret, &format!("[{name}]"));
    }
    for (path, name) in [
        (&checkout.dir, "$CHECKOUT"),
        (&checkout.scratch, "$SCRATCH"),
    ] {
        text = text.replace(&*path.to_string_lossy(), name);
    }
    capped(text)
}

/// Every value, and every line of it (a key file is printed line by line); the longest first, so that a value that
/// holds another goes whole.
fn secrets(checkout: &Checkout) -> Vec<(&str, &str)> {
    let mut all: Vec<(&str, &str)> = checkout
        .env
        .iter()
        .filter(|(name, _)| !PLAIN.iter().any(|end| name.ends_with(end)))
        .flat_map(|(name, value)| {
            let lines = value.lines().map(str::trim);
            std::iter::once(value.as_str())
                .chain(lines)
                .map(|it| (name.as_str(), it))
        })
        .filter(|(_, value)| value.len() >= SHORTEST && !WORDS.contains(value))
        .collect();
    all.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
    all
}

fn capped(mut text: String) -> String {
    if text.len() > CAP {
        text.truncate(text.floor_char_boundary(CAP));
        text.push_str("\n… (cut here)");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Checkout;

    fn scrubbed(env: &[(&str, &str)], text: &str) -> String {
        let mut checkout = Checkout::below("/jobs/1".as_ref());
        checkout.env = env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        scrub(&checkout, text)
    }

    #[test]
    fn values_of_the_environment_are_named_and_not_shown() {
        let env = [("KEY", "tide"), ("LONG_KEY", "tidetables")];
        assert_eq!(scrubbed(&env, "tidetables, tide"), "[LONG_KEY], [KEY]");
    }

    #[test]
    fn a_line_of_a_key_file_is_not_shown_either() {
        let env = [("PEM", "-----BEGIN\nMIIabc\n")];
        assert_eq!(scrubbed(&env, "got MIIabc"), "got [PEM]");
    }

    #[test]
    fn the_checkout_is_not_named_by_its_path_here() {
        assert_eq!(
            scrubbed(&[], "read /jobs/1/checkout/a.tf"),
            "read $CHECKOUT/a.tf"
        );
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let text = scrubbed(&[], &"€".repeat(10_000));
        assert!(text.len() <= CAP + 20, "{}", text.len());
        assert!(text.ends_with("… (cut here)"));
    }
}
