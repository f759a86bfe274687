//! Takes events to hooks: in order per hook, off the request's path; to a hook of GitHub's again while the receiver cannot
//! be reached, to one of Forgejo's once.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use sha2::Sha256;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::core::key::hex;
use crate::sandbox::Sandbox;
use crate::sandbox::acts::Denied;
use crate::sandbox::desk::write_whole;
use crate::sandbox::journal::DeliveryLine;
use crate::sandbox::model::Document;
use crate::sandbox::model::happening::{Happening, InstallationChange, Place, What};
use crate::sandbox::model::hook::{Delivery, DeliveryState, Dialect, Hook, Subject};
use crate::sandbox::{forgejo, github};

/// The first pause before another attempt; each is twice as long as the one before, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// An event in a dialect's words.
pub(crate) struct Letter {
    pub(crate) event: &'static str,
    /// The finer name that Forgejo gives the event.
    pub(crate) event_type: Option<&'static str>,
    pub(crate) action: Option<&'static str>,
    pub(crate) payload: serde_json::Value,
}

impl Dialect {
    /// How long a receiver may take.
    fn patience(self) -> Duration {
        match self {
            Self::GitHub => Duration::from_secs(10),
            Self::Forgejo => Duration::from_secs(5),
        }
    }

    /// Whether a receiver that cannot be reached is tried again. GitHub does not; its sandbox does, for people's sake.
    fn tries_again(self) -> bool {
        match self {
            Self::GitHub => true,
            Self::Forgejo => false,
        }
    }

    /// What is sent to a hook about something, in the forge's words.
    fn letters(
        self,
        document: &Document,
        address: &str,
        (hook, it): (&Hook, &Happening),
    ) -> Vec<Letter> {
        match self {
            Self::GitHub => vec![github::letter(document, address, hook, it)],
            Self::Forgejo => forgejo::letters(document, address, hook, it),
        }
    }
}

/// Says to hooks that are new that they are there, and to those of apps where the app is installed.
pub(crate) fn greetings(document: &mut Document) -> Vec<Happening> {
    let mut told = Vec::new();
    for place in 0..document.hooks.len() {
        let hook = &mut document.hooks[place];
        if std::mem::replace(&mut hook.is_greeted, true) {
            continue;
        }
        let (of, id) = (hook.of, hook.id);
        let (place, actor) = match of {
            Subject::Repo(repo) => (Place::Repo(repo), document.repo(repo).owner),
            Subject::App(app) => (Place::App(app), document.app(app).owner),
        };
        let what = What::HookMade { hook: id };
        told.push(Happening { place, actor, what });
        if let Subject::App(app) = of {
            told.extend(document.installations_of(app).map(|it| Happening {
                place: Place::Installation(it.id),
                actor: it.account,
                what: What::Installation(InstallationChange::Created),
            }));
        }
    }
    told
}

/// Files what happened for each hook of the repository. The bytes are on disk before the state names them.
pub(crate) fn file(
    sandbox: &Sandbox,
    document: &mut Document,
    happening: &Happening,
    now: Timestamp,
) -> anyhow::Result<()> {
    let hooks: Vec<Hook> = document
        .hooks
        .iter()
        .filter(|it| is_for(document, it, happening))
        .cloned()
        .collect();
    for hook in hooks {
        let letters = hook
            .dialect
            .letters(document, &sandbox.address, (&hook, happening));
        for letter in letters {
            document
                .deliveries
                .push(enclose(sandbox, &hook, &letter, now)?);
        }
    }
    Ok(())
}

/// Puts a letter's bytes on disk.
fn enclose(
    sandbox: &Sandbox,
    hook: &Hook,
    letter: &Letter,
    now: Timestamp,
) -> anyhow::Result<Delivery> {
    let delivery = Delivery {
        id: Uuid::now_v7().to_string(),
        hook: hook.id,
        event: letter.event.to_owned(),
        event_type: letter.event_type.map(str::to_owned),
        action: letter.action.map(str::to_owned),
        state: DeliveryState::Queued,
        attempts: 0,
        created_at: now,
    };
    let bytes = serde_json::to_vec(&letter.payload)?;
    write_whole(&bytes_of(sandbox, &delivery.id), &bytes)?;
    Ok(delivery)
}

/// Queues a delivery again: to a hook of GitHub's under its own id, to one of Forgejo's under a new one. None when there
/// is no such delivery.
pub(crate) async fn again(sandbox: &Sandbox, id: &str) -> anyhow::Result<Option<Delivery>> {
    let queued = sandbox.desk.change(|document| {
        let hook = document.delivery_mut(id).map(|it| it.hook);
        let dialect = hook.and_then(|it| document.hook(it)).map(|it| it.dialect);
        let Some((delivery, dialect)) = document.delivery_mut(id).zip(dialect) else {
            return Ok(None);
        };
        let mut queued = Delivery {
            state: DeliveryState::Queued,
            attempts: 0,
            ..delivery.clone()
        };
        match dialect {
            Dialect::GitHub => delivery.clone_from(&queued),
            Dialect::Forgejo => {
                queued.id = Uuid::now_v7().to_string();
                let bytes = std::fs::read(bytes_of(sandbox, id)).context("its bytes are gone")?;
                write_whole(&bytes_of(sandbox, &queued.id), &bytes)?;
                document.deliveries.push(queued.clone());
            }
        }
        Ok::<_, anyhow::Error>(Some(queued))
    });
    let queued = queued.await?;
    sandbox.bell.notify_one();
    Ok(queued)
}

