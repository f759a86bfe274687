//! Our lines beside a commit: each context's newest stands, and a line that stands already is not posted again.

use http::Method;
use serde_json::{Value, json};

use crate::core::effect::{Status, StatusState};
use crate::core::ids::{Actor, Repo, Sha};
use crate::forge::ForgeError;
use crate::forge::github::client::Line;
use crate::forge::github::{LIMITS, wire};

/// Posts a status unless ours of its context says the same already: a commit takes a thousand of a context, and a post
/// that was answered by a proxy's error may have come through.
pub(super) async fn set(
    line: Line<'_>,
    me: &Actor,
    repo: &Repo,
    (commit, status): (&Sha, &Status),
) -> Result<(), ForgeError> {
    let body = body(status);
    let newest_first = format!(
        "/repos/{}/commits/{commit}/statuses?per_page=100",
        repo.name
    );
    let there: Vec<wire::Status> = line.get(&newest_first).await?;
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
    let is = |text: &wire::Maybe<String>, name: &str| text.0.as_deref() == body[name].as_str();
    author.is_some_and(|it| it.0 == me.id.0)
        && is(&there.state, "state")
        && is(&there.description, "description")
        && is(&there.target_url, "target_url")
}

fn body(status: &Status) -> Value {
    let state = match status.state {
        StatusState::Pending => "pending",
        StatusState::Success => "success",
        StatusState::Failure => "failure",
    };
    let mut body = json!({
        "context": status.context.as_str(),
        "state": state,
        "description": cut(&status.description, LIMITS.status_chars),
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
