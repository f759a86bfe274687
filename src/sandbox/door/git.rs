//! Git over smart HTTP: who may fetch and push, and what follows a push.

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures::TryStreamExt;
use jiff::Timestamp;
use serde::Deserialize;
use tokio::io::AsyncReadExt;
use tokio_util::io::{ReaderStream, StreamReader};

use crate::core::ids::{RepoId, UserId};
use crate::core::person::Role;
use crate::git::backend::{Access, Backend, BackendRequest, BackendResponse};
use crate::sandbox::Sandbox;
use crate::sandbox::acts::Act;
use crate::sandbox::door::{Shared, auth};

pub(crate) fn router() -> Router<Shared> {
    Router::new()
        .route("/{owner}/{repo}/info/refs", get(info_refs))
        .route("/{owner}/{repo}/git-upload-pack", post(upload_pack))
        .route("/{owner}/{repo}/git-receive-pack", post(receive_pack))
}

type Place = Path<(String, String)>;

#[derive(Deserialize)]
struct Service {
    #[serde(default)]
    service: String,
}

async fn info_refs(
    State(sandbox): State<Shared>,
    Path(place): Place,
    Query(service): Query<Service>,
    request: Request,
) -> Response {
    let access = match service.service.as_str() {
        "git-receive-pack" => Access::Write,
        _ => Access::Read,
    };
    let admitted = admit(&sandbox, &place, request.headers(), access).await;
    let (repo, _) = match admitted {
        Ok(admitted) => admitted,
        Err(refused) => return *refused,
    };
    match ask(&sandbox, repo, access, "info/refs", request).await {
        Ok(answer) => stream(answer),
        Err(error) => broken(&error),
    }
}

async fn upload_pack(
    State(sandbox): State<Shared>,
    Path(place): Place,
    request: Request,
) -> Response {
    let admitted = admit(&sandbox, &place, request.headers(), Access::Read).await;
    let (repo, _) = match admitted {
        Ok(admitted) => admitted,
        Err(refused) => return *refused,
    };
    match ask(&sandbox, repo, Access::Read, "git-upload-pack", request).await {
        Ok(answer) => stream(answer),
        Err(error) => broken(&error),
    }
}

/// Takes a push, and answers once what follows from it is filed: whoever sees the answer finds it done.
async fn receive_pack(
    State(sandbox): State<Shared>,
    Path(place): Place,
    request: Request,
) -> Response {
    let admitted = admit(&sandbox, &place, request.headers(), Access::Write).await;
    let (repo, actor) = match admitted {
        Ok(admitted) => admitted,
        Err(refused) => return *refused,
    };
    match push(&sandbox, repo, actor, request).await {
        Ok(answer) => answer,
        Err(error) => broken(&error),
    }
}

async fn push(
    sandbox: &Shared,
    repo: RepoId,
    actor: UserId,
    request: Request,
) -> anyhow::Result<Response> {
    let _lock = sandbox.lock(repo).await;
    let before = sandbox.shelf.branches(repo).await?;
    let mut answer = ask(sandbox, repo, Access::Write, "git-receive-pack", request).await?;
    let mut report = Vec::new();
    answer.body.read_to_end(&mut report).await?;
    let act = Act {
        sandbox,
        actor,
        now: Timestamp::now(),
    };
    act.settle(repo, &before).await?;
    Ok((answer.status, answer.headers, report).into_response())
}

/// Finds the repository and who asks, or says why not: no token, no such repository, too small a role.
async fn admit(
    sandbox: &Sandbox,
    (owner, name): &(String, String),
    headers: &HeaderMap,
    access: Access,
) -> Result<(RepoId, UserId), Box<Response>> {
    let caller = auth::caller(sandbox, headers).await;
    let caller = caller.map_err(|why| Box::new(auth::refuse(why)))?;
    let refuse = |status, text: &'static str| Err(Box::new((status, text).into_response()));
    let document = sandbox.desk.read().await;
    let name = name.strip_suffix(".git").unwrap_or(name);
    let Some(repo) = document.repo_by_name(owner, name) else {
        return refuse(StatusCode::NOT_FOUND, "there is no such repository\n");
    };
    if !caller.has_scope("repository", access) {
        return refuse(StatusCode::FORBIDDEN, "the token may not do that\n");
    }
    match (caller.role(repo), access) {
        (Role::None, Access::Read | Access::Write) => {
            refuse(StatusCode::NOT_FOUND, "there is no such repository\n")
        }
        (Role::Read, Access::Write) => refuse(StatusCode::FORBIDDEN, "you may not push here\n"),
        (Role::Read, Access::Read) | (Role::Write | Role::Admin, Access::Read | Access::Write) => {
            Ok((repo.id, caller.user))
        }
    }
}

async fn ask(
    sandbox: &Sandbox,
    repo: RepoId,
    access: Access,
    service: &str,
    request: Request,
) -> anyhow::Result<BackendResponse> {
    let backend = Backend {
        root: sandbox.shelf.root().to_owned(),
        access,
    };
    let (parts, body) = request.into_parts();
    let text = |name: header::HeaderName| {
        let value = parts.headers.get(name)?.to_str().ok()?;
        Some(value.to_owned())
    };
    let bytes = body.into_data_stream().map_err(std::io::Error::other);
    let request = BackendRequest {
        path: format!("{repo}.git/{service}"),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        content_type: text(header::CONTENT_TYPE),
        content_encoding: text(header::CONTENT_ENCODING),
        git_protocol: text(header::HeaderName::from_static("git-protocol")),
        method: parts.method,
        body: Box::pin(StreamReader::new(bytes)),
    };
    backend.answer(request).await
}

fn stream(answer: BackendResponse) -> Response {
    let body = Body::from_stream(ReaderStream::new(answer.body));
    (answer.status, answer.headers, body).into_response()
}

fn broken(error: &anyhow::Error) -> Response {
    tracing::error!(error = format!("{error:#}"), "the sandbox cannot serve git");
    (StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}\n")).into_response()
}
