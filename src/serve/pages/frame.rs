//! The frame that every page shares.

use maud::{DOCTYPE, Markup, html};

/// A whole page; `live` ones are loaded again every few seconds while something moves.
pub(super) fn page(title: &str, live: bool, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                @if live { meta http-equiv="refresh" content="5"; }
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
