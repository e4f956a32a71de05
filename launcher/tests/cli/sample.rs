//! Documents as a server gives them.

use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

pub const TASK: &str = "01930000-0000-7000-8000-000000000007";
pub const ATTEMPT: &str = "01930000-0000-7000-8000-00000000000a";

/// A time this many seconds ago, as answers show it.
pub fn ago(seconds: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    ouroboros_proto::api::Timestamp(ouroboros_proto::kind::UtcMicros::new(
        i64::try_from((now - seconds) * 1_000_000).unwrap(),
    ))
    .to_string()
}

/// A task of a fixed past, an hour and a half old so that its age reads the same for half an hour.
pub fn task(status: &str, outcome: &Value, exit: Option<u8>) -> Value {
    let settled = exit.map(|_| ago(5_400 - 65));
    json!({
        "id": TASK, "number": 7, "kind": "command", "name": "make -j2", "status": status, "reason": null,
        "priority": "normal", "submitted_at": ago(5_400 + 10), "not_before": null, "started_at": ago(5_400),
        "settled_at": settled, "after": [], "attempts": 1, "cancel_requested": false, "outcome": outcome,
        "exit_code": exit, "retry_of": null
    })
}

pub fn running() -> Value {
    task("running", &Value::Null, None)
}

pub fn completed() -> Value {
    task("completed", &json!("completed"), Some(0))
}

/// Failed with this exit code of its command.
pub fn failed(code: u8) -> Value {
    task("failed", &json!({ "failed": { "ended": { "exited": { "code": code } } } }), Some(code))
}

pub fn state(queue_held: Option<&str>) -> Value {
    json!({
        "api": 1, "version": "0.1.0", "build": "0.1.0", "installation": TASK, "generation": 3, "pid": 4_000_001,
        "launcher_pid": 4_000_000, "started_at": ago(7_300), "url": "http://127.0.0.1:8765", "data_dir": "/srv/o",
        "ready": true, "stopping": false, "alarms": [],
        "queue": { "queued": 4, "waiting": 1, "held": 0, "paused": 1, "running": 2, "settled": 90, "queue_held": queue_held },
        "slots": { "configured": 2, "busy": 2, "ending": 0, "wedged": 0, "assignable": 0, "spares": 1, "starting": 0 },
        "spending": { "settled_nanos": 200_000_000, "reserved_nanos": 40_000_000, "unresolved_nanos": 5_000_000,
            "accounted_nanos": 245_000_000, "limits": limits() },
        "disk": { "database": 1_048_576, "output": 2_048, "logs": null, "free": 10_737_418_240_u64 }
    })
}

pub fn accepted() -> Value {
    json!({ "id": TASK, "number": 7, "duplicate": false })
}

/// A recorded event as a message.
pub fn event(seq: u64, event: &Value) -> String {
    let at = "2026-11-30T12:00:00.000000Z";
    let view = json!({ "seq": seq, "at": at, "task": TASK, "number": 7, "event": event });
    format!("id: {seq}\nevent: event\ndata: {view}\n\n")
}

pub fn started(seq: u64, ordinal: u32) -> String {
    event(seq, &json!({ "type": "started", "attempt": ATTEMPT, "ordinal": ordinal }))
}

pub fn settled(seq: u64) -> String {
    event(seq, &json!({ "type": "settled", "outcome": "completed", "ending": null, "usage": null }))
}

/// An entry of a transcript as a message.
pub fn entry(place: u64, entry: &Value) -> String {
    format!("event: entry\ndata: {}\n\n", json!({ "place": place, "entry": entry }))
}

/// An answer of a model, with calls of tools: their names and arguments.
pub fn answered(text: &str, calls: &[(&str, &str)]) -> Value {
    let text = json!({ "type": "text", "text": text });
    let calls = calls.iter().enumerate().map(|(at, (name, arguments))| {
        json!({ "type": "tool_call", "id": format!("call{at}"), "name": name, "arguments": arguments })
    });
    let parts: Vec<Value> = [text].into_iter().chain(calls).collect();
    let usage = json!({ "input": 1200, "cached": null, "cache_write": null, "cache_write_long": null, "output": 80, "reasoning": null });
    json!({ "type": "answered", "answer": { "message": { "role": "assistant", "parts": parts }, "stop": "end", "usage": usage,
        "cost": { "amount": 4_200_000, "source": "catalogue" }, "route": "openai/gpt-5.1", "model": "gpt-5.1", "provider_request": null } })
}

