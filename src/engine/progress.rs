//! What an engine is doing, in words: "planning 3 roots (1 done)".

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::engine::Checkout;

/// One pass over the roots of a job.
pub(super) struct Progress<'a> {
    checkout: &'a Checkout,
    what: &'static str,
    roots: usize,
    done: AtomicUsize,
}

impl<'a> Progress<'a> {
    /// Says that a pass begins.
    pub(super) fn start(checkout: &'a Checkout, what: &'static str, roots: usize) -> Self {
        let progress = Self {
            checkout,
            what,
            roots,
            done: AtomicUsize::new(0),
        };
        progress.say(0);
        progress
    }

    /// Counts a root as done and hands on how it went.
    pub(super) fn count<T>(&self, result: T) -> T {
        self.say(self.done.fetch_add(1, Ordering::Relaxed) + 1);
        result
    }

    fn say(&self, done: usize) {
        let (what, roots) = (self.what, self.roots);
        let noun = if roots == 1 { "root" } else { "roots" };
        self.checkout
            .doing
            .send_replace(format!("{what} {roots} {noun} ({done} done)"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_is_counted() {
        let checkout = Checkout::below("/jobs/1".as_ref());
        let progress = Progress::start(&checkout, "planning", 3);
        progress.count(());
        assert_eq!(*checkout.doing.borrow(), "planning 3 roots (1 done)");
    }
}
