//! What an app may ask over GitHub's API in its own name: it proves itself by a statement signed with its private key.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::IntoResponse;
use jiff::Timestamp;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;
use serde_json::Value;

use crate::core::ids::RepoId;
use crate::sandbox::api::{Answer, Refused, read};
use crate::sandbox::door::{Shared, auth};
use crate::sandbox::github::shape::Shape;
use crate::sandbox::github::shape::repo::hook_config as shape_hook_config;
use crate::sandbox::model::Document;
use crate::sandbox::model::app::{App, Installation};
use crate::sandbox::model::happening::InstallationChange;
use crate::sandbox::model::hook::Subject;

/// The longest a statement may hold, in seconds from the sandbox's own time.
const LONGEST: i64 = 600;

/// One call by an app in its own name.
pub(crate) struct AsApp {
    sandbox: Shared,
    app: u64,
    params: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct Claims {
    iss: Value,
    iat: i64,
    exp: i64,
}

impl FromRequestParts<Shared> for AsApp {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, sandbox: &Shared) -> Result<Self, Refused> {
        let statement = auth::secret(&parts.headers);
        let statement = statement.ok_or_else(|| unproven(UNREADABLE))?;
        let app = {
            let document = sandbox.desk.read().await;
            prove(&document, &statement, Timestamp::now().as_second())?
        };
        let params = RawPathParams::from_request_parts(parts, sandbox).await;
        let params = params.map_err(|_| Refused::missing())?;
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Ok(Self {
            sandbox: sandbox.clone(),
            app,
            params: params.iter().map(owned).collect(),
        })
    }
}

const UNREADABLE: &str = "A JSON web token could not be decoded";

fn unproven(why: &str) -> Refused {
    Refused::plain(StatusCode::UNAUTHORIZED, why)
}

/// Which app signed a statement that holds now.
fn prove(document: &Document, statement: &str, now: i64) -> Result<u64, Refused> {
    let signer = |app: &&App| {
        let key = DecodingKey::from_rsa_pem(app.public_key.as_bytes()).ok()?;
        let mut validation = Validation::new(Algorithm::RS256);
        validation.validate_exp = false;
        validation.required_spec_claims.clear();
        let read = jsonwebtoken::decode::<Claims>(statement, &key, &validation);
        read.ok().map(|it| it.claims)
    };
    let mut signed = document
        .apps
        .iter()
        .filter_map(|it| Some((it.id, signer(&it)?)));
    let (app, claims) = signed.next().ok_or_else(|| unproven(UNREADABLE))?;
    let named = claims.iss.as_str().and_then(|it| it.parse().ok());
    if named.or(claims.iss.as_u64()) != Some(app) {
        return Err(Refused::plain(
            StatusCode::NOT_FOUND,
            "Integration not found",
        ));
    }
    if claims.iat > now {
        return Err(unproven(
            "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
        ));
    }
    if claims.exp <= now {
        return Err(unproven(
            "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
        ));
    }
    if claims.exp > now + LONGEST {
        return Err(unproven(
            "'Expiration time' claim ('exp') is too far in the future",
        ));
    }
    Ok(app)
}

impl AsApp {
    fn param(&self, name: &str) -> Result<&str, Refused> {
        let found = self.params.iter().find(|(it, _)| it == name);
        found
            .map(|(_, it)| it.as_str())
            .ok_or_else(Refused::missing)
    }

    /// The installation the path names, when it is this app's.
    fn own<'d>(&self, document: &'d Document) -> Result<&'d Installation, Refused> {
        let id = self.param("id")?.parse().ok();
        let found = id.and_then(|it| document.installation(it));
        found
            .filter(|it| it.app == self.app)
            .ok_or_else(Refused::missing)
    }

    async fn change(&self, change: InstallationChange) -> Answer {
        let id = self.own(&*self.sandbox.desk.read().await)?.id;
        let now = Timestamp::now();
        self.sandbox.change_installation(id, change, now).await?;
        Ok(StatusCode::NO_CONTENT.into_response())
    }
}

pub(crate) async fn myself(ask: AsApp) -> Answer {
    let document = ask.sandbox.desk.read().await;
    let app = Shape::on(&ask.sandbox, &document).app(document.app(ask.app));
    Ok(Json(app).into_response())
}

pub(crate) async fn hook_config(ask: AsApp) -> Answer {
    let document = ask.sandbox.desk.read().await;
    let of_app = Subject::App(ask.app);
    let hook = document.hooks.iter().find(|it| it.of == of_app);
    let hook = hook.ok_or_else(Refused::missing)?;
    Ok(Json(shape_hook_config(hook)).into_response())
}

/// On one page: a sandbox has few.
pub(crate) async fn installations(ask: AsApp) -> Answer {
    let document = ask.sandbox.desk.read().await;
    let shape = Shape::on(&ask.sandbox, &document);
    let all = document.installations_of(ask.app);
    let all: Value = all.map(|it| shape.installation(it)).collect();
    Ok(Json(all).into_response())
}

pub(crate) async fn installation(ask: AsApp) -> Answer {
    let document = ask.sandbox.desk.read().await;
    let held = ask.own(&document)?;
    let held = Shape::on(&ask.sandbox, &document).installation(held);
    Ok(Json(held).into_response())
}

/// The installation by which the app has a repository.
pub(crate) async fn of_repo(ask: AsApp) -> Answer {
    let document = ask.sandbox.desk.read().await;
    let repo = document.repo_by_name(ask.param("owner")?, ask.param("repo")?);
    let held = repo.and_then(|it| document.installation_on(ask.app, it.id));
    let held = held.ok_or_else(Refused::missing)?;
    let held = Shape::on(&ask.sandbox, &document).installation(held);
    Ok(Json(held).into_response())
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenBody {
    repositories: Option<Vec<String>>,
    repository_ids: Option<Vec<RepoId>>,
}

pub(crate) async fn make_token(ask: AsApp, body: Bytes) -> Answer {
    let asked: TokenBody = read(&body)?;
    let held = ask.own(&*ask.sandbox.desk.read().await)?.clone();
    let repos = {
        let document = ask.sandbox.desk.read().await;
        chosen(&document, &held, asked)?
    };
    let minted = ask.sandbox.mint(held.id, repos, Timestamp::now()).await?;
    let document = ask.sandbox.desk.read().await;
    let told = (minted.secret.as_str(), minted.expires_at);
    let token = Shape::on(&ask.sandbox, &document).installation_token(&held, told);
    Ok((StatusCode::CREATED, Json(token)).into_response())
}

/// The repositories a token is asked for, by number or by name; none for all.
fn chosen(
    document: &Document,
    held: &Installation,
    asked: TokenBody,
) -> Result<Option<Vec<RepoId>>, Refused> {
    let Some(names) = asked.repositories else {
        return Ok(asked.repository_ids);
    };
    let named = |name: &String| {
        let of_account = |it: &&RepoId| document.repo(**it).name.eq_ignore_ascii_case(name);
        let found = held.repos.iter().find(of_account).copied();
        found.ok_or_else(|| Refused::invalid(format!("{name} is not accessible")))
    };
    names.iter().map(named).collect::<Result<_, _>>().map(Some)
}

pub(crate) async fn suspend(ask: AsApp) -> Answer {
    ask.change(InstallationChange::Suspended).await
}

pub(crate) async fn unsuspend(ask: AsApp) -> Answer {
    ask.change(InstallationChange::Unsuspended).await
}

pub(crate) async fn uninstall(ask: AsApp) -> Answer {
    ask.change(InstallationChange::Deleted).await
}
