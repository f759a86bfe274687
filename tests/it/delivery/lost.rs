//! What the forge did not deliver is made good as if it had been, once, and nothing is let out late without being asked
//! again.

use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::world::claims::NOTHING;
use crate::world::estate::{replaces, updates, updates_otherwise};
use crate::world::relay::{Call, Fate, first};
use crate::world::site::REPO;
use crate::world::{ADA, GRACE, Pull, World};

impl World {
    /// From now on the server learns nothing by looking.
    pub(crate) fn lists_nothing(&self) {
        let is_list = |call: &Call| call.path.contains("state=all");
        let away = Fate::Answered(StatusCode::SERVICE_UNAVAILABLE, Vec::new(), "");
        self.api.rule(first(usize::MAX, is_list, away));
    }

    /// Loses what the forge delivers, and lets the server come back and look around.
    async fn come_back(&mut self) {
        self.lose_what_is_delivered().await;
        self.start_the_server().await;
        self.settle().await;
    }

    /// Has the list of comments show the newest one as if it had been written an hour ago.
    async fn age_the_newest_comment(&self) {
        let path = format!("/repos/{REPO}/issues/comments");
        let mut comments = self.read(ADA, &path).await;
        let newest = comments.as_array_mut().unwrap().last_mut().unwrap();
        let hour_ago = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(1);
        for time in ["created_at", "updated_at"] {
            newest[time] = json!(hour_ago.to_string());
        }
        let is_list = |call: &Call| call.path.contains("/issues/comments?");
        let text = String::leak(comments.to_string());
        let aged = Fate::Answered(StatusCode::OK, Vec::new(), text);
        self.api.rule(first(usize::MAX, is_list, aged));
    }

    /// How a comment was reacted to.
    async fn reactions(&self, comment: u64) -> Vec<String> {
        let path = format!("/repos/{REPO}/issues/comments/{comment}/reactions");
        let all = self.read(ADA, &path).await;
        let all = all.as_array().unwrap().iter();
        all.map(|it| it["content"].as_str().unwrap().to_owned())
            .collect()
    }

    /// How often anybody wrote anything to the forge.
    fn writes(&self) -> usize {
        let all = [Method::POST, Method::PATCH, Method::PUT].into_iter();
        all.map(|it| self.site.asked(it, "")).sum()
    }

    /// What happened and was decided, by the number of its rows.
    async fn rows(&self) -> [i64; 4] {
        let mut rows = [0; 4];
        for (place, table) in ["deliveries", "effects", "jobs", "rollouts"]
            .into_iter()
            .enumerate()
        {
            rows[place] = self.stored(table).await;
        }
        rows
    }

    async fn revise(&self, pull: &Pull, change: Value) {
        let path = format!("/repos/{REPO}/pulls/{}", pull.number);
        self.site.ask(ADA, Method::PATCH, &path, change).await;
    }
}

#[tokio::test]
async fn a_pull_request_opened_while_nobody_listened_is_planned() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    world.kill_the_server().await;
    let change = updates("network");
    let pull = world
        .open_without_waiting("move the network", &change)
        .await;
    world.come_back().await;
    assert!(world.note(&pull).await.contains("network"));
    let plan = world.status(&pull.head, "tidegate/plan").await;
    assert!(plan.starts_with("success: "), "{plan}");
    world.end().await;
}

#[tokio::test]
async fn a_head_pushed_while_nobody_listened_is_planned() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let pull = world.open("move the network", updates("network")).await;
    world.kill_the_server().await;
    let head = world
        .push_without_waiting(&pull.branch, &replaces("storage"))
        .await;
    world.come_back().await;
    let plan = world.status(&head, "tidegate/plan").await;
    assert!(plan.starts_with("success: "), "{plan}");
    assert!(world.note(&pull).await.contains("storage"));
    world.end().await;
}

