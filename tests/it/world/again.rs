//! Deliveries that come once more, as a forge sends them when it is not sure, or when somebody presses its button.

use std::fs;

use futures::future::join_all;
use http::StatusCode;

use crate::world::World;
use crate::world::letter::Letter;

impl World {
    /// Sends every delivery so far again: twice at the same moment, and once under an id of its own; waits for what
    /// comes of it.
    pub(crate) async fn deliver_all_again(&mut self) {
        for delivery in self.deliveries().await {
            let text = |key: &str| delivery[key].as_str().unwrap().to_owned();
            let file = self
                .site
                .data()
                .join(format!("deliveries/{}.json", text("id")));
            let letter = Letter::of(&text("event"), &text("id"), fs::read(file).unwrap());
            let other = letter.under_another_id();
            let all = [&letter, &letter, &other, &other];
            let signature = letter.true_signature();
            let sent = all.map(|it| self.deliver(it, Some(&signature)));
            assert_eq!(join_all(sent).await, [StatusCode::ACCEPTED; 4]);
        }
        self.settle().await;
    }
}
