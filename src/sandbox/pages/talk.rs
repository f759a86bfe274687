//! What people and programs said about a pull request, and the forms to say more.

use maud::{Markup, html};

use crate::core::ids::Sha;
use crate::core::person::Verdict;
use crate::sandbox::model::Document;
use crate::sandbox::model::pull::{Check, Comment, Pull, Review, Status};
use crate::sandbox::pages::frame::time;
use crate::sandbox::pages::markdown::render;
use crate::sandbox::pages::visit::Visit;

/// The description, then comments and reviews in the order in which they were given.
pub(super) fn timeline(document: &Document, pull: &Pull) -> Markup {
    let comments = document.comments_of(pull.key);
    let comments = comments.map(|it| (it.created_at, it.id.0, comment(document, it)));
    let reviews = document.reviews_of(pull.key);
    let reviews = reviews.map(|it| (it.at, it.id, review(document, it)));
    let mut all: Vec<_> = comments.chain(reviews).collect();
    all.sort_by_key(|(at, id, _)| (*at, *id));
    html! {
        article.card {
            header {
                b { (document.account(pull.author).login) } " opened this " (time(pull.created_at))
            }
            div.text {
                @match pull.body.as_deref().filter(|it| !it.trim().is_empty()) {
                    Some(body) => (render(body)),
                    None => p.faint { "No description." },
                }
            }
        }
        @for (_, _, said) in &all { (said) }
    }
}

fn comment(document: &Document, comment: &Comment) -> Markup {
    let reactions: Vec<_> = document.reactions_of(comment.id).collect();
    html! {
        article.card id={ "issuecomment-" (comment.id) } {
            header {
                b { (document.account(comment.author).login) } " " (time(comment.created_at))
                @if comment.updated_at != comment.created_at { " · edited " (time(comment.updated_at)) }
            }
            div.text { (render(&comment.body)) }
            @if !reactions.is_empty() {
                footer {
                    @for reaction in reactions {
                        span.badge.faint title=(document.account(reaction.author).login) {
                            (picture(&reaction.emoji)) " " (document.account(reaction.author).login)
                        } " "
                    }
                }
            }
        }
    }
}

fn picture(emoji: &str) -> &str {
    match emoji {
        "+1" => "👍",
        "-1" => "👎",
        "laugh" => "😄",
        "hooray" => "🎉",
        "confused" => "😕",
        "heart" => "❤️",
        "rocket" => "🚀",
        "eyes" => "👀",
        other => other,
    }
}

fn review(document: &Document, review: &Review) -> Markup {
    let (class, said) = match review.stands() {
        Verdict::Approved => ("badge good", "approved"),
        Verdict::ChangesRequested => ("badge bad", "requested changes"),
        Verdict::Commented => ("badge faint", "commented"),
        Verdict::Dismissed => ("badge faint", "dismissed"),
    };
    html! {
        article.card id={ "pullrequestreview-" (review.id) } {
            header {
                b { (document.account(review.author).login) } " " span class=(class) { (said) }
                " at " code { (review.commit.short()) } ", " (time(review.at))
            }
            @if !review.body.trim().is_empty() { div.text { (render(&review.body)) } }
        }
    }
}

/// The newest status of each context on the head, and on the commit that merged it.
pub(super) fn statuses(document: &Document, pull: &Pull) -> Markup {
    let merge = pull.merge.as_ref().map(|it| &it.commit);
    let merge = merge.filter(|it| **it != pull.head.sha);
    html! {
        h2 { "Statuses of the head " code { (pull.head.sha.short()) } }
        (of_commit(document, pull, &pull.head.sha))
        @if let Some(commit) = merge {
            h2 { "Statuses of the merge " code { (commit.short()) } }
            (of_commit(document, pull, commit))
        }
    }
}

fn of_commit(document: &Document, pull: &Pull, commit: &Sha) -> Markup {
    let of_it = |it: &&Status| it.repo == pull.key.repo && it.commit == *commit;
    let mut newest: Vec<&Status> = Vec::new();
    for status in document.statuses.iter().rev().filter(of_it) {
        if newest.iter().all(|it| it.context != status.context) {
            newest.push(status);
        }
    }
    newest.sort_by_key(|it| &it.context);
    html! {
        ul.rows.card {
            @for status in &newest { li { (line(status)) } }
            @if newest.is_empty() { li.faint { "None." } }
        }
    }
}

fn line(status: &Status) -> Markup {
    let class = match status.state {
        Check::Success => "badge good",
        Check::Pending => "badge wait",
        Check::Failure | Check::Error => "badge bad",
    };
    let is_web = |it: &&String| it.starts_with("http://") || it.starts_with("https://");
    html! {
        span class=(class) { (status.state.as_str()) } " "
        b { (status.context) } " "
        (status.description.as_deref().unwrap_or_default()) " "
        @if let Some(url) = status.url.as_ref().filter(is_web) { a href=(url) { "details" } }
    }
}

/// The forms a visitor can send; nobody in particular can send none.
pub(super) fn forms(visit: &Visit, pull: &Pull) -> Markup {
    html! {
        h2 { "Say or do something" }
        @if visit.actor.is_none() {
            div.card { p.text { "Pick above who you act as." } }
        } @else {
            form.card method="post" action=(visit.path) {
                input type="hidden" name="head" value=(pull.head.sha);
                label for="body" { "comment (markdown), or the text of a review" }
                textarea id="body" name="body" {}
                div.buttons {
                    button name="act" value="comment" { "Comment" }
                    @if pull.is_open() {
                        button name="act" value="approve" { "Approve" }
                        button name="act" value="request-changes" { "Request changes" }
                    }
                }
                div.buttons {
                    @if pull.is_open() {
                        button.main name="act" value="merge" disabled[!pull.is_mergeable] { "Merge" }
                        button name="act" value="squash" disabled[!pull.is_mergeable] { "Squash and merge" }
                        button name="act" value="close" { "Close" }
                    } @else if pull.merge.is_none() {
                        button name="act" value="reopen" { "Reopen" }
                    }
                }
                @if pull.is_open() && !pull.is_mergeable {
                    p.bad { "It conflicts with " code { (pull.base.branch) } ": merge that into the branch first." }
                }
            }
        }
    }
}
