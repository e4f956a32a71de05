//! The system at a glance.

use super::task::Lines;
use super::{Look, Tone, clean, money, size, time};
use ouroboros_proto::api::{Alarm, DiskView, QueueView, SlotsView, StateView};
use ouroboros_proto::kind::{HoldReason, UtcMicros};

/// Everything that `status` says about a running server.
pub fn state(state: &StateView, now: UtcMicros, look: Look) -> String {
    let (tone, word) = match (state.stopping, state.ready) {
        (true, _) => (Tone::Warn, "stopping"),
        (false, true) => (Tone::Good, "ready"),
        (false, false) => (Tone::Bad, "not ready"),
    };
    let launcher = state.launcher_pid.map_or_else(|| "none".to_owned(), |pid| pid.to_string());
    let mut lines = Lines::default();
    lines.put("state", look.paint(tone, word));
    lines.put("server", format!("pid {}, launcher {launcher}, up {}", state.pid, time::ago(now, state.started_at)));
    lines.put("version", version(state));
    lines.put("page", state.url.as_deref().map(clean));
    lines.put("data", clean(&state.data_dir));
    lines.put("queue", queue(state.queue, look));
    lines.put("slots", slots(state.slots));
    lines.put("models", state.spending.as_ref().map(money::spending));
    lines.put("disk", disk(state.disk));
    for alarm in &state.alarms {
        lines.put("alarm", self::alarm(alarm, now, look));
    }
    lines.0
}

fn queue(queue: QueueView, look: Look) -> String {
    let QueueView { queued, waiting, held, paused, running, settled, queue_held } = queue;
    let held_words = queue_held.map_or_else(String::new, |why| {
        let why = match why {
            HoldReason::Owner => "you asked for it",
            HoldReason::Panic => "the server ended by an emergency stop",
            HoldReason::Restore => "it was restored from a backup",
            HoldReason::Copied => "the data directory is a copy of another one",
        };
        look.paint(Tone::Warn, &format!("; the whole queue is held, because {why}: `ouroboros release --all`"))
    });
    let paused = if paused == 0 { String::new() } else { look.paint(Tone::Warn, &format!(", {paused} paused")) };
    format!("{running} running, {queued} queued, {waiting} waiting, {held} held{paused}, {settled} settled{held_words}")
}

fn slots(slots: SlotsView) -> String {
    let parts = [(slots.ending, "ending"), (slots.wedged, "wedged"), (slots.starting, "workers starting")];
    let parts: String = parts.iter().filter(|(count, _)| *count > 0).map(|(n, word)| format!(", {n} {word}")).collect();
    let SlotsView { configured, busy, assignable, spares, .. } = slots;
    format!("{busy} of {configured} busy, {assignable} free now, {spares} spare workers{parts}")
}

fn disk(disk: DiskView) -> String {
    let known = |bytes: Option<u64>| bytes.map_or_else(|| "unknown".to_owned(), size);
    let DiskView { database, output, logs, free } = disk;
    format!("database {}, output {}, logs {}; {} free", known(database), known(output), known(logs), known(free))
}

/// One alarm, with what to do.
pub fn alarm(alarm: &Alarm, now: UtcMicros, look: Look) -> String {
    let remedy = alarm.remedy.as_ref().map(|remedy| format!(" {}", clean(remedy))).unwrap_or_default();
    let code = look.paint(Tone::Bad, &clean(&alarm.code));
    format!("{code} for {}: {}{remedy}", time::ago(now, alarm.since), clean(&alarm.message))
}

/// The version, and the build where it says more.
pub fn version(state: &StateView) -> String {
    let (version, build) = (clean(&state.version), clean(&state.build));
    if version == build { version } else { format!("{version} (build {build})") }
}
