//! A task in words asks its owner, waits, and goes on with the answer.

use super::rig::{PRICED, Rig};
use serde_json::{Value, json};
use std::fs;
use support::until;

const ASKS: &str = "[[rule]]\nmatch = { nth = 1 }\n\
    call = { tool = 'ask_owner', arguments = '{\"question\":\"Which colour?\",\"options\":[\"red\",\"blue\"]}' }\n\
    [[rule]]\nmatch = { body = 'chose option 2: blue' }\nsay = 'Blue it is.'\n\
    [[rule]]\nmatch = { body = 'The owner answered: green' }\nsay = 'Green it is.'\n\
    [[rule]]\nmatch = { body = 'Nobody answered' }\nsay = 'I took red.'\n";

fn start(settings: &[(&str, &str)]) -> Rig {
    let rig = Rig::start(&format!("{PRICED}{ASKS}"), settings, &[]);
    rig.price("openai/m");
    rig
}

/// A task that asks, as soon as it does.
#[track_caller]
fn asking(rig: &Rig) -> String {
    let folder = rig.home.work().join("project");
    fs::create_dir_all(&folder).unwrap();
    let number = rig.submit(json!({ "agent": { "prompt": "paint it", "folder": folder } }));
    open(rig, &number);
    number
}

/// What a task asks, once it asks something.
#[track_caller]
fn open(rig: &Rig, number: &str) -> Value {
    until("it asks", || Some(rig.task(number)["request"].clone()).filter(|request| !request.is_null()))
}

fn requests(rig: &Rig) -> Vec<Value> {
    rig.get("/api/requests")["requests"].as_array().unwrap().clone()
}

#[test]
fn what_it_asks_is_answered_from_the_command_line() {
    let rig = start(&[]);
    let number = asking(&rig);
    let task = rig.task(&number);
    assert_eq!((&task["status"], &task["request"]["asks"]["text"]), (&json!("running"), &json!("Which colour?")));
    let listed = rig.home.run(&["requests"]);
    assert!(listed.out.contains(&format!("{number}/1")) && listed.out.contains("Which colour?"), "{listed:?}");
    assert!(rig.home.run(&["tasks"]).out.contains("running, asks"));
    let shown = rig.home.run(&["answer", &number]);
    assert!(shown.out.contains("2) blue"), "{shown:?}");
    let wrong = rig.home.run(&["answer", &number, "--once"]);
    assert!(wrong.code == 1 && wrong.err.contains("bad_answer"), "{wrong:?}");
    let answered = rig.home.run(&["answer", &number, "--option", "2"]);
    assert_eq!(answered.code, 0, "{answered:?}");
    rig.reaches(&number, "completed");
    assert_eq!(rig.said(&number).0, "Blue it is.");
    let again = rig.home.run(&["answer", &number, "red"]);
    assert!(again.code == 1 && again.err.contains("nothing_asked"), "{again:?}");
    let all = requests(&rig);
    assert_eq!((all.len(), &all[0]["state"]), (1, &json!("answered")), "{all:#?}");
}

#[test]
fn who_follows_without_a_terminal_is_told_how_to_answer_and_leaves() {
    let rig = start(&[]);
    let folder = rig.home.work().join("project");
    fs::create_dir_all(&folder).unwrap();
    let ran = rig.home.run(&["run", "-C", folder.to_str().unwrap(), "paint it"]);
    assert!(ran.code == 5 && ran.err.contains("Which colour?") && ran.err.contains("ouroboros answer 1"), "{ran:?}");
    assert_eq!(rig.task("1")["status"], "running", "it waits, and is not ended");
    assert_eq!(rig.home.run(&["answer", "1/1", "green"]).code, 0);
    let attached = rig.home.run(&["attach", "1"]);
    assert_eq!((attached.code, attached.out.as_str()), (0, "Green it is."), "{attached:?}");
}

#[test]
fn when_nobody_answers_in_time_it_goes_on_without() {
    let rig = start(&[("approvals.timeout", "'100ms'")]);
    let folder = rig.home.work().join("project");
    fs::create_dir_all(&folder).unwrap();
    let number = rig.submit(json!({ "agent": { "prompt": "paint it", "folder": folder } }));
    rig.reaches(&number, "completed");
    assert_eq!(rig.said(&number).0, "I took red.");
    let all = requests(&rig);
    assert_eq!((all.len(), &all[0]["state"], &all[0]["answer"]), (1, &json!("expired"), &json!(null)), "{all:#?}");
}

