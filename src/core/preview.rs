//! What a change would do, told without a server: waves, plans and their digests, the blast radius.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde::Serialize;

use crate::core::estate::Survey;
use crate::core::estate::radius::{Radius, radius};
use crate::core::ids::{Digest, Root, Sha, WaveNumber};
use crate::core::key::{DerivedKey, MasterKey};
use crate::core::note::{diff, doing};
use crate::core::plan::{Plan, Planned, Remark, Totals};
use crate::core::rollout::approve::set_of_wave;
use crate::core::rollout::{Unplanned, ended};

/// What people and programs read of a preview.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    pub commit: Sha,
    pub base: Sha,
    /// The id of the key that the digests are made with; without one, plans of Terraform have none.
    pub key: Option<String>,
    pub totals: Totals,
    pub waves: Vec<Wave>,
    pub radius: Radius,
    /// Roots that the change takes away: nothing of them is destroyed, and their states stay behind.
    pub taken_away: Vec<Root>,
    /// What could not be followed.
    pub warnings: Vec<String>,
}

/// The reached part of one wave.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Wave {
    pub number: WaveNumber,
    /// What an approval of the wave names; none where there is nothing to do, or a member has no digest.
    pub digest: Option<Digest>,
    pub totals: Totals,
    pub runs: Vec<Run>,
}

/// One reached root.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    pub root: Root,
    #[serde(flatten)]
    pub end: End,
}

/// How planning it ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "result")]
pub enum End {
    Planned {
        digest: Option<Digest>,
        empty: bool,
        destructive: bool,
        totals: Totals,
        /// The changes as lines; sensitive values are marked, not shown.
        diff: String,
        remarks: Vec<String>,
    },
    Unplanned {
        why: String,
        detail: String,
    },
    /// It was not asked for.
    Left,
}

/// What is told of a change: where it stands, what it reaches, and what was planned of it.
pub struct Change<'a> {
    pub commit: &'a Sha,
    pub base: &'a Sha,
    pub survey: &'a Survey,
    pub plans: Vec<Planned>,
}

/// Makes the preview; with the installation's key its digests are those that the server computes.
pub fn preview(change: Change, key: Option<&DerivedKey>) -> Preview {
    // Without the key, plans are still sealed to be shown: what is sensitive in them is then marked and not told.
    let stand_in = MasterKey::new([0; 32]).for_digests();
    let runs = ended::sealed(change.plans, key.unwrap_or(&stand_in));
    let (plans, unplanned) = ended::sorted(runs);
    let survey = change.survey;
    let reached = survey.estate.reached_waves(&survey.reach);
    let seen = Seen {
        plans: &plans,
        unplanned: &unplanned,
        has_key: key.is_some(),
    };
    let waves: Vec<Wave> = (reached.into_iter())
        .map(|it| seen.wave(it.number, it.members))
        .collect();
    let changed = plans.iter().filter(|it| !it.is_empty());
    let changed: BTreeSet<Root> = changed.map(|it| it.root.clone()).collect();
    let planned = plans.iter().map(|it| it.root.clone()).collect();
    Preview {
        commit: change.commit.clone(),
        base: change.base.clone(),
        key: key.map(|it| it.id().to_owned()),
        totals: plans.iter().map(Plan::totals).sum(),
        waves,
        radius: radius(&survey.estate, &changed, &planned),
        taken_away: survey.taken_away.keys().cloned().collect(),
        warnings: survey.estate.warnings.clone(),
    }
}

impl Wave {
    fn unplanned(&self) -> usize {
        let is_unplanned = |it: &&Run| matches!(it.end, End::Unplanned { .. });
        self.runs.iter().filter(is_unplanned).count()
    }
}

/// What was made of the reached roots.
struct Seen<'a> {
    plans: &'a [Plan],
    unplanned: &'a [Unplanned],
    has_key: bool,
}

impl Seen<'_> {
    fn wave(&self, number: WaveNumber, members: Vec<Root>) -> Wave {
        let of_wave = self.plans.iter().filter(|it| members.contains(&it.root));
        let is_named = of_wave.clone().all(|it| self.digest(it).is_some());
        let does_something = of_wave.clone().any(|it| !it.is_empty());
        let digest = set_of_wave(&members, self.plans).filter(|_| is_named && does_something);
        Wave {
            number,
            digest,
            totals: of_wave.map(Plan::totals).sum(),
            runs: members.into_iter().map(|it| self.run(it)).collect(),
        }
    }

    fn run(&self, root: Root) -> Run {
        let plan = self.plans.iter().find(|it| it.root == root);
        let unplanned = self.unplanned.iter().find(|it| it.root == root);
        let end = match (plan, unplanned) {
            (Some(plan), _) => self.planned(plan),
            (None, Some(it)) => End::Unplanned {
                why: it.why.clone(),
                detail: it.detail.clone(),
            },
            (None, None) => End::Left,
        };
        Run { root, end }
    }

    fn planned(&self, plan: &Plan) -> End {
        let remark = |it: &Remark| match &it.address {
            Some(address) => format!("{address}: {}", it.text),
            None => it.text.clone(),
        };
        End::Planned {
            digest: self.digest(plan),
            empty: plan.is_empty(),
            destructive: plan.is_destructive(),
            totals: plan.totals(),
            diff: diff::lines(&plan.subject),
            remarks: plan.remarks.iter().map(remark).collect(),
        }
    }

    /// A plan's digest, when it is the one a server would compute: a project's own command says it itself.
    fn digest(&self, plan: &Plan) -> Option<Digest> {
        let is_ours = self.has_key || plan.subject.told.is_some();
        is_ours.then(|| plan.digest.clone())
    }
}

