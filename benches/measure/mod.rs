//! What every benchmark needs: the machine in a line, a median, and two sides measured in turn.

#![allow(dead_code, reason = "each benchmark uses its own part of this")]

use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// Prints what the numbers below it were measured with.
pub(crate) fn print_machine(tools: &str) {
    let cores = available_parallelism().map_or(0, usize::from);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default();
    println!(
        "tidegate {}, {cores} cores, load {load} at the start{tools}",
        env!("CARGO_PKG_VERSION")
    );
}

/// The middle of some numbers.
pub(crate) fn median(numbers: &[f64]) -> f64 {
    share(numbers, 0.5)
}

/// The number that this share of the others is at or below.
pub(crate) fn share(numbers: &[f64], share: f64) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    let at = (last as f64 * share).round() as usize;
    sorted.get(at).copied().unwrap_or_default()
}

/// How long some work takes, in seconds.
pub(crate) async fn seconds(work: impl Future<Output = ()>) -> f64 {
    let start = Instant::now();
    work.await;
    in_seconds(start.elapsed())
}

pub(crate) fn in_seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}
