//! Counts of the HTTP side, and the text that Prometheus reads.

use crate::supervisor::{Life, Status};
use ouroboros_proto::api::DiskView;
use std::fmt::{Display, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the server started.
#[derive(Debug, Default)]
pub struct Counters {
    /// Connections that are open.
    pub connections: AtomicU64,
    /// Connections turned away because too many were open.
    pub turned_away: AtomicU64,
    /// Answers by class: 2xx, 4xx, 5xx.
    answers: [AtomicU64; 3],
}

impl Counters {
    /// Counts an answer.
    pub fn answered(&self, status: u16) {
        let [fine, theirs, ours] = &self.answers;
        let class = match status {
            ..400 => fine,
            400..500 => theirs,
            500.. => ours,
        };
        class.fetch_add(1, Ordering::Relaxed);
    }
}

/// The text. What is not known is left out, never zero.
#[must_use]
pub fn text(status: &Status, life: &Life, disk: &DiskView, counters: &Counters, streams: u64) -> String {
    let mut page = Page(String::new());
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    page.metric("ready", "gauge", "Whether a task accepted now can run now.", &[("", u64::from(status.ready))]);
    page.metric("alarms", "gauge", "Alarms.", &[("", u64::try_from(status.alarms.len()).unwrap_or(u64::MAX))]);
    page.metric("generation", "gauge", "Which life of the server this is.", &[("", life.generation.get())]);
    page.metric(
        "started_at_seconds",
        "gauge",
        "When this life began, seconds since 1970.",
        &[("", life.started_at.get() / 1_000_000)],
    );
    let queue = &status.queue;
    page.metric(
        "tasks",
        "gauge",
        "Tasks by where they stand.",
        &[
            ("{status=\"queued\"}", queue.queued),
            ("{status=\"waiting\"}", queue.waiting),
            ("{status=\"held\"}", queue.held),
            ("{status=\"running\"}", queue.running),
            ("{status=\"settled\"}", queue.settled),
        ],
    );
    let slots = &status.slots;
    page.metric(
        "slots",
        "gauge",
        "Slots by what they are at.",
        &[
            ("{state=\"configured\"}", slots.configured),
            ("{state=\"busy\"}", slots.busy),
            ("{state=\"ending\"}", slots.ending),
            ("{state=\"wedged\"}", slots.wedged),
            ("{state=\"assignable\"}", slots.assignable),
        ],
    );
    page.metric(
        "workers",
        "gauge",
        "Workers without a task.",
        &[("{state=\"ready\"}", slots.spares), ("{state=\"starting\"}", slots.starting)],
    );
    let known: Vec<(&str, u64)> = [
        ("{what=\"database\"}", disk.database),
        ("{what=\"output\"}", disk.output),
        ("{what=\"logs\"}", disk.logs),
        ("{what=\"free\"}", disk.free),
    ]
    .into_iter()
    .filter_map(|(what, bytes)| Some((what, bytes?)))
    .collect();
    page.metric("disk_bytes", "gauge", "Disk use, and what is free.", &known);
    page.metric("http_connections", "gauge", "Open connections.", &[("", count(&counters.connections))]);
    page.metric("http_streams", "gauge", "Open event streams.", &[("", streams)]);
    page.metric(
        "http_turned_away_total",
        "counter",
        "Connections over the limit.",
        &[("", count(&counters.turned_away))],
    );
    let [fine, theirs, ours] = &counters.answers;
    page.metric(
        "http_answers_total",
        "counter",
        "Answers by class.",
        &[("{class=\"2xx\"}", count(fine)), ("{class=\"4xx\"}", count(theirs)), ("{class=\"5xx\"}", count(ours))],
    );
    page.0
}

struct Page(String);

impl Page {
    fn metric<T: Display>(&mut self, name: &str, kind: &str, help: &str, values: &[(&str, T)]) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP ouroboros_{name} {help}\n# TYPE ouroboros_{name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(self.0, "ouroboros_{name}{labels} {value}");
        }
    }
}
