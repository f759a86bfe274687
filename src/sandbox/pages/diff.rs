//! Changed files and what changed in them.

use maud::{Markup, html};

use crate::sandbox::bare::{Change, ChangeKind};

/// How many bytes of a diff are shown.
pub(super) const CAP: usize = 512 << 10;

/// Each changed file with its part of a diff, folded when it is long.
pub(super) fn files(changes: &[Change], patch: &str) -> Markup {
    let parts: Vec<&str> = parts(patch).collect();
    html! {
        @for (place, change) in changes.iter().enumerate() {
            div.card {
                @let part = parts.get(place).copied();
                details.file open[part.is_some_and(|it| it.lines().count() < 200)] {
                    summary {
                        code { (change.path) } " "
                        span.faint { (kind(change.kind)) } " "
                        span.good { "+" (change.additions) } " "
                        span.bad { "−" (change.deletions) }
                    }
                    @match part {
                        Some(part) => pre.diff { @for line in shown(part) { (row(line)) } },
                        None => div.text.faint { "The diff is too long to be shown." },
                    }
                }
            }
        }
    }
}

/// A diff, file by file.
fn parts(patch: &str) -> impl Iterator<Item = &str> {
    let mut starts: Vec<usize> = patch
        .match_indices("\ndiff --git ")
        .map(|(at, _)| at + 1)
        .collect();
    if patch.starts_with("diff --git ") {
        starts.insert(0, 0);
    }
    let ends = starts.clone().into_iter().skip(1).chain([patch.len()]);
    starts
        .into_iter()
        .zip(ends)
        .map(|(start, end)| &patch[start..end])
}

/// The lines below a file's head: from its first place on, or all of what git says about a file it does not show.
fn shown(part: &str) -> impl Iterator<Item = &str> {
    let has_places = part.lines().any(|it| it.starts_with("@@"));
    part.lines()
        .skip_while(move |it| has_places && !it.starts_with("@@"))
        .skip(usize::from(!has_places))
}

fn row(line: &str) -> Markup {
    let class = match line.bytes().next() {
        Some(b'+') => "added",
        Some(b'-') => "removed",
        Some(b'@') => "place",
        _ => "",
    };
    html! { span class=(class) { (line) } }
}

fn kind(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "new",
        ChangeKind::Removed => "deleted",
        ChangeKind::Modified => "changed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_holds_is_text() {
        let change = Change {
            path: "<b>.tf".to_owned(),
            kind: ChangeKind::Added,
            blob: String::new(),
            additions: 1,
            deletions: 0,
        };
        let patch = "diff --git a/x b/x\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+<script>\n";
        let html = files(&[change], patch).0;
        assert!(
            html.contains("<span class=\"added\">+&lt;script&gt;</span>"),
            "{html}"
        );
        assert!(
            html.contains("&lt;b&gt;.tf") && !html.contains("/dev/null"),
            "{html}"
        );
    }

    #[test]
    fn a_diff_falls_apart_between_files_only() {
        let patch = "diff --git a/x b/x\n@@ -1 +1 @@\n+diff --git a b\ndiff --git a/y b/y\n@@ -1 +1 @@\n-y\n";
        let parts: Vec<&str> = parts(patch).collect();
        assert_eq!(parts.len(), 2);
        assert!(parts[1].starts_with("diff --git a/y b/y"));
    }
}
