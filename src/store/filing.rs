//! Files deliveries: all that wait at the door are stored in one transaction.
//!
//! # Why
//!
//! A delivery is answered once it survives a power cut, and that costs a flush of the disk. In a storm one flush carries
//! many deliveries; one that comes alone is stored at once. All that a row holds is bounded by its type, so no delivery can
//! spoil the transaction it shares with others.

use std::io;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot};

use crate::core::event::Event;
use crate::store::Delivery;
use crate::store::bell::Bell;
use crate::store::db::Db;
use crate::store::inbox::{Filed, insert};

/// How many deliveries go into one transaction, and how many wait for it before the door does.
const MOST: usize = 64;

/// Where deliveries are handed in. The task behind it ends with the last of these.
#[derive(Clone)]
pub(super) struct Filing(mpsc::Sender<Letter>);

/// A delivery that waits to be stored, and whoever waits for that.
struct Letter {
    delivery: Delivery,
    event: Event,
    now: Timestamp,
    answer: oneshot::Sender<sqlx::Result<Filed>>,
}

impl Filing {
    /// Starts the task that stores what is handed in.
    pub(super) fn start(db: Db, bell: Bell) -> Self {
        let (letters, waiting) = mpsc::channel(MOST);
        tokio::spawn(store_all(db, bell, waiting));
        Self(letters)
    }

    /// Answers once the delivery is stored, or known already.
    pub(super) async fn file(
        &self,
        delivery: &Delivery,
        event: &Event,
        now: Timestamp,
    ) -> sqlx::Result<Filed> {
        let (answer, answered) = oneshot::channel();
        let letter = Letter {
            delivery: delivery.clone(),
            event: event.clone(),
            now,
            answer,
        };
        let gone = |_| sqlx::Error::WorkerCrashed;
        self.0.send(letter).await.map_err(|_| gone(()))?;
        answered.await.map_err(|_| gone(()))?
    }
}

async fn store_all(db: Db, bell: Bell, mut waiting: mpsc::Receiver<Letter>) {
    let mut letters = Vec::with_capacity(MOST);
    while waiting.recv_many(&mut letters, MOST).await > 0 {
        let stored = store(&db, &letters).await;
        bell.ring();
        answer(letters.drain(..), stored);
    }
}

/// Stores all or none.
async fn store(db: &Db, letters: &[Letter]) -> sqlx::Result<Vec<Filed>> {
    let mut tx = db.begin().await?;
    let mut filed = Vec::with_capacity(letters.len());
    for letter in letters {
        let Delivery { forge, id } = &letter.delivery;
        filed.push(insert(&mut tx, forge.as_str(), id, &letter.event, letter.now).await?);
    }
    tx.commit().await?;
    Ok(filed)
}

/// Tells each what became of its delivery; whoever is gone has no use for it.
fn answer(letters: impl Iterator<Item = Letter>, stored: sqlx::Result<Vec<Filed>>) {
    match stored {
        Ok(filed) => {
            for (letter, filed) in letters.zip(filed) {
                let _ = letter.answer.send(Ok(filed));
            }
        }
        Err(error) => {
            let error = Arc::new(error);
            for letter in letters {
                let error = io::Error::other(Arc::clone(&error));
                let _ = letter.answer.send(Err(error.into()));
            }
        }
    }
}
