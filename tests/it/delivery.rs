//! What arrives at the webhook door: forged, twice, at the same moment; and what never arrives.

mod lost;

use futures::future::join_all;
use http::StatusCode;

use crate::world::claims::NOTHING;
use crate::world::estate::replaces;
use crate::world::{GRACE, World};

#[tokio::test]
async fn a_delivery_without_a_true_signature_is_refused_and_stores_nothing() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let pull = world
        .merged("replace the network", replaces("network"))
        .await;
    world.comment(&pull, GRACE, "Looks right.").await;
    let letter = world
        .letter_of_the_newest_comment()
        .await
        .saying("/approve wave-1");
    let stored = world.stored("deliveries").await;
    let forged = letter.signature_under("guessed");
    for signature in [None, Some(""), Some("sha256="), Some(forged.as_str())] {
        let status = world.deliver(&letter, signature).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{signature:?}");
    }
    assert_eq!(world.stored("deliveries").await, stored);
    assert_eq!(world.applied(), NOTHING);
    world.end().await;
}

#[tokio::test]
async fn a_delivery_is_taken_once_however_often_it_comes() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let pull = world
        .merged("replace the network", replaces("network"))
        .await;
    world.comment(&pull, GRACE, "Looks right.").await;
    let letter = world
        .letter_of_the_newest_comment()
        .await
        .saying("/approve wave-1\n/lock");
    let signature = letter.true_signature();
    let at_once = (0..4).map(|_| world.deliver(&letter, Some(&signature)));
    let statuses = join_all(at_once).await;
    assert_eq!(statuses, [StatusCode::ACCEPTED; 4]);
    world.settle().await;
    for again in [&letter, &letter.under_another_id()] {
        let status = world.deliver(again, Some(&signature)).await;
        assert_eq!(status, StatusCode::ACCEPTED);
    }
    world.settle().await;
    assert_eq!(world.applied(), ["network"]);
    assert_eq!(
        world.ledger_lines().await,
        ["pending wave-1", "resolution wave-1"]
    );
    assert_eq!(world.replies(&pull).await.len(), 1);
    world.end().await;
}

#[tokio::test]
async fn a_comment_that_somebody_kept_for_a_week_commands_nothing() {
    let Some(mut world) = World::on_github().await else {
        return;
    };
    let pull = world
        .merged("replace the network", replaces("network"))
        .await;
    world.comment(&pull, GRACE, "Looks right.").await;
    let newest = world.letter_of_the_newest_comment().await;
    let letter = newest.saying("/approve wave-1").written_days_ago(8);
    let status = world.deliver(&letter, Some(&letter.true_signature())).await;
    assert_eq!(status, StatusCode::ACCEPTED);
    world.settle().await;
    assert_eq!(world.ledger_lines().await, ["pending wave-1"]);
    let replies = world.replies(&pull).await;
    assert!(replies[0].contains("more than 7 days ago"), "{replies:?}");
    assert_eq!(world.applied(), NOTHING);
    world.end().await;
}
