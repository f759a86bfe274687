//! What a sandbox starts with: users, repositories, hooks.

mod app;

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::core::ids::{Login, RepoName, UserId};
use crate::core::person::Role;
use crate::sandbox::forgejo;
use crate::sandbox::model::account::{Account, AccountKind, Token};
use crate::sandbox::model::hook::{Dialect, Hook, Subject};
use crate::sandbox::model::repo::{Repo, Team};
use crate::sandbox::model::{Document, REPO_FIRST_BRANCH};

/// A sandbox's first users and repositories, as JSON.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seed {
    #[serde(default)]
    pub users: Vec<SeedUser>,
    #[serde(default)]
    pub repos: Vec<SeedRepo>,
    #[serde(default)]
    pub apps: Vec<SeedApp>,
}

/// An app, installed on the owners of some repositories. It proves itself by the private half of its key.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedApp {
    pub id: u64,
    /// It speaks as `<slug>[bot]`.
    pub slug: String,
    /// PEM.
    pub public_key: String,
    /// `owner/name` of each repository it is given.
    pub repos: Vec<String>,
    #[serde(default)]
    pub hook: Option<SeedHook>,
    /// What it may do, such as `contents: write`; what tidegate needs when none is given.
    #[serde(default)]
    pub permissions: BTreeMap<String, String>,
    /// How long its tokens are good; an hour when nothing is said.
    #[serde(default)]
    pub token_seconds: Option<u32>,
}

/// A user and the token they sign in with.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedUser {
    pub login: String,
    #[serde(default)]
    pub email: Option<String>,
    #[serde(default)]
    pub is_bot: bool,
    /// Whether they administer the whole sandbox.
    #[serde(default)]
    pub is_admin: bool,
    pub token: String,
    /// What the token is good for in Forgejo's API, such as `write:issue`; everything when none is given.
    #[serde(default)]
    pub scopes: Vec<String>,
}

impl std::fmt::Debug for SeedUser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SeedUser({})", self.login)
    }
}

/// An empty repository. Its owner is one of the users, or else an organization made for it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedRepo {
    /// `owner/name`.
    pub name: String,
    /// Logins, and what each may do: `none`, `read`, `write` or `admin`.
    #[serde(default)]
    pub collaborators: BTreeMap<String, String>,
    /// By name.
    #[serde(default)]
    pub teams: BTreeMap<String, SeedTeam>,
    #[serde(default)]
    pub is_public: bool,
    #[serde(default)]
    pub hooks: Vec<SeedHook>,
}

/// Some members of the organization that owns a repository, and what they may do in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedTeam {
    /// `read`, `write` or `admin`.
    pub role: String,
    /// Logins.
    pub members: Vec<String>,
}

/// Where a repository's events are sent.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedHook {
    pub url: String,
    pub secret: String,
    /// In which forge's words: `github` when nothing is said.
    #[serde(default)]
    pub forge: Dialect,
}

impl std::fmt::Debug for SeedHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SeedHook({})", self.url)
    }
}

impl Seed {
    /// Makes the first state of a sandbox.
    pub(crate) fn document(&self, now: Timestamp) -> anyhow::Result<Document> {
        let mut document = Document::default();
        for user in &self.users {
            add_user(&mut document, user, now)
                .with_context(|| format!("cannot seed the user {}", user.login))?;
        }
        for repo in &self.repos {
            add_repo(&mut document, repo, now)
                .with_context(|| format!("cannot seed the repository {}", repo.name))?;
        }
        for app in &self.apps {
            app::add(&mut document, app, now)
                .with_context(|| format!("cannot seed the app {}", app.slug))?;
        }
        Ok(document)
    }
}

