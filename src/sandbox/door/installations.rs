//! What an owner does to an installation on its settings page, and what time does to its tokens: the sandbox's own, for
//! no forge's API.

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{post, put};
use jiff::Timestamp;

use crate::core::ids::RepoId;
use crate::sandbox::acts::Denied;
use crate::sandbox::door::Shared;

pub(crate) fn router() -> Router<Shared> {
    Router::new()
        .route("/{id}/expire", post(expire))
        .route("/{id}/repositories/{repo}", put(give).delete(take))
}

type Answer = (StatusCode, String);

async fn expire(State(sandbox): State<Shared>, Path(id): Path<u64>) -> Answer {
    answer(sandbox.expire(id).await)
}

async fn give(State(sandbox): State<Shared>, Path((id, repo)): Path<(u64, u64)>) -> Answer {
    let change = (RepoId(repo), true);
    answer(sandbox.change_repos(id, change, Timestamp::now()).await)
}

async fn take(State(sandbox): State<Shared>, Path((id, repo)): Path<(u64, u64)>) -> Answer {
    let change = (RepoId(repo), false);
    answer(sandbox.change_repos(id, change, Timestamp::now()).await)
}

fn answer(done: Result<(), Denied>) -> Answer {
    match done {
        Ok(()) => (StatusCode::NO_CONTENT, String::new()),
        Err(Denied::Missing(what)) => (StatusCode::NOT_FOUND, format!("{what} is not there\n")),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}
