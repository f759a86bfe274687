//! The lookout: on start and from time to time each repository is looked at, and what its forge never delivered is
//! filed as if it had been.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::anyhow;
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::core::ids::{ForgeHost, Repo, RepoId};
use crate::core::lost::{Lost, Moment, Seen, pause_after, pause_between};
use crate::handlers::{App, lost};
use crate::serve::Server;
use crate::serve::worker::limited_until;
use crate::store::{Due, Filed};

/// How often it is asked whether a repository is due.
const TICK: Duration = Duration::from_secs(1);
/// How long a look may take, and how long it is this server's.
const LIMIT: Duration = Duration::from_secs(300);
const LEASE: SignedDuration = SignedDuration::from_secs(330);

/// How many lost events were found since the server started, by their names.
#[derive(Clone, Default)]
pub(super) struct Finds(Arc<Mutex<BTreeMap<&'static str, u64>>>);

impl Finds {
    /// How many of each were found.
    pub(super) fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.lock().clone()
    }

    fn add(&self, name: &'static str) {
        *self.lock().entry(name).or_default() += 1;
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has every repository looked at that is known when the server starts.
pub(super) async fn begin(app: &App, now: Timestamp) -> sqlx::Result<()> {
    app.store.looks.all_due(now).await?;
    app.store.looks.enrol(&Seen::nothing(now), now).await
}

/// Looks at the repositories of one forge, one after the other.
pub(super) struct Lookout {
    pub(super) server: Server,
    pub(super) forge: ForgeHost,
    pub(super) finds: Finds,
    /// Those that were looked at since the server started.
    known: BTreeSet<RepoId>,
}

impl Lookout {
    /// A lookout that has looked at nothing yet.
    pub(super) fn new(server: Server, forge: ForgeHost, finds: Finds) -> Self {
        Self {
            server,
            forge,
            finds,
            known: BTreeSet::new(),
        }
    }

    /// Looks until told to stop. What a broken off look has filed is filed once, however often it is found.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let looked = tokio::select! {
                looked = self.look_next(Timestamp::now()) => looked,
                () = stop.cancelled() => return,
            };
            match looked {
                Ok(true) => {}
                Ok(false) => {
                    tokio::select! { () = tokio::time::sleep(TICK) => {}, () = stop.cancelled() => {} }
                }
                Err(error) => {
                    tracing::error!(%error, "it cannot be read which repository is due for a look");
                    tokio::time::sleep(TICK).await;
                }
            }
        }
    }

    /// Looks at the repository that waits longest; false when none is due.
    pub(super) async fn look_next(&mut self, now: Timestamp) -> sqlx::Result<bool> {
        let looks = &self.server.app.store.looks;
        let between = pause_between(looks.count(&self.forge).await?);
        looks.enrol(&Seen::nothing(now), now + between).await?;
        let Some(due) = looks.claim(&self.forge, now, LEASE).await? else {
            return Ok(false);
        };
        let spread = SignedDuration::from_secs((due.repo.id.0 % 30).cast_signed());
        let again = now + between + spread;
        if !self.is_served(&due.repo) {
            looks.looked((&due.repo, &due.seen), now, again).await?;
            return Ok(true);
        }
        let moment = match self.known.contains(&due.repo.id) {
            true => Moment::Running,
            false => Moment::Start,
        };
        match self.look(&due, (moment, now)).await {
            Ok((lost, seen)) => {
                self.known.insert(due.repo.id);
                self.file(&due.repo, &lost, now).await?;
                looks.looked((&due.repo, &seen), now, again).await?;
            }
            Err(error) => self.failed(&due, &error, between).await?,
        }
        Ok(true)
    }

    async fn look(
        &self,
        due: &Due,
        when: (Moment, Timestamp),
    ) -> anyhow::Result<(Vec<Lost>, Seen)> {
        let look = lost::look(&self.server.app, &due.repo, &due.seen, when);
        match tokio::time::timeout(LIMIT, look).await {
            Ok(looked) => looked,
            Err(_) => Err(anyhow!("it took longer than {} seconds", LIMIT.as_secs())),
        }
    }

    async fn file(&self, repo: &Repo, lost: &[Lost], now: Timestamp) -> sqlx::Result<()> {
        let inbox = &self.server.app.store.inbox;
        for Lost { id, event } in lost {
            if inbox.has(id, event).await? || inbox.file_own(id, event, now).await? == Filed::Known
            {
                continue;
            }
            self.finds.add(event.name());
            tracing::info!(repo = %repo.name, event = event.name(), lane = event.lane().as_str(),
                "found what the forge never delivered");
        }
        Ok(())
    }

    async fn failed(
        &self,
        due: &Due,
        error: &anyhow::Error,
        between: SignedDuration,
    ) -> sqlx::Result<()> {
        let (looks, now) = (&self.server.app.store.looks, Timestamp::now());
        let again = now + pause_after(due.failures, between);
        let limited = limited_until(error);
        tracing::warn!(repo = %due.repo.name, %again, error = format!("{error:#}"),
            "a repository could not be looked at for what was not delivered");
        looks.failed(&due.repo, again).await?;
        match limited {
            Some(until) => looks.postpone(&self.forge, until).await,
            None => Ok(()),
        }
    }

    fn is_served(&self, repo: &Repo) -> bool {
        let mut served = self.server.served.iter();
        served.any(|it| it.options.host() == repo.forge && it.is_served(&repo.name))
    }
}
