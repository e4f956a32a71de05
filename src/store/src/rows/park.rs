//! What a task waits for, as it is stored with its row.

use crate::error::CommitError;
use ouroboros_domain::row::{Park, Pause, Wait};
use ouroboros_proto::kind::{LimitScope, PauseId, UtcMicros, WaitReason};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
enum Stored {
    Pausing {
        id: PauseId,
        limit: LimitScope,
        since: UtcMicros,
    },
    Paused {
        id: PauseId,
        limit: LimitScope,
        since: UtcMicros,
    },
    Granted {
        id: PauseId,
        limit: LimitScope,
        since: UtcMicros,
    },
    Waiting {
        reason: WaitReason,
        since: UtcMicros,
        until: UtcMicros,
        tries: u32,
        attempt: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grant: Option<Grant>,
    },
}

#[derive(Serialize, Deserialize)]
struct Grant {
    id: PauseId,
    limit: LimitScope,
    since: UtcMicros,
}

/// As JSON.
pub fn write(statement: &'static str, park: &Park) -> Result<String, CommitError> {
    let stored = match *park {
        Park::Pausing(Pause { id, limit, since }) => Stored::Pausing { id, limit, since },
        Park::Paused(Pause { id, limit, since }) => Stored::Paused { id, limit, since },
        Park::Granted(Pause { id, limit, since }) => Stored::Granted { id, limit, since },
        Park::Waiting(Wait { reason, since, until, tries, attempt, grant }) => {
            let grant = grant.map(|Pause { id, limit, since }| Grant { id, limit, since });
            Stored::Waiting { reason, since, until, tries, attempt, grant }
        }
    };
    super::json(statement, &stored)
}

/// A park as it was stored.
#[derive(Deserialize)]
#[serde(from = "Stored")]
pub struct ReadPark(pub Park);

impl From<Stored> for ReadPark {
    fn from(stored: Stored) -> Self {
        Self(match stored {
            Stored::Pausing { id, limit, since } => Park::Pausing(Pause { id, limit, since }),
            Stored::Paused { id, limit, since } => Park::Paused(Pause { id, limit, since }),
            Stored::Granted { id, limit, since } => Park::Granted(Pause { id, limit, since }),
            Stored::Waiting { reason, since, until, tries, attempt, grant } => {
                let grant = grant.map(|Grant { id, limit, since }| Pause { id, limit, since });
                Park::Waiting(Wait { reason, since, until, tries, attempt, grant })
            }
        })
    }
}
