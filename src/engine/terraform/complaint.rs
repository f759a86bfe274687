//! What Terraform complains about: its errors read from the text it prints, and said in a sentence.
//!
//! Every failure is exit code 1, so only the text tells a held lock from a typo. Only the first line of each error,
//! its place and its resource are taken: what follows may repeat a provisioner's output, secrets and all.

use crate::core::ids::Root;

/// A state lock somebody else holds.
const LOCKED: &str = "Error acquiring the state lock";
/// An upstream whose state was never written.
const NO_STATE: &str = "Unable to find remote state";

/// One error, as it stands in the tool's text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Complaint {
    summary: String,
    /// `file:line`, the file by its path in the repository.
    place: Option<String>,
    /// The resource it is about.
    address: Option<String>,
    text: String,
}

impl Complaint {
    /// All errors in a text, in order.
    pub(super) fn all(text: &str, root: &Root) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        let mut is_inside = false;
        for line in text.lines().map(unframed) {
            if let Some(summary) = line.strip_prefix("Error: ") {
                is_inside = true;
                found.push(Self {
                    summary: summary.trim().to_owned(),
                    ..Self::default()
                });
            } else if line.starts_with("Warning: ") {
                is_inside = false;
            } else if let Some(last) = found.last_mut().filter(|_| is_inside) {
                last.read(line, root);
            }
        }
        found
    }

    /// Whether it says that an upstream has no state yet.
    pub(super) fn is_about_missing_state(&self) -> bool {
        self.summary == NO_STATE
    }

    /// The error as a clause that can end a sentence.
    pub(super) fn clause(&self) -> String {
        if self.summary == LOCKED {
            return format!("the state is locked{}", holder(&self.text));
        }
        let place: Vec<&str> = [&self.place, &self.address]
            .into_iter()
            .filter_map(|it| it.as_deref())
            .collect();
        let summary = self.summary.trim_end_matches('.');
        if place.is_empty() {
            summary.to_owned()
        } else {
            format!("{summary} ({})", place.join(", "))
        }
    }

    fn read(&mut self, line: &str, root: &Root) {
        let trimmed = line.trim();
        if let Some(place) = trimmed.strip_prefix("on ").and_then(|it| place(it, root)) {
            self.place.get_or_insert(place);
        } else if let Some(address) = trimmed.strip_prefix("with ")
            && line.starts_with("  ")
        {
            let address = address.trim_end_matches(',').to_owned();
            self.address.get_or_insert(address);
        }
        self.text.push_str(line);
        self.text.push('\n');
    }
}

/// A line without the frame that Terraform draws where it thinks it may.
fn unframed(line: &str) -> &str {
    line.strip_prefix("│ ")
        .or_else(|| line.strip_prefix("│"))
        .unwrap_or(line)
}

/// `main.tf line 12, in …` as `network/main.tf:12`.
fn place(text: &str, root: &Root) -> Option<String> {
    let (file, rest) = text.split_once(" line ")?;
    let line: String = rest.chars().take_while(char::is_ascii_digit).collect();
    (!line.is_empty()).then(|| format!("{}:{line}", inside(root, file)))
}

/// A file as the root names it, by its path in the repository; as it is when it is not in there.
fn inside(root: &Root, file: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let base = root.as_str().split('/').filter(|it| *it != ".");
    for part in base.chain(file.split('/')) {
        match part {
            "." => {}
            ".." if parts.pop().is_none() => return file.to_owned(),
            ".." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Who holds a lock. The `http` backend prints the asker's own lock and names the holder in its message, which may
/// be wrapped.
fn holder(text: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((_, id)) = flat.split_once("already locked: ID=") {
        let id = id.split(' ').next().unwrap_or_default();
        return format!(" by another run (lock {id})");
    }
    let field = |name: &str| {
        let value = text
            .lines()
            .find_map(|it| it.trim().strip_prefix(name))
            .map(str::trim);
        value.filter(|it| !it.is_empty())
    };
    let since = field("Created:").and_then(|it| it.split('.').next());
    [
        field("Who:").map(|it| format!(" by {it}")),
        since.map(|it| format!(" since {it} UTC")),
        field("ID:").map(|it| format!(" (lock {it})")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clauses(text: &str) -> Vec<String> {
        let root = Root::try_from("envs/app").unwrap();
        let found = Complaint::all(text, &root);
        found.iter().map(Complaint::clause).collect()
    }

    #[test]
    fn an_error_is_named_with_its_place_in_the_repository() {
        let text = "\nError: Unsupported attribute\n\n  with terraform_data.x,\n  on main.tf line 12, in resource \
            \"terraform_data\" \"x\":\n  12:   input = local.a.b\n\nThis object has none.\n";
        assert_eq!(
            clauses(text),
            ["Unsupported attribute (envs/app/main.tf:12, terraform_data.x)"]
        );
    }

    #[test]
    fn a_framed_error_of_a_shared_module_is_named_by_the_modules_file() {
        let text = "╷\n│ Warning: Old\n│ \n│   on old.tf line 1:\n╵\n╷\n│ Error: Bad.\n│ \n│   on \
            ../../modules/net/main.tf line 3, in locals:\n╵\n";
        assert_eq!(clauses(text), ["Bad (modules/net/main.tf:3)"]);
    }

    #[test]
    fn all_errors_are_found_and_warnings_are_none() {
        let text = "Error: One\n\nWarning: Two\n\n  on main.tf line 1:\n\nError: Three\n";
        assert_eq!(clauses(text), ["One", "Three"]);
    }

    #[test]
    fn a_locked_state_is_said_with_its_holder() {
        let text = "Error: Error acquiring the state lock\n\nError message: resource temporarily unavailable\nLock \
            Info:\n  ID:        68cf\n  Path:      ../a.tfstate\n  Operation: OperationTypeApply\n  Who:       \
            ada@laptop\n  Version:   1.11.4\n  Created:   2026-11-30 22:29:37.258034736 +0000 UTC\n  Info:      \n";
        assert_eq!(
            clauses(text),
            ["the state is locked by ada@laptop since 2026-11-30 22:29:37 UTC (lock 68cf)"]
        );
    }

    #[test]
    fn a_lock_over_http_is_said_with_the_holders_id_and_not_our_own() {
        let text = "Error: Error acquiring the state lock\n\nError message: HTTP remote state already\nlocked: \
            ID=their-id\nLock Info:\n  ID:        our-id\n  Who:       us@here\n";
        assert_eq!(
            clauses(text),
            ["the state is locked by another run (lock their-id)"]
        );
    }
}
