//! The server's log lines, kept so that a world can look for secrets in them.

use std::io;
use std::sync::{Mutex, Once};

static LINES: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static STARTED: Once = Once::new();

/// Keeps what is logged from now on; all worlds share one log.
pub(crate) fn keep() {
    STARTED.call_once(|| {
        tracing_subscriber::fmt()
            .with_env_filter("tidegate=debug,info")
            .with_ansi(false)
            .with_writer(|| Pen)
            .init();
    });
}

/// All that was logged so far.
pub(crate) fn lines() -> String {
    String::from_utf8_lossy(&LINES.lock().unwrap()).into_owned()
}

/// The end of the log, for somebody who reads why a story broke off.
pub(crate) fn last_words() -> String {
    let text = lines();
    let from = text.lines().count().saturating_sub(30);
    text.lines().skip(from).collect::<Vec<_>>().join("\n")
}

struct Pen;

impl io::Write for Pen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LINES.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
