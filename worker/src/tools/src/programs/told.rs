//! What a model reads of a program.

use super::{End, Ran, Seen};
use crate::registry::Mask;
use crate::text::masked;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Signals by number, as people know them (signal(7)).
const SIGNALS: &[(u8, &str)] = &[
    (1, "HUP"),
    (2, "INT"),
    (3, "QUIT"),
    (4, "ILL"),
    (6, "ABRT"),
    (7, "BUS"),
    (8, "FPE"),
    (9, "KILL"),
    (11, "SEGV"),
    (13, "PIPE"),
    (15, "TERM"),
    (24, "XCPU"),
    (25, "XFSZ"),
    (31, "SYS"),
];

/// One line: how it ended and how long it took.
pub fn ending(end: &End, took: Duration) -> String {
    let time = seconds(took);
    match end {
        End::Exited(code) => format!("Exit {code} after {time}."),
        End::Signaled { signal, out_of_memory } => {
            let name = SIGNALS.iter().find(|(number, _)| number == signal);
            let name = name.map_or_else(|| signal.to_string(), |(_, name)| (*name).to_owned());
            let memory = if *out_of_memory { ": memory ran out" } else { "" };
            format!("Ended by signal {name} after {time}{memory}.")
        }
        End::TimedOut => format!("Ended because its time was over, after {time}. What it did until then stays."),
        End::Stopped => format!("Stopped after {time}. What it did until then stays."),
        End::NotFound => "There is no such program.".to_owned(),
        End::NotExecutable(why) => format!("It cannot be executed: {why}."),
    }
}

pub fn seconds(took: Duration) -> String {
    format!("{}.{} s", took.as_secs(), took.subsec_millis() / 100)
}

/// What was written, masked.
pub fn text(seen: &Seen, mask: Mask<'_>) -> String {
    let head = masked(&seen.head, mask);
    if seen.lost == 0 && seen.tail.is_empty() {
        return head;
    }
    let tail = masked(&seen.tail, mask);
    if seen.lost == 0 {
        return format!("{head}{tail}");
    }
    format!("{head}\n[{} bytes in between are not kept]\n{tail}", seen.lost)
}

/// What is told of a program that ran.
pub fn ran(ran: &Ran, mask: Mask<'_>) -> String {
    let mut told = ending(&ran.end, ran.took);
    if ran.left > 0 {
        let left = if ran.left == 1 { "1 process".to_owned() } else { format!("{} processes", ran.left) };
        told.push_str(&format!(
            " It left {left} behind, which ended with it: use start_service for what is to run on."
        ));
    }
    let (out, err) = (text(&ran.stdout, mask), text(&ran.stderr, mask));
    match (out.trim().is_empty(), err.trim().is_empty()) {
        (true, true) if matches!(ran.end, End::NotFound | End::NotExecutable(_)) => {}
        (true, true) => told.push_str(" It wrote nothing."),
        (false, true) => told.push_str(&format!("\n{out}")),
        (true, false) => told.push_str(&format!("\nOn standard error:\n{err}")),
        (false, false) => told.push_str(&format!("\n{out}\nOn standard error:\n{err}")),
    }
    told
}

/// The same as facts.
pub fn facts(ran: &Ran) -> Map<String, Value> {
    let (name, value) = match &ran.end {
        End::Exited(code) => ("exit", json!(code)),
        End::Signaled { signal, .. } => ("signal", json!(signal)),
        End::TimedOut => ("timed_out", json!(true)),
        End::Stopped => ("stopped", json!(true)),
        End::NotFound => ("not_found", json!(true)),
        End::NotExecutable(why) => ("not_executable", json!(why)),
    };
    let millis = u64::try_from(ran.took.as_millis()).unwrap_or(u64::MAX);
    let written = written(&ran.stdout).saturating_add(written(&ran.stderr));
    let facts = [("millis", json!(millis)), ("written", json!(written)), (name, value)];
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn written(seen: &Seen) -> u64 {
    let kept = seen.head.len().saturating_add(seen.tail.len());
    seen.lost.saturating_add(u64::try_from(kept).unwrap_or(u64::MAX))
}
