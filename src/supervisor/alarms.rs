//! What is wrong, and since when. Derived from facts each time; only the begin of each alarm is remembered.

use super::status::{Life, Status};
use ouroboros_domain::Core;
use ouroboros_proto::api::{Alarm, QueueView, SlotsView};
use ouroboros_proto::kind::{HoldReason, UtcMicros};
use std::collections::BTreeMap;

/// How storage does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// Commits succeed in time.
    Well,
    /// A commit takes too long.
    Stalled,
    /// A commit failed; the store is being opened again.
    Failed,
}

/// Facts beside the core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Surroundings {
    /// How storage does.
    pub storage: Storage,
    /// Free bytes, when they are below the low-water mark.
    pub disk_low: Option<u64>,
    /// Settled tasks that are kept.
    pub settled: u64,
}

/// Remembers when alarms began.
#[derive(Debug, Default)]
pub struct AlarmBook {
    since: BTreeMap<&'static str, UtcMicros>,
}

impl AlarmBook {
    /// The facts that are shown.
    pub fn status(&mut self, core: &Core, around: Surroundings, life: &Life, now: UtcMicros) -> Status {
        let found = find(core, around, life);
        self.since.retain(|code, _| found.iter().any(|alarm| alarm.0 == *code));
        let alarms: Vec<Alarm> = found
            .into_iter()
            .map(|(code, message, remedy)| Alarm {
                code: code.to_owned(),
                message,
                remedy: Some(remedy.to_owned()),
                since: (*self.since.entry(code).or_insert(now)).into(),
            })
            .collect();
        let (counts, pool, settings) = (core.counts(), core.pool(), core.settings());
        let busy = settings.slots.saturating_sub(core.free_slots());
        let blocked = |code: &str| alarms.iter().any(|alarm| alarm.code == code);
        let may_start = !core.is_stopping()
            && core.queue_hold().is_none()
            && settings.slots > 0
            && pool.wedged < settings.slots
            && !["worker_storm", "storage_failed", "storage_stalled", "disk_low"].into_iter().any(blocked);
        Status {
            booted: true,
            ready: may_start,
            stopping: core.is_stopping(),
            queue: QueueView {
                queued: counts.queued,
                waiting: counts.waiting,
                held: counts.held,
                paused: counts.paused,
                running: counts.running,
                settled: around.settled,
                queue_held: core.queue_hold(),
            },
            slots: SlotsView {
                configured: settings.slots,
                busy,
                ending: pool.ending,
                wedged: pool.wedged,
                assignable: if may_start { core.free_slots() } else { 0 },
                spares: pool.spares,
                starting: pool.starting,
            },
            spent: core.spent().total,
            hour: core.spent().in_hour(now),
            settings,
            alarms,
        }
    }
}

type Found = (&'static str, String, &'static str);

fn find(core: &Core, around: Surroundings, life: &Life) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let pool = core.pool();
    if pool.deaths > 2 {
        found.push((
            "worker_storm",
            format!("{} workers died in a row; they are started with growing pauses.", pool.deaths),
            "Look at `ouroboros logs --server`; it recovers by itself once workers hold.",
        ));
    }
    if pool.wedged > 0 {
        found.push((
            "wedged",
            format!("{} worker(s) cannot be ended; their slots are given up until they are gone.", pool.wedged),
            "Look at `ouroboros ps`; a process in an uninterruptible wait needs its device or mount repaired.",
        ));
    }
    match around.storage {
        Storage::Well => {}
        Storage::Stalled => found.push((
            "storage_stalled",
            "A write has been waiting for over 5 seconds; nothing new is accepted.".to_owned(),
            "Check the disk that holds the data directory.",
        )),
        Storage::Failed => found.push((
            "storage_failed",
            "A write failed; the store is being opened again and nothing new is accepted.".to_owned(),
            "Check the disk that holds the data directory, and `ouroboros logs --server`.",
        )),
    }
    if let Some(free) = around.disk_low {
        found.push((
            "disk_low",
            format!("Only {} MiB are free; nothing new is accepted.", free >> 20),
            "Free some space, run `ouroboros gc`, or lower `disk.low_water`.",
        ));
    }
    if let Some(reason) = core.queue_hold() {
        let why = match reason {
            HoldReason::Owner => "you asked for it",
            HoldReason::Panic => "the last run ended by an emergency stop",
            HoldReason::Restore => "the data was restored from a backup",
            HoldReason::Copied => "the data directory is a copy of another one",
        };
        found.push((
            "queue_held",
            format!("The queue is held, because {why}; nothing starts."),
            match reason {
                HoldReason::Owner => "Let it go on with `ouroboros release --queue`.",
                HoldReason::Panic | HoldReason::Restore | HoldReason::Copied => {
                    "Let it go on with `ouroboros release --all`."
                }
            },
        ));
    }
    if core.settings().slots == 0 {
        found.push((
            "no_slots",
            "There are no slots, so nothing starts.".to_owned(),
            "Give it some with `ouroboros slots 2`.",
        ));
    }
    if let Err(reason) = &life.namespaces {
        found.push((
            "not_isolated",
            format!("Tasks run without a namespace of their own: {reason}. Custody rests on sub-reapers and groups."),
            "See `ouroboros doctor`.",
        ));
    }
    found
}
