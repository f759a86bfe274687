//! What the server does about an event: gather, decide, act. Never waits for Terraform.

pub mod gate;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use url::Url;

use crate::core::event::Event;
use crate::core::ids::ForgeHost;
use crate::core::key::DerivedKey;
use crate::forge::Forge;
use crate::store::{Handled, Store};

/// What handlers reach: the store, the forges, the mirrors of their repositories.
#[derive(Clone)]
pub struct App {
    pub store: Store,
    pub forges: Arc<BTreeMap<ForgeHost, Arc<dyn Forge>>>,
    /// Bare mirrors, one folder a repository: `<mirrors>/<host>/<id>.git`.
    pub mirrors: PathBuf,
    /// The key under which sensitive leaves enter digests.
    pub digest_key: DerivedKey,
    /// Where people open pages.
    pub pages: Url,
}

/// Handles one event: reads what it needs, decides, and answers what to remember and do.
pub async fn handle(_app: &App, _event: &Event, _now: Timestamp) -> anyhow::Result<Handled> {
    Ok(Handled::default())
}
