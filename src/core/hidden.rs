//! Values that must not be shown, found in a text in every form in which tools print them.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine;
use base64::prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};

use crate::core::key::hex;

/// Shorter values are no secrets, and would be found everywhere.
pub const SHORTEST: usize = 4;
/// A shorter form of a value would be found in texts that have nothing to do with it.
const SHORTEST_FORM: usize = 6;

/// Words in the names of variables that hold secrets.
const SECRET_WORDS: [&str; 19] = [
    "APIKEY",
    "AUTH",
    "COOKIE",
    "CREDENTIALS",
    "DSN",
    "JWT",
    "KEY",
    "PASS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PAT",
    "PRIVATE",
    "PWD",
    "SAS",
    "SECRET",
    "SECRETS",
    "SIGNATURE",
    "TOKEN",
];
/// Ends of names of variables that hold a secret's name, place or lifetime.
const NO_SECRETS: [&str; 10] = [
    "_DIR",
    "_FILE",
    "_KEY_NAME",
    "_NAME",
    "_PATH",
    "_REGION",
    "_SOCK",
    "_TTL",
    "_USER",
    "_USERNAME",
];
/// A shorter value would hide too much of what people must see.
const SHORTEST_SECRET: usize = 8;

/// Values that must not be shown, each with the name that is shown in its place.
///
/// # Why one automaton
///
/// A value has about a dozen forms, a plan thousands of texts: each text is read once, however many values there are.
#[derive(Clone, Default)]
pub struct Hidden {
    names: Vec<String>,
    forms: Option<AhoCorasick>,
}

/// Says nothing of them.
impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hidden").finish_non_exhaustive()
    }
}

impl Hidden {
    /// Takes names and values. Of a value of several lines each line is one: a key file is printed line by line.
    pub fn new<'a>(values: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut by_form: BTreeMap<String, &str> = BTreeMap::new();
        for (name, value) in values {
            let lines = value.lines().chain([value]).map(str::trim);
            for part in lines.filter(|it| it.len() >= SHORTEST) {
                for form in forms(part) {
                    by_form.entry(form).or_insert(name);
                }
            }
        }
        let forms = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(by_form.keys());
        Self {
            names: by_form.values().map(|it| format!("[{it}]")).collect(),
            forms: (!by_form.is_empty()).then(|| forms.expect("secrets fit into memory")),
        }
    }

    /// Whether a text holds one of them.
    pub fn are_in(&self, text: &str) -> bool {
        self.forms.as_ref().is_some_and(|it| it.is_match(text))
    }

    /// The text with the name of each value in its place.
    pub fn cover(&self, text: &str) -> String {
        match &self.forms {
            Some(forms) => forms.replace_all(text, &self.names),
            None => text.to_owned(),
        }
    }
}

/// A value as it is, and as JSON, URLs, Base64 and hexadecimal digits hold it.
fn forms(value: &str) -> Vec<String> {
    let quoted = serde_json::Value::from(value).to_string();
    let quoted = &quoted[1..quoted.len() - 1];
    let mut forms = vec![quoted.to_owned(), quoted_by_go(quoted)];
    forms.extend(percent_encoded(value));
    forms.push(BASE64_STANDARD_NO_PAD.encode(value));
    forms.push(BASE64_URL_SAFE_NO_PAD.encode(value));
    for before in 0..3 {
        forms.push(within_base64(&BASE64_STANDARD_NO_PAD, value, before));
        forms.push(within_base64(&BASE64_URL_SAFE_NO_PAD, value, before));
    }
    let hex = hex(value.as_bytes());
    forms.push(hex.to_uppercase());
    forms.push(hex);
    forms.retain(|it| it.len() >= SHORTEST_FORM);
    forms.push(value.to_owned());
    forms
}

/// Go, in which the tools are written, does not put these into JSON as they are.
fn quoted_by_go(quoted: &str) -> String {
    quoted
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

/// With capital and small hexadecimal digits; and a blank as a plus, as forms have it.
fn percent_encoded(value: &str) -> [String; 4] {
    let mut capital = String::new();
    let mut small = String::new();
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            capital.push(byte.into());
            small.push(byte.into());
        } else {
            // Writing into a text cannot fail.
            let _ = write!(capital, "%{byte:02X}");
            let _ = write!(small, "%{byte:02x}");
        }
    }
    let form = |it: &str| it.replace("%20", "+");
    [form(&capital), form(&small), capital, small]
}

/// What a value looks like in the middle of something in Base64, such as `user:password`: the digits that what stands
/// `before` it (in bytes, by their remainder) and after it have no part in.
fn within_base64(base64: &impl Engine, value: &str, before: usize) -> String {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(value.as_bytes());
    let whole = base64.encode(&bytes);
    let start = [0, 2, 3][before];
    let end = whole.len() - usize::from(!bytes.len().is_multiple_of(3));
    whole[start..end].to_owned()
}

