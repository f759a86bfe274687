//! When nothing is under way any more, and that nothing is left over at the end of a story.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use http::StatusCode;
use serde_json::Value;
use tidegate::core::hidden::Hidden;
use tidegate::process::detached::ProcessId;
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use crate::world::World;
use crate::world::server::PASSWORD;
use crate::world::site::{PEOPLE, SECRET, token};

/// How long consequences may take; then something hangs.
const PATIENCE: Duration = Duration::from_secs(180);

/// What the server still has to do, as of one moment.
const UNDER_WAY: &str = "SELECT (SELECT count(*) FROM deliveries WHERE state = 'queued')
    + (SELECT count(*) FROM effects WHERE state = 'waiting')
    + (SELECT count(*) FROM jobs WHERE state IN ('queued', 'running'))
    + (SELECT count(*) FROM looks WHERE failures = 0 AND (lease_until IS NOT NULL OR due_at <= ";

impl World {
    /// Waits until everything that happened has had its consequences.
    pub(crate) async fn settle(&self) {
        let start = Instant::now();
        while !self.is_quiet().await {
            assert!(
                start.elapsed() < PATIENCE,
                "the story does not come to rest:\n{}",
                self.place.last_words()
            );
            self.server()
                .store
                .bell()
                .listen()
                .wait(Duration::from_millis(50))
                .await;
        }
    }

    /// Whether the forge had nothing to deliver from before to after the moment at which the server had nothing to do.
    async fn is_quiet(&self) -> bool {
        let before = self.delivered().await;
        let now = jiff::Timestamp::now().as_millisecond();
        let under_way = format!("{UNDER_WAY} {now}))");
        let under_way = self.place.database.number(&under_way).await;
        before.is_some() && under_way == 0 && before == self.delivered().await
    }

    /// How much the forge has delivered; none while something is on its way.
    async fn delivered(&self) -> Option<usize> {
        let all = self.deliveries().await;
        let is_done = all.iter().all(|it| it["is_queued"] == false);
        is_done.then_some(all.len())
    }

    /// Waits until nothing is on its way from the forge.
    pub(crate) async fn until_all_is_delivered(&self) {
        let start = Instant::now();
        while self.delivered().await.is_none() {
            assert!(start.elapsed() < PATIENCE, "a delivery is on its way");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Answers every delivery that is on its way as a proxy without its server does, so that the forge gives it up.
    pub(crate) async fn lose_what_is_delivered(&self) {
        let listener = TcpListener::bind(self.place.listen).await.unwrap();
        let nobody = axum::Router::new().fallback(async || StatusCode::BAD_GATEWAY);
        let proxy =
            AbortOnDropHandle::new(tokio::spawn(async { axum::serve(listener, nobody).await }));
        self.until_all_is_delivered().await;
        proxy.abort();
        assert!(proxy.await.unwrap_err().is_cancelled());
    }

    /// Everything that the forge delivers, oldest first.
    pub(crate) async fn deliveries(&self) -> Vec<Value> {
        let url = format!("{}/sandbox/deliveries", self.site.address);
        reqwest::get(url).await.unwrap().json().await.unwrap()
    }

    /// Rows of a table of the server's, for stories in which nothing may be stored.
    pub(crate) async fn stored(&self, table: &str) -> i64 {
        let count = format!("SELECT count(*) FROM {table}");
        self.place.database.number(&count).await
    }

    /// Ends the story: nothing is left undone, nothing was given up, no job lives, no secret was told.
    pub(crate) async fn end(mut self) {
        self.settle().await;
        let store = &self.server().store;
        let dead = store.inbox.dead(10).await.unwrap();
        assert!(dead.is_empty(), "deliveries were given up: {dead:#?}");
        assert_eq!(store.outbox.counts().await.unwrap().given_up, 0);
        self.no_job_lives().await;
        self.site.check_against_the_description();
        let pages = self.pages().await;
        self.server.take().unwrap().stop().await;
        let stored = self.place.database.text().await;
        self.no_secret_was_told(&pages, &stored);
        self.place.database.clone().drop().await;
    }

    /// Waits until a job has spoken to the server and goes on.
    pub(crate) async fn until_a_job_beats(&self) {
        let start = Instant::now();
        let store = &self.server().store;
        let beats = |job: &tidegate::store::Job| job.has_beaten;
        while !store.jobs.running().await.unwrap().iter().any(beats) {
            assert!(
                start.elapsed() < PATIENCE,
                "no job comes up:\n{}",
                self.place.last_words()
            );
            store.bell().listen().wait(Duration::from_millis(50)).await;
        }
    }

    async fn no_job_lives(&self) {
        let start = Instant::now();
        while let Some((folder, _)) = self.living_jobs().pop() {
            assert!(
                start.elapsed() < PATIENCE,
                "a job lives in {}",
                folder.display()
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Jobs whose processes run, by their folders.
    pub(super) fn living_jobs(&self) -> Vec<(PathBuf, ProcessId)> {
        let folders = fs::read_dir(self.place.folder.join("jobs")).unwrap();
        let folders = folders.map(|it| it.unwrap().path());
        let jobs = folders.filter_map(|folder| {
            let text = fs::read_to_string(folder.join("process")).ok()?;
            let id: ProcessId = text.parse().ok()?;
            Some((folder, id))
        });
        jobs.filter(|(_, id)| id.is_alive()).collect()
    }

    /// How jobs ended, in the order in which they did.
    pub(crate) async fn exits(&self) -> Vec<String> {
        self.no_job_lives().await;
        let start = Instant::now();
        loop {
            let folders = fs::read_dir(self.place.folder.join("jobs")).unwrap();
            let exits = folders.map(|it| it.unwrap().path().join("exit"));
            let read = |it: PathBuf| {
                let at = fs::metadata(&it).ok()?.modified().ok()?;
                Some((at, fs::read_to_string(it).ok().filter(|it| !it.is_empty())?))
            };
            // Who waits for a process notes its end a moment after it.
            if let Some(mut exits) = exits.map(read).collect::<Option<Vec<_>>>() {
                exits.sort();
                return exits.into_iter().map(|(_, code)| code).collect();
            }
            assert!(start.elapsed() < PATIENCE, "a job's end was not noted");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Every page of the server's.
    async fn pages(&self) -> String {
        let mut all = String::new();
        let mut names = vec![String::new(), "rollouts.json".to_owned()];
        for rollout in self.rollouts().await {
            names.push(format!("rollouts/{}", rollout.id));
            names.push(format!("rollouts/{}.json", rollout.id));
        }
        for name in names {
            let answer = reqwest::get(format!("http://{}/{name}", self.place.pages)).await;
            let answer = answer.unwrap();
            assert_eq!(answer.status(), StatusCode::OK, "{name}");
            all += &answer.text().await.unwrap();
        }
        all
    }

    /// Looks for every secret in what the server logged, stored, wrote to the forge and showed.
    fn no_secret_was_told(&self, pages: &str, stored: &str) {
        let mut places = vec![
            ("the log".to_owned(), self.place.log().into_bytes()),
            ("a page".to_owned(), pages.as_bytes().to_vec()),
            ("the database".to_owned(), stored.as_bytes().to_vec()),
        ];
        let kept = files(&self.place.folder);
        let asked = self.site.data().join("requests.jsonl");
        for file in kept.into_iter().chain([asked]) {
            // A task of a killed server may still put a file away.
            if let Ok(bytes) = fs::read(&file) {
                places.push((file.display().to_string(), bytes));
            }
        }
        let tokens = PEOPLE.map(|(login, _)| token(login));
        let secrets = tokens
            .iter()
            .map(String::as_str)
            .chain([SECRET, PASSWORD])
            .map(|it| (it, it));
        let secrets = Hidden::new(secrets);
        for (place, bytes) in &places {
            let text = String::from_utf8_lossy(bytes);
            assert!(!secrets.are_in(&text), "{place} holds a secret");
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let is_over = self.server.is_none() || std::thread::panicking();
        assert!(is_over, "the story was not ended");
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let found = |path: PathBuf| {
        if path.is_dir() {
            files(&path)
        } else {
            vec![path]
        }
    };
    entries.flat_map(found).collect()
}