/// What the first call came to.
pub fn result(name: &str, outcome: &str, text: &str) -> Value {
    let code = (outcome != "ok").then_some("not_found");
    json!({ "type": "results", "results": [
        { "call": "call0", "name": name, "outcome": outcome, "code": code, "text": text, "millis": 12 }] })
}

/// A piece of an answer that is being written.
pub fn piece(attempt: u32, call: u32, offset: u64, text: &str) -> String {
    let piece = json!({ "attempt": attempt, "call": call, "offset": offset, "text": text });
    format!("event: piece\ndata: {piece}\n\n")
}

/// Output as a message.
pub fn output(attempt: u32, stream: &str, offset: u64, bytes: &[u8]) -> String {
    let data = base64(bytes);
    let live = json!({ "attempt": attempt, "stream": stream, "offset": offset, "data": data, "gap": 0 });
    format!("event: output\ndata: {live}\n\n")
}

pub const END: &str = "event: end\ndata: {}\n\n";

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// Limits of ten dollars in all and two a task.
pub fn limits() -> Value {
    let limit = |scope: &str, nanos: Option<u64>, spent: Option<u64>| json!({ "limit": scope, "nanos": nanos, "accounted_nanos": spent });
    json!([
        limit("total", Some(10_000_000_000), Some(245_000_000)),
        limit("hour", None, Some(1_000)),
        limit("tree", None, None),
        limit("task", Some(2_000_000_000), None),
    ])
}

/// Costs of `sends` calls.
pub fn cost(settled: u64, reserved: u64, unresolved: u64, sends: u64) -> Value {
    json!({
        "settled_nanos": settled, "reserved_nanos": reserved, "unresolved_nanos": unresolved,
        "accounted_nanos": settled + reserved + unresolved, "is_final": false, "sends": sends,
        "unpriced": 0, "unresolved": u64::from(unresolved > 0), "input_tokens": 312 * sends, "cached_tokens": 0,
        "output_tokens": 48 * sends
    })
}

/// Two routes, the first by default.
pub fn models() -> Value {
    let route = |id: &str, found: &str, price: Value, health: &str, reason: Value| {
        let (provider, model) = id.split_once('/').unwrap();
        json!({
            "id": id, "provider": provider, "model": model, "found": found, "window": 400_000, "max_output": null,
            "tools": true, "images": null, "price": price,
            "health": { "state": health, "reason": reason, "cooling_until": null, "in_flight": 0 }
        })
    };
    let price = json!({
        "input_nanos_per_million": 1_250_000_000_u64, "output_nanos_per_million": 10_000_000_000_u64,
        "cached_nanos_per_million": null, "cache_write_nanos_per_million": null, "source": "openrouter", "at": null
    });
    json!({
        "default": "openai/gpt-5.1", "why": "the cheapest that can call tools",
        "routes": [
            route("openai/gpt-5.1", "OPENAI_API_KEY", price, "well", Value::Null),
            route("ollama/llama", "port 11434", Value::Null, "failing", json!("it ran out of memory")),
        ],
        "problems": ["lm-studio: nothing answers on port 1234"], "limits": limits()
    })
}

/// Keys of one provider of two.
pub fn keys() -> Value {
    json!({
        "keys": [{ "provider": "anthropic", "found": "kept", "ending": "wxyz", "set_at": null }],
        "protection": "Keys are sealed with a key in the keyring.", "problems": ["the keyring is locked"],
        "providers": [
            { "name": "anthropic", "variables": ["ANTHROPIC_API_KEY"] },
            { "name": "openai", "variables": ["OPENAI_API_KEY", "OPENAI_KEY"] },
        ]
    })
}