/// The preview for people.
pub fn text(preview: &Preview) -> String {
    let mut text = Text(String::new());
    let (commit, base) = (preview.commit.short(), preview.base.short());
    if preview.waves.is_empty() {
        text.line(
            0,
            &format!("{commit} reaches no root, compared with {base}"),
        );
        text.taken_away(&preview.taken_away);
        text.warnings(&preview.warnings);
        return text.0;
    }
    let roots: usize = preview.waves.iter().map(|it| it.runs.len()).sum();
    text.line(
        0,
        &format!(
            "{commit} reaches {} in {}, compared with {base}: {}",
            count(roots, "root"),
            count(preview.waves.len(), "wave"),
            doing_of(
                &preview.totals,
                preview.waves.iter().map(Wave::unplanned).sum()
            )
        ),
    );
    for wave in &preview.waves {
        text.wave(wave);
    }
    text.radius(&preview.radius);
    text.taken_away(&preview.taken_away);
    text.warnings(&preview.warnings);
    if preview.waves.iter().any(is_unnamed) && preview.key.is_none() {
        text.line(0, NO_KEY);
    }
    text.0
}

/// Said where digests are missing.
const NO_KEY: &str = "
There are no digests: they are made with the installation's key, so that nobody can guess a secret from one. Set
TIDEGATE_KEY to what stands in the server's key file (`data/key`) to see those that the server computes.";

fn is_unnamed(wave: &Wave) -> bool {
    let is_unnamed = |it: &Run| matches!(it.end, End::Planned { digest: None, .. });
    wave.runs.iter().any(is_unnamed)
}

/// What plans do, and how many roots have none.
fn doing_of(totals: &Totals, unplanned: usize) -> String {
    match (doing(totals), unplanned) {
        (_, 0) => said(totals),
        (None, roots) => format!("{} without a plan", count(roots, "root")),
        (Some(doing), roots) => format!("{doing}, {} without a plan", count(roots, "root")),
    }
}

fn said(totals: &Totals) -> String {
    doing(totals).unwrap_or_else(|| "nothing to change".to_owned())
}

fn count(number: usize, noun: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{end}")
}

/// Lines being written.
struct Text(String);

impl Text {
    /// A line, or several, this far in. What comes from outside steers no terminal.
    fn line(&mut self, depth: usize, text: &str) {
        for line in text.lines() {
            let line: String = line.replace(|it: char| it.is_control() && it != '\t', "\u{fffd}");
            let indent = if line.is_empty() { 0 } else { depth * 2 };
            writeln!(self.0, "{:indent$}{line}", "").expect("a String takes any text");
        }
    }

    fn wave(&mut self, wave: &Wave) {
        let digest = wave.digest.as_ref().map(|it| format!("\n  {it}"));
        let doing = doing_of(&wave.totals, wave.unplanned());
        let title = format!("\nwave {}: {doing}", wave.number);
        self.line(0, &(title + digest.as_deref().unwrap_or_default()));
        for run in &wave.runs {
            self.run(run);
        }
    }

    fn run(&mut self, run: &Run) {
        let root = &run.root;
        match &run.end {
            End::Planned {
                digest,
                totals,
                diff,
                remarks,
                ..
            } => {
                self.line(1, &format!("{root}: {}", said(totals)));
                if let Some(digest) = digest {
                    self.line(2, digest.as_str());
                }
                self.line(2, diff);
                for remark in remarks {
                    self.line(2, &format!("note: {remark}"));
                }
            }
            End::Unplanned { why, detail } => {
                self.line(1, &format!("{root}: no plan. {why}"));
                self.line(2, detail);
            }
            End::Left => self.line(1, &format!("{root}: not planned in this run")),
        }
    }

    fn radius(&mut self, radius: &Radius) {
        if radius.downstream.is_empty() {
            return;
        }
        let changed: Vec<&str> = radius.changed.iter().map(Root::as_str).collect();
        let verb = if changed.len() == 1 {
            "changes"
        } else {
            "change"
        };
        self.line(0, &format!("\nblast radius: {} {verb}", changed.join(", ")));
        for reader in &radius.downstream {
            let reads: Vec<&str> = reader.reads.iter().map(Root::as_str).collect();
            let planned = if reader.planned {
                ""
            } else {
                "; not planned in this run"
            };
            let (root, wave) = (&reader.root, reader.wave);
            self.line(
                1,
                &format!("{root} (wave {wave}) reads {}{planned}", reads.join(", ")),
            );
        }
    }

    fn taken_away(&mut self, roots: &[Root]) {
        for root in roots {
            let text = format!(
                "\n{root} is taken away: nothing of it is destroyed, and its state stays behind"
            );
            self.line(0, &text);
        }
    }

    fn warnings(&mut self, warnings: &[String]) {
        if !warnings.is_empty() {
            self.line(0, "\nwarnings about who reads whom:");
        }
        for warning in warnings {
            self.line(1, warning);
        }
    }
}

#[cfg(test)]
mod tests;
