//! Characters that look like the ones we know and are not: phones, chat tools and pranks put them into commands.

use std::fmt;

/// Letters that are taken for plain ones, and those plain ones beside them: Cyrillic, Greek, uncommon Latin.
const LOOK_ALIKES: [(&str, &str); 5] = [
    ("аеорсухіѕјԁһӏԛԝѵ", "aeopcyxisjdhlqwv"),
    ("АВЕКМНОРСТУХІЅЈ", "ABEKMHOPCTYXISJ"),
    ("ανορικτυχ", "avopiktux"),
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX"),
    ("ıɑɡⅼ", "iagl"),
];

/// A character that is not what it looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Odd {
    Invisible(char),
    /// It stands where the second one belongs.
    For(char, char),
}

impl fmt::Display for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invisible(it) => write!(f, "an invisible character (U+{:04X})", *it as u32),
            Self::For(it, plain) => write!(
                f,
                "`{it}` (U+{:04X}) where a plain `{plain}` belongs",
                *it as u32
            ),
        }
    }
}

/// The first character of a word that is not what it looks like. A word in another alphabet is not odd, as long as it
/// cannot be read as a plain one.
pub(super) fn odd_in(word: &str) -> Option<Odd> {
    let sign = word.chars().find_map(odd_sign);
    let reads_as_plain = || plain(word).is_ascii();
    sign.or_else(|| reads_as_plain().then(|| word.chars().find_map(odd_letter))?)
}

/// The word as people read it.
pub(super) fn plain(word: &str) -> String {
    word.chars()
        .filter_map(|it| match odd_sign(it).or_else(|| odd_letter(it)) {
            Some(Odd::Invisible(_)) => None,
            Some(Odd::For(_, plain)) => Some(plain),
            None => Some(it),
        })
        .collect()
}

fn odd_sign(it: char) -> Option<Odd> {
    let odd = match it {
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' => {
            Odd::Invisible(it)
        }
        '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => Odd::Invisible(it),
        '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e01ef}' => Odd::Invisible(it),
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' => {
            Odd::For(it, '-')
        }
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{2039}' | '\u{203a}' | '\u{b4}' => {
            Odd::For(it, '\'')
        }
        '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{ab}' | '\u{bb}' => Odd::For(it, '"'),
        '\u{2044}' | '\u{2215}' | '\u{29f8}' | '\u{ff0f}' => Odd::For(it, '/'),
        _ => return None,
    };
    Some(odd)
}

fn odd_letter(it: char) -> Option<Odd> {
    if let full @ '\u{ff01}'..='\u{ff5e}' = it {
        let plain = char::from_u32(full as u32 - 0xfee0)?;
        return Some(Odd::For(it, plain));
    }
    let plain = LOOK_ALIKES.iter().find_map(|(odd, plain)| {
        let at = odd.chars().position(|odd| odd == it)?;
        plain.chars().nth(at)
    });
    plain.map(|plain| Odd::For(it, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_look_alike_has_its_plain_letter() {
        for (odd, plain) in LOOK_ALIKES {
            assert_eq!(odd.chars().count(), plain.chars().count(), "{odd}");
            assert!(plain.is_ascii() && odd.chars().all(|it| !it.is_ascii()));
        }
    }

    #[test]
    fn a_word_is_odd_when_it_reads_as_another() {
        for (word, odd) in [
            ("nеtwork", "`е` (U+0435) where a plain `e` belongs"),
            ("–wave", "`–` (U+2013) where a plain `-` belongs"),
            ("“freeze”", "`“` (U+201C) where a plain `\"` belongs"),
            ("wave\u{200b}-1", "an invisible character (U+200B)"),
            ("ａpp", "`ａ` (U+FF41) where a plain `a` belongs"),
            ("проект–а", "`–` (U+2013) where a plain `-` belongs"),
        ] {
            assert_eq!(odd_in(word).unwrap().to_string(), odd);
        }
    }

    #[test]
    fn a_word_of_another_alphabet_is_not_odd() {
        for word in [
            "network",
            "ünïcode",
            "проект",
            "δίκτυο",
            "網路",
            "a+b",
            "🚀",
        ] {
            assert_eq!(odd_in(word), None, "{word}");
        }
    }
}
