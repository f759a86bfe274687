//! GitHub's dialect: its REST API as GitHub Enterprise serves it, and its webhooks.

mod apps;
mod ask;
mod comments;
mod commits;
mod log;
mod pulls;
mod repos;
mod reviews;
mod shape;
mod statuses;
mod webhook;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, get, post, put};

pub(crate) use crate::sandbox::github::log::LARGEST;
pub(crate) use crate::sandbox::github::webhook::{headers, letter};

use crate::sandbox::door::Shared;

/// Where the API is, below the sandbox's address.
pub(crate) const PREFIX: &str = "/api/v3";

/// The API's addresses, below [`PREFIX`].
pub(crate) fn router(sandbox: &Shared) -> Router<Shared> {
    let mut router = Router::new()
        .route("/user", get(repos::myself))
        .route("/user/repos", get(repos::mine))
        .route("/users/{user}", get(repos::user));
    for (path, methods) in of_app() {
        router = router.route(path, methods);
    }
    for (path, methods) in of_repo().into_iter().chain(of_talk()) {
        router = router.route(&format!("/repos/{{owner}}/{{repo}}{path}"), methods);
    }
    router
        .fallback(ask::nothing_here)
        .layer(from_fn_with_state(sandbox.clone(), log::log))
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
        ("", get(repos::show)),
        ("/forks", post(repos::fork)),
        ("/hooks", get(repos::hooks).post(repos::add_hook)),
        ("/branches/{*branch}", get(commits::branch)),
        ("/collaborators/{user}/permission", get(repos::permission)),
        ("/commits/{sha}", get(commits::show)),
        ("/commits/{sha}/pulls", get(commits::pulls)),
        ("/commits/{sha}/statuses", get(statuses::list)),
        ("/commits/{sha}/status", get(statuses::combined)),
        ("/statuses/{sha}", post(statuses::set)),
        ("/pulls", get(pulls::list).post(pulls::open)),
        ("/pulls/{number}", get(pulls::show).patch(pulls::revise)),
        ("/pulls/{number}/merge", put(pulls::merge)),
    ]
}

fn of_talk() -> [(&'static str, MethodRouter<Shared>); 6] {
    let one = get(comments::show)
        .patch(comments::edit)
        .delete(comments::delete);
    [
        (
            "/pulls/{number}/reviews",
            get(reviews::list).post(reviews::give),
        ),
        (
            "/pulls/{number}/reviews/{id}/dismissals",
            put(reviews::dismiss),
        ),
        (
            "/issues/{number}/comments",
            get(comments::of_pull).post(comments::add),
        ),
        ("/issues/comments", get(comments::of_repo)),
        ("/issues/comments/{id}", one),
        (
            "/issues/comments/{id}/reactions",
            get(comments::reactions).post(comments::react),
        ),
    ]
}
