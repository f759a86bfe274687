//! The house rules that a machine can hold: who may name whom, what a file looks like, what never stands in one.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Each room and the other rooms it may name (DESIGN's table). A room without a row fails.
const ROOMS: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("process", &["core"]),
    ("git", &["core", "process"]),
    ("forge", &["core"]),
    ("ledger", &["core", "git", "process"]),
    ("engine", &["core", "git", "process"]),
    ("executor", &["core", "forge", "process"]),
    ("store", &["core"]),
    ("blob", &["core"]),
    (
        "outbox",
        &[
            "core", "forge", "git", "ledger", "executor", "store", "blob",
        ],
    ),
    ("handlers", &["core", "forge", "git", "ledger", "store"]),
    ("runner", &["core", "git"]),
    (
        "jobs",
        &["core", "git", "forge", "ledger", "engine", "runner", "blob"],
    ),
    (
        "serve",
        &[
            "core", "forge", "git", "store", "executor", "handlers", "outbox", "blob",
        ],
    ),
    ("sandbox", &["core", "git", "process"]),
];

/// These may name every room, and no room names them.
const ABOVE_ALL: [&str; 3] = ["cli", "lib", "main"];

/// What the core never names: it does no IO and knows no time but what it is given.
const IMPURE: [&str; 14] = [
    "tokio",
    "sqlx",
    "reqwest",
    "axum",
    "octocrab",
    "std::fs",
    "std::env",
    "std::process",
    "std::net",
    "SystemTime",
    "Instant::now",
    "Timestamp::now",
    "async fn",
    "rand::",
];

/// Addresses are plain values wherever they stand.
const ADDRESSES: [&str; 4] = [
    "std::net::SocketAddr",
    "std::net::IpAddr",
    "std::net::Ipv4Addr",
    "std::net::Ipv6Addr",
];

/// How the environment is read or changed; allowed in `cli` and `process` only.
const ENVIRONMENT: [&str; 6] = [
    "env::var",
    "env::var_os",
    "env::vars",
    "env::vars_os",
    "env::set_var",
    "env::remove_var",
];

const MOST_LINES: usize = 400;
const MOST_FILES: usize = 20;
const MOST_METHODS: usize = 14;

/// A source file, by its path from the package's folder.
struct Source {
    path: PathBuf,
    text: String,
}

/// What is wrong, each with its place.
type Complaints = Vec<String>;

impl Source {
    /// The room it belongs to: the first part of its path below `src`.
    fn room(&self) -> &str {
        let first = self.path.iter().nth(1).and_then(|it| it.to_str());
        first.unwrap_or_default().trim_end_matches(".rs")
    }

    /// Whether all of it is tests: `<file>/tests.rs`, or a file below a `tests` folder.
    fn is_test(&self) -> bool {
        self.path
            .iter()
            .skip(1)
            .any(|it| it == "tests.rs" || it == "tests")
    }

    /// Its numbered lines before `mod tests`.
    fn production(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = if self.is_test() {
            0
        } else {
            self.production_lines()
        };
        self.lines().take(lines)
    }

    fn production_lines(&self) -> usize {
        let before = self.text.lines().position(|it| it == "#[cfg(test)]");
        before.unwrap_or_else(|| self.text.lines().count())
    }

    /// Its numbered lines that are not comments.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines().filter(|(_, line)| is_code(line))
    }

    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }

    fn complain(&self, line: usize, what: &str) -> String {
        format!("{}:{line}: {what}", self.path.display())
    }
}

fn is_code(line: &str) -> bool {
    !line.trim_start().starts_with("//")
}

/// Whether `word` stands in `line` as a whole word.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        let starts = !word.starts_with(is_part) || !before.ends_with(is_part);
        let ends = !word.ends_with(is_part) || !after.starts_with(is_part);
        starts && ends
    })
}

/// The rooms a line names as `crate::<room>`.
fn named_rooms(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.split("crate::").skip(1).map(move |rest| {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        &rest[..end]
    })
}

