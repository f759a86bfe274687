//! What every page has around it.

use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use jiff::Timestamp;
use maud::{DOCTYPE, Markup, html};

use crate::sandbox::acts::Denied;
use crate::sandbox::model::Document;
use crate::sandbox::model::account::AccountKind;
use crate::sandbox::pages::visit::Visit;

/// What a page may load: its style and nothing else, so that text that slipped through does nothing.
const POLICY: &str = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

/// A page of the sandbox for this visit.
pub(super) fn page(visit: &Visit, document: &Document, title: &str, content: Markup) -> Response {
    let whole = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " · sandbox" }
                link rel="stylesheet" href="/style.css";
            }
            body {
                header.top {
                    nav { a href="/" { b { "sandbox" } } " " span.faint { "a small forge on this machine" } }
                    (who(visit, document))
                }
                main { (content) }
            }
        }
    };
    let policy = [(header::CONTENT_SECURITY_POLICY, POLICY)];
    (policy, Html(whole.into_string())).into_response()
}

/// Who the visitor acts as, and the form to change it.
fn who(visit: &Visit, document: &Document) -> Markup {
    let people = document.accounts.iter();
    let people = people.filter(|it| it.kind != AccountKind::Organization);
    html! {
        form method="post" action="/login" {
            input type="hidden" name="back" value=(visit.path);
            label for="login" { "act as" }
            select id="login" name="login" {
                option value="" { "nobody" }
                @for account in people {
                    option value=(account.login) selected[visit.actor == Some(account.id)] {
                        (account.login)
                    }
                }
            }
            button { "switch" }
        }
    }
}

/// A page that says why something is not done or not there.
pub(super) fn refusal(visit: &Visit, document: &Document, denied: &Denied) -> Response {
    let status = match denied {
        Denied::Missing(_) => StatusCode::NOT_FOUND,
        Denied::Forbidden(_) => StatusCode::FORBIDDEN,
        Denied::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
        Denied::Stale | Denied::NotMergeable(_) => StatusCode::CONFLICT,
        Denied::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let content = html! {
        h1 { "That was not done" }
        p { (format!("{denied:#}")) }
        p { a href=(visit.path) { "Back" } " · " a href="/" { "All repositories" } }
    };
    (status, page(visit, document, "not done", content)).into_response()
}

/// A moment, for people.
pub(super) fn time(at: Timestamp) -> Markup {
    html! {
        time datetime=(at.strftime("%Y-%m-%dT%H:%M:%SZ")) { (at.strftime("%Y-%m-%d %H:%M:%S UTC")) }
    }
}
