//! What the story looks at while it waits: notes, statuses, rollouts, the ledger, the states.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::Value;

use crate::cli::testdrive::people::Person;
use crate::cli::testdrive::stage::Stage;
use crate::core::ids::{PullNumber, WaveNumber};
use crate::core::rollout::{Rollout, Wave};

/// How long a step may wait before it counts as not seen.
const PATIENCE: Duration = Duration::from_secs(120);

/// Asks again until something is seen; says what was waited for when it never is.
pub(super) async fn until<T, F>(what: &str, mut look: impl FnMut() -> F) -> anyhow::Result<T>
where
    F: Future<Output = anyhow::Result<Option<T>>>,
{
    let start = Instant::now();
    loop {
        if let Some(seen) = look().await? {
            return Ok(seen);
        }
        if start.elapsed() > PATIENCE {
            bail!(
                "waited {} s for {what}, and did not see it",
                PATIENCE.as_secs()
            );
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The note of a pull request, once `wanted` accepts its text.
pub(super) async fn note(
    ada: &Person,
    pull: u64,
    what: &str,
    wanted: impl Fn(&str) -> bool,
) -> anyhow::Result<String> {
    until(what, || async {
        let notes = bodies(ada, pull)
            .await?
            .into_iter()
            .filter(|it| it.starts_with("<!-- tidegate:note"))
            .collect::<Vec<_>>();
        match notes.as_slice() {
            [] => Ok(None),
            [note] => Ok(Some(note.clone()).filter(|it| wanted(it))),
            _ => bail!(
                "the pull request has {} notes; it must have one",
                notes.len()
            ),
        }
    })
    .await
}

/// The bot's replies on a pull request, oldest first.
pub(super) async fn replies(ada: &Person, pull: u64) -> anyhow::Result<Vec<String>> {
    Ok(bodies(ada, pull)
        .await?
        .into_iter()
        .filter(|it| it.starts_with("<!-- tidegate:reply"))
        .collect())
}

/// The state of `tidegate/plan` or `tidegate/apply` on a commit, with its description.
pub(super) async fn status(
    ada: &Person,
    commit: &str,
    context: &str,
) -> anyhow::Result<Option<(String, String)>> {
    let all = ada.get(&format!("commits/{commit}/statuses")).await?;
    let newest = all
        .as_array()
        .and_then(|all| all.iter().find(|it| it["context"] == context));
    Ok(newest.map(|it| (text(it, "state"), text(it, "description"))))
}

/// Every rollout the server tells of, newest first.
pub(super) async fn rollouts(stage: &Stage) -> anyhow::Result<Vec<Rollout>> {
    let answer = stage
        .http
        .get(stage.pages.join("rollouts.json")?)
        .send()
        .await?
        .error_for_status()?;
    answer
        .json()
        .await
        .context("the server's rollouts cannot be read")
}

/// The rollout of a pull request, once `wanted` accepts it.
pub(super) async fn rollout(
    stage: &Stage,
    pull: u64,
    what: &str,
    wanted: impl Fn(&Rollout) -> bool,
) -> anyhow::Result<Rollout> {
    until(what, || async {
        let all = rollouts(stage).await?;
        Ok(all
            .into_iter()
            .find(|it| it.pulls.contains(&PullNumber(pull)))
            .filter(|it| wanted(it)))
    })
    .await
}

/// A wave of a rollout that must be there.
pub(super) fn wave(rollout: &Rollout, number: u32) -> anyhow::Result<&Wave> {
    rollout
        .wave(WaveNumber(number))
        .with_context(|| format!("the rollout does not reach wave-{number}"))
}

/// The serial of a root's state: it grows by one with each apply that changes something.
pub(super) async fn serial(stage: &Stage, root: &str) -> anyhow::Result<u64> {
    let state = stage.state(root).await?;
    state["serial"].as_u64().context("a state without a serial")
}

async fn bodies(ada: &Person, pull: u64) -> anyhow::Result<Vec<String>> {
    let all = ada
        .get(&format!("issues/{pull}/comments?per_page=100"))
        .await?;
    Ok(all
        .as_array()
        .into_iter()
        .flatten()
        .map(|it| text(it, "body"))
        .collect())
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}
