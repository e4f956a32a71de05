//! What a stop waits for.

use super::ask::ask;
use super::sweep;
use super::voice::Voice;
use crate::render::{clean, time};
use ouroboros_process::{PidFd, census};
use ouroboros_proto::api::ProcessView;
use ouroboros_proto::kind::{Millis, Role};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Longest wait for the server's own view.
const PATIENCE: Duration = Duration::from_millis(500);
/// Lines of one report.
const LINES: usize = 12;

/// Says what the server is still waiting for, on a thread of its own, so that a second signal is not kept waiting.
pub fn report(voice: Voice, socket: PathBuf, server: i32, held: Arc<PidFd>) {
    let telling = move || {
        let told = ask(socket, "/api/processes", PATIENCE).and_then(|answer| told(answer, server));
        let lines = told.unwrap_or_else(|| found(server));
        if !held.is_dead() {
            tell(voice, server, &lines);
        }
    };
    // Without a thread there is no report; the stop goes on.
    let _ = std::thread::Builder::new().name("blockers".to_owned()).spawn(telling);
}

/// Says what the kernel lists below the server, at once.
pub fn report_now(voice: Voice, server: i32) {
    tell(voice, server, &found(server));
}

fn tell(voice: Voice, server: i32, lines: &[String]) {
    if lines.is_empty() {
        let age = sweep::age(server).map_or_else(|| "unknown".to_owned(), time::age);
        voice.note(&format!("still stopping: no process is left below the server, pid {server}, age {age}"));
        return;
    }
    voice.note(&format!("still stopping; the server, pid {server}, waits for {}", sweep::processes(lines.len())));
    for line in lines.iter().take(LINES) {
        voice.note(line);
    }
    if lines.len() > LINES {
        voice.note(&format!("  and {} more", lines.len().saturating_sub(LINES)));
    }
}

/// As the server knows them: with their tasks. Its spare workers are of no interest.
fn told(mut answer: Value, server: i32) -> Option<Vec<String>> {
    let list = answer.get_mut("processes").map(Value::take).unwrap_or(answer);
    let views: Vec<ProcessView> = serde_json::from_value(list).ok()?;
    let blocks = |view: &&ProcessView| view.pid != server && view.role != Role::Launcher && view.task.is_some();
    Some(views.iter().filter(blocks).map(line).collect())
}

fn line(view: &ProcessView) -> String {
    let task = view.task.map_or_else(String::new, |task| format!(", task {task}"));
    let age = view.age_seconds.map_or_else(|| "unknown".to_owned(), |seconds| time::age(Millis::seconds(seconds)));
    format!("  pid {}{task}, {}, age {age}: {}", view.pid, view.role, clean(&view.command))
}

/// As the kernel lists them.
fn found(server: i32) -> Vec<String> {
    let below = census::descendants(server).unwrap_or_default();
    below.into_iter().filter_map(|(pid, _)| look(pid)).collect()
}

/// `None` for one that has ended and only waits to be reaped.
fn look(pid: i32) -> Option<String> {
    let sample = census::sample(pid).ok().flatten().filter(|sample| sample.state != 'Z')?;
    let age = sweep::age(pid).map_or_else(|| "unknown".to_owned(), time::age);
    Some(format!("  pid {pid}, age {age}: {}", clean(&sample.command)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_servers_view_names_tasks_and_leaves_out_what_does_not_block() {
        let view = |pid: i32, role: &str, task: Option<u64>| {
            json!({ "pid": pid, "parent": null, "role": role, "task": task, "command": "sleep\n9", "age_seconds": 75,
                "cpu_micros": null, "resident_bytes": null, "recorded": true })
        };
        let list = json!([view(5, "server", None), view(6, "worker", None), view(7, "tool", Some(12))]);
        let expected = vec!["  pid 7, task 12, tool, age 1m: sleep\\n9".to_owned()];
        assert_eq!(told(list.clone(), 5), Some(expected.clone()));
        assert_eq!(told(json!({ "processes": list }), 5), Some(expected));
        assert_eq!(told(json!({ "code": "stopping" }), 5), None);
    }
}