#[test]
fn a_request_outlives_its_server_and_is_asked_once() {
    let rig = start(&[]);
    let number = asking(&rig);
    let before = open(&rig, &number);
    rig.kill_server();
    let again = until("another attempt asks", || {
        Some(open(&rig, &number)).filter(|request| request["attempt"] != before["attempt"])
    });
    assert_eq!((&again["request"], &again["asked_at"]), (&before["request"], &before["asked_at"]));
    rig.post(&format!("/api/requests/{number}/1/answer"), &json!({ "option": 2 }));
    rig.reaches(&number, "completed");
    assert_eq!(rig.said(&number).0, "Blue it is.");
    assert_eq!(requests(&rig).len(), 1);
}

#[test]
fn an_answer_that_comes_while_no_worker_is_there_is_kept() {
    let rig = start(&[]);
    let number = asking(&rig);
    rig.command(&json!({ "command": "hold_queue" }));
    rig.kill_server();
    rig.reaches(&number, "queued");
    rig.post(&format!("/api/requests/{number}/1/answer"), &json!({ "text": "green" }));
    rig.command(&json!({ "command": "release_queue", "all": false }));
    rig.reaches(&number, "completed");
    assert_eq!(rig.said(&number).0, "Green it is.");
}

#[test]
fn a_cancel_takes_the_question_back() {
    let rig = start(&[]);
    let number = asking(&rig);
    assert_eq!(rig.home.run(&["cancel", &number]).code, 0);
    rig.reaches(&number, "cancelled");
    let all = requests(&rig);
    assert_eq!(all[0]["state"], "withdrawn", "{all:#?}");
    let (status, refused) = rig.call("POST", &format!("/api/requests/{number}/1/answer"), &json!({ "option": 1 }));
    assert_eq!((status, &refused["code"]), (409, &json!("request_closed")));
}

#[test]
fn while_it_waits_another_has_its_slot() {
    let rig = start(&[("queue.slots", "1")]);
    let number = asking(&rig);
    let other = rig.home.run(&["run", "--", "echo", "meanwhile"]);
    assert_eq!((other.code, other.out.as_str()), (0, "meanwhile\n"), "{other:?}");
    assert_eq!(rig.task(&number)["status"], "running");
    rig.post(&format!("/api/requests/{number}/1/answer"), &json!({ "option": 2 }));
    rig.reaches(&number, "completed");
}

#[test]
fn what_waits_for_approval_when_its_worker_dies_is_asked_on_and_done_once() {
    let calls = [
        ("run_command", json!({ "argv": ["sh", "-c", "echo first >> count"] })),
        ("run_command", json!({ "argv": ["sh", "-c", "echo ran >> count"], "network": true })),
        ("write_file", json!({ "path": "later.txt", "content": "x" })),
    ];
    let calls =
        calls.map(|(tool, arguments)| format!("{{ tool = '{tool}', arguments = '''{arguments}''' }}")).join(", ");
    let script = format!("{PRICED}[[rule]]\ntimes = 1\ncall = [{calls}]\n[[rule]]\nsay = 'Done.'\n");
    let rig = Rig::start(&script, &[], &[]);
    rig.price("openai/m");
    let number = asking(&rig);
    let before = open(&rig, &number);
    let pid = rig.task(&number)["attempts"][0]["process"]["pid"].as_i64();
    let workers = super::scene::workers(&rig.home);
    let pid = pid.and_then(|pid| i32::try_from(pid).ok()).unwrap_or_else(|| workers[0]);
    support::home::kill(pid);
    until("another attempt asks", || {
        Some(open(&rig, &number)).filter(|request| request["attempt"] != before["attempt"])
    });
    assert_eq!(rig.home.run(&["answer", &number, "--once"]).code, 0);
    rig.reaches(&number, "completed");
    let page = rig.get(&format!("/api/tasks/{number}/transcript?from=1"));
    let entries = page["entries"].as_array().unwrap();
    let results = &entries.iter().find(|entry| entry["type"] == "results").unwrap()["results"];
    let outcomes: Vec<&Value> = results.as_array().unwrap().iter().map(|result| &result["outcome"]).collect();
    assert_eq!(outcomes, ["unknown", "ok", "ok"], "{results:#}");
    let folder = rig.home.work().join("project");
    assert_eq!(fs::read_to_string(folder.join("count")).unwrap(), "first\nran\n", "each once");
    assert!(folder.join("later.txt").exists(), "what comes after it had not begun either");
}
