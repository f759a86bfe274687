//! Git's own client against the backend, over HTTP.

use std::path::Path;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::TryStreamExt;
use tokio::net::TcpListener;
use tokio_util::io::{ReaderStream, StreamReader};

use super::{Access, Backend, BackendRequest, is_served};
use crate::process::Program;

/// Serves a folder and answers its address.
async fn serve(root: &Path, access: Access) -> String {
    let backend = Backend {
        root: root.to_owned(),
        access,
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let app = Router::new().fallback(answer).with_state(backend);
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

async fn answer(State(backend): State<Backend>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let text = |name| Some(parts.headers.get(name)?.to_str().ok()?.to_owned());
    let bytes = body.into_data_stream().map_err(std::io::Error::other);
    let request = BackendRequest {
        path: parts.uri.path().trim_start_matches('/').to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        content_type: text(header::CONTENT_TYPE),
        content_encoding: text(header::CONTENT_ENCODING),
        git_protocol: text(header::HeaderName::from_static("git-protocol")),
        method: parts.method,
        body: Box::pin(StreamReader::new(bytes)),
    };
    let answer = backend.answer(request).await.unwrap();
    let body = Body::from_stream(ReaderStream::new(answer.body));
    (answer.status, answer.headers, body).into_response()
}

async fn git(dir: &Path, args: &[&str]) -> (Option<i32>, String) {
    let ran = Program::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b"])
        .args(args)
        .dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .run()
        .await
        .unwrap();
    let out = String::from_utf8_lossy(&ran.stdout).trim().to_owned();
    (ran.code(), out + &ran.complaint())
}

/// A folder with `1.git` and a checkout `work` with two commits that are not pushed yet; the older one's id.
async fn repository(dir: &Path) -> String {
    git(dir, &["init", "--quiet", "--bare", "1.git"]).await;
    git(dir, &["init", "--quiet", "--initial-branch=main", "work"]).await;
    let work = dir.join("work");
    git(&work, &["commit", "--quiet", "--allow-empty", "-m", "one"]).await;
    let (_, older) = git(&work, &["rev-parse", "HEAD"]).await;
    git(&work, &["commit", "--quiet", "--allow-empty", "-m", "two"]).await;
    older
}

#[tokio::test]
async fn what_was_pushed_can_be_fetched_shallow_by_a_bare_commit_id() {
    let dir = tempfile::tempdir().unwrap();
    let older = repository(dir.path()).await;
    let work = dir.path().join("work");
    let writable = serve(dir.path(), Access::Write).await;
    let pushed = git(&work, &["push", &format!("{writable}/1.git"), "main"]).await;
    assert_eq!(pushed.0, Some(0), "{}", pushed.1);
    let readable = serve(dir.path(), Access::Read).await;
    git(dir.path(), &["init", "--quiet", "copy"]).await;
    let address = format!("{readable}/1.git");
    let fetch = ["fetch", "--depth=1", &address, &older];
    let fetched = git(&dir.path().join("copy"), &fetch).await;
    assert_eq!(fetched.0, Some(0), "{}", fetched.1);
}

#[tokio::test]
async fn a_backend_to_read_from_takes_no_push() {
    let dir = tempfile::tempdir().unwrap();
    repository(dir.path()).await;
    let readable = serve(dir.path(), Access::Read).await;
    let address = format!("{readable}/1.git");
    let (code, text) = git(&dir.path().join("work"), &["push", &address, "main"]).await;
    assert_eq!(code, Some(128), "{text}");
    assert!(text.contains("403"), "{text}");
}

#[test]
fn only_files_and_services_of_a_repository_are_served() {
    for good in [
        "1.git/info/refs",
        "acme/infra.git/git-upload-pack",
        "a.b.git/HEAD",
        "1.git/objects/info/packs",
    ] {
        assert!(is_served(good), "{good}");
    }
    for bad in [
        "",
        "1.git",
        "1.git/config",
        "1/info/refs",
        "../1.git/info/refs",
        "1.git/objects/../config",
        "1.git/objects//x",
        "/1.git/HEAD",
        "1.git/info/refs/../../../x",
        "1.git/objects/%2e%2e/config",
    ] {
        assert!(!is_served(bad), "{bad}");
    }
}
