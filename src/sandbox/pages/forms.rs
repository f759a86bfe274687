//! What forms do. Each ends in a redirect, so that going back or reloading does nothing twice.

use axum::Form;
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use crate::core::ids::Sha;
use crate::core::person::Verdict;
use crate::sandbox::acts::{Denied, MergeMethod, Merging, NewPull, NewReview, Revision, find_head};
use crate::sandbox::model::pull::{PullKey, PullState};
use crate::sandbox::pages::frame::refusal;
use crate::sandbox::pages::visit::{COOKIE, Posted, Visit};

/// Whom to act as, and where to go on.
#[derive(Deserialize)]
pub(super) struct Login {
    login: String,
    back: String,
}

pub(super) async fn login(Posted(visit): Posted, Form(form): Form<Login>) -> Response {
    let document = visit.sandbox.desk.read().await;
    let login = document.account_by_login(&form.login);
    let login = login.map_or("", |it| it.login.as_str());
    let cookie = format!("{COOKIE}={login}; Path=/; HttpOnly; SameSite=Strict");
    let is_here = form.back.starts_with('/') && !form.back.starts_with("//");
    let back = if is_here { form.back.as_str() } else { "/" };
    ([(header::SET_COOKIE, cookie)], Redirect::to(back)).into_response()
}

/// A pull request to be opened.
#[derive(Deserialize)]
pub(super) struct Opening {
    head: String,
    base: String,
    title: String,
    body: String,
}

pub(super) async fn open(Posted(visit): Posted, Form(form): Form<Opening>) -> Response {
    match open_pull(&visit, form).await {
        Ok(address) => Redirect::to(&address).into_response(),
        Err(denied) => refuse(&visit, &denied).await,
    }
}

async fn open_pull(visit: &Visit, form: Opening) -> Result<String, Denied> {
    let act = visit.act()?;
    let (repo, name, (head_repo, head)) = {
        let document = visit.sandbox.desk.read().await;
        let repo = visit.repo(&document)?;
        let name = document.full_name(document.repo(repo));
        (repo, name, find_head(&document, repo, &form.head)?)
    };
    let new = NewPull {
        repo,
        title: form.title,
        body: Some(lines(&form.body)).filter(|it| !it.is_empty()),
        base: form.base,
        head_repo,
        head,
    };
    let key = act.open(&new).await?;
    Ok(format!("/{name}/pull/{}", key.number))
}

/// What is to be done with a pull request.
#[derive(Deserialize)]
pub(super) struct Doing {
    act: Deed,
    body: String,
    /// The head that the page showed: what is approved or merged is what was seen.
    head: Sha,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Deed {
    Comment,
    Approve,
    RequestChanges,
    Merge,
    Squash,
    Close,
    Reopen,
}

pub(super) async fn act(Posted(visit): Posted, Form(form): Form<Doing>) -> Response {
    match carry_out(&visit, form).await {
        Ok(()) => Redirect::to(&visit.path).into_response(),
        Err(denied) => refuse(&visit, &denied).await,
    }
}

async fn carry_out(visit: &Visit, form: Doing) -> Result<(), Denied> {
    let key = visit.pull(&*visit.sandbox.desk.read().await)?;
    let act = visit.act()?;
    let body = lines(&form.body);
    let review = |verdict| NewReview {
        verdict,
        body: body.clone(),
        commit: Some(form.head.clone()),
    };
    match form.act {
        Deed::Comment => act.comment(key, body).await.map(drop),
        Deed::Approve => act.review(key, review(Verdict::Approved)).await.map(drop),
        Deed::RequestChanges => {
            let review = review(Verdict::ChangesRequested);
            act.review(key, review).await.map(drop)
        }
        Deed::Merge => merge(visit, key, (MergeMethod::Merge, &form.head)).await,
        Deed::Squash => merge(visit, key, (MergeMethod::Squash, &form.head)).await,
        Deed::Close => act.revise(key, to(PullState::Closed)).await,
        Deed::Reopen => act.revise(key, to(PullState::Open)).await,
    }
}

async fn merge(
    visit: &Visit,
    key: PullKey,
    (method, head): (MergeMethod, &Sha),
) -> Result<(), Denied> {
    let merging = Merging {
        method,
        head: Some(head.to_string()),
        title: None,
        message: None,
    };
    visit.act()?.merge(key, &merging).await.map(drop)
}

fn to(state: PullState) -> Revision {
    Revision {
        state: Some(state),
        ..Revision::default()
    }
}

/// A browser ends lines in its own way.
fn lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}

async fn refuse(visit: &Visit, denied: &Denied) -> Response {
    let document = visit.sandbox.desk.read().await;
    refusal(visit, &document, denied)
}
