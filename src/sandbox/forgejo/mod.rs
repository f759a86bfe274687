//! Forgejo's dialect, which is Gitea's too: its REST API and its webhooks, with their quirks.
//!
//! What a quirk is was read in the servers' own description and source, and seen on a real Gitea.

mod comments;
mod commits;
mod hooks;
mod people;
mod pulls;
mod reviews;
mod scope;
mod shape;
mod webhook;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, get, post};
use serde_json::{Value, json};

pub(crate) use crate::sandbox::forgejo::hooks::heard;
pub(crate) use crate::sandbox::forgejo::shape::Shape;
pub(crate) use crate::sandbox::forgejo::webhook::{headers, letters};

use crate::sandbox::api::{self, Refused};
use crate::sandbox::door::Shared;

/// The API's addresses, below its prefix.
pub(crate) fn router(sandbox: &Shared) -> Router<Shared> {
    let mut router = Router::new()
        .route("/version", get(commits::version))
        .route("/user", get(api::repos::myself))
        .route("/user/repos", get(api::repos::mine))
        .route("/users/{user}", get(api::repos::user))
        .route("/teams/{id}/members", get(people::team_members))
        .route("/teams/{id}/members/{user}", get(people::team_member));
    for (path, methods) in of_repo().into_iter().chain(of_talk()) {
        router = router.route(&format!("/repos/{{owner}}/{{repo}}{path}"), methods);
    }
    router.layer(from_fn_with_state(sandbox.clone(), scope::check))
}

fn of_repo() -> [(&'static str, MethodRouter<Shared>); 21] {
    let hook = get(hooks::show).patch(hooks::edit).delete(hooks::delete);
    [
        ("", get(api::repos::show)),
        ("/forks", post(api::repos::fork)),
        ("/hooks", get(hooks::list).post(hooks::add)),
        ("/hooks/{id}", hook),
        ("/hooks/{id}/tests", post(hooks::test)),
        ("/branches/{*branch}", get(commits::branch)),
        ("/git/commits/{sha}", get(commits::show)),
        ("/commits/{sha}/pull", get(commits::pull)),
        ("/commits/{sha}/statuses", get(api::statuses::list)),
        ("/commits/{sha}/status", get(api::statuses::combined)),
        (
            "/statuses/{sha}",
            get(api::statuses::list).post(commits::set_status),
        ),
        ("/collaborators", get(people::collaborators)),
        ("/collaborators/{user}", get(people::collaborator)),
        ("/collaborators/{user}/permission", get(people::permission)),
        ("/assignees", get(people::assignees)),
        ("/teams", get(people::teams)),
        ("/pulls", get(pulls::list).post(api::pulls::open)),
        (
            "/pulls/{number}",
            get(api::pulls::show).patch(pulls::revise),
        ),
        (
            "/pulls/{number}/merge",
            get(pulls::is_merged).post(pulls::merge),
        ),
        ("/issues", get(pulls::issues)),
        ("/issues/{number}", get(pulls::issue)),
    ]
}

fn of_talk() -> [(&'static str, MethodRouter<Shared>); 7] {
    let one = get(api::comments::show)
        .patch(api::comments::edit)
        .delete(api::comments::delete);
    [
        (
            "/pulls/{number}/reviews",
            get(api::reviews::list).post(reviews::give),
        ),
        ("/pulls/{number}/reviews/{id}", get(reviews::show)),
        (
            "/pulls/{number}/reviews/{id}/dismissals",
            post(reviews::dismiss),
        ),
        (
            "/issues/{number}/comments",
            get(comments::of_pull).post(api::comments::add),
        ),
        ("/issues/comments", get(comments::of_repo)),
        ("/issues/comments/{id}", one),
        (
            "/issues/comments/{id}/reactions",
            get(comments::reactions).post(api::comments::react),
        ),
    ]
}

/// A refusal in Forgejo's form.
pub(crate) fn refusal(refused: &Refused, address: &str) -> Value {
    let mut body = json!({
        "message": refused.text,
        "url": format!("{address}/api/swagger"),
    });
    if refused.status == StatusCode::NOT_FOUND {
        body["errors"] = json!([]);
    }
    body
}
