//! Rollouts: the list of recent ones, and one as columns of waves with states, digests and commands.

use jiff::Timestamp;
use maud::{Markup, html};

use crate::core::ids::Digest;
use crate::core::job::Moved;
use crate::core::note::{diff, doing};
use crate::core::plan::{Plan, Remark, Totals};
use crate::core::rollout::{Rollout, Source, Wave, WaveState};
use crate::serve::pages::frame::{self, Renewal, prose};

/// The recent rollouts, newest first.
pub(super) fn list(rollouts: &[Rollout]) -> Markup {
    frame::page(
        "Rollouts",
        renewal(rollouts),
        &html! {
            h1 { "Rollouts" }
            @if rollouts.is_empty() {
                p.quiet { "Nothing was let out yet. A push to the default branch of a served repository starts a rollout." }
            } @else {
                table {
                    tr { th { "Repository" } th { "Commit" } th { "From" } th { "Waves" } th { "Started" } }
                    @for rollout in rollouts { (row(rollout)) }
                }
            }
        },
    )
}

/// One rollout: its waves from left to right.
pub(super) fn page(rollout: &Rollout) -> Markup {
    let title = format!("{} {}", rollout.repo.name, rollout.commit.short());
    frame::page(
        &title,
        renewal(std::slice::from_ref(rollout)),
        &html! {
            h1 { (rollout.repo.name) " at " code { (rollout.commit.short()) } }
            p.quiet { (from(rollout)) " · rules from " code { (rollout.base.short()) } " · started " (moment(rollout.started)) }
            div.waves { @for wave in &rollout.waves { (column(wave)) } }
        },
    )
}

fn row(rollout: &Rollout) -> Markup {
    html! {
        tr {
            td { (rollout.repo.name) }
            td { a href={ "/rollouts/" (rollout.id) } { code { (rollout.commit.short()) } } }
            td { (from(rollout)) }
            td {
                @for wave in &rollout.waves {
                    @let look = Look::of(&wave.state);
                    div { "wave-" (wave.number) " " span class={ "state " (look.class) } { (look.word) } }
                }
            }
            td.quiet { (moment(rollout.started)) }
        }
    }
}

fn column(wave: &Wave) -> Markup {
    let look = Look::of(&wave.state);
    html! {
        section class={ "wave " (look.class) } {
            h2 { "wave-" (wave.number) }
            div class={ "state " (look.class) } { (look.word) }
            (told(wave))
            ul {
                @for root in &wave.members {
                    li {
                        code { (root) }
                        @if let Some(plan) = wave.plans.iter().find(|it| it.root == *root) {
                            " " span.quiet { (totals(&plan.totals())) }
                        }
                        @for gone in wave.unplanned.iter().filter(|it| it.root == *root) {
                            div.state.bad { (prose(&gone.why)) }
                            @if !gone.detail.is_empty() { details { summary { "What the tool said" } pre { (gone.detail) } } }
                        }
                        @for applied in wave.applied.iter().filter(|it| it.root == *root) {
                            @if let Some(error) = &applied.error { pre { (error) } }
                        }
                    }
                }
            }
            (changes(wave))
            @if wave.attempt.0 > 1 { div.quiet { "attempt " (wave.attempt) } }
            div.quiet { (moment(wave.moved_at)) }
        }
    }
}

/// What the state asks of people, or tells them.
fn told(wave: &Wave) -> Markup {
    html! {
        @match &wave.state {
            WaveState::Waiting { digest, why } => {
                p { (prose(why)) }
                @if let Some(digest) = digest { (command(wave, digest)) }
            }
            WaveState::Refused { digest, moved } => {
                p { "Nothing applied: plans moved after they were approved." }
                @for member in moved { (moved_member(member)) }
                @if let Some(digest) = digest { (command(wave, digest)) }
            }
            WaveState::Applying { digest, by } | WaveState::Applied { digest, by } => {
                @if let Some(by) = by { p { "Approved by " (by) "." } }
                div.quiet.digest { code { (digest) } }
            }
            WaveState::Failed { why } | WaveState::Lost { why } => {
                p { (prose(why)) }
                pre { "/apply wave-" (wave.number) }
            }
            WaveState::Cancelled => pre { "/apply wave-" (wave.number) }
            WaveState::NotStarted | WaveState::Planning | WaveState::Nothing | WaveState::StoodDown => {}
        }
    }
}

