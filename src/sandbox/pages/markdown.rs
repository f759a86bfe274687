//! Comments as people read them: markdown with tables, and of HTML no more than what folds, breaks and shrinks text.

use maud::{Markup, PreEscaped};
use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html};

/// The tags that pass, as they must be written.
const TAGS: [&str; 12] = [
    "<details>",
    "<details open>",
    "</details>",
    "<summary>",
    "</summary>",
    "<br>",
    "<br/>",
    "<br />",
    "<sub>",
    "</sub>",
    "<code>",
    "</code>",
];

/// Escaped characters inside HTML that passes: they are what they stand for.
const ENTITIES: [&str; 5] = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"];

/// Renders a text somebody wrote: other HTML shows as text, comments and images are not shown, links go to the web.
pub(super) fn render(text: &str) -> Markup {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_GFM;
    let mut out = String::new();
    html::push_html(&mut out, safe(Parser::new_ext(text, options)).into_iter());
    PreEscaped(out)
}

fn safe<'a>(events: impl Iterator<Item = Event<'a>>) -> Vec<Event<'a>> {
    let mut kept = Vec::new();
    // A block of HTML comes line by line, and a comment in it may span lines.
    let mut block: Option<String> = None;
    for event in events {
        match event {
            Event::Start(Tag::HtmlBlock) => block = Some(String::new()),
            Event::End(TagEnd::HtmlBlock) => {
                kept.extend(block.take().map(|it| passed(&it)));
            }
            Event::Html(html) => match &mut block {
                Some(block) => block.push_str(&html),
                None => kept.push(passed(&html)),
            },
            Event::InlineHtml(html) => kept.push(passed(&html)),
            Event::Start(Tag::Link {
                dest_url, title, ..
            }) => kept.push(link(&dest_url, title)),
            Event::Start(Tag::Image {
                dest_url, title, ..
            }) => {
                kept.push(link(&dest_url, title));
                kept.push(Event::Text("image: ".into()));
            }
            Event::End(TagEnd::Image) => kept.push(Event::End(TagEnd::Link)),
            other => kept.push(other),
        }
    }
    kept
}

fn link<'a>(address: &str, title: CowStr<'a>) -> Event<'a> {
    let is_safe = ["http://", "https://", "mailto:", "/", "#"]
        .iter()
        .any(|it| address.starts_with(it));
    let address = if is_safe { address } else { "#" };
    Event::Start(Tag::Link {
        link_type: LinkType::Inline,
        dest_url: address.to_owned().into(),
        title,
        id: "".into(),
    })
}

/// A piece of HTML with its comments dropped, the tags that pass as they are, and everything else as text.
fn passed<'a>(html: &str) -> Event<'a> {
    let (mut out, mut rest) = (String::new(), html);
    while let Some(next) = rest.chars().next() {
        if rest.starts_with("<!--") {
            let end = rest.find("-->").map_or(rest.len(), |it| it + "-->".len());
            rest = &rest[end..];
        } else if let Some(tag) = TAGS.iter().find(|it| rest.starts_with(**it)) {
            out.push_str(tag);
            rest = &rest[tag.len()..];
        } else if let Some(entity) = ENTITIES.iter().find(|it| rest.starts_with(**it)) {
            out.push_str(entity);
            rest = &rest[entity.len()..];
        } else {
            match next {
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '&' => out.push_str("&amp;"),
                other => out.push(other),
            }
            rest = &rest[next.len_utf8()..];
        }
    }
    Event::InlineHtml(out.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_folds_breaks_and_shrinks_passes() {
        let text = "<details><summary><code>a &lt; b</code> more</summary>\n\n**bold**<br>next <sub>small</sub>\n\n</details>";
        let html = render(text).0;
        for part in [
            "<details><summary><code>a &lt; b</code> more</summary>",
            "<strong>bold</strong><br>next <sub>small</sub>",
            "</details>",
        ] {
            assert!(html.contains(part), "{html}");
        }
    }

    #[test]
    fn a_comment_is_not_shown_even_over_several_lines() {
        let html = render("<!-- tidegate:note\nmore -->\n\n# Plan <!-- inside -->").0;
        assert_eq!(html.trim(), "<h1>Plan </h1>");
    }

    #[test]
    fn everything_else_of_html_is_text() {
        for bad in [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)>",
            "<details ontoggle=alert(1) open>x</details>",
            "<svg/onload=alert(1)>",
            "<!-- a --><iframe src=x></iframe>",
            "<br onclick=alert(1)>",
            "<style>*{display:none}</style>",
            "</main><form action=//x>",
            "<DETAILS onclick=x>",
        ] {
            let html = render(bad).0;
            let inside = html
                .replace("</details>", "")
                .replace("<p>", "")
                .replace("</p>", "");
            assert!(!inside.contains('<'), "{bad} became {html}");
        }
    }

    #[test]
    fn links_go_to_the_web_or_nowhere() {
        for bad in [
            "javascript:alert(1)",
            "JaVaScRiPt:x",
            "data:text/html,x",
            "vbscript:x",
            "file:///etc/passwd",
        ] {
            let html = render(&format!("[x]({bad}) <{bad}>")).0;
            assert!(!html.contains(&format!("href=\"{bad}")), "{html}");
        }
        let html = render("[x](https://example.com/a?b=c)").0;
        assert!(
            html.contains("href=\"https://example.com/a?b=c\""),
            "{html}"
        );
    }

    #[test]
    fn an_image_is_a_link_that_loads_nothing() {
        let html = render("![wave](https://example.com/w.png)").0;
        assert!(!html.contains("<img"), "{html}");
        assert!(
            html.contains("<a href=\"https://example.com/w.png\">image: wave</a>"),
            "{html}"
        );
    }

    #[test]
    fn a_table_is_a_table() {
        let html = render("| root | plan |\n|---|---|\n| `net` | ~~no~~ |").0;
        assert!(
            html.contains("<td><code>net</code></td><td><del>no</del></td>"),
            "{html}"
        );
    }
}