fn add_user(document: &mut Document, seed: &SeedUser, now: Timestamp) -> anyhow::Result<()> {
    if document.account_by_login(&seed.login).is_some() {
        bail!("the seed names them twice");
    }
    if seed.token.is_empty() {
        bail!("their token is empty");
    }
    let id = document.next_user();
    document.accounts.push(Account {
        id,
        login: Login::try_from(seed.login.as_str())?,
        kind: if seed.is_bot {
            AccountKind::Bot
        } else {
            AccountKind::Person
        },
        email: seed.email.clone(),
        token: Some(Token::of(&seed.token)),
        scopes: seed.scopes.clone(),
        is_admin: seed.is_admin,
        created_at: now,
    });
    Ok(())
}

fn hook_of(document: &mut Document, of: Subject, seed: &SeedHook, now: Timestamp) {
    let id = document.next_id();
    document.hooks.push(Hook {
        id,
        of,
        dialect: seed.forge,
        url: seed.url.clone(),
        secret: seed.secret.clone(),
        is_greeted: false,
        is_active: true,
        events: forgejo::heard(&["push", "pull_request"]),
        created_at: now,
    });
}

fn add_repo(document: &mut Document, seed: &SeedRepo, now: Timestamp) -> anyhow::Result<()> {
    let whole = RepoName::try_from(seed.name.as_str())?;
    let Some((owner, name)) = whole.as_str().split_once('/') else {
        bail!("its name has no owner");
    };
    if name.contains('/') || name.ends_with(".git") {
        bail!("its name must be `owner/name`");
    }
    if ["api", "sandbox", "state"].contains(&owner) {
        bail!("the sandbox has addresses of its own under {owner}/");
    }
    if document.repo_by_name(owner, name).is_some() {
        bail!("the seed names it twice");
    }
    let collaborators = collaborators(document, seed)?;
    let teams = teams(document, seed)?;
    let owner = owner_of(document, owner, now)?;
    let id = document.next_repo();
    document.repos.push(Repo {
        id,
        owner,
        name: name.to_owned(),
        is_public: seed.is_public,
        default_branch: REPO_FIRST_BRANCH.to_owned(),
        collaborators,
        teams,
        parent: None,
        last_number: 0,
        created_at: now,
        pushed_at: now,
    });
    for hook in &seed.hooks {
        hook_of(document, Subject::Repo(id), hook, now);
    }
    Ok(())
}

fn collaborators(document: &Document, seed: &SeedRepo) -> anyhow::Result<BTreeMap<UserId, Role>> {
    let mut collaborators = BTreeMap::new();
    for (login, name) in &seed.collaborators {
        collaborators.insert(user(document, login)?, role(login, name)?);
    }
    Ok(collaborators)
}

fn teams(document: &mut Document, seed: &SeedRepo) -> anyhow::Result<Vec<Team>> {
    let mut teams = Vec::new();
    for (name, seed) in &seed.teams {
        let members = seed.members.iter().map(|it| user(document, it));
        let members = members.collect::<Result<_, _>>()?;
        teams.push(Team {
            id: document.next_id(),
            name: name.clone(),
            role: role(name, &seed.role)?,
            members,
        });
    }
    Ok(teams)
}

fn user(document: &Document, login: &str) -> anyhow::Result<UserId> {
    let account = document.account_by_login(login);
    let account = account.with_context(|| format!("{login} is not among the users"))?;
    Ok(account.id)
}

fn role(whose: &str, name: &str) -> anyhow::Result<Role> {
    Role::deserialize(Value::from(name))
        .with_context(|| format!("the role of {whose} is none of none, read, write, admin"))
}

fn owner_of(document: &mut Document, login: &str, now: Timestamp) -> anyhow::Result<UserId> {
    if let Some(account) = document.account_by_login(login) {
        return Ok(account.id);
    }
    let id = document.next_user();
    document.accounts.push(Account {
        id,
        login: Login::try_from(login)?,
        kind: AccountKind::Organization,
        email: None,
        token: None,
        scopes: Vec::new(),
        is_admin: false,
        created_at: now,
    });
    Ok(id)
}