fn command(wave: &Wave, digest: &Digest) -> Markup {
    html! {
        pre { "/approve wave-" (wave.number) }
        div.quiet.digest { code { (digest) } }
    }
}

fn moved_member(moved: &Moved) -> Markup {
    let short = |digest: &Option<Digest>| {
        digest
            .as_ref()
            .map_or("nothing".to_owned(), |it| it.short().to_owned())
    };
    html! {
        p { code { (moved.root) } " was approved as " code { (short(&moved.approved)) } " and plans " code { (short(&moved.now)) } " now." }
    }
}

/// The newest plans, and the ones that asked for the approval when a later attempt planned again.
fn changes(wave: &Wave) -> Markup {
    let is_other = |it: &&Plan| !wave.plans.iter().any(|plan| plan.digest == it.digest);
    let asked: Vec<&Plan> = wave.asked_plans.iter().filter(is_other).collect();
    html! {
        @for plan in &wave.plans { (diff(plan, "")) }
        @for plan in asked { (diff(plan, ", as it was when it asked for the approval")) }
    }
}

/// One plan, folded unless it destroys something.
fn diff(plan: &Plan, remark: &str) -> Markup {
    let text = diff::lines(&plan.subject);
    html! {
        @if !plan.is_empty() {
            details open[plan.is_destructive() && remark.is_empty()] {
                summary { code { (plan.root) } (remark) }
                @for remark in &plan.remarks { p.quiet { (said(remark)) } }
                @if plan.subject.told.is_some() { p { (totals(&plan.totals())) ", says its plan command; it shows no more." } }
                @else { pre { @for line in text.lines() { span class=[kind(line)] { (line) } "\n" } } }
                div.quiet.digest { code { (plan.digest) } }
            }
        }
    }
}

fn said(remark: &Remark) -> Markup {
    html! {
        @if let Some(address) = &remark.address { code { (address) } ": " }
        (prose(&remark.text))
    }
}

/// What a line of a diff is drawn as.
fn kind(line: &str) -> Option<&'static str> {
    match line.as_bytes().first() {
        Some(b'+') => Some("added"),
        Some(b'-') => Some("removed"),
        Some(b'~' | b'!') => Some("changed"),
        Some(_) | None => None,
    }
}

fn totals(totals: &Totals) -> String {
    doing(totals).unwrap_or_else(|| "no change".to_owned())
}

/// A time as people read it, to the second.
fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

fn from(rollout: &Rollout) -> String {
    let branch = match &rollout.source {
        Source::Push { branch, .. } => format!("push to {branch}"),
        Source::Pull { pull, .. } => format!("pull request #{}", pull.number),
    };
    let pulls: Vec<_> = rollout.pulls.iter().map(|it| format!("#{it}")).collect();
    if pulls.is_empty() {
        branch
    } else {
        format!("{branch}, {}", pulls.join(", "))
    }
}

/// A page of rollouts is live while a job of one of them runs.
fn renewal(rollouts: &[Rollout]) -> Renewal {
    let mut waves = rollouts.iter().flat_map(|it| &it.waves);
    if waves.any(Wave::is_running) {
        Renewal::Live
    } else {
        Renewal::Still
    }
}

/// A state's word and the class it is drawn with.
struct Look {
    word: &'static str,
    class: &'static str,
}

impl Look {
    fn of(state: &WaveState) -> Self {
        let (word, class) = match state {
            WaveState::NotStarted => ("not started", "quiet"),
            WaveState::Planning => ("planning", "running"),
            WaveState::Waiting { .. } => ("waits for an approval", "waits"),
            WaveState::Applying { .. } => ("applying", "running"),
            WaveState::Applied { .. } => ("applied", "done"),
            WaveState::Nothing => ("nothing to apply", "done"),
            WaveState::Refused { .. } => ("refused", "bad"),
            WaveState::Failed { .. } => ("failed", "bad"),
            WaveState::Lost { .. } => ("lost", "bad"),
            WaveState::Cancelled => ("cancelled", "waits"),
            WaveState::StoodDown => ("stood down", "quiet"),
        };
        Self { word, class }
    }
}
