//! What changed of a repository lately, as its lists show it.

use jiff::Timestamp;

use crate::core::event::Commented;
use crate::core::ids::{CommentId, Pull, PullNumber, Repo};
use crate::core::lost::{Changes, ListedComment, ListedPull};
use crate::forge::client::{Line, pulls};
use crate::forge::{ForgeError, marker, wire};

/// Everything that changed since then.
pub(in crate::forge) async fn since(
    line: Line<'_>,
    repo: &Repo,
    since: Timestamp,
) -> Result<Changes, ForgeError> {
    Ok(Changes {
        pulls: changed_pulls(line, repo, since).await?,
        comments: changed_comments(line, repo, since).await?,
    })
}

/// Pull requests that changed since then, the newest change first.
async fn changed_pulls(
    line: Line<'_>,
    repo: &Repo,
    since: Timestamp,
) -> Result<Vec<ListedPull>, ForgeError> {
    let path = format!(
        "/repos/{}/pulls?{}",
        repo.name,
        line.dialect().changed_pulls
    );
    // Forges' times are whole seconds.
    let is_older = |it: &wire::Pull| {
        let updated = it.updated_at.0;
        updated.is_some_and(|it| it.0.as_second() < since.as_second())
    };
    let read = line.list_until(&path, is_older).await?;
    Ok(read.iter().filter_map(|it| pull(repo, it)).collect())
}

/// A pull request of the repository; none of another one that has its name by now.
fn pull(repo: &Repo, read: &wire::Pull) -> Option<ListedPull> {
    let asked = Pull {
        repo: repo.clone(),
        number: PullNumber(read.number.0?.0),
    };
    Some(ListedPull {
        details: pulls::details(read, &asked, &repo.forge).ok()?,
        updated_at: read.updated_at.0?.0,
    })
}

/// Comments on pull requests that were written or edited since then.
async fn changed_comments(
    line: Line<'_>,
    repo: &Repo,
    since: Timestamp,
) -> Result<Vec<ListedComment>, ForgeError> {
    let (name, second) = (&repo.name, since.as_second());
    let since = Timestamp::from_second(second).unwrap_or(since);
    let query = line.dialect().comments;
    let path = format!("/repos/{name}/issues/comments?{query}since={since}");
    let read: Vec<wire::Comment> = line.list(&path).await?;
    Ok(read.iter().filter_map(|it| comment(repo, it)).collect())
}

/// A comment on a pull request; none on an issue, and none that nobody can be named for.
fn comment(repo: &Repo, read: &wire::Comment) -> Option<ListedComment> {
    let url = read.html_url.0.clone()?;
    let mut actor = read.user.0.as_ref()?.actor()?;
    actor.is_bot |= read.performed_via_github_app.0.is_some();
    let comment = CommentId(read.id.0?.0);
    let (at, updated_at) = (read.created_at.0?.0, read.updated_at.0?.0);
    let body = read.body.0.clone().unwrap_or_default();
    let pull = Pull {
        repo: repo.clone(),
        number: number_of(read, &url)?,
    };
    Some(ListedComment {
        answers: marker::answers(&body),
        is_edited: updated_at != at,
        updated_at,
        said: Commented {
            pull,
            comment,
            at,
            actor,
            body,
            url,
            found_at: None,
        },
    })
}

/// The pull request a comment is on; none when it is on an issue.
fn number_of(read: &wire::Comment, url: &str) -> Option<PullNumber> {
    let address = match read.pull_request_url.0.as_deref() {
        Some(pull) if !pull.is_empty() => pull,
        _ if url.contains("/pull/") => read.issue_url.0.as_deref()?,
        _ => return None,
    };
    let (_, number) = address.rsplit_once('/')?;
    Some(PullNumber(number.parse().ok()?))
}
