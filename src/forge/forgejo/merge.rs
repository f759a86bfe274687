//! Merging: at one head, in the repository's own way, once.

use anyhow::anyhow;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::json;

use crate::core::ids::{ForgeHost, Pull, Sha};
use crate::forge::ForgeError;
use crate::forge::client::{Client, Line, pulls};
use crate::forge::wire::Maybe;

/// How a repository merges when nobody says otherwise.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Manner {
    default_merge_style: Maybe<String>,
}

/// Merges a pull request at this head; nothing when it is merged at this head already.
pub(super) async fn merge(
    client: &Client,
    (pull, head): (&Pull, &Sha),
    host: &ForgeHost,
) -> Result<(), ForgeError> {
    let line = client.about(&pull.repo);
    // Right after a push the forge checks whether it can be merged at all, and wants to be asked again.
    for pause in client.api.pauses {
        if is_done(line, (pull, head), host).await? {
            return Ok(());
        }
        tokio::time::sleep(pause).await;
    }
    if is_done(line, (pull, head), host).await? {
        return Ok(());
    }
    Err(ForgeError::Other(anyhow!(
        "the forge is not ready to merge pull request {}",
        pull.number
    )))
}

/// Tries once, after a look at whether it is still to be done.
async fn is_done(
    line: Line<'_>,
    (pull, head): (&Pull, &Sha),
    host: &ForgeHost,
) -> Result<bool, ForgeError> {
    let now = pulls::read(line, pull, host).await?;
    if !pulls::is_to_merge(&now, head)? {
        return Ok(true);
    }
    let manner: Manner = line.get(&format!("/repos/{}", pull.repo.name)).await?;
    let style = manner.default_merge_style.0;
    let body = json!({
        "Do": style.as_deref().unwrap_or("merge"),
        "head_commit_id": head,
    });
    let path = format!("{}/merge", pulls::path(pull));
    let answer = line.attempt(Method::POST, &path, &body).await?;
    let is_refused = answer.status == StatusCode::METHOD_NOT_ALLOWED;
    if is_refused && answer.body.to_lowercase().contains("try again later") {
        return Ok(false);
    }
    match answer.check(&path) {
        Ok(_) => Ok(true),
        Err(error) if is_refused => Err(ForgeError::Forbidden(error.to_string())),
        Err(error) => Err(error),
    }
}
