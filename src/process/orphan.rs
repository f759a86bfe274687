//! What programs leave behind: processes whose parent is gone.

use std::fs;

use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;

/// What is killed may have started others in the meantime, which are ours then.
const ROUNDS: usize = 1000;

/// Has what our programs leave behind become our children, in whatever session or group it hides.
pub fn adopt() -> nix::Result<()> {
    set_child_subreaper(true)
}

/// Kills every child of this process, and what these leave behind. For a process that is about to end.
pub fn kill_all() {
    for _ in 0..ROUNDS {
        let children = children();
        if children.is_empty() {
            return;
        }
        for child in children {
            let _ = kill(child, Signal::SIGKILL);
            let _ = waitpid(child, None);
        }
    }
}

fn children() -> Vec<Pid> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
    let listed = tasks.filter_map(|it| fs::read_to_string(it.ok()?.path().join("children")).ok());
    let numbers: Vec<i32> = listed
        .flat_map(|it| {
            it.split(' ')
                .filter_map(|it| it.parse().ok())
                .collect::<Vec<_>>()
        })
        .collect();
    numbers.into_iter().map(Pid::from_raw).collect()
}
