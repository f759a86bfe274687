//! Users, repositories, forks, hooks and permissions over GitHub's API.

use axum::Json;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::Deserialize;

use crate::core::person::Role;
use crate::sandbox::acts::NewHook;
use crate::sandbox::api::{Answer, Ask, Here, Refused, read, repos};
use crate::sandbox::github::shape::Shape;
use crate::sandbox::model::hook::Dialect;

pub(crate) async fn myself(ask: Ask) -> Answer {
    if ask.right.only().is_some() {
        let text = "Resource not accessible by integration";
        return Err(Refused::plain(StatusCode::FORBIDDEN, text));
    }
    repos::myself(ask).await
}

/// What somebody may do here. Who may do nothing is not there, as a user nobody knows.
pub(crate) async fn permission(here: Here) -> Answer {
    let document = here.ask.sandbox.desk.read().await;
    let login = here.ask.param("user")?;
    let Some(account) = document.account_by_login(login) else {
        let text = format!("{login} is not a user");
        return Err(Refused::plain(StatusCode::NOT_FOUND, text));
    };
    let repo = document.repo(here.repo);
    if repo.role(account.id) == Role::None {
        return Err(Refused::missing());
    }
    let shape = Shape::of(&here.ask, &document).collaborator(repo, account.id);
    Ok(Json(shape).into_response())
}

pub(crate) async fn hooks(here: Here) -> Answer {
    here.require_admin(Refused::missing()).await?;
    repos::hooks(here).await
}

#[derive(Deserialize)]
struct HookBody {
    config: HookConfig,
}

#[derive(Deserialize)]
struct HookConfig {
    url: String,
    #[serde(default)]
    secret: String,
}

/// Adds a hook for every event there is.
pub(crate) async fn add_hook(here: Here, body: Bytes) -> Answer {
    let HookBody { config } = read(&body)?;
    let new = NewHook {
        dialect: Dialect::GitHub,
        url: config.url,
        secret: config.secret,
        is_active: true,
        events: Vec::new(),
    };
    repos::add_hook(&here, new).await
}
