//! Where the rest of a list is.

use anyhow::{Context, anyhow};
use http::{HeaderMap, header};
use url::Url;

/// How a forge hands out a long list.
#[derive(Clone, Copy, Debug)]
pub(in crate::forge) enum Paging {
    /// With a link to the page after each.
    Linked,
    /// Page by numbered page. How many items are on one is the forge's to say, so a short page may not be the last.
    Numbered,
}

impl Paging {
    /// The path of a list's first page.
    pub(super) fn first(self, path: &str) -> String {
        match self {
            Self::Linked => with(path, "per_page=100"),
            Self::Numbered => numbered(path, 1),
        }
    }

    /// The path of the page after that of this number; none on the last one.
    pub(super) fn next(
        self,
        base: &Url,
        (path, number): (&str, usize),
        seen: &Seen<'_>,
    ) -> anyhow::Result<Option<String>> {
        match self {
            Self::Linked => linked(base, seen.headers),
            Self::Numbered => Ok((!seen.is_all()).then(|| numbered(path, number + 1))),
        }
    }
}

/// What was seen of a list so far.
pub(super) struct Seen<'a> {
    /// Of the newest page.
    pub(super) headers: &'a HeaderMap,
    pub(super) on_page: usize,
    pub(super) in_all: usize,
}

impl Seen<'_> {
    fn is_all(&self) -> bool {
        let total = self.headers.get("x-total-count");
        let total = total.and_then(|it| it.to_str().ok()?.parse::<usize>().ok());
        self.on_page == 0 || total.is_some_and(|it| self.in_all >= it)
    }
}

fn numbered(path: &str, number: usize) -> String {
    with(path, &format!("limit=50&page={number}"))
}

/// A path with one more thing to ask by.
pub(super) fn with(path: &str, query: &str) -> String {
    let sign = if path.contains('?') { '&' } else { '?' };
    format!("{path}{sign}{query}")
}

/// The path of the next page; none on the last one. A link that leads anywhere but into this API is refused, since
/// our token would go with it.
fn linked(base: &Url, headers: &HeaderMap) -> anyhow::Result<Option<String>> {
    let Some(target) = headers
        .get(header::LINK)
        .and_then(|it| next_link(it.to_str().ok()?))
    else {
        return Ok(None);
    };
    let next = base
        .join(target)
        .context("cannot read the address of the next page")?;
    let root = base.path().trim_end_matches('/');
    let inside = next
        .path()
        .strip_prefix(root)
        .filter(|it| it.starts_with('/'));
    let Some(path) = inside.filter(|_| next.origin() == base.origin()) else {
        return Err(anyhow!(
            "the next page is at {next}, outside {base}; it was not read"
        ));
    };
    Ok(Some(match next.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    }))
}

fn next_link(header: &str) -> Option<&str> {
    header.split(',').find_map(|link| {
        let (target, parameters) = link.trim().strip_prefix('<')?.split_once('>')?;
        let is_next = parameters.split(';').any(|it| it.trim() == r#"rel="next""#);
        is_next.then_some(target)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(base: &str, link: &str) -> anyhow::Result<Option<String>> {
        let mut headers = HeaderMap::new();
        headers.insert(header::LINK, link.parse().unwrap());
        linked(&base.parse().unwrap(), &headers)
    }

    #[test]
    fn the_next_page_is_a_path_inside_the_api() {
        let cases = [
            (
                "https://api.github.com/",
                r#"<https://api.github.com/repositories/1/pulls?page=1>; rel="prev", <https://api.github.com/repositories/1/pulls?page=3>; rel="next""#,
                Some("/repositories/1/pulls?page=3"),
            ),
            (
                "https://git.acme.example/api/v3",
                r#"<https://git.acme.example/api/v3/repos/a/b/pulls?page=2>; rel="next""#,
                Some("/repos/a/b/pulls?page=2"),
            ),
            (
                "https://api.github.com/",
                r#"<https://api.github.com/x?page=1>; rel="last""#,
                None,
            ),
        ];
        for (base, link, expected) in cases {
            assert_eq!(next(base, link).unwrap().as_deref(), expected, "{link}");
        }
    }

    #[test]
    fn a_next_page_outside_the_api_is_refused() {
        for target in [
            "http://169.254.169.254/latest",
            "https://git.acme.example.evil.example/api/v3/x",
            "http://git.acme.example/api/v3/x",
            "https://git.acme.example:8443/api/v3/x",
            "https://git.acme.example/api/v3/../../admin",
            "https://git.acme.example/api/v3evil/x",
            "//evil.example/api/v3/x",
        ] {
            let link = format!(r#"<{target}>; rel="next""#);
            let refused = next("https://git.acme.example/api/v3", &link);
            assert!(refused.is_err(), "{target}: {refused:?}");
        }
    }
}
