//! Request bodies of single routes.

use ouroboros_proto::kind::Priority;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

/// Body of `POST /api/tasks/{id}/cancel`; may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CancelRequest {
    /// Milliseconds that the processes may take to end by themselves; the configured grace when absent, 0 kills at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
}

/// Body of `POST /api/tasks/{id}/priority`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriorityRequest {
    /// `low`, `normal`, `high` or `urgent`.
    #[serde(deserialize_with = "word")]
    pub priority: Priority,
}

fn word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Priority, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}