#[tokio::test]
async fn what_was_closed_or_retargeted_while_nobody_listened_says_so() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let closed = world.open("move the network", updates("network")).await;
    let moved = world.open("move the storage", updates("storage")).await;
    let before = world.stored("jobs").await;
    let change = updates_otherwise("network");
    world.push_without_waiting("next", &change).await;
    world.settle().await;
    world.kill_the_server().await;
    world.revise(&closed, json!({ "state": "closed" })).await;
    world.revise(&moved, json!({ "base": "next" })).await;
    world.come_back().await;
    let note = world.note(&closed).await;
    assert!(note.contains("The pull request is closed"), "{note}");
    let note = world.note(&moved).await;
    assert!(!note.contains("/approve"), "{note}");
    assert_eq!(world.stored("jobs").await, before);
    world.end().await;
}

#[tokio::test]
async fn what_was_merged_while_nobody_listened_goes_out() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let pull = world.open("move the network", updates("network")).await;
    world.kill_the_server().await;
    let commit = world.merge_without_waiting(&pull).await;
    world.come_back().await;
    assert_eq!(world.applied(), ["network"]);
    let [_, rollout] = world.rollouts().await.try_into().unwrap();
    assert_eq!(rollout.commit.as_str(), commit);
    assert_eq!(rollout.pulls[0].0, pull.number);
    let authors: Vec<_> = rollout.authors.iter().map(|it| it.login.as_str()).collect();
    assert_eq!(authors, [ADA]);
    world.end().await;
}

#[tokio::test]
async fn a_command_that_was_lost_is_answered_once_even_when_its_delivery_comes_later() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let pull = world.open("move the network", updates("network")).await;
    let plans = world.stored("jobs").await;
    world.kill_the_server().await;
    let comment = world.site.comment(GRACE, pull.number, "/plan\n/help").await;
    world.come_back().await;
    assert_eq!(world.reactions(comment).await, ["eyes"]);
    assert_eq!(world.replies(&pull).await.len(), 1);
    assert_eq!(world.stored("jobs").await, plans + 1);
    let late = world.letter_of_the_newest_comment().await;
    let status = world.deliver(&late, Some(&late.true_signature())).await;
    assert_eq!(status, StatusCode::ACCEPTED);
    world.settle().await;
    assert_eq!(world.replies(&pull).await.len(), 1);
    assert_eq!(world.stored("jobs").await, plans + 1);
    world.end().await;
}

#[tokio::test]
async fn an_approval_found_late_is_told_and_not_done_and_counts_when_it_is_written_again() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let pull = world
        .merged("replace the network", replaces("network"))
        .await;
    world.kill_the_server().await;
    world.site.comment(GRACE, pull.number, "/approve").await;
    world.age_the_newest_comment().await;
    world.come_back().await;
    let reply = world.last_reply(&pull).await;
    let text: Vec<_> = reply.lines().skip(1).collect();
    let wanted = include_str!("../../notes/reply-found-late.md");
    assert_eq!(text.join("\n").trim_end(), wanted.trim_end());
    assert_eq!(world.ledger_lines().await, ["pending wave-1"]);
    assert_eq!(world.applied(), NOTHING);
    world.api.let_all_pass();
    world.comment(&pull, GRACE, "/approve").await;
    assert_eq!(world.applied(), ["network"]);
    world.end().await;
}

#[tokio::test]
async fn where_nothing_was_lost_nothing_is_done_by_looking() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let open = world.open("move the storage", updates("storage")).await;
    let merged = world
        .merged("replace the network", replaces("network"))
        .await;
    world.comment(&merged, GRACE, "/approve").await;
    world.comment(&open, GRACE, "/plan").await;
    let before = (world.writes(), world.rows().await);
    world.kill_the_server().await;
    world.start_the_server().await;
    world.settle().await;
    assert_eq!((world.writes(), world.rows().await), before);
    world.end().await;
}

#[tokio::test]
async fn a_forge_that_is_away_when_the_server_starts_is_looked_at_when_it_is_back() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    world.kill_the_server().await;
    let change = updates("network");
    let pull = world
        .open_without_waiting("move the network", &change)
        .await;
    let away = Fate::Answered(StatusCode::SERVICE_UNAVAILABLE, Vec::new(), "");
    world.api.rule(first(4, |_| true, away));
    world.come_back().await;
    let start = Instant::now();
    while world.status(&pull.head, "tidegate/plan").await.is_empty() {
        assert!(
            start.elapsed() < Duration::from_secs(120),
            "it is not made good"
        );
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    world.settle().await;
    assert!(world.note(&pull).await.contains("network"));
    world.end().await;
}