fn direction(source: &Source) -> Complaints {
    let room = source.room();
    if ABOVE_ALL.contains(&room) {
        return Vec::new();
    }
    let Some((_, allowed)) = ROOMS.iter().find(|(name, _)| *name == room) else {
        return vec![source.complain(1, &format!("the room {room} has no row in ROOMS"))];
    };
    let tests_start = source.production().count();
    let mut complaints = Vec::new();
    for (number, line) in source.code() {
        let is_test = number > tests_start;
        for named in named_rooms(line) {
            let may = named == room || allowed.contains(&named) || (is_test && named == "sandbox");
            if !may {
                complaints.push(source.complain(number, &format!("{room} may not name {named:?}")));
            }
        }
    }
    complaints
}

fn imports(source: &Source) -> Complaints {
    let mut complaints = Vec::new();
    for (number, line) in source.code() {
        if line.contains("super::super::") {
            complaints.push(source.complain(number, "name it by its room, not by super::super::"));
        }
        if line.contains("use crate::{") {
            complaints.push(source.complain(number, "import one room a line"));
        }
    }
    complaints
}

fn purity(source: &Source) -> Complaints {
    if source.room() != "core" {
        return Vec::new();
    }
    let mut complaints = Vec::new();
    for (number, line) in source.production().filter(|(_, line)| is_code(line)) {
        let line = ADDRESSES
            .iter()
            .fold(line.to_owned(), |it, name| it.replace(name, ""));
        for word in IMPURE.iter().filter(|word| has_word(&line, word)) {
            complaints.push(source.complain(number, &format!("the core does not name {word}")));
        }
    }
    complaints
}

fn environment(source: &Source) -> Complaints {
    if ["cli", "process"].contains(&source.room()) {
        return Vec::new();
    }
    let mut complaints = Vec::new();
    for (number, line) in source.production().filter(|(_, line)| is_code(line)) {
        for word in ENVIRONMENT.iter().filter(|word| has_word(line, word)) {
            complaints
                .push(source.complain(number, &format!("{word} stands in cli and process only")));
        }
    }
    complaints
}

fn head(source: &Source) -> Complaints {
    if source.text.starts_with("//! ") {
        return Vec::new();
    }
    vec![source.complain(1, "start with a `//!` sentence on what the file is for")]
}

fn length(source: &Source) -> Complaints {
    let lines = source.production().count();
    if lines <= MOST_LINES {
        return Vec::new();
    }
    let what = format!("{lines} lines before its tests, and {MOST_LINES} are allowed");
    vec![source.complain(lines, &what)]
}

/// `cfg(test)` stands on `mod tests` alone, and `mod tests` at the end: what follows it would be held by nothing.
fn test_code(source: &Source) -> Complaints {
    let mut complaints = Vec::new();
    let lines: Vec<_> = source.lines().collect();
    for (at, (number, line)) in lines
        .iter()
        .enumerate()
        .filter(|(_, (_, line))| is_code(line))
    {
        let next = lines.get(at + 1).map_or("", |(_, line)| line);
        let is_on_tests = *line == "#[cfg(test)]" && matches!(next, "mod tests {" | "mod tests;");
        if has_word(line, "test") && line.contains("cfg") && !is_on_tests {
            complaints.push(source.complain(*number, "test code belongs into `mod tests`"));
        }
        if is_on_tests && !ends_with_block(&lines[at + 1..]) {
            complaints.push(source.complain(*number, "`mod tests` is the end of a file"));
        }
    }
    complaints
}

/// Whether nothing stands after the block or declaration that the first line begins.
fn ends_with_block(lines: &[(usize, &str)]) -> bool {
    let closed = lines
        .iter()
        .position(|(_, line)| matches!(*line, "}" | "mod tests;"));
    closed.is_some_and(|it| it + 1 == lines.len())
}

