//! Deliveries that cannot be handled: no forge is reached here.

use super::*;
use crate::core::effect::Effect;
use crate::core::event::{Commented, Event};
use crate::core::ids::{Actor, CommentId, DeliveryId, UserId};
use crate::outbox::TRIES;
use crate::serve::worker::handle;
use crate::store;

fn ada() -> Actor {
    Actor {
        id: UserId(1),
        login: "ada".try_into().unwrap(),
        is_bot: false,
    }
}

impl Stage {
    async fn file(&self, event: &Event) {
        let delivery = store::Delivery {
            forge: repo(7).forge,
            id: DeliveryId::try_from("d-1").unwrap(),
        };
        let inbox = &self.store().inbox;
        inbox
            .file(&delivery, event, Timestamp::now())
            .await
            .unwrap();
    }

    /// Tries the next delivery so many times, whenever it is due.
    async fn try_times(&self, times: u32) {
        let due = Timestamp::now() + SignedDuration::from_hours(1);
        let lease = SignedDuration::from_hours(1);
        for _ in 0..times {
            let claimed = self
                .store()
                .inbox
                .claim("worker", due, lease)
                .await
                .unwrap();
            handle(&self.server.app, &claimed.unwrap()).await.unwrap();
        }
    }

    /// What was decided to be said on the pull request.
    async fn replied(&self) -> Option<(String, String)> {
        let lease = SignedDuration::from_secs(30);
        let outbox = &self.store().outbox;
        let claimed = outbox
            .claim("performer", Timestamp::now(), lease)
            .await
            .unwrap()?;
        match claimed.effect {
            Effect::Reply { key, text, .. } => Some((key, text)),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_delivery_that_was_given_up_is_answered_on_its_pull_request() {
    let stage = Stage::new().await;
    let opened = Event::PullOpened {
        pull: pull(),
        actor: ada(),
    };
    stage.file(&opened).await;
    stage.try_times(TRIES - 1).await;
    assert_eq!(stage.store().inbox.counts().await.unwrap().dead, 0);
    stage.try_times(1).await;
    assert_eq!(stage.store().inbox.counts().await.unwrap().dead, 1);
    let (key, text) = stage.replied().await.unwrap();
    assert_eq!(key, "given-up-d-1");
    assert_eq!(text, include_str!("../../../tests/notes/reply-given-up.md"));
}

#[tokio::test]
async fn a_comment_that_was_given_up_is_quoted_without_its_power() {
    let stage = Stage::new().await;
    let said = Event::Commented(Commented {
        pull: pull(),
        comment: CommentId(5),
        at: Timestamp::UNIX_EPOCH,
        actor: ada(),
        body: "/approve wave-1 @acme/admins\nmore".to_owned(),
        url: String::new(),
        found_at: None,
    });
    stage.file(&said).await;
    stage.try_times(TRIES).await;
    let (_, text) = stage.replied().await.unwrap();
    let first = text.lines().next().unwrap();
    assert_eq!(first, "Not done: `/approve wave-1 @acme/admins`");
}

#[tokio::test]
async fn what_is_about_no_pull_request_is_given_up_without_an_answer() {
    let stage = Stage::new().await;
    let pushed = Event::BranchPushed {
        repo: repo(7),
        branch: "main".try_into().unwrap(),
        before: sha('1'),
        after: sha('2'),
        actor: ada(),
    };
    stage.file(&pushed).await;
    stage.try_times(TRIES).await;
    assert_eq!(stage.store().inbox.counts().await.unwrap().dead, 1);
    assert_eq!(stage.replied().await, None);
}
