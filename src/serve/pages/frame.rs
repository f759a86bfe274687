//! The frame that every page shares, and how a sentence is drawn.

use maud::{DOCTYPE, Markup, html};

/// Whether a page is loaded again by itself.
#[derive(Clone, Copy)]
pub(super) enum Renewal {
    /// What it shows moves: it is loaded again every few seconds.
    Live,
    Still,
}

/// A whole page.
pub(super) fn page(title: &str, renewal: Renewal, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                @match renewal {
                    Renewal::Live => meta http-equiv="refresh" content="5";,
                    Renewal::Still => {}
                }
                title { (title) " · tidegate" }
                link rel="stylesheet" href="/style.css";
            }
            body {
                header { a href="/" { "tidegate" } }
                main { (body) }
            }
        }
    }
}

/// A sentence of ours: what stands between backticks is drawn as code.
pub(super) fn prose(text: &str) -> Markup {
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}
