//! Terraform's `http` state backend: states with their versions, and locks.

use std::fs;
use std::path::{Path as FilePath, PathBuf};

use anyhow::Context;
use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use serde::Deserialize;

use crate::core::person::Role;
use crate::sandbox::Sandbox;
use crate::sandbox::desk::write_whole;
use crate::sandbox::door::auth::Shut;
use crate::sandbox::door::{Shared, auth};

pub(crate) fn router() -> Router<Shared> {
    Router::new().route("/{owner}/{repo}/{*name}", any(answer))
}

/// The largest state, in bytes.
const LARGEST: usize = 64 << 20;

/// The lock a write says it is made under.
#[derive(Deserialize)]
struct Held {
    #[serde(rename = "ID", default)]
    id: String,
}

/// One state's folder: the newest in `current.tfstate`, every version by its serial, the lock's holder as they sent it.
struct Drawer {
    dir: PathBuf,
}

async fn answer(
    State(sandbox): State<Shared>,
    Path((owner, repo, name)): Path<(String, String, String)>,
    Query(held): Query<Held>,
    request: Request,
) -> Response {
    let Some(place) = place(&sandbox, (&owner, &repo), request.headers()).await else {
        return auth::refuse(Shut::Unknown);
    };
    let (name, is_lock) = match name.strip_suffix("/lock") {
        Some(name) => (name, true),
        None => (name.as_str(), false),
    };
    if !is_name(name) {
        return (StatusCode::BAD_REQUEST, "this is no name of a state\n").into_response();
    }
    let drawer = Drawer {
        // A plus cannot be in a name, so two names never share a folder.
        dir: place.join(name.replace('/', "+")),
    };
    let method = request.method().clone();
    let Ok(body) = to_bytes(request.into_body(), LARGEST).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let _turn = sandbox.states.lock().await;
    let answered = match (method.as_str(), is_lock) {
        ("GET", false) => drawer.get(),
        ("POST", false) => drawer.put(&held.id, &body),
        ("DELETE", false) => drawer.delete(&held.id),
        ("LOCK" | "POST" | "PUT", true) => drawer.lock(&body),
        ("UNLOCK" | "DELETE", true) => drawer.unlock(&body),
        _ => Ok(StatusCode::METHOD_NOT_ALLOWED.into_response()),
    };
    answered.unwrap_or_else(|error| {
        let text = format!("{error:#}\n");
        (StatusCode::INTERNAL_SERVER_ERROR, text).into_response()
    })
}

/// The folder of a repository's states, for those who may write to it.
async fn place(
    sandbox: &Sandbox,
    (owner, name): (&str, &str),
    headers: &HeaderMap,
) -> Option<PathBuf> {
    let caller = auth::caller(sandbox, headers).await.ok()?;
    let document = sandbox.desk.read().await;
    let repo = document.repo_by_name(owner, name)?;
    (caller.role(repo) >= Role::Write).then(|| sandbox.dir.join("states").join(repo.id.to_string()))
}

fn is_name(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part
                .bytes()
                .all(|it| it.is_ascii_alphanumeric() || b"-_.".contains(&it))
    };
    name.len() <= 200 && name.split('/').all(is_part)
}

impl Drawer {
    fn get(&self) -> anyhow::Result<Response> {
        Ok(match read(&self.current())? {
            Some(state) => json(StatusCode::OK, state),
            None => StatusCode::NOT_FOUND.into_response(),
        })
    }

    fn put(&self, id: &str, state: &[u8]) -> anyhow::Result<Response> {
        #[derive(Deserialize)]
        struct Versioned {
            serial: u64,
        }
        if let Some(refused) = self.refused(id)? {
            return Ok(refused);
        }
        let Ok(Versioned { serial }) = serde_json::from_slice(state) else {
            return Ok((StatusCode::BAD_REQUEST, "this is no Terraform state\n").into_response());
        };
        fs::create_dir_all(&self.dir)?;
        write_whole(&self.dir.join(format!("{serial}.tfstate")), state)?;
        write_whole(&self.current(), state)?;
        Ok(StatusCode::OK.into_response())
    }

    /// Forgets the newest state; its versions stay.
    fn delete(&self, id: &str) -> anyhow::Result<Response> {
        if let Some(refused) = self.refused(id)? {
            return Ok(refused);
        }
        remove(&self.current())?;
        Ok(StatusCode::OK.into_response())
    }

    /// Takes the lock, or says who holds it. A holder who asks again, as after a lost answer, has it.
    fn lock(&self, asker: &[u8]) -> anyhow::Result<Response> {
        let Some(id) = id_of(asker) else {
            return Ok((StatusCode::BAD_REQUEST, "this is no lock\n").into_response());
        };
        match self.holder()? {
            Some(holder) if id_of(&holder).as_ref() != Some(&id) => {
                Ok(json(StatusCode::LOCKED, holder))
            }
            Some(_) => Ok(StatusCode::OK.into_response()),
            None => {
                fs::create_dir_all(&self.dir)?;
                write_whole(&self.lock_file(), asker)?;
                Ok(StatusCode::OK.into_response())
            }
        }
    }

    /// Frees the lock. An empty body is `force-unlock`, which names no holder.
    fn unlock(&self, asker: &[u8]) -> anyhow::Result<Response> {
        let Some(holder) = self.holder()? else {
            return Ok((StatusCode::CONFLICT, "the state is not locked\n").into_response());
        };
        if !asker.is_empty() && id_of(asker) != id_of(&holder) {
            return Ok(json(StatusCode::CONFLICT, holder));
        }
        remove(&self.lock_file())?;
        Ok(StatusCode::OK.into_response())
    }

    /// Why a write without the lock is refused; none when nobody holds it or the writer does.
    fn refused(&self, id: &str) -> anyhow::Result<Option<Response>> {
        let holder = self.holder()?;
        let stranger = holder.filter(|it| id_of(it).as_deref() != Some(id));
        Ok(stranger.map(|it| json(StatusCode::LOCKED, it)))
    }

    fn holder(&self) -> anyhow::Result<Option<Vec<u8>>> {
        read(&self.lock_file())
    }

    fn current(&self) -> PathBuf {
        self.dir.join("current.tfstate")
    }

    fn lock_file(&self) -> PathBuf {
        self.dir.join("lock.json")
    }
}

fn id_of(lock: &[u8]) -> Option<String> {
    let held: Held = serde_json::from_slice(lock).ok()?;
    (!held.id.is_empty()).then_some(held.id)
}

fn json(status: StatusCode, bytes: Vec<u8>) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (status, kind, bytes).into_response()
}

fn read(file: &FilePath) -> anyhow::Result<Option<Vec<u8>>> {
    match fs::read(file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}

fn remove(file: &FilePath) -> anyhow::Result<()> {
    match fs::remove_file(file) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot remove {}", file.display())),
    }
}