/// Whether a variable most likely holds a secret: by a word of its name, or because its value looks drawn by lot. What
/// is none may be part of anything, such as the name of a region.
pub fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let is_place = NO_SECRETS.iter().any(|it| name.ends_with(it));
    let is_named = name.split('_').any(|it| SECRET_WORDS.contains(&it));
    value.len() >= SHORTEST_SECRET
        && !is_place
        && (is_named || value.contains("-----BEGIN ") || is_random(value))
}

fn is_random(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|it| is(&it));
    let is_digits = |it: u8| it.is_ascii_alphanumeric() || b"-_.+/=".contains(&it);
    let is_mixed =
        has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit);
    let is_hex = value.bytes().all(|it| it.is_ascii_hexdigit());
    value.bytes().all(is_digits)
        && !value.starts_with(['/', '.'])
        && (value.len() >= 20 && is_mixed || value.len() >= 32 && is_hex)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE};

    const SECRET: &str = "c0rrect h<r>e & \"b@ttery\"/stäple+";

    fn hidden() -> Hidden {
        Hidden::new([("KEY", SECRET)])
    }

    #[test]
    fn a_value_is_found_in_every_form() {
        let basic = |user: &str| BASE64_STANDARD.encode(format!("{user}:{SECRET}"));
        let json = serde_json::to_string(SECRET).unwrap();
        let url = url::Url::parse_with_params("https://x/?", [("k", SECRET)]).unwrap();
        for text in [
            format!("it is {SECRET}."),
            json.clone(),
            json.replace('<', "\\u003c")
                .replace('>', "\\u003e")
                .replace('&', "\\u0026"),
            url.to_string(),
            "c0rrect%20h%3cr%3ee%20%26%20%22b%40ttery%22%2fst%c3%a4ple%2b".to_owned(),
            BASE64_STANDARD.encode(SECRET),
            BASE64_URL_SAFE.encode(SECRET),
            basic("a"),
            basic("ab"),
            basic("abc"),
            hex(SECRET.as_bytes()),
        ] {
            assert!(hidden().are_in(&text), "{text}");
            let covered = hidden().cover(&text);
            assert!(covered.contains("[KEY]"), "{covered}");
            assert!(!covered.contains("ttery"), "{covered}");
        }
    }

    #[test]
    fn other_texts_are_left_as_they_are() {
        for text in ["correct horse", "", "KEY", &BASE64_STANDARD.encode("other")] {
            assert!(!hidden().are_in(text), "{text}");
            assert_eq!(hidden().cover(text), text);
        }
        assert!(!Hidden::default().are_in("anything"));
    }

    #[test]
    fn a_value_that_holds_another_goes_whole() {
        let hidden = Hidden::new([("KEY", "tide"), ("LONG_KEY", "tidetables")]);
        assert_eq!(hidden.cover("tidetables, tide"), "[LONG_KEY], [KEY]");
    }

    #[test]
    fn a_line_of_a_value_is_hidden_too() {
        let hidden = Hidden::new([("PEM", "-----BEGIN\nMIIabc\n")]);
        assert_eq!(hidden.cover("got MIIabc"), "got [PEM]");
    }

    #[test]
    fn a_value_too_short_to_be_a_secret_is_shown() {
        let hidden = Hidden::new([("SWITCH", "1"), ("WORD", "yes"), ("NOTHING", "")]);
        assert_eq!(hidden.cover("1 yes"), "1 yes");
    }

    #[test]
    fn a_secret_is_told_from_what_people_must_see() {
        for (name, value, is) in [
            ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI", true),
            ("TF_VAR_db_password", "battery-staple", true),
            ("TF_VAR_password", "hunter2", false),
            ("PGPASSWORD", "Xy1Zw2Vu3Ts4Rq5Po6Nm7", true),
            ("OTHER", "0123456789abcdef0123456789abcdef", true),
            ("DEPLOY", "-----BEGIN RSA PRIVATE KEY-----", true),
            ("AWS_PROFILE", "production", false),
            ("TF_VAR_bucket", "acme-terraform-state-prod", false),
            ("AWS_SHARED_CREDENTIALS_FILE", "/etc/tidegate/aws", false),
            ("AWS_ROLE_ARN", "arn:aws:iam::1234:role/Plan2", false),
        ] {
            assert_eq!(is_secret(name, value), is, "{name}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_surrounds_a_value_hides_it_in_no_form(
            value in "[ -~]{8,40}", before in "[ -~]{0,9}", after in "[ -~]{0,9}"
        ) {
            let value = value.trim();
            proptest::prop_assume!(value.len() >= 8);
            let hidden = Hidden::new([("KEY", value)]);
            let text = format!("{before}{value}{after}");
            proptest::prop_assert!(hidden.are_in(&text));
            proptest::prop_assert!(hidden.are_in(&serde_json::to_string(&text).unwrap()));
            proptest::prop_assert!(hidden.are_in(&BASE64_STANDARD.encode(&text)));
            proptest::prop_assert!(hidden.are_in(&BASE64_URL_SAFE.encode(&text)));
        }
    }
}
