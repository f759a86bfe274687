//! GitHub's dialect: its REST API as GitHub Enterprise serves it, and its webhooks.

mod apps;
mod comments;
mod commits;
mod pulls;
mod repos;
mod reviews;
mod shape;
mod statuses;
mod webhook;

use axum::Router;
use axum::routing::{MethodRouter, get, post, put};

use serde_json::{Value, json};

pub(crate) use crate::sandbox::github::shape::Shape;
pub(crate) use crate::sandbox::github::webhook::{headers, letter};

use crate::sandbox::api::{self, Kind, Refused};
use crate::sandbox::door::Shared;

/// The API's addresses, below its prefix.
pub(crate) fn router() -> Router<Shared> {
    let mut router = Router::new()
        .route("/user", get(repos::myself))
        .route("/user/repos", get(api::repos::mine))
        .route("/users/{user}", get(api::repos::user));
    for (path, methods) in of_app() {
        router = router.route(path, methods);
    }
    for (path, methods) in of_repo().into_iter().chain(of_talk()) {
        router = router.route(&format!("/repos/{{owner}}/{{repo}}{path}"), methods);
    }
    router
}

/// A refusal in GitHub's form.
pub(crate) fn refusal(refused: &Refused) -> Value {
    let text = &refused.text;
    let message = match refused.kind {
        Kind::Plain => text.clone(),
        Kind::Invalid => format!("Validation Failed: {text}"),
        Kind::Unprocessable => "Unprocessable Entity".to_owned(),
    };
    let mut body = json!({
        "message": message,
        "documentation_url": "https://docs.github.com/rest",
        "status": refused.status.as_str(),
    });
    match refused.kind {
        Kind::Plain => {}
        Kind::Invalid => body["errors"] = json!([{ "code": "custom", "message": text }]),
        Kind::Unprocessable => body["errors"] = json!([text]),
    }
    body
}

fn of_app() -> [(&'static str, MethodRouter<Shared>); 7] {
    [
        ("/app", get(apps::myself)),
        ("/app/hook/config", get(apps::hook_config)),
        ("/app/installations", get(apps::installations)),
        (
            "/app/installations/{id}",
            get(apps::installation).delete(apps::uninstall),
        ),
        (
            "/app/installations/{id}/access_tokens",
            post(apps::make_token),
        ),
        (
            "/app/installations/{id}/suspended",
            put(apps::suspend).delete(apps::unsuspend),
        ),
        ("/repos/{owner}/{repo}/installation", get(apps::of_repo)),
    ]
}

fn of_repo() -> [(&'static str, MethodRouter<Shared>); 13] {
    [
        ("", get(api::repos::show)),
        ("/forks", post(api::repos::fork)),
        ("/hooks", get(repos::hooks).post(repos::add_hook)),
        ("/branches/{*branch}", get(commits::branch)),
        ("/collaborators/{user}/permission", get(repos::permission)),
        ("/commits/{sha}", get(commits::show)),
        ("/commits/{sha}/pulls", get(commits::pulls)),
        ("/commits/{sha}/statuses", get(api::statuses::list)),
        ("/commits/{sha}/status", get(api::statuses::combined)),
        ("/statuses/{sha}", post(statuses::set)),
        ("/pulls", get(pulls::list).post(api::pulls::open)),
        (
            "/pulls/{number}",
            get(api::pulls::show).patch(pulls::revise),
        ),
        ("/pulls/{number}/merge", put(pulls::merge)),
    ]
}

fn of_talk() -> [(&'static str, MethodRouter<Shared>); 6] {
    let one = get(api::comments::show)
        .patch(api::comments::edit)
        .delete(api::comments::delete);
    [
        (
            "/pulls/{number}/reviews",
            get(api::reviews::list).post(reviews::give),
        ),
        (
            "/pulls/{number}/reviews/{id}/dismissals",
            put(reviews::dismiss),
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
