//! A pull request's page.

use axum::response::Response;
use maud::{Markup, html};

use crate::sandbox::acts::Denied;
use crate::sandbox::bare::{Change, Commit};
use crate::sandbox::model::Document;
use crate::sandbox::model::pull::Pull;
use crate::sandbox::pages::frame::{page, refusal, time};
use crate::sandbox::pages::visit::Visit;
use crate::sandbox::pages::{diff, repos, talk};

/// How many commits are listed.
const LISTED: usize = 100;

/// What git knows about a pull request.
struct Content {
    commits: Vec<Commit>,
    changes: Vec<Change>,
    patch: String,
}

pub(super) async fn show(visit: Visit) -> Response {
    let document = visit.sandbox.desk.read().await;
    let found = find(&visit, &document).await;
    match found {
        Ok((pull, content)) => {
            let title = format!("{} #{}", pull.title, pull.key.number);
            page(
                &visit,
                &document,
                &title,
                view(&visit, &document, pull, &content),
            )
        }
        Err(denied) => refusal(&visit, &document, &denied),
    }
}

async fn find<'a>(visit: &Visit, document: &'a Document) -> Result<(&'a Pull, Content), Denied> {
    let key = visit.pull(document)?;
    let pull = document.pull(key);
    let pull = pull.ok_or(Denied::Missing("the pull request"))?;
    let (shelf, ends) = (&visit.sandbox.shelf, (&pull.base.sha, &pull.head.sha));
    let content = Content {
        commits: shelf.commits_between(key.repo, ends, LISTED).await?,
        changes: shelf.changes_of_pull(key.repo, ends.0, ends.1).await?,
        patch: shelf.patch_of_pull(key.repo, ends, diff::CAP).await?,
    };
    Ok((pull, content))
}

fn view(visit: &Visit, document: &Document, pull: &Pull, content: &Content) -> Markup {
    html! {
        (head(document, pull))
        (talk::timeline(document, pull))
        (talk::statuses(document, pull))
        (talk::forms(visit, pull))
        h2 { "Commits (" (pull.size.commits) ")" }
        ul.rows.card {
            @for commit in &content.commits {
                li {
                    code { (commit.sha.short()) } " "
                    (commit.message.lines().next().unwrap_or_default()) " "
                    span.faint { (commit.author.name) ", " (time(commit.committer.at)) }
                }
            }
        }
        h2 {
            "Changed files (" (pull.size.files) ") "
            span.good { "+" (pull.size.additions) } " " span.bad { "−" (pull.size.deletions) }
        }
        (diff::files(&content.changes, &content.patch))
    }
}

fn head(document: &Document, pull: &Pull) -> Markup {
    let repo = document.repo(pull.key.repo);
    let name = document.full_name(repo);
    let from = if pull.head.repo == repo.id {
        pull.head.branch.clone()
    } else {
        let fork = document.full_name(document.repo(pull.head.repo));
        format!("{fork}:{}", pull.head.branch)
    };
    html! {
        p { a href={ "/" (name) } { (name) } }
        h1 { (pull.title) " " span.faint { "#" (pull.key.number) } }
        p {
            (repos::state(pull)) " "
            code { (from) } " → " code { (pull.base.branch) } " "
            span.faint {
                "by " (document.account(pull.author).login) ", head " code { (pull.head.sha.short()) }
                @if let Some(merge) = &pull.merge {
                    ", merged by " (document.account(merge.by).login) " as "
                    code { (merge.commit.short()) } ", " (time(merge.at))
                }
            }
        }
    }
}
