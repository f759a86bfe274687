//! Seeding an app: its bot, its hook, and an installation on each owner of its repositories.

use std::collections::BTreeMap;

use anyhow::{Context, bail, ensure};
use jiff::Timestamp;

use super::{SeedApp, hook_of};
use crate::core::ids::{Login, RepoId, UserId};
use crate::core::person::Role;
use crate::sandbox::model::Document;
use crate::sandbox::model::account::{Account, AccountKind};
use crate::sandbox::model::app::{App, Installation};
use crate::sandbox::model::hook::Subject;

/// What an app may do unless its seed says otherwise: what tidegate's manifest asks for.
const PERMISSIONS: [(&str, &str); 5] = [
    ("contents", "write"),
    ("issues", "write"),
    ("metadata", "read"),
    ("pull_requests", "write"),
    ("statuses", "write"),
];

pub(super) fn add(document: &mut Document, seed: &SeedApp, now: Timestamp) -> anyhow::Result<()> {
    ensure!(
        jsonwebtoken::DecodingKey::from_rsa_pem(seed.public_key.as_bytes()).is_ok(),
        "its public key is not an RSA key in PEM"
    );
    if document.apps.iter().any(|it| it.id == seed.id) {
        bail!("the seed names its number twice");
    }
    let bot = add_bot(document, &seed.slug, now)?;
    let by_owner = repos_by_owner(document, &seed.repos)?;
    let owner = by_owner.keys().next().copied();
    document.apps.push(App {
        id: seed.id,
        slug: seed.slug.clone(),
        owner: owner.context("it is given no repository")?,
        bot,
        public_key: seed.public_key.clone(),
        permissions: permissions(seed),
        token_seconds: seed.token_seconds.unwrap_or(3600),
        created_at: now,
    });
    for (account, repos) in by_owner {
        for repo in &repos {
            let collaborators = &mut document.repo_mut(*repo).collaborators;
            collaborators.insert(bot, Role::Write);
        }
        let id = document.next_id();
        document.installations.push(Installation {
            id,
            app: seed.id,
            account,
            repos,
            suspended_at: None,
            is_deleted: false,
            created_at: now,
        });
    }
    if let Some(hook) = &seed.hook {
        hook_of(document, Subject::App(seed.id), hook, now);
    }
    Ok(())
}

fn permissions(seed: &SeedApp) -> BTreeMap<String, String> {
    if !seed.permissions.is_empty() {
        return seed.permissions.clone();
    }
    let owned = |(name, level): (&str, &str)| (name.to_owned(), level.to_owned());
    PERMISSIONS.map(owned).into()
}

fn add_bot(document: &mut Document, slug: &str, now: Timestamp) -> anyhow::Result<UserId> {
    let id = document.next_user();
    document.accounts.push(Account {
        id,
        login: Login::try_from(format!("{slug}[bot]"))?,
        kind: AccountKind::Bot,
        email: None,
        token: None,
        scopes: Vec::new(),
        is_admin: false,
        created_at: now,
    });
    Ok(id)
}

fn repos_by_owner(
    document: &Document,
    names: &[String],
) -> anyhow::Result<BTreeMap<UserId, Vec<RepoId>>> {
    let mut by_owner: BTreeMap<UserId, Vec<RepoId>> = BTreeMap::new();
    for whole in names {
        let parts = whole.split_once('/');
        let repo = parts.and_then(|(owner, name)| document.repo_by_name(owner, name));
        let repo = repo.with_context(|| format!("{whole} is not among the repositories"))?;
        by_owner.entry(repo.owner).or_default().push(repo.id);
    }
    Ok(by_owner)
}
