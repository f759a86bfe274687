//! Why a root did not plan or apply, for people.

use crate::core::plan::PlanResult;
use crate::engine::scrub::scrub;
use crate::engine::terraform::complaint::Complaint;
use crate::engine::terraform::run::Run;
use crate::process::Ran;

/// How many errors a sentence names.
const NAMED: usize = 4;

/// Why a root did not plan or apply.
#[derive(Debug)]
pub(super) struct Failure {
    /// One sentence.
    why: String,
    /// The tool's own text, scrubbed and capped.
    detail: String,
    /// Whether an upstream has no state yet.
    lacks_state: bool,
}

impl Failure {
    /// A failure of our own making: a clause, without a full stop.
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self {
            why: format!("{}.", why.into()),
            detail: String::new(),
            lacks_state: false,
        }
    }

    /// What a failed command of the tool said while it was `doing` something.
    pub(super) fn said(run: &Run<'_>, doing: &str, ran: &Ran) -> Self {
        let text = [&ran.stderr, &ran.stdout]
            .map(|it| String::from_utf8_lossy(it).into_owned())
            .into_iter()
            .find(|it| !it.trim().is_empty())
            .unwrap_or_default();
        let detail = scrub(run.checkout(), &text);
        let complaints = Complaint::all(&detail, run.root());
        Self {
            why: format!("{doing} failed: {}.", clauses(&complaints, ran, &detail)),
            lacks_state: complaints.iter().any(Complaint::is_about_missing_state),
            detail,
        }
    }

    /// The same failure with another sentence after the first.
    pub(super) fn and(mut self, sentence: &str) -> Self {
        self.why = format!("{} {sentence}", self.why);
        self
    }

    /// Whether an upstream has no state yet.
    pub(super) fn lacks_state(&self) -> bool {
        self.lacks_state
    }

    /// The sentence alone: what the tool printed while it applied may hold what a provisioner printed.
    pub(super) fn into_sentence(self) -> String {
        self.why
    }

    /// The failure as the result of a plan.
    pub(super) fn into_result(self) -> PlanResult {
        PlanResult::Failed {
            why: self.why,
            detail: self.detail,
        }
    }
}

fn clauses(complaints: &[Complaint], ran: &Ran, text: &str) -> String {
    if complaints.is_empty() {
        let ended = ran.ended();
        let said = text.lines().rfind(|it| !it.trim().is_empty());
        return said.map_or(ended.clone(), |it| {
            format!("{} ({ended})", it.trim().trim_end_matches('.'))
        });
    }
    let mut clauses: Vec<String> = complaints
        .iter()
        .take(NAMED)
        .map(Complaint::clause)
        .collect();
    if complaints.len() > NAMED {
        clauses.push(format!("and {} more", complaints.len() - NAMED));
    }
    clauses.join("; ")
}
