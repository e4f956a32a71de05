//! Processes that the launcher saw survive the server before us.

use ouroboros_proto::kind::Identity;

/// A process that the launcher saw survive.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Unproven {
    /// Which.
    pub identity: Identity,
    /// What it runs.
    pub command: String,
}

/// What the launcher passed on; those without an identity it has named in its own words.
pub(super) fn list() -> Vec<Unproven> {
    let Ok(text) = std::env::var("OUROBOROS_UNPROVEN") else { return Vec::new() };
    let listed: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap_or_default();
    listed.into_iter().filter_map(|one| serde_json::from_value(one).ok()).collect()
}