fn documentation(source: &Source) -> Complaints {
    let lines: Vec<_> = source.production().collect();
    let undocumented = lines.iter().enumerate().filter(|(at, (_, line))| {
        is_public_item(line.trim_start()) && !is_documented(&lines[..*at])
    });
    undocumented
        .map(|(_, (number, line))| {
            source.complain(*number, &format!("no `///` on {}", line.trim()))
        })
        .collect()
}

fn is_public_item(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("pub ") else {
        return false;
    };
    let mut words = rest
        .split([' ', '<', '('])
        .skip_while(|it| ["const", "async", "unsafe"].contains(it));
    let is_item = matches!(
        words.next(),
        Some("fn" | "struct" | "enum" | "trait" | "type" | "union")
    );
    // A constant is no function: `pub const NAME: …`.
    is_item
}

/// Whether what ends above is a doc comment, attributes apart.
fn is_documented(above: &[(usize, &str)]) -> bool {
    let mut is_inside_attribute = false;
    for (_, line) in above.iter().rev() {
        let line = line.trim();
        if line.starts_with("///") || line.starts_with("#[doc") || line.starts_with("$(#[doc") {
            return true;
        }
        is_inside_attribute =
            (is_inside_attribute || line.ends_with(")]")) && !line.starts_with("#[");
        if !is_inside_attribute && !line.starts_with("#[") {
            return false;
        }
    }
    false
}

fn traits(source: &Source) -> Complaints {
    let mut complaints = Vec::new();
    let lines: Vec<_> = source.production().collect();
    for (at, (number, line)) in lines.iter().enumerate() {
        if !line.starts_with("pub trait ") {
            continue;
        }
        let body = lines[at..].iter().take_while(|(_, line)| *line != "}");
        let methods = body
            .filter(|(_, it)| it.starts_with("    fn ") || it.starts_with("    async fn "))
            .count();
        if methods > MOST_METHODS {
            let what = format!("{methods} methods, and {MOST_METHODS} are allowed");
            complaints.push(source.complain(*number, &what));
        }
    }
    complaints
}

