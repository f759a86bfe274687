//! The list of repositories, and a repository's pull requests, branches and people.

use std::collections::BTreeMap;

use axum::response::Response;
use maud::{Markup, html};

use crate::core::ids::Sha;
use crate::core::person::Role;
use crate::sandbox::acts::Denied;
use crate::sandbox::model::Document;
use crate::sandbox::model::account::AccountKind;
use crate::sandbox::model::pull::Pull;
use crate::sandbox::model::repo::Repo;
use crate::sandbox::pages::frame::{page, refusal, time};
use crate::sandbox::pages::visit::Visit;

pub(super) async fn all(visit: Visit) -> Response {
    let document = visit.sandbox.desk.read().await;
    let content = html! {
        h1 { "Repositories" }
        ul.rows.card {
            @for repo in &document.repos {
                @let open = document.open_pulls().filter(|it| it.key.repo == repo.id).count();
                li {
                    a href={ "/" (document.full_name(repo)) } { b { (document.full_name(repo)) } } " "
                    span.faint {
                        (open) " open · " (if repo.is_public { "public" } else { "private" })
                        @if let Some(parent) = repo.parent {
                            " · fork of " (document.full_name(document.repo(parent)))
                        }
                    }
                }
            }
            @if document.repos.is_empty() {
                li.faint { "None yet: start the sandbox of a new folder with --seed." }
            }
        }
        p.faint { "What was sent to hooks: " a href="/sandbox/deliveries" { "deliveries" } "." }
    };
    page(&visit, &document, "Repositories", content)
}

pub(super) async fn one(visit: Visit) -> Response {
    let document = visit.sandbox.desk.read().await;
    let found = find(&visit, &document).await;
    match found {
        Ok((repo, branches)) => {
            let name = document.full_name(repo);
            page(
                &visit,
                &document,
                &name,
                content(&visit, &document, repo, &branches),
            )
        }
        Err(denied) => refusal(&visit, &document, &denied),
    }
}

async fn find<'a>(
    visit: &Visit,
    document: &'a Document,
) -> Result<(&'a Repo, BTreeMap<String, Sha>), Denied> {
    let repo = document.repo(visit.repo(document)?);
    let branches = visit.sandbox.shelf.branches(repo.id).await?;
    Ok((repo, branches))
}

fn content(
    visit: &Visit,
    document: &Document,
    repo: &Repo,
    branches: &BTreeMap<String, Sha>,
) -> Markup {
    let name = document.full_name(repo);
    let (open, closed): (Vec<&Pull>, Vec<&Pull>) =
        document.pulls_of(repo.id).partition(|it| it.is_open());
    html! {
        h1 { (name) }
        p.faint {
            "git clone " code { (visit.sandbox.address) "/" (name) ".git" } " (the password is your token)"
        }
        h2 { "Open pull requests" }
        (pulls(document, &name, &open))
        @if !closed.is_empty() {
            h2 { "Closed pull requests" }
            (pulls(document, &name, &closed))
        }
        h2 { "Branches" }
        ul.rows.card {
            @for (branch, tip) in branches {
                li {
                    code { (branch) } " " span.faint { (tip.short()) } " "
                    @if *branch == repo.default_branch {
                        span.faint { "default" }
                    } @else {
                        a href={ "/" (name) "/new?head=" (encoded(branch)) } { "open a pull request" }
                    }
                }
            }
            @if branches.is_empty() { li.faint { "None yet: push one." } }
        }
        h2 { "People" }
        (people(document, repo))
    }
}

/// A branch's name inside an address.
pub(super) fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

fn pulls(document: &Document, name: &str, pulls: &[&Pull]) -> Markup {
    html! {
        ul.rows.card {
            @for pull in pulls.iter().rev() {
                li {
                    (state(pull)) " "
                    a href={ "/" (name) "/pull/" (pull.key.number) } { b { (pull.title) } } " "
                    span.faint {
                        "#" (pull.key.number) " by " (document.account(pull.author).login) ", "
                        (time(pull.updated_at))
                    }
                }
            }
            @if pulls.is_empty() { li.faint { "None." } }
        }
    }
}

/// A pull request's state, as a badge.
pub(super) fn state(pull: &Pull) -> Markup {
    html! {
        @if pull.is_open() { span.badge.good { "open" } }
        @else if pull.merge.is_some() { span.badge.done { "merged" } }
        @else { span.badge.bad { "closed" } }
    }
}

fn people(document: &Document, repo: &Repo) -> Markup {
    let people = document.accounts.iter();
    let people = people.filter(|it| it.kind != AccountKind::Organization);
    let roles = people.map(|it| (it, repo.role(it.id)));
    html! {
        ul.rows.card {
            @for (account, role) in roles.filter(|(_, role)| *role > Role::None) {
                li { (account.login) " " span.faint { (role_name(role)) } }
            }
        }
    }
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::None => "nothing",
        Role::Read => "reads",
        Role::Write => "writes",
        Role::Admin => "administers",
    }
}
