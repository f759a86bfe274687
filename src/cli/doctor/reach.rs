//! Whether `public_url` reaches this server, as forges and jobs need it to.

use std::time::Duration;

use url::{Host, Url};

use crate::core::config::server::ServerOptions;
use crate::core::finding::Finding;
use crate::core::key::MasterKey;
use crate::serve::health::INSTALLATION;

/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(10);

/// Who answered at an address.
#[derive(Debug, PartialEq, Eq)]
enum Answered {
    /// A tidegate with this id.
    Tidegate(String),
    /// Something else, with this status.
    Stranger(u16),
    Nobody(String),
}

/// Asks `public_url` for its `/healthz`, and `listen` too when nothing answers there.
pub(super) async fn check(
    options: &ServerOptions,
    key: Option<&MasterKey>,
    http: &reqwest::Client,
) -> Vec<Finding> {
    let mut findings = Vec::from_iter(warn_of_localhost(&options.public_url));
    let public = ask(http, &options.public_url).await;
    let local = match &public {
        Answered::Tidegate(_) => None,
        Answered::Stranger(_) | Answered::Nobody(_) => {
            let local = Url::parse(&format!("http://{}", options.listen));
            let local = local.expect("an address is a URL's host and port");
            Some(ask(http, &local).await)
        }
    };
    let ours = key.map(|it| it.for_digests().id().to_owned());
    findings.push(judge(
        &options.public_url,
        ours.as_deref(),
        &public,
        local.as_ref(),
    ));
    findings
}

/// An address below the server's public one.
pub(super) fn below(public_url: &Url, path: &str) -> Url {
    let text = format!("{}{path}", public_url.as_str().trim_end_matches('/'));
    Url::parse(&text).expect("a URL with a longer path is a URL")
}

async fn ask(http: &reqwest::Client, url: &Url) -> Answered {
    let request = http.get(below(url, "/healthz")).timeout(LIMIT);
    match request.send().await {
        Ok(answer) => match answer.headers().get(INSTALLATION) {
            Some(id) => Answered::Tidegate(id.to_str().unwrap_or_default().to_owned()),
            None => Answered::Stranger(answer.status().as_u16()),
        },
        Err(error) => Answered::Nobody(innermost(&error)),
    }
}

/// The last cause of a chain, which says it best.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

fn warn_of_localhost(url: &Url) -> Option<Finding> {
    let is_local = match url.host()? {
        Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
        Host::Ipv4(address) => address.is_loopback() || address.is_unspecified(),
        Host::Ipv6(address) => address.is_loopback() || address.is_unspecified(),
    };
    let what = format!("`public_url` is {url}, which only this machine reaches");
    let hint =
        "give the address by which the forge reaches this server, unless the forge is here too";
    is_local.then(|| Finding::warn("webhooks", what, hint))
}

fn judge(url: &Url, ours: Option<&str>, public: &Answered, local: Option<&Answered>) -> Finding {
    let is_us = |it: &Answered| matches!(it, Answered::Tidegate(id) if Some(id.as_str()) == ours);
    match public {
        public if is_us(public) => Finding::ok("webhooks", format!("{url} reaches this server")),
        Answered::Tidegate(_) if ours.is_none() => Finding::warn(
            "webhooks",
            format!("{url} reaches a tidegate, and without our key it cannot be told whose"),
            "mend the key first",
        ),
        Answered::Tidegate(id) => Finding::fail(
            "webhooks",
            format!("{url} reaches another installation of tidegate ({id})"),
            "mend `public_url`, or what forwards it to `listen`",
        ),
        Answered::Stranger(_) | Answered::Nobody(_) if !local.is_some_and(is_us) => Finding::warn(
            "webhooks",
            "the server does not run here, so it cannot be told whether webhooks reach it",
            "start `tidegate serve` and ask again",
        ),
        Answered::Stranger(status) => Finding::fail(
            "webhooks",
            format!("{url} answers {status}, and not as this server"),
            "have what listens there forward to `listen`, with the path as it is",
        ),
        Answered::Nobody(why) => Finding::fail(
            "webhooks",
            format!("the server runs, and {url} does not reach it: {why}"),
            "see that its name resolves, and that what listens there forwards to `listen`",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::finding::Level;

    fn tidegate(id: &str) -> Answered {
        Answered::Tidegate(id.to_owned())
    }

    #[test]
    fn only_our_own_answer_at_the_public_address_is_right() {
        let url = Url::parse("https://tidegate.acme.example").unwrap();
        let nobody = Answered::Nobody("refused".to_owned());
        let stranger = Answered::Stranger(502);
        let us = tidegate("ours");
        let cases = [
            (&us, None, Level::Ok),
            (&tidegate("theirs"), None, Level::Fail),
            (&stranger, Some(&us), Level::Fail),
            (&nobody, Some(&us), Level::Fail),
            (&nobody, Some(&nobody), Level::Warn),
            (&stranger, Some(&tidegate("theirs")), Level::Warn),
        ];
        for (public, local, level) in cases {
            let found = judge(&url, Some("ours"), public, local);
            assert_eq!(found.level, level, "{public:?} {local:?}");
        }
        assert_eq!(judge(&url, None, &us, None).level, Level::Warn);
    }

    #[test]
    fn an_address_that_only_this_machine_reaches_is_warned_of() {
        for (url, is_local) in [
            ("http://localhost:4141", true),
            ("http://127.0.0.1:4141", true),
            ("http://[::1]:4141", true),
            ("http://0.0.0.0:4141", true),
            ("https://tidegate.acme.example", false),
            ("http://10.0.0.7:4141", false),
        ] {
            let found = warn_of_localhost(&Url::parse(url).unwrap());
            assert_eq!(found.is_some(), is_local, "{url}");
        }
    }
}
