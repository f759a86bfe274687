//! Why a forge did not do what it was asked, read from its answer.

use anyhow::anyhow;
use http::{HeaderMap, StatusCode};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::forge::ForgeError;
use crate::forge::check::http_date;
use crate::forge::wire::Maybe;

/// How long a forge wants us to keep away when it does not say how long.
const MINUTE: SignedDuration = SignedDuration::from_secs(60);

/// Reads an answer that is not a success.
pub(super) fn of(path: &str, status: StatusCode, headers: &HeaderMap, body: &str) -> ForgeError {
    let message = message(body);
    if is_limit(status, headers, &message)
        && let Some(until) = limited_until(headers)
    {
        return ForgeError::Limited { until };
    }
    let text = match message.as_str() {
        "" => format!("{path} answered {status}"),
        message => format!("{path} answered {status}: {message}"),
    };
    match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => ForgeError::NotFound(path.to_owned()),
        // Locked: an archived repository.
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::LOCKED => {
            ForgeError::Forbidden(text)
        }
        _ => ForgeError::Other(anyhow!(text)),
    }
}

fn is_limit(status: StatusCode, headers: &HeaderMap, message: &str) -> bool {
    let is_used_up = headers
        .get("x-ratelimit-remaining")
        .is_some_and(|it| it == "0");
    status == StatusCode::TOO_MANY_REQUESTS
        || (status == StatusCode::FORBIDDEN
            && (is_used_up
                || headers.contains_key("retry-after")
                || message.to_lowercase().contains("rate limit")))
}

/// By the server's own clock, so that ours does not matter; none when it does not tell its time.
fn limited_until(headers: &HeaderMap) -> Option<Timestamp> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let now = text("date").and_then(http_date);
    if let Some(wait) = text("retry-after") {
        return match wait.parse() {
            Ok(seconds) => now?.checked_add(SignedDuration::from_secs(seconds)).ok(),
            Err(_) => http_date(wait),
        };
    }
    if text("x-ratelimit-remaining") == Some("0")
        && let Some(reset) = text("x-ratelimit-reset").and_then(|it| it.parse().ok())
    {
        return Timestamp::from_second(reset).ok();
    }
    now?.checked_add(MINUTE).ok()
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    message: Maybe<String>,
    errors: Maybe<Vec<serde_json::Value>>,
}

/// What the answer says for people. An answer that is not the forge's JSON says nothing: it may be anybody's page.
fn message(body: &str) -> String {
    let body: Body = serde_json::from_str(body).unwrap_or_default();
    let mut parts: Vec<String> = body.message.0.into_iter().collect();
    for error in body.errors.0.iter().flatten() {
        parts.extend(detail(error));
    }
    parts.join("; ").chars().take(500).collect()
}

/// One complaint of several: a sentence, or which field is wrong how.
fn detail(error: &serde_json::Value) -> Option<String> {
    let text = |key: &str| error[key].as_str();
    if let Some(sentence) = error.as_str().or_else(|| text("message")) {
        return Some(sentence.to_owned());
    }
    Some(format!("{} is {}", text("field")?, text("code")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: (&str, &str) = ("date", "Mon, 30 Nov 2026 20:15:00 GMT");

    fn read(status: u16, headers: &[(&'static str, &str)], body: &str) -> ForgeError {
        let headers = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect();
        of("/x", StatusCode::from_u16(status).unwrap(), &headers, body)
    }

    #[test]
    fn a_limit_says_until_when() {
        let cases: [(u16, &[_], &str, &str); 5] = [
            (403, &[NOW, ("retry-after", "90")], "", "20:16:30"),
            (
                429,
                &[("retry-after", "Mon, 30 Nov 2026 21:00:00 GMT")],
                "",
                "21:00:00",
            ),
            (
                403,
                &[
                    ("x-ratelimit-remaining", "0"),
                    ("x-ratelimit-reset", "1796072400"),
                ],
                "",
                "21:00:00",
            ),
            (429, &[NOW], "", "20:16:00"),
            (
                403,
                &[NOW],
                r#"{"message": "You have exceeded a secondary rate limit."}"#,
                "20:16:00",
            ),
        ];
        for (status, headers, body, expected) in cases {
            let ForgeError::Limited { until } = read(status, headers, body) else {
                panic!("{status} {headers:?} is no limit");
            };
            assert_eq!(until.to_string(), format!("2026-11-30T{expected}Z"));
        }
    }

    #[test]
    fn a_refusal_is_told_from_a_failure() {
        let kind = |status| match read(status, &[NOW], "") {
            ForgeError::NotFound(_) => "not there",
            ForgeError::Forbidden(_) => "refused",
            ForgeError::Limited { .. } => "limited",
            ForgeError::Other(_) => "failed",
        };
        let statuses = [401, 403, 423, 404, 410, 422, 500, 502];
        let kinds = statuses.map(kind);
        let expected = [
            "refused",
            "refused",
            "refused",
            "not there",
            "not there",
            "failed",
            "failed",
            "failed",
        ];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn a_complaint_is_told_in_full_and_a_strangers_page_not_at_all() {
        let body = r#"{"message": "Validation Failed", "errors": [
            {"resource": "Status", "code": "invalid", "field": "state"}, {"message": "too long"}, "odd", 7]}"#;
        let told = read(422, &[], body).to_string();
        assert_eq!(
            told,
            "/x answered 422 Unprocessable Entity: Validation Failed; state is invalid; too long; odd"
        );
        let page = read(502, &[], "<html>proxy</html>").to_string();
        assert_eq!(page, "/x answered 502 Bad Gateway");
    }
}