/// Tests always run, and a lint is expected with a reason or obeyed.
fn attributes(source: &Source) -> Complaints {
    let mut complaints = Vec::new();
    for (number, line) in source.lines() {
        let line = line.trim_start();
        if line.starts_with("#[ignore") {
            complaints.push(source.complain(number, "a test that never runs holds nothing"));
        }
        if line.starts_with("#[allow(") || line.starts_with("#![allow(") {
            complaints.push(source.complain(number, "write #[expect(…, reason = \"…\")]"));
        }
    }
    complaints
}

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file below a folder of the package.
fn sources(folder: &str) -> Vec<Source> {
    let mut found = Vec::new();
    for path in files(&package().join(folder)) {
        if path.extension().is_some_and(|it| it == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let path = path.strip_prefix(package()).unwrap().to_owned();
            found.push(Source { path, text });
        }
    }
    assert!(!found.is_empty(), "no Rust file in {folder}");
    found
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn check(sources: &[Source], rule: fn(&Source) -> Complaints) {
    let complaints: Vec<_> = sources.iter().flat_map(rule).collect();
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn rooms_name_only_the_rooms_below_them() {
    check(&sources("src"), direction);
}

#[test]
fn imports_are_one_room_a_line() {
    check(&sources("src"), imports);
}

#[test]
fn the_core_does_no_io() {
    check(&sources("src"), purity);
}

#[test]
fn the_environment_is_read_in_cli_and_process_only() {
    check(&sources("src"), environment);
}

#[test]
fn every_file_says_what_it_is_for() {
    check(&sources("src"), head);
    check(&sources("tests/it"), head);
}

#[test]
fn no_file_is_too_long() {
    check(&sources("src"), length);
}

#[test]
fn production_code_has_no_test_code() {
    check(&sources("src"), test_code);
}

#[test]
fn what_is_public_is_documented() {
    check(&sources("src"), documentation);
}

#[test]
fn no_trait_is_too_wide() {
    check(&sources("src"), traits);
}

#[test]
fn every_test_runs_and_every_exception_has_a_reason() {
    check(&sources("src"), attributes);
    check(&sources("tests/it"), attributes);
}

#[test]
fn no_folder_is_too_full() {
    for folder in ["src", "tests/it"] {
        let all = sources(folder);
        for source in &all {
            let folder = source.path.parent().unwrap();
            let count = all
                .iter()
                .filter(|it| it.path.parent() == Some(folder))
                .count();
            assert!(
                count <= MOST_FILES,
                "{} holds {count} files",
                folder.display()
            );
        }
    }
}

#[test]
fn there_is_one_integration_binary_and_no_file_of_it_is_forgotten() {
    let manifest = fs::read_to_string(package().join("Cargo.toml")).unwrap();
    assert_eq!(manifest.matches("[[test]]").count(), 1);
    let others = sources("tests");
    let is_ours = |it: &&Source| !it.path.starts_with("tests/fuzz");
    for source in others.iter().filter(is_ours) {
        let first = source.path.iter().nth(1).unwrap();
        assert_eq!(first, "it", "{} is not in tests/it", source.path.display());
        let Some((parent, name)) = listing(&source.path) else {
            continue;
        };
        let text = fs::read_to_string(package().join(&parent)).unwrap();
        let is_listed = text.lines().any(|it| it.ends_with(&format!("mod {name};")));
        assert!(is_listed, "{} does not list mod {name}", parent.display());
    }
}

/// The file that must list this one, and by which name; none for the binary's own.
fn listing(path: &Path) -> Option<(PathBuf, String)> {
    let named = match path.file_name()?.to_str()? {
        "main.rs" => return None,
        "mod.rs" => path.parent()?.to_owned(),
        _ => path.with_extension(""),
    };
    let folder = named.parent()?;
    let fronts = ["main.rs", "mod.rs"].map(|it| folder.join(it));
    let front = fronts.into_iter().find(|it| package().join(it).exists());
    let name = named.file_name()?.to_str()?.to_owned();
    Some((front.unwrap_or_else(|| folder.with_extension("rs")), name))
}

/// A rule that finds nothing wrong anywhere would hold nothing: each finds the fault it is there for, and only it.
mod rules {
    use super::*;

    fn lines_of(rule: fn(&Source) -> Complaints, path: &str, text: &str) -> String {
        let source = Source {
            path: PathBuf::from(path),
            text: text.to_owned(),
        };
        let mut lines = String::new();
        for complaint in rule(&source) {
            let line = complaint.split(':').nth(1).unwrap();
            write!(lines, "{line} ").unwrap();
        }
        lines.trim_end().to_owned()
    }

    #[test]
    fn direction_finds_a_name_that_points_up() {
        let text = "//! x\nuse crate::core::ids::Sha;\nuse crate::store::Store;\n// crate::store\n\
                    #[cfg(test)]\nmod tests {\n    use crate::sandbox::Sandbox;\n    use crate::cli::main;\n}\n";
        assert_eq!(lines_of(direction, "src/forge/mod.rs", text), "3 8");
        assert_eq!(lines_of(direction, "src/attic.rs", "//! x\n"), "1");
        assert_eq!(lines_of(direction, "src/cli/mod.rs", text), "");
        assert_eq!(lines_of(direction, "src/git.rs", "use crate::{a, b};"), "1");
    }

    #[test]
    fn imports_finds_two_rooms_and_two_supers() {
        let text = "use crate::{core, git};\nuse super::super::x;\nuse super::x;\nuse crate::git::{A, B};\n";
        assert_eq!(lines_of(imports, "src/git.rs", text), "1 2");
    }

    #[test]
    fn purity_finds_whole_words_outside_tests() {
        let text = "use tokio::fs;\nlet tokio_like = 1;\nlet strand::x;\nuse std::net::SocketAddr;\n\
                    use std::net::TcpStream;\npub async fn x() {}\n// tokio\n#[cfg(test)]\nmod tests { use tokio; }\n";
        assert_eq!(lines_of(purity, "src/core/x.rs", text), "1 5 6");
        assert_eq!(lines_of(purity, "src/git.rs", text), "");
        assert_eq!(lines_of(purity, "src/core/x/tests.rs", text), "");
    }

    #[test]
    fn environment_finds_a_read_outside_cli() {
        let text = "std::env::var(\"X\");\nenv::var_os(\"X\");\nenv::variable;\nenv!(\"X\");\n";
        assert_eq!(lines_of(environment, "src/git.rs", text), "1 2");
        assert_eq!(lines_of(environment, "src/cli/serve.rs", text), "");
    }

    #[test]
    fn head_and_length_look_at_the_whole_file() {
        assert_eq!(lines_of(head, "src/x.rs", "use x;\n"), "1");
        let long = "//! x\n".repeat(MOST_LINES + 1);
        assert_eq!(lines_of(length, "src/x.rs", &long), "401");
        let tested = format!("//! x\n#[cfg(test)]\nmod tests {{\n{long}}}\n");
        assert_eq!(lines_of(length, "src/x.rs", &tested), "");
    }

    #[test]
    fn test_code_finds_what_is_not_mod_tests_and_what_follows_it() {
        let cases = [
            ("#[cfg(test)]\nmod tests {\n    x\n}\n", ""),
            ("#[cfg(test)]\nmod tests;\n", ""),
            ("#[cfg(test)]\nfn x() {}\n", "1"),
            ("if cfg!(test) {}\n", "1"),
            ("#[cfg_attr(test, derive(X))]\n", "1"),
            ("#[cfg(any(test, unix))]\n", "1"),
            ("#[cfg(feature = \"testing\")]\n", ""),
            ("#[cfg(test)]\nmod tests {\n    x\n}\nfn y() {}\n", "1"),
            ("#[cfg(test)]\nmod tests;\nfn y() {}\n", "1"),
        ];
        for (text, expected) in cases {
            assert_eq!(lines_of(test_code, "src/x.rs", text), expected, "{text}");
        }
    }

    #[test]
    fn documentation_looks_past_attributes() {
        let cases = [
            ("pub fn x() {}\n", "1"),
            ("/// X.\npub fn x() {}\n", ""),
            (
                "/// X.\n#[derive(\n    A,\n    B,\n)]\n#[x]\npub struct X;\n",
                "",
            ),
            ("#[derive(\n    A,\n)]\npub struct X;\n", "4"),
            ("/// X.\nfn x() {}\npub async fn y() {}\n", "3"),
            ("// X.\npub const fn x() {}\n", "2"),
            ("#[doc = $doc]\npub struct $name(String);\n", ""),
            (
                "pub const X: u8 = 1;\npub mod x;\npub use x;\npub(super) fn x() {}\n",
                "",
            ),
            ("#[cfg(test)]\nmod tests {\n    pub fn x() {}\n}\n", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(
                lines_of(documentation, "src/x.rs", text),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn traits_counts_methods() {
        let wide = format!("pub trait X {{\n{}}}\n", "    async fn x();\n".repeat(15));
        assert_eq!(lines_of(traits, "src/x.rs", &wide), "1");
        assert_eq!(
            lines_of(
                traits,
                "src/x.rs",
                &wide.replacen("    async fn x();\n", "", 1)
            ),
            ""
        );
    }

    #[test]
    fn attributes_finds_what_is_switched_off() {
        let text = format!(
            "#[{}]\n    #[{}(x)]\n#[expect(x, reason = \"y\")]\n",
            "ignore", "allow"
        );
        assert_eq!(lines_of(attributes, "src/x.rs", &text), "1 2");
    }
}
