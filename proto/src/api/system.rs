//! The system as answers show it: health, state, processes, commands.

use super::{SpendingView, Timestamp};
use crate::kind::{Generation, HoldReason, InstallationId, Role, TaskNumber};
use serde::{Deserialize, Deserializer, Serialize};

/// `GET /api/health`; needs no login.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// [`API_VERSION`](super::API_VERSION).
    pub api: u32,
    /// Version of the server.
    pub version: String,
    /// Whether a task accepted now can run now.
    pub ready: bool,
    /// Why not, or what else is wrong; empty when all is well.
    pub degraded: Vec<Alarm>,
}

/// Something that needs attention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alarm {
    /// `worker_storm`, `wedged`, `disk_low`, `storage_stalled`, `storage_failed`, `queue_held`, `no_slots`, `not_isolated`, …
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub remedy: Option<String>,
    /// Since when.
    pub since: Timestamp,
}

/// `GET /api/state`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StateView {
    /// [`API_VERSION`](super::API_VERSION).
    pub api: u32,
    /// Version of the server.
    pub version: String,
    /// Build of the server.
    pub build: String,
    /// The installation.
    pub installation: InstallationId,
    /// Its life.
    pub generation: Generation,
    /// The server's process number.
    pub pid: u32,
    /// The launcher's, when it has one.
    pub launcher_pid: Option<u32>,
    /// When this life began.
    pub started_at: Timestamp,
    /// Address of the web page and API.
    pub url: Option<String>,
    /// The data directory.
    pub data_dir: String,
    /// Whether a task accepted now can run now.
    pub ready: bool,
    /// Whether it is stopping or draining.
    pub stopping: bool,
    /// What is wrong.
    pub alarms: Vec<Alarm>,
    /// The queue.
    pub queue: QueueView,
    /// The slots.
    pub slots: SlotsView,
    /// What is spent on models, and the limits on that; `null` while it is not known.
    #[serde(default)]
    pub spending: Option<SpendingView>,
    /// Disk use.
    pub disk: DiskView,
}

/// The queue in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueView {
    /// Ready to start.
    pub queued: u64,
    /// Waiting for a time or another task.
    pub waiting: u64,
    /// Held.
    pub held: u64,
    /// Waiting for their owner to let them spend more.
    #[serde(default)]
    pub paused: u64,
    /// Running, cancelling ones included.
    pub running: u64,
    /// Settled and still kept.
    pub settled: u64,
    /// Why the whole queue is held, when it is.
    pub queue_held: Option<HoldReason>,
}

/// Capacity in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotsView {
    /// Attempts that may run at once.
    pub configured: u32,
    /// Under way.
    pub busy: u32,
    /// Being ended.
    pub ending: u32,
    /// Given up because a process cannot be ended.
    pub wedged: u32,
    /// What could start now: never more than there are ready workers or room to start them.
    pub assignable: u32,
    /// Workers that are started and ready.
    pub spares: u32,
    /// Workers that are starting.
    pub starting: u32,
}

/// Disk use, bytes. `null` is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct DiskView {
    /// The database with its log.
    pub database: Option<u64>,
    /// Output files.
    pub output: Option<u64>,
    /// Log files.
    pub logs: Option<u64>,
    /// Free on the file system.
    pub free: Option<u64>,
}

/// One process of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessView {
    /// Its number on the host.
    pub pid: i32,
    /// Its parent.
    pub parent: Option<i32>,
    /// What it is for.
    pub role: Role,
    /// Its task.
    pub task: Option<TaskNumber>,
    /// What it runs.
    pub command: String,
    /// Seconds since it started.
    pub age_seconds: Option<u64>,
    /// CPU time used.
    pub cpu_micros: Option<u64>,
    /// Resident memory.
    pub resident_bytes: Option<u64>,
    /// Whether it is in the process ledger; descendants of a tool are found by census only.
    pub recorded: bool,
}

/// `POST /api/command`: what an owner can do to the system as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub enum CommandRequest {
    /// Stop the server; with `drain`, when running tasks have ended.
    Stop {
        /// Whether running tasks may end by themselves.
        #[serde(default)]
        drain: bool,
    },
    /// Stop and start again.
    Restart {
        /// Whether running tasks may end by themselves.
        #[serde(default)]
        drain: bool,
    },
    /// Kill everything at once and stay down; the next start holds the queue.
    #[serde(deserialize_with = "nothing_else")]
    Panic,
    /// Start nothing new.
    #[serde(deserialize_with = "nothing_else")]
    HoldQueue,
    /// Start again; with `all`, held tasks too.
    ReleaseQueue {
        /// Whether held tasks are released too.
        #[serde(default)]
        all: bool,
    },
    /// Change the number of slots until the next change; written to the configuration by the CLI.
    SetSlots {
        /// The number.
        slots: u32,
    },
    /// Read the configuration again.
    #[serde(deserialize_with = "nothing_else")]
    Reload,
    /// Remove what retention says, now.
    #[serde(deserialize_with = "nothing_else")]
    CollectGarbage,
    /// Write a consistent copy of the store to this absolute path, which must not exist.
    Backup {
        /// The path.
        path: String,
        /// Whether the output of attempts goes along, in a directory of that name and `.output`.
        #[serde(default)]
        output: bool,
    },
    /// A one-use code that logs a browser in.
    #[serde(deserialize_with = "nothing_else")]
    LoginCode,
}

/// Reads a command without fields. Of itself a tagged variant without fields lets any field pass.
fn nothing_else<'de, D: Deserializer<'de>>(source: D) -> Result<(), D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}

    Nothing::deserialize(source).map(|Nothing {}| ())
}

/// Answer to a [`CommandRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct CommandAnswer {
    /// A sentence on what was done.
    pub message: String,
    /// Running tasks that it interrupts or waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskNumber>,
    /// For a login code: the address to open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// For garbage collection: bytes freed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freed_bytes: Option<u64>,
    /// For reload: keys that wait for a restart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs_restart: Vec<String>,
}
