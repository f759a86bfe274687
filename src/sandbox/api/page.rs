//! Lists a page at a time, as each forge pages.

use axum::Json;
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use crate::sandbox::api::Ask;
use crate::sandbox::model::hook::Dialect;

/// How a forge pages.
struct Paging {
    /// The query's name for how many there are on a page.
    size: &'static str,
    most: usize,
}

/// A page of a list, by its place in it.
struct Page {
    number: usize,
    size: usize,
    last: usize,
}

impl Dialect {
    fn paging(self) -> Paging {
        match self {
            Self::GitHub => Paging {
                size: "per_page",
                most: 100,
            },
            Self::Forgejo => Paging {
                size: "limit",
                most: 50,
            },
        }
    }
}

impl Ask {
    /// The page of a list that the query asks for, with links to the others.
    pub(crate) fn page<T>(&self, items: &[T], shape: impl Fn(&T) -> Value) -> Response {
        let page = self.which(items.len());
        let links = self.links(&page);
        let mut response = self.counted(items, &page, shape);
        if !links.is_empty()
            && let Ok(links) = links.join(", ").parse()
        {
            response.headers_mut().insert(header::LINK, links);
        }
        response
    }

    /// The page of a list of which Forgejo links no other page: its clients must count.
    pub(crate) fn unlinked_page<T>(&self, items: &[T], shape: impl Fn(&T) -> Value) -> Response {
        match self.dialect {
            Dialect::GitHub => self.page(items, shape),
            Dialect::Forgejo => self.counted(items, &self.which(items.len()), shape),
        }
    }

    fn counted<T>(&self, items: &[T], page: &Page, shape: impl Fn(&T) -> Value) -> Response {
        let shown = items.iter().skip((page.number - 1) * page.size);
        let body: Value = shown.take(page.size).map(shape).collect();
        let body = Json(body);
        match self.dialect {
            Dialect::GitHub => body.into_response(),
            Dialect::Forgejo => {
                let count = HeaderName::from_static("x-total-count");
                ([(count, items.len().to_string())], body).into_response()
            }
        }
    }

    fn which(&self, count: usize) -> Page {
        let paging = self.dialect.paging();
        let number = |name| self.query(name).and_then(|it| it.parse::<usize>().ok());
        let size = number(paging.size).filter(|it| *it > 0).unwrap_or(30);
        let size = size.min(paging.most);
        Page {
            number: number("page").unwrap_or(1).max(1),
            size,
            last: count.div_ceil(size).max(1),
        }
    }

    fn links(&self, page: &Page) -> Vec<String> {
        let mut links = Vec::new();
        if page.number > 1 {
            links.push((1, "first"));
            links.push(((page.number - 1).min(page.last), "prev"));
        }
        if page.number < page.last {
            links.push((page.number + 1, "next"));
            links.push((page.last, "last"));
        }
        let link = |(page, name): &(usize, &str)| self.link(*page, name);
        links.iter().map(link).collect()
    }

    fn link(&self, page: usize, name: &str) -> String {
        let mut query = self.query.clone();
        query.insert("page".to_owned(), page.to_string());
        let query = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(query)
            .finish();
        let address = &self.sandbox.address;
        format!("<{address}{}?{query}>; rel=\"{name}\"", self.path)
    }
}