fn is_for(document: &Document, hook: &Hook, happening: &Happening) -> bool {
    let is_there = match (hook.of, happening.place) {
        (Subject::Repo(of), Place::Repo(repo)) => of == repo,
        (Subject::App(app), Place::Repo(repo)) => {
            let installation = document.installation_on(app, repo);
            installation.is_some_and(|it| it.suspended_at.is_none())
        }
        (Subject::App(app), Place::Installation(id)) => {
            let of_app = document.installations.iter().filter(|it| it.app == app);
            of_app.map(|it| it.id).any(|it| it == id)
        }
        (Subject::App(of), Place::App(app)) => of == app,
        (Subject::Repo(_), Place::Installation(_) | Place::App(_)) => false,
    };
    let is_the_one = match happening.what {
        What::HookMade { hook: told } | What::HookTested { hook: told, .. } => hook.id == told,
        What::PullOpened { .. }
        | What::PullPushed { .. }
        | What::PullReopened { .. }
        | What::PullClosed { .. }
        | What::PullEdited { .. }
        | What::Commented { .. }
        | What::CommentEdited { .. }
        | What::CommentDeleted { .. }
        | What::Reviewed { .. }
        | What::ReviewDismissed { .. }
        | What::Pushed(_)
        | What::Installation(_)
        | What::InstallationRepos { .. } => true,
    };
    is_there && is_the_one
}

fn bytes_of(sandbox: &Sandbox, delivery: &str) -> PathBuf {
    sandbox
        .dir
        .join("deliveries")
        .join(format!("{delivery}.json"))
}

/// Delivers what is queued until it is told to stop.
pub(crate) async fn run(sandbox: Arc<Sandbox>, stop: CancellationToken) {
    let client = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .expect("these options make a client");
    let mut busy = BTreeSet::new();
    let mut sending = JoinSet::new();
    loop {
        for delivery in due(&*sandbox.desk.read().await, &busy) {
            busy.insert(delivery.hook);
            sending.spawn(attempt(sandbox.clone(), client.clone(), delivery));
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = sandbox.bell.notified() => {}
            Some(ended) = sending.join_next() => match ended {
                Ok(hook) => drop(busy.remove(&hook)),
                Err(error) => tracing::error!(%error, "a delivery of the sandbox broke"),
            },
        }
    }
}

/// The oldest queued delivery of each hook that has none on its way.
fn due(document: &Document, busy: &BTreeSet<u64>) -> Vec<Delivery> {
    let mut taken = busy.clone();
    let is_queued = |it: &&Delivery| it.state == DeliveryState::Queued;
    let queued = document.deliveries.iter().filter(is_queued);
    queued.filter(|it| taken.insert(it.hook)).cloned().collect()
}

/// Makes one attempt, records how it went, and waits a while when nobody was there.
async fn attempt(sandbox: Arc<Sandbox>, client: reqwest::Client, delivery: Delivery) -> u64 {
    let sent = match send(&sandbox, &client, &delivery).await {
        Ok(sent) => sent,
        Err(error) => {
            tracing::error!(
                delivery = delivery.id,
                error = format!("{error:#}"),
                "the sandbox cannot deliver"
            );
            DeliveryState::Queued
        }
    };
    let recorded = sandbox
        .desk
        .change(|document| record(document, &delivery.id, sent))
        .await;
    if let Err(error) = recorded {
        tracing::error!(%error, "the sandbox cannot record a delivery");
    }
    if sent == DeliveryState::Queued {
        let factor = 1 << delivery.attempts.min(10);
        tokio::time::sleep((FIRST_PAUSE * factor).min(LONGEST_PAUSE)).await;
    }
    delivery.hook
}

fn record(document: &mut Document, id: &str, sent: DeliveryState) -> Result<(), Denied> {
    let delivery = document.delivery_mut(id);
    let delivery = delivery.ok_or(Denied::Missing("the delivery"))?;
    delivery.attempts += 1;
    delivery.state = sent;
    Ok(())
}

/// Sends a delivery's bytes, and answers what has become of it: still queued when the receiver is to be tried again.
async fn send(
    sandbox: &Sandbox,
    client: &reqwest::Client,
    delivery: &Delivery,
) -> anyhow::Result<DeliveryState> {
    let hook = sandbox.desk.read().await.hook(delivery.hook).cloned();
    let hook = hook.context("its hook is gone")?;
    let bytes = std::fs::read(bytes_of(sandbox, &delivery.id)).context("its bytes are gone")?;
    let signature = signature(&hook.secret, &bytes);
    let headers = match hook.dialect {
        Dialect::GitHub => github::headers(&hook, delivery, &signature),
        Dialect::Forgejo => forgejo::headers(&hook, delivery, &signature),
    };
    let mut request = client
        .post(&hook.url)
        .timeout(hook.dialect.patience())
        .header("Content-Type", "application/json");
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let sent = request.body(bytes.clone()).send().await;
    let status = sent.ok().map(|it| it.status().as_u16());
    sandbox.journal.delivery(&DeliveryLine {
        id: &delivery.id,
        hook: hook.id,
        forge: hook.dialect,
        event: &delivery.event,
        action: delivery.action.as_deref(),
        status,
        payload: serde_json::from_slice(&bytes)?,
    });
    Ok(match status {
        Some(status) => DeliveryState::Answered(status),
        None if hook.dialect.tries_again() => DeliveryState::Queued,
        None => DeliveryState::Lost,
    })
}

/// The hex HMAC-SHA256 of the bytes under a hook's secret.
fn signature(secret: &str, bytes: &[u8]) -> String {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes a key of any length");
    mac.update(bytes);
    hex(&mac.finalize().into_bytes())
}
