//! What a check of an installation asks about a forge, and the clock's part, which is the same for all of them.

use jiff::{SignedDuration, Timestamp};
use url::Url;

use crate::core::config::server::ForgeOptions;
use crate::core::finding::Finding;
use crate::core::ids::RepoName;
use crate::forge::Connection;

/// The longest difference between two clocks that nobody needs to know of.
const TOLERATED: SignedDuration = SignedDuration::from_secs(30);
/// From here on tokens and signatures are refused.
const TOO_FAR: SignedDuration = SignedDuration::from_secs(300);

/// What is looked at: one forge, as the server's file has it.
#[derive(Clone, Debug)]
pub struct Checkup<'a> {
    pub options: &'a ForgeOptions,
    /// Where its webhooks should go, below the server's public address.
    pub hook: Url,
    /// Repositories to look at one by one; none are those that the patterns name.
    pub repos: &'a [RepoName],
}

impl Checkup<'_> {
    /// What the findings call it.
    pub(super) fn name(&self) -> String {
        self.options.host().to_string()
    }

    /// Repositories to look at one by one.
    pub(super) fn exact_repos(&self) -> Vec<String> {
        if !self.repos.is_empty() {
            return self.repos.iter().map(ToString::to_string).collect();
        }
        let patterns = self.options.repos.iter();
        patterns.filter(|it| !it.contains('*')).cloned().collect()
    }

    /// What names the rest of them.
    pub(super) fn patterns(&self) -> Vec<String> {
        if !self.repos.is_empty() {
            return Vec::new();
        }
        let patterns = self.options.repos.iter();
        patterns.filter(|it| it.contains('*')).cloned().collect()
    }
}

/// Compares this machine's clock with the forge's.
pub(super) async fn clock(checkup: &Checkup<'_>, connection: &Connection) -> Finding {
    let url = checkup.options.api_url.clone();
    let answer = connection.http.get(url).send().await;
    let now = (connection.clock)();
    match answer {
        Ok(answer) => {
            let date = answer.headers().get(http::header::DATE);
            let date = date.and_then(|it| it.to_str().ok()).and_then(http_date);
            compare(&checkup.name(), now, date)
        }
        // That it does not answer is said by the one who asks who we are.
        Err(_) => compare(&checkup.name(), now, None),
    }
}

/// A time as a header has it.
pub(super) fn http_date(text: &str) -> Option<Timestamp> {
    let parser = jiff::fmt::rfc2822::DateTimeParser::new();
    parser.parse_timestamp(text).ok()
}

fn compare(forge: &str, here: Timestamp, there: Option<Timestamp>) -> Finding {
    let Some(there) = there else {
        let what = format!("{forge} does not tell its time");
        return Finding::warn("clock", what, "see that this machine's clock is set by NTP");
    };
    let apart = here.duration_since(there);
    let seconds = apart.as_secs().unsigned_abs();
    let side = if apart.is_negative() {
        "behind"
    } else {
        "ahead of"
    };
    let hint = "set this machine's clock by NTP, such as with `timedatectl set-ntp true`";
    let what = format!("this clock is {seconds} seconds {side} that of {forge}");
    match apart.abs() {
        apart if apart <= TOLERATED => {
            let within = TOLERATED.as_secs();
            Finding::ok("clock", format!("within {within} seconds of {forge}"))
        }
        apart if apart <= TOO_FAR => Finding::warn("clock", what, hint),
        _ => Finding::fail("clock", what, hint),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::finding::Level;

    #[test]
    fn a_clock_that_is_minutes_off_fails_in_either_direction() {
        let here: Timestamp = "2026-11-30T20:15:00Z".parse().unwrap();
        let cases = [
            ("Mon, 30 Nov 2026 20:15:29 GMT", Level::Ok, "within"),
            (
                "Mon, 30 Nov 2026 20:14:00 GMT",
                Level::Warn,
                "60 seconds ahead of",
            ),
            (
                "Mon, 30 Nov 2026 20:25:00 GMT",
                Level::Fail,
                "600 seconds behind",
            ),
            ("yesterday", Level::Warn, "does not tell"),
        ];
        for (date, level, said) in cases {
            let found = compare("github.com", here, http_date(date));
            assert_eq!(found.level, level, "{date}");
            assert!(found.what.contains(said), "{}", found.what);
        }
    }
}
