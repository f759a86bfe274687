//! Our lines beside a commit: each context's newest stands, and a line that stands already is not posted again.

use http::Method;
use serde_json::{Value, json};

use crate::core::effect::{Status, StatusState};
use crate::core::ids::{Actor, Repo, Sha};
use crate::forge::ForgeError;
use crate::forge::client::{Line, page};
use crate::forge::wire::{self, Maybe};

/// Posts a status unless ours of its context says the same already: a commit takes a thousand of a context, and a post
/// that was answered by a proxy's error may have come through.
pub(in crate::forge) async fn set(
    line: Line<'_>,
    me: &Actor,
    repo: &Repo,
    (commit, status): (&Sha, &Status),
) -> Result<(), ForgeError> {
    let dialect = line.dialect();
    let body = body(status, dialect.limits.status_chars);
    let path = format!("/repos/{}/commits/{commit}/statuses", repo.name);
    let newest_first = page::with(&path, dialect.newest_statuses);
    let there: Vec<wire::Status> = line.list_whole(&newest_first).await?;
    let context = |it: &&wire::Status| it.context.0.as_deref() == body["context"].as_str();
    if there
        .iter()
        .find(context)
        .is_some_and(|it| says(it, me, &body))
    {
        return Ok(());
    }
    let path = format!("/repos/{}/statuses/{commit}", repo.name);
    line.write::<Value>(Method::POST, &path, &body).await?;
    Ok(())
}

/// Whether a status is ours and says what we are about to say.
fn says(there: &wire::Status, me: &Actor, body: &Value) -> bool {
    let author = there.creator.0.as_ref().and_then(|it| it.id.0);
    let is = |text: &Maybe<String>, name: &str| text.0.as_deref() == body[name].as_str();
    author.is_some_and(|it| it.0 == me.id.0)
        && is(there.state(), "state")
        && is(&there.description, "description")
        && is(&there.target_url, "target_url")
}

fn body(status: &Status, most_chars: usize) -> Value {
    let state = match status.state {
        StatusState::Pending => "pending",
        StatusState::Success => "success",
        StatusState::Failure => "failure",
    };
    let mut body = json!({
        "context": status.context.as_str(),
        "state": state,
        "description": cut(&status.description, most_chars),
    });
    if let Some(url) = &status.url {
        body["target_url"] = json!(url);
    }
    body
}

fn cut(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    let kept: String = text.chars().take(chars - 1).collect();
    format!("{kept}…")
}
