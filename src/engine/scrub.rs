//! A tool's own text made fit for people: no value of the environment, no path of this machine, not too long.

use crate::core::hidden::{self, Hidden};
use crate::engine::Checkout;

/// How much of a tool's text is kept.
const CAP: usize = 20_000;
/// Ends of names whose values are no secrets, and help to understand a message.
const PLAIN: [&str; 3] = ["_REGION", "_USER", "_USERNAME"];
/// Values that are no secrets, and would be found everywhere.
const WORDS: [&str; 2] = ["true", "false"];

/// Makes a tool's text fit for people.
pub(super) fn scrub(checkout: &Checkout, text: &str) -> String {
    // A message is no plan that people must see whole, so it may lack more than secrets.
    let hidden = given(checkout, |name, value| {
        !PLAIN.iter().any(|it| name.ends_with(it)) && !WORDS.contains(&value)
    });
    let mut text = hidden.cover(text.trim());
    for (path, name) in [
        (&checkout.dir, "$CHECKOUT"),
        (&checkout.scratch, "$SCRATCH"),
    ] {
        text = text.replace(&*path.to_string_lossy(), name);
    }
    capped(text)
}

/// The secrets among what the tool is given.
pub(super) fn secrets(checkout: &Checkout) -> Hidden {
    given(checkout, hidden::is_secret)
}

fn given(checkout: &Checkout, is_hidden: impl Fn(&str, &str) -> bool) -> Hidden {
    let all = checkout
        .env
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    Hidden::new(all.filter(|(name, value)| is_hidden(name, value)))
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
