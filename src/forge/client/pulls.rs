//! Pull requests as GitHub and those that speak like it tell them.

use crate::core::ids::{ForgeHost, Pull, PullNumber, Repo, Sha};
use crate::core::rollout::pull::{PullDetails, PullState};
use crate::forge::ForgeError;
use crate::forge::client::Line;
use crate::forge::wire::{self, incomplete};

/// Where a pull request is.
pub(in crate::forge) fn path(pull: &Pull) -> String {
    format!("/repos/{}/pulls/{}", pull.repo.name, pull.number)
}

/// Reads a pull request.
pub(in crate::forge) async fn read(
    line: Line<'_>,
    pull: &Pull,
    host: &ForgeHost,
) -> Result<PullDetails, ForgeError> {
    let read: wire::Pull = line.get(&path(pull)).await?;
    details(&read, pull, host)
}

/// Whether a pull request, just read, is still to be merged at this head; refused when its head is another.
pub(in crate::forge) fn is_to_merge(now: &PullDetails, head: &Sha) -> Result<bool, ForgeError> {
    if now.head != *head {
        let number = now.pull.number;
        let why = format!("the head of pull request {number} is {} by now", now.head);
        return Err(ForgeError::Forbidden(why));
    }
    match now.state {
        PullState::Merged { .. } => Ok(false),
        PullState::Open | PullState::Closed => Ok(true),
    }
}

/// The numbers of those pull requests that are the repository's own: a commit is listed with those of forks too.
pub(in crate::forge) fn numbers_in(repo: &Repo, pulls: &[wire::Pull]) -> Vec<PullNumber> {
    let own = pulls.iter().filter(|pull| {
        let base = pull.base.0.as_ref().and_then(|it| it.repo.0.as_ref()?.id());
        base == Some(repo.id)
    });
    own.filter_map(|it| Some(PullNumber(it.number.0?.0)))
        .collect()
}

/// A pull request in our words; not found when the name it was asked by is another repository's by now.
pub(super) fn details(
    read: &wire::Pull,
    asked: &Pull,
    host: &ForgeHost,
) -> Result<PullDetails, ForgeError> {
    let base = read.base.0.as_ref();
    let repo = base.and_then(|it| it.repo.0.as_ref()?.repo(host));
    if let Some(repo) = &repo
        && repo.id != asked.repo.id
    {
        let what = format!(
            "pull request {} of repository {}",
            asked.number, asked.repo.id
        );
        return Err(ForgeError::NotFound(what));
    }
    known(read, asked.number, repo).ok_or_else(|| incomplete(&path(asked)))
}

fn known(read: &wire::Pull, number: PullNumber, repo: Option<Repo>) -> Option<PullDetails> {
    let head = read.head.0.as_ref()?;
    Some(PullDetails {
        pull: Pull {
            repo: repo?,
            number,
        },
        title: read.title.0.clone().unwrap_or_default(),
        url: read.html_url.0.clone().unwrap_or_default(),
        author: read
            .user
            .0
            .as_ref()
            .and_then(wire::User::actor)
            .unwrap_or_else(wire::ghost),
        head: head.sha.0.clone()?,
        head_repo: head.repo.0.as_ref().and_then(wire::Repository::id),
        target: read.base.0.as_ref()?.r#ref.0.clone()?,
        is_draft: read.draft.0.unwrap_or_default(),
        state: state(read)?,
    })
}

fn state(read: &wire::Pull) -> Option<PullState> {
    // Lists of some forges tell only when it was merged.
    if read.merged.0 == Some(true) || read.merged_at.0.is_some() {
        let commit = read.merge_commit_sha.0.clone();
        return Some(PullState::Merged { commit });
    }
    match read.state.0.as_deref()? {
        "open" => Some(PullState::Open),
        "closed" => Some(PullState::Closed),
        _ => None,
    }
}
