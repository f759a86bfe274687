//! The form that opens a pull request from a branch.

use axum::extract::Query;
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;

use crate::sandbox::acts::Denied;
use crate::sandbox::model::Document;
use crate::sandbox::model::repo::Repo;
use crate::sandbox::pages::frame::{page, refusal};
use crate::sandbox::pages::visit::Visit;

/// The branch a link suggests.
#[derive(Deserialize)]
pub(super) struct Suggestion {
    #[serde(default)]
    head: String,
}

pub(super) async fn form(visit: Visit, Query(suggestion): Query<Suggestion>) -> Response {
    let document = visit.sandbox.desk.read().await;
    let content = match content(&visit, &document, &suggestion.head).await {
        Ok(content) => content,
        Err(denied) => return refusal(&visit, &document, &denied),
    };
    page(&visit, &document, "New pull request", content)
}

async fn content(visit: &Visit, document: &Document, head: &str) -> Result<Markup, Denied> {
    let repo = document.repo(visit.repo(document)?);
    let bases = visit.sandbox.shelf.branches(repo.id).await?;
    let heads = heads(visit, document, repo).await?;
    Ok(html! {
        h1 { "New pull request in " (document.full_name(repo)) }
        form.card method="post" {
            label for="head" { "from" }
            select id="head" name="head" {
                @for branch in &heads { option value=(branch) selected[branch == head] { (branch) } }
            }
            label for="base" { "into" }
            select id="base" name="base" {
                @for branch in bases.keys() {
                    option value=(branch) selected[*branch == repo.default_branch] { (branch) }
                }
            }
            label for="title" { "title" }
            input id="title" name="title" type="text" required;
            label for="body" { "description" }
            textarea id="body" name="body" {}
            @if visit.actor.is_some() {
                div.buttons { button.main { "Open the pull request" } }
            } @else {
                p { "Pick above who you act as." }
            }
        }
    })
}

/// This repository's branches by their names, then those of its forks as `owner:branch`.
async fn heads(visit: &Visit, document: &Document, repo: &Repo) -> Result<Vec<String>, Denied> {
    let own = visit.sandbox.shelf.branches(repo.id).await?;
    let mut heads: Vec<String> = own.into_keys().collect();
    for fork in document
        .repos
        .iter()
        .filter(|it| it.parent == Some(repo.id))
    {
        let owner = &document.account(fork.owner).login;
        let branches = visit.sandbox.shelf.branches(fork.id).await?;
        heads.extend(branches.keys().map(|it| format!("{owner}:{it}")));
    }
    Ok(heads)
}
