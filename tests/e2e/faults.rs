//! Tasks in words at random points of which calls are interrupted, tasks cancelled, and workers and servers killed, while models answer
//! well, badly or not at all: whatever happens, each request that a model gets is a valid conversation, also that with which an ended
//! task is gone on from, and each task ends exactly once.
//!
//! `OUROBOROS_FAULTS_TASKS` sets how many tasks there are, which is 40 when it is not set, and each is gone on from by one more; a long run is
//! `OUROBOROS_FAULTS_TASKS=1000 cargo test -p ouroboros-tests --test e2e faults`. A failure prints the seed, and
//! `OUROBOROS_FAULTS_SEED` runs it again with the same models and the same choices.

use super::agent::{entries, kinds};
use super::rig::{PRICED, Rig, is_over};
use super::scene::{request, workers};
use super::storm::{Dice, number};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};
use support::home::kill;

const TASKS: u64 = 40;
/// Tasks under way at once.
const BATCH: u64 = 20;
/// Of a hundred times that the death of the server would be its turn, so many are: a launcher whose server dies again and again takes
/// its time.
const SERVER: u64 = 20;
/// A batch may take this long on a busy machine.
const PATIENCE: Duration = Duration::from_secs(600);

/// Models that do something else each time.
fn models(seed: u64) -> String {
    let mut script = format!("seed = {seed}\n{PRICED}");
    let call = |tool: &str, arguments: Value| format!("{{ tool = '{tool}', arguments = '''{arguments}''' }}");
    let read = call("read_file", json!({ "path": "a.txt" }));
    let list = call("list_files", json!({}));
    let write = call("write_file", json!({ "path": "new.txt", "content": "words\n" }));
    let run = call("run_command", json!({ "argv": ["sh", "-c", "echo out; sleep 0.05"] }));
    let long = call("run_command", json!({ "argv": ["sleep", "1000"] }));
    let none = call("no_such_tool", json!({}));
    let broken = "{ tool = 'read_file', arguments = '{\"path\":' }".to_owned();
    let note = call("note", json!({ "text": "half is done" }));
    for (likely, what) in [
        (0.20, format!("say = 'I look.'\ncall = [{read}, {list}]")),
        (0.15, format!("call = [{write}, {read}]")),
        (0.15, format!("call = [{run}]")),
        (0.15, format!("say = 'It runs.'\ncall = [{long}]")),
        (0.05, format!("call = [{none}, {broken}, {note}]")),
        (0.20, "say = 'An answer that takes its time and comes in many pieces.'\nchunk = 4\ngap_ms = 10".to_owned()),
        (0.10, format!("call = [{}]", call("deliver", json!({ "text": "Done by call.", "objective": "partly" })))),
        (0.04, format!("call = [{read}, {}]", call("deliver", json!({ "text": "No.", "objective": "met" })))),
        (0.04, format!("say = 'It breaks off.'\ncall = [{read}]\ncut = 'close'")),
        (0.04, "status = 503".to_owned()),
        (0.03, "hang_up = 'close'\nbill = 'whole'".to_owned()),
        (0.02, "refuse = 'I would rather not.'".to_owned()),
        (0.04, "say = ''".to_owned()),
        (0.04, "say = 'It is cut'\nstop = 'length'".to_owned()),
        (0.02, "overflow = 1000".to_owned()),
        (0.04, "stall_before_ms = 'forever'".to_owned()),
    ] {
        script.push_str(&format!("[[rule]]\nprobability = {likely}\n{what}\n"));
    }
    script + "[[rule]]\nsay = 'Done.'\n"
}

#[test]
fn whatever_happens_each_request_is_a_valid_conversation_and_each_task_ends_once() {
    let tasks = number("OUROBOROS_FAULTS_TASKS").unwrap_or(TASKS);
    let seed = number("OUROBOROS_FAULTS_SEED").unwrap_or_else(|| u64::from(std::process::id()) + 1);
    eprintln!("seed {seed}; again: OUROBOROS_FAULTS_TASKS={tasks} OUROBOROS_FAULTS_SEED={seed}");
    let settings =
        [("limits.total", "'none'"), ("limits.task", "'none'"), ("queue.slots", "8"), ("models.retries", "1")];
    let rig = Rig::start(&models(seed), &settings, &[]);
    rig.price("openai/m");
    let (mut dice, mut met) = (Dice(seed), Met::default());
    let mut ended = 0;
    while ended < tasks {
        let count = BATCH.min(tasks - ended);
        let first: Vec<String> = (0..count).map(|one| begin(&rig, ended + one)).collect();
        ride_out(&rig, &first, &mut dice, &mut met);
        // Every one of them can be gone on from.
        let next: Vec<String> = first.iter().map(|task| go_on(&rig, task)).collect();
        ride_out(&rig, &next, &mut dice, &mut met);
        for task in first.iter().chain(&next) {
            judge(&rig, task);
        }
        let chats = rig.provider.chats();
        for chat in &chats {
            assert_eq!(fault(&chat["body"]), None, "{:#}", chat["body"]["messages"]);
        }
        asked_once(&chats);
        rig.provider.forget();
        ended += count;
    }
    eprintln!("{met:?}");
    assert!(met.interrupts > 0 && met.workers > 0, "hardly anything happened: {met:?}");
    assert_eq!(rig.home.run(&["stop"]).code, 0);
}

/// Faults that tasks were met by.
#[derive(Debug, Default)]
struct Met {
    interrupts: u32,
    cancels: u32,
    workers: u32,
    servers: u32,
}

/// What may have been answered was not asked for again.
fn asked_once(chats: &[Value]) {
    let mut answered = BTreeSet::new();
    for chat in chats {
        let body = chat["body"].to_string();
        assert!(!answered.contains(&body), "asked again: {:#}", chat["body"]["messages"]);
        if chat["status"].as_u64().is_none_or(|status| status < 400) {
            answered.insert(body);
        }
    }
}

