//! Counts of the HTTP side, and the text that Prometheus reads.

use super::render;
use crate::supervisor::{Life, Status};
use ouroboros_proto::api::{CostGroup, DiskView};
use ouroboros_proto::kind::NanoDollars;
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
pub fn text(
    status: &Status,
    life: &Life,
    disk: &DiskView,
    routes: &[CostGroup],
    counters: &Counters,
    streams: u64,
) -> String {
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
            ("{status=\"paused\"}", queue.paused),
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
    if status.booted {
        page.spending(status);
    }
    page.routes(routes);
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
    fn spending(&mut self, status: &Status) {
        let spending = render::spending(status);
        self.metric(
            "model_dollars",
            "gauge",
            "What is spent on models, set aside for calls under way, and bounds what is not known.",
            &[
                ("{what=\"settled\"}", dollars(spending.settled_nanos)),
                ("{what=\"reserved\"}", dollars(spending.reserved_nanos)),
                ("{what=\"unresolved\"}", dollars(spending.unresolved_nanos)),
            ],
        );
        let limits: Vec<(String, String)> = spending
            .limits
            .iter()
            .filter_map(|limit| Some((format!("{{limit=\"{}\"}}", limit.limit.as_str()), dollars(limit.nanos?))))
            .collect();
        self.metric("model_limit_dollars", "gauge", "Limits on spending.", &limits);
    }

    fn routes(&mut self, routes: &[CostGroup]) {
        let per_route = |pick: fn(&CostGroup) -> u64| -> Vec<(String, u64)> {
            routes.iter().map(|group| (format!("{{route=\"{}\"}}", label(&group.key)), pick(group))).collect()
        };
        self.metric("model_calls_total", "counter", "Sends to providers.", &per_route(|group| group.cost.sends));
        self.metric(
            "model_input_tokens_total",
            "counter",
            "Tokens of prompts, as far as counted.",
            &per_route(|group| group.cost.input_tokens),
        );
        self.metric(
            "model_output_tokens_total",
            "counter",
            "Tokens of answers, as far as counted.",
            &per_route(|group| group.cost.output_tokens),
        );
    }

    fn metric<L: Display, T: Display>(&mut self, name: &str, kind: &str, help: &str, values: &[(L, T)]) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP ouroboros_{name} {help}\n# TYPE ouroboros_{name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(self.0, "ouroboros_{name}{labels} {value}");
        }
    }
}

/// Without the sign.
fn dollars(amount: NanoDollars) -> String {
    amount.to_string().trim_start_matches('$').to_owned()
}

/// Foreign text as the value of a label.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
