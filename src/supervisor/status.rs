//! What the supervisor shows of itself: a snapshot of committed facts, replaced as a whole.

use ouroboros_domain::{Settings, Tally};
use ouroboros_proto::api::{Alarm, QueueView, SlotsView};
use ouroboros_proto::kind::{Generation, InstallationId, NanoDollars, UtcMicros};

/// Facts about this life that do not change.
#[derive(Debug, Clone)]
pub struct Life {
    /// The installation.
    pub installation: InstallationId,
    /// This life.
    pub generation: Generation,
    /// When it began.
    pub started_at: UtcMicros,
    /// The launcher's pid, when a launcher started this server.
    pub launcher_pid: Option<u32>,
    /// Build of this server.
    pub build: String,
    /// Whether attempts get namespaces of their own; otherwise why not.
    pub namespaces: Result<(), String>,
}

/// Committed facts that change.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// Whether the begin of this life is durable.
    pub booted: bool,
    /// Whether a task accepted now can run now.
    pub ready: bool,
    /// Whether the server is ending.
    pub stopping: bool,
    /// What is wrong.
    pub alarms: Vec<Alarm>,
    /// The queue.
    pub queue: QueueView,
    /// The slots.
    pub slots: SlotsView,
    /// What is spent, set aside and not known, in all.
    pub spent: Tally,
    /// What counts against the limit of the hour.
    pub hour: NanoDollars,
    /// Settings that apply at once, as they are in force.
    pub settings: Settings,
}

impl Status {
    /// What is shown before anything is known.
    #[must_use]
    pub fn before_boot(settings: Settings) -> Self {
        let none = 0;
        Self {
            booted: false,
            ready: false,
            stopping: false,
            alarms: Vec::new(),
            queue: QueueView {
                queued: none,
                waiting: none,
                held: none,
                paused: none,
                running: none,
                settled: none,
                queue_held: None,
            },
            slots: SlotsView {
                configured: settings.slots,
                busy: 0,
                ending: 0,
                wedged: 0,
                assignable: 0,
                spares: 0,
                starting: 0,
            },
            spent: Tally::default(),
            hour: NanoDollars::default(),
            settings,
        }
    }
}