/// A task in a folder of its own, so that none waits for another.
fn begin(rig: &Rig, number: u64) -> String {
    let folder = rig.home.work().join(format!("folder{number}"));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("a.txt"), "a line\n").unwrap();
    rig.submit(json!({ "agent": { "prompt": format!("do number {number}"), "folder": folder, "max_rounds": 6 } }))
}

fn go_on(rig: &Rig, task: &str) -> String {
    let words = format!("now go on from {task}");
    rig.submit(json!({ "agent": { "prompt": words, "from": { "task": task }, "max_rounds": 4 } }))
}

/// Lets tasks be met by faults until each of them is over.
fn ride_out(rig: &Rig, tasks: &[String], dice: &mut Dice, met: &mut Met) {
    let begun = Instant::now();
    let mut left: Vec<&String> = tasks.iter().collect();
    while !left.is_empty() {
        assert!(begun.elapsed() < PATIENCE, "it takes too long: {left:?} {:#}", rig.get("/api/state"));
        let unlucky = left[pick(dice, left.len())];
        // It may be over by now, or not be begun.
        let post = |what: &str| request(&rig.home, "POST", &format!("/api/tasks/{unlucky}/{what}"), b"");
        let taken = |answer: Option<(u16, Value)>| u32::from(answer.is_some_and(|(status, _)| status == 200));
        match dice.below(100) {
            0..40 => met.interrupts += taken(post("interrupt")),
            40..46 => met.cancels += taken(post("cancel")),
            46..60 => {
                let alive = workers(&rig.home);
                if !alive.is_empty() {
                    kill(alive[pick(dice, alive.len())]);
                    met.workers += 1;
                }
            }
            60..62 if dice.below(100) < SERVER => {
                rig.kill_server();
                met.servers += 1;
            }
            _ => {}
        }
        // Nothing is waited for: it says where in the work the next fault comes.
        std::thread::sleep(Duration::from_millis(dice.below(10)));
        if dice.below(8) == 0 {
            left.retain(|task| !is_over(&rig.task(task)));
        }
    }
}

fn pick(dice: &mut Dice, of: usize) -> usize {
    usize::try_from(dice.below(u64::try_from(of).unwrap())).unwrap()
}

/// It ended once, and what it says of its end is so.
fn judge(rig: &Rig, task: &str) {
    let shown = rig.task(task);
    let (_, events) = rig.bytes(&format!("/api/events?follow=false&type=settled&task={task}"));
    let events = String::from_utf8(events).unwrap();
    assert_eq!(events.matches(r#""type":"settled""#).count(), 1, "{task}: {events}");
    let entries = entries(rig, task);
    let kinds = kinds(&entries);
    let delivered = entries.last().is_some_and(|last| last["type"] == "delivered" && last["author"] != "host");
    if shown["status"] == "completed" {
        assert!(delivered, "{task} is completed: {kinds:?} {shown:#}");
    }
    let own = kinds.iter().rposition(|kind| *kind == "asked").map_or(&kinds[..], |asked| &kinds[asked..]);
    let ends = own.iter().zip(&entries[kinds.len() - own.len()..]);
    let ends = ends.filter(|(kind, entry)| **kind == "delivered" && entry["author"] != "host").count();
    // What an attempt recorded and could not report is recorded again by the next.
    assert!(ends == 0 || delivered, "{task} went on past its delivery: {kinds:?}");
}

/// What a provider would turn down in a conversation.
fn fault(body: &Value) -> Option<String> {
    let messages = body["messages"].as_array()?;
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for (place, message) in messages.iter().enumerate() {
        match message["role"].as_str()? {
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                if !open.remove(id) {
                    return Some(format!("message {place} answers {id:?}, which is no open call"));
                }
            }
            _ if !open.is_empty() => return Some(format!("before message {place} these are not answered: {open:?}")),
            "assistant" => {
                for call in message["tool_calls"].as_array().into_iter().flatten() {
                    let id = call["id"].as_str().unwrap_or_default();
                    if id.is_empty() || !known.insert(id) {
                        return Some(format!("message {place} calls with an id that is none or known: {id:?}"));
                    }
                    open.insert(id);
                }
                if message["content"].is_null() && message["tool_calls"].is_null() {
                    return Some(format!("message {place} says nothing"));
                }
            }
            "system" | "developer" | "user" => {}
            other => return Some(format!("message {place} is by {other:?}")),
        }
    }
    let last = messages.last().map(|last| last["role"].clone());
    match (open.is_empty(), last.as_ref().and_then(Value::as_str)) {
        (false, _) => Some(format!("these are not answered at the end: {open:?}")),
        (true, Some("user" | "tool")) => None,
        (true, last) => Some(format!("the last message is by {last:?}")),
    }
}

#[test]
fn what_a_provider_would_turn_down_is_recognised() {
    let call = json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": "a" }] });
    let answer = json!({ "role": "tool", "tool_call_id": "a", "content": "" });
    let user = json!({ "role": "user", "content": "x" });
    let body = |messages: &[&Value]| json!({ "messages": messages });
    assert_eq!(fault(&body(&[&user, &call, &answer])), None);
    for bad in [
        body(&[&user, &call]),
        body(&[&user, &call, &user]),
        body(&[&user, &answer]),
        body(&[&user, &call, &answer, &answer]),
        body(&[&user, &call, &answer, &call, &answer]),
        body(&[&user, &json!({ "role": "assistant", "content": null })]),
        body(&[&user, &json!({ "role": "assistant", "content": "x" })]),
    ] {
        assert!(fault(&bad).is_some(), "{bad}");
    }
}
