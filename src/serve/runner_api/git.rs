//! A job's git remote: its own repository's mirror, to fetch from and nothing else.

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::TryStreamExt;
use tokio_util::io::{ReaderStream, StreamReader};

use crate::git::Mirror;
use crate::git::backend::{Access, Backend, BackendRequest};
use crate::serve::Server;
use crate::serve::runner_api::caller::{Current, Denied};

/// Answers git for the repository of the job that asks; `repo.git` is whichever that is.
pub(super) async fn serve(
    State(server): State<Server>,
    Current(job): Current,
    Path(path): Path<String>,
    request: Request,
) -> Result<Response, Denied> {
    let Some(rest) = path.strip_prefix("repo.git/") else {
        return Ok(StatusCode::NOT_FOUND.into_response());
    };
    let folder = Mirror::folder(&server.app.mirrors, &job.repo);
    let name = folder
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let root = folder.parent().unwrap_or(&folder).to_owned();
    let (parts, body) = request.into_parts();
    let text = |name: HeaderName| {
        parts
            .headers
            .get(name)
            .and_then(|it| it.to_str().ok())
            .map(str::to_owned)
    };
    let asked = BackendRequest {
        method: parts.method.clone(),
        path: format!("{name}/{rest}"),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        content_type: text(header::CONTENT_TYPE),
        content_encoding: text(header::CONTENT_ENCODING),
        git_protocol: text(HeaderName::from_static("git-protocol")),
        body: Box::pin(StreamReader::new(
            body.into_data_stream().map_err(std::io::Error::other),
        )),
    };
    let answer = Backend {
        root,
        access: Access::Read,
    }
    .answer(asked)
    .await?;
    let body = Body::from_stream(ReaderStream::new(answer.body));
    Ok((answer.status, answer.headers, body).into_response())
}
