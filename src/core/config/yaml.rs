//! YAML in, nodes out that know their place. The only file that knows which YAML library we use.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy};
use serde_saphyr::{Location, Spanned};

/// The longest file we read. People write these by hand.
const MAX_BYTES: usize = 256 * 1024;

/// Where something stands in its file: both counted from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Place {
    pub(super) const START: Self = Self { line: 1, column: 1 };

    fn of(location: Location) -> Self {
        Self {
            line: usize::try_from(location.line()).unwrap_or(1).max(1),
            column: usize::try_from(location.column()).unwrap_or(1).max(1),
        }
    }
}

/// A value and where it starts.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) value: Value,
}

/// What a node holds.
#[derive(Debug)]
pub(super) enum Value {
    Nothing,
    Flag(bool),
    Whole(i64),
    /// A number that is not whole, or too big.
    Other,
    Text(String),
    List(Vec<Node>),
    /// In the order of the file; a key may be there twice.
    Map(Vec<(Key, Node)>),
}

/// A key and where it starts.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) place: Place,
}

impl Value {
    /// What it is, for complaints.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Flag(true) => "`true`",
            Self::Flag(false) => "`false`",
            Self::Whole(_) | Self::Other => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }
}

/// Reads one document. What the library cannot read is one error: it stops there.
pub(super) fn parse(text: &str) -> Result<Node, (Place, String)> {
    if text.len() > MAX_BYTES {
        let what = format!("the file is longer than {} KiB", MAX_BYTES / 1024);
        return Err((Place::START, what));
    }
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        reject_unsupported_tags: true,
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_depth: 16,
            max_nodes: 20_000,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 20_000,
        },
    };
    serde_saphyr::from_str_with_options::<Node>(text, options).map_err(|error| {
        let place = error.location().map_or(Place::START, Place::of);
        (place, in_our_words(&error))
    })
}

fn in_our_words(error: &serde_saphyr::Error) -> String {
    match error {
        serde_saphyr::Error::AliasError { error, .. } => in_our_words(error),
        serde_saphyr::Error::Budget { .. }
        | serde_saphyr::Error::AliasReplayLimitExceeded { .. }
        | serde_saphyr::Error::AliasReplayStackDepthExceeded { .. } => {
            "too much for a configuration file: too deep, too long, or aliases that multiply"
                .to_owned()
        }
        serde_saphyr::Error::MultipleDocuments { .. } => "a second document starts here".to_owned(),
        serde_saphyr::Error::MergeKeyNotAllowed { .. } => {
            "merge keys (`<<`) are not read".to_owned()
        }
        serde_saphyr::Error::NullIntoString { .. } | serde_saphyr::Error::Unexpected { .. } => {
            "a key must be a text".to_owned()
        }
        other => without_place(other),
    }
}

/// The library's message, without the place it puts at the end: ours stands before it.
fn without_place(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    let text = text.lines().next().unwrap_or_default();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    format!("not valid YAML: {}", &text[..end])
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        Ok(Self {
            place: Place::of(spanned.referenced),
            value: spanned.value,
        })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Flag(flag))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Whole(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(i64::try_from(number).map_or(Value::Other, Value::Whole))
    }

    fn visit_i128<E: Error>(self, _number: i128) -> Result<Value, E> {
        Ok(Value::Other)
    }

    fn visit_u128<E: Error>(self, _number: u128) -> Result<Value, E> {
        Ok(Value::Other)
    }

    fn visit_f64<E: Error>(self, _number: f64) -> Result<Value, E> {
        Ok(Value::Other)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Vec::new();
        while let Some((key, node)) = entries.next_entry::<Spanned<String>, Node>()? {
            let place = Place::of(key.referenced);
            let name = key.value;
            map.push((Key { name, place }, node));
        }
        Ok(Value::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        let (place, what) = parse(text).unwrap_err();
        format!("{}:{} {what}", place.line, place.column)
    }

    #[test]
    fn every_error_has_its_place() {
        for (text, wanted) in [
            ("a: 'x", "1:4 not valid YAML: unclosed quote"),
            (
                "a: *y",
                "1:4 not valid YAML: alias references unknown anchor",
            ),
            (
                "a: !include /etc/passwd",
                "1:13 not valid YAML: unsupported tag `!include`",
            ),
            ("<<: {a: 1}", "1:1 merge keys (`<<`) are not read"),
            ("~: 1", "1:1 a key must be a text"),
            ("? [x]\n: 1", "1:3 a key must be a text"),
            ("a: 1\n---\nb: 2", "3:1 a second document starts here"),
        ] {
            assert_eq!(error(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn words_stay_words() {
        for word in [
            "no",
            "off",
            "yes",
            "24h",
            "\"1\"",
            "'true'",
            "on-destructive",
        ] {
            let node = parse(word).unwrap();
            assert!(matches!(node.value, Value::Text(_)), "{word}: {node:?}");
        }
    }

    #[test]
    fn aliases_that_multiply_are_refused() {
        let mut bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
        for (from, to) in "abcdefgh".chars().zip("bcdefghi".chars()) {
            let many = vec![format!("*{from}"); 9].join(",");
            bomb += &format!("{to}: &{to} [{many}]\n");
        }
        assert!(error(&bomb).contains("aliases that multiply"));
    }

    #[test]
    fn a_file_too_long_or_too_deep_is_refused() {
        assert!(error(&"#".repeat(MAX_BYTES + 1)).contains("longer than 256 KiB"));
        assert!(error(&("[".repeat(40) + &"]".repeat(40))).contains("too deep"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*|[-a: \\[\\]{}&*!|>'\"\n\t#?,~]*") {
            let _ = parse(&text);
        }
    }
}
