//! What people read of a pull request: its note, and the two statuses of its head.

use crate::core::effect::Effect;
use crate::core::rollout::pull::PullMemory;
use crate::handlers::App;

/// The note and the statuses of a pull request, as they must read now.
pub(super) async fn of_pull(_app: &App, _memory: &PullMemory) -> anyhow::Result<Vec<Effect>> {
    Ok(Vec::new())
}
