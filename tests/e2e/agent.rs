//! A task in words: worked on with tools in a folder, through interruptions, to one honest end.

use super::rig::{PRICED, Rig, sends, states};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use support::until;

/// An installation that knows what its model costs.
pub fn start(script: &str) -> Rig {
    let rig = Rig::start(script, &[], &[]);
    rig.price("openai/m");
    rig
}

/// A folder with two files.
pub fn folder(rig: &Rig) -> PathBuf {
    let folder = rig.home.work().join("project");
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(folder.join("README.md"), "# Weather\nIt knows the weather of Oslo.\n").unwrap();
    fs::write(folder.join("src/main.rs"), "fn main() {\n    println!(\"rain\");\n}\n").unwrap();
    folder
}

fn task(rig: &Rig, prompt: &str) -> String {
    let folder = folder(rig);
    rig.submit(json!({ "agent": { "prompt": prompt, "folder": folder } }))
}

pub fn entries(rig: &Rig, task: &str) -> Vec<Value> {
    let mut entries = Vec::new();
    loop {
        let page = rig.get(&format!("/api/tasks/{task}/transcript?from={}", entries.len() + 1));
        match page["entries"].as_array().unwrap().as_slice() {
            [] => return entries,
            more => entries.extend_from_slice(more),
        }
    }
}

pub fn kinds(entries: &[Value]) -> Vec<&str> {
    entries.iter().map(|entry| entry["type"].as_str().unwrap()).collect()
}

/// What was sent, oldest first.
pub fn requests(rig: &Rig, task: &Value) -> Vec<Value> {
    let body = |send: &Value| {
        let id = send["id"].as_str().unwrap().to_owned();
        until("what was sent is kept", || {
            let (status, answer) = rig.bytes(&format!("/api/sends/{id}/exchange/request"));
            let body = answer.windows(4).position(|end| end == b"\r\n\r\n")? + 4;
            (status == 200).then(|| serde_json::from_slice(&answer[body..]).unwrap())
        })
    };
    sends(task).iter().filter(|send| send["state"] == "settled").map(body).collect()
}

const READS: &str = "[[rule]]\nmatch = { nth = 1 }\nsay = 'I look.'\n\
    call = [{ tool = 'read_file', arguments = '{\"path\":\"README.md\"}' }, { tool = 'list_files', arguments = '{}' }]\n\
    [[rule]]\nmatch = { body = 'the weather of Oslo' }\nsay = 'It is about the weather of Oslo.'\n";

#[test]
fn it_looks_with_tools_and_delivers_in_words() {
    let rig = start(&format!("{PRICED}{READS}"));
    let folder = folder(&rig);
    let ran = rig.home.run(&["run", "-C", folder.to_str().unwrap(), "what is", "this about?"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "It is about the weather of Oslo."), "{ran:?}");
    assert!(ran.err.contains("model openai/m") && ran.err.contains("I look.\n· read_file"), "{ran:?}");
    let shown = rig.task("last");
    assert_eq!(
        (&shown["kind"], &shown["agent"]["head"]),
        (&"agent".into(), &"what is this about?".into()),
        "{shown:#}"
    );
    assert_eq!(states(&shown), ["settled"; 2], "{shown:#}");
    let entries = entries(&rig, "last");
    assert_eq!(kinds(&entries), ["asked", "answered", "results", "answered", "delivered"]);
    assert_eq!(entries[4]["author"], "model");
    let results = entries[2]["results"].as_array().unwrap();
    assert!(results.iter().all(|result| result["outcome"] == "ok"), "{results:#?}");
    assert!(results[1]["text"].as_str().unwrap().contains("src"), "{results:#?}");
    let sent = requests(&rig, &shown);
    let (first, second) = (sent[0]["messages"].as_array().unwrap(), sent[1]["messages"].as_array().unwrap());
    assert_eq!(&second[..first.len()], first, "a request begins with the one before");
    assert_eq!(sent[0]["tools"], sent[1]["tools"]);
}

#[test]
fn it_changes_files_in_its_folder_and_nowhere_else() {
    let script = format!(
        "{PRICED}[[rule]]\nmatch = {{ nth = 1 }}\ncall = [
        {{ tool = 'edit_text', arguments = '{{\"path\":\"src/main.rs\",\"old\":\"rain\",\"new\":\"sun\"}}' }},
        {{ tool = 'write_file', arguments = '{{\"path\":\"../outside.txt\",\"content\":\"x\"}}' }},
        {{ tool = 'read_file', arguments = '{{\"path\":\"/etc/passwd\"}}' }} ]
        [[rule]]\nsay = 'Done.'\n"
    );
    let rig = start(&script);
    let number = rig.submit(json!({ "agent": { "prompt": "make it sunny", "folder": folder(&rig), "mode": "light" } }));
    rig.reaches(&number, "completed");
    let folder = rig.home.work().join("project");
    assert!(fs::read_to_string(folder.join("src/main.rs")).unwrap().contains("\"sun\""));
    assert!(!rig.home.work().join("outside.txt").exists());
    let entries = entries(&rig, &number);
    let results = entries[2]["results"].as_array().unwrap();
    let outcomes: Vec<&str> = results.iter().map(|result| result["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["ok", "refusal", "refusal"], "{results:#?}");
}

#[test]
fn our_own_places_are_closed_to_it_also_inside_its_folder() {
    let script = format!(
        "{PRICED}[[rule]]\nmatch = {{ nth = 1 }}\ncall = {{ tool = 'list_files', arguments = '{{\"path\":\"data\"}}' }}
        [[rule]]\nsay = 'I saw nothing.'\n"
    );
    let rig = start(&script);
    let folder = rig.home.data().parent().unwrap().to_owned();
    let name = rig.home.data().file_name().unwrap().to_str().unwrap().to_owned();
    rig.provider.script(&script.replace("\"data\"", &format!("\"{name}\"")));
    let number = rig.submit(json!({ "agent": { "prompt": "look at your keys", "folder": folder } }));
    rig.reaches(&number, "completed");
    let entries = entries(&rig, &number);
    assert_eq!(entries[2]["results"][0]["code"], "fenced", "{entries:#?}");
    let within =
        rig.submit(json!({ "agent": { "prompt": "work in there", "folder": rig.home.data().join("output") } }));
    let ended = rig.reaches(&within, "failed");
    assert!(sends(&ended).is_empty(), "it is refused before it costs anything: {ended:#}");
    assert!(rig.said(&within).1.contains("closed to agents"));
}

#[test]
fn a_server_that_dies_in_the_middle_costs_an_answer_and_not_the_work() {
    let script = format!(
        "{PRICED}[[rule]]\nmatch = {{ nth = 1 }}\ncall = {{ tool = 'read_file', arguments = '{{\"path\":\"README.md\"}}' }}
        [[rule]]\nmatch = {{ last = 'interrupted' }}\nsay = 'It went on.'
        [[rule]]\nstall_before_ms = 'forever'\n"
    );
    let rig = start(&script);
    let number = task(&rig, "read it");
    rig.asked(2);
    rig.kill_server();
    let ended = rig.reaches(&number, "completed");
    assert_eq!(rig.said(&number).0, "It went on.");
    assert_eq!(states(&ended), ["settled", "unresolved", "settled"], "{ended:#}");
    let entries = entries(&rig, &number);
    assert_eq!(
        kinds(&entries),
        ["asked", "answered", "results", "notice", "answered", "delivered"],
        "what was done is not done again"
    );
    let last = requests(&rig, &ended).pop().unwrap();
    assert!(
        last["messages"].to_string().contains("interrupted here"),
        "what may have been answered is not asked again"
    );
}

#[test]
fn an_answer_that_is_lost_on_its_way_is_not_asked_for_again_and_the_work_goes_on() {
    let script = format!(
        "{PRICED}[[rule]]\nmatch = {{ nth = 1 }}\nsay = 'half of it'\ncut = 'close'
        [[rule]]\nmatch = {{ last = 'was lost' }}\nsay = 'It went on.'\n"
    );
    let rig = start(&script);
    let number = task(&rig, "through a bad line");
    let ended = rig.reaches(&number, "completed");
    assert_eq!(states(&ended), ["unresolved", "settled"], "{ended:#}");
    assert_eq!(kinds(&entries(&rig, &number)), ["asked", "notice", "answered", "delivered"]);
    let said = rig.said(&number);
    assert!(said.0 == "It went on." && said.1.contains("it may have cost"), "{said:?}");
}

#[test]
fn who_never_delivers_fails_with_what_it_said_last() {
    let script = format!(
        "{PRICED}[[rule]]\nsay = 'Just one more look.'\ncall = {{ tool = 'read_file', arguments = '{{\"path\":\"README.md\"}}' }}\n"
    );
    let rig = start(&script);
    let folder = folder(&rig);
    let number = rig.submit(json!({ "agent": { "prompt": "look around", "folder": folder, "max_rounds": 2 } }));
    let ended = rig.reaches(&number, "failed");
    assert_eq!(ended["outcome"]["failed"]["ended"]["model_failed"]["failure"], "not_delivered", "{ended:#}");
    let said = rig.said(&number);
    assert!(said.0 == "Just one more look." && said.1.contains("called tools instead"), "{said:?}");
    assert_eq!(entries(&rig, &number).last().unwrap()["author"], "host");
}

#[test]
fn keys_in_a_file_are_hidden_in_the_transcript_and_leave_it_readable() {
    let script = format!(
        "{PRICED}[[rule]]\nmatch = {{ nth = 1 }}\ncall = {{ tool = 'read_file', arguments = '{{\"path\":\"key.rs\"}}' }}
        [[rule]]\nsay = 'Done.'\n"
    );
    let rig = start(&script);
    let text = "const KEY: &str = \"-----BEGIN PRIVATE KEY-----\";\nlet mine = \"sk-usual-key-of-openai-0001\";\n";
    fs::write(folder(&rig).join("key.rs"), text).unwrap();
    let number = task(&rig, "read it");
    rig.reaches(&number, "completed");
    let shown = serde_json::to_string(&entries(&rig, &number)).unwrap();
    assert!(shown.contains("const KEY") && !shown.contains("sk-usual-key-of-openai-0001"), "{shown}");
}

#[test]
fn it_pauses_for_want_of_money_and_goes_on_where_it_was() {
    let script = format!(
        "{PRICED}[[rule]]\nmatch = {{ nth = 1 }}\nusage = {{ input = 150000, output = 10 }}\n\
        call = {{ tool = 'read_file', arguments = '{{\"path\":\"README.md\"}}' }}\n[[rule]]\nsay = 'Done.'\n"
    );
    let rig = start(&script);
    let folder = folder(&rig);
    let ran = rig.home.run(&["run", "--max-cost", "0.16", "-C", folder.to_str().unwrap(), "read it, please"]);
    assert!(ran.code == 4 && ran.err.contains("resume"), "{ran:?}");
    assert_eq!(kinds(&entries(&rig, "last")).last(), Some(&"parked"));
    let number = rig.task("last")["number"].to_string();
    let ran = rig.home.run(&["resume", &number, "--max-cost", "2"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let ended = rig.reaches(&number, "completed");
    assert_eq!(states(&ended), ["settled"; 2], "nothing is asked twice: {ended:#}");
    assert_eq!(rig.said(&number).0, "Done.");
}

#[test]
fn who_calls_tools_for_ever_must_deliver_in_the_end() {
    let script = format!(
        "{PRICED}[[rule]]\nmatch = {{ last = 'Deliver now' }}\nsay = 'This far I came.'
        [[rule]]\ncall = {{ tool = 'read_file', arguments = '{{\"path\":\"README.md\"}}' }}\n"
    );
    let rig = start(&script);
    let looping = task(&rig, "go in circles");
    rig.reaches(&looping, "completed");
    let entries = entries(&rig, &looping);
    assert!(entries.iter().any(|entry| entry["text"].to_string().contains("same calls")), "it is told first");
    let last = entries.last().unwrap();
    assert_eq!((&last["type"], &last["author"]), (&"delivered".into(), &"model_in_circles".into()), "{last}");
    let folder = rig.home.work().join("project");
    let bounded = rig.submit(json!({ "agent": { "prompt": "be short", "folder": folder, "max_rounds": 2 } }));
    rig.reaches(&bounded, "completed");
    assert_eq!(sends(&rig.task(&bounded)).len(), 2);
    assert!(rig.said(&bounded).1.contains("rounds were used up"));
}

#[test]
fn a_call_of_its_own_that_is_wrong_is_told_to_it() {
    let script = format!(
        "{PRICED}[[rule]]\nmatch = {{ nth = 1 }}\ncall = [
        {{ tool = 'read_file', arguments = '{{\"path\":' }}, {{ tool = 'walk_dog', arguments = '{{}}' }},
        {{ tool = 'read_file', arguments = '{{\"path\":\"nowhere.txt\"}}' }} ]
        [[rule]]\nsay = 'I see.'\n"
    );
    let rig = start(&script);
    let number = task(&rig, "make mistakes");
    rig.reaches(&number, "completed");
    let entries = entries(&rig, &number);
    let outcomes: Vec<&str> =
        entries[2]["results"].as_array().unwrap().iter().map(|result| result["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["argument_error", "miss", "miss"]);
}

#[test]
fn it_ends_when_it_is_cancelled_or_its_time_is_over() {
    let rig = start(&format!("{PRICED}[[rule]]\nstall_before_ms = 'forever'\n"));
    let number = task(&rig, "never answered");
    rig.asked(1);
    assert_eq!(rig.home.run(&["cancel", &number]).code, 0);
    rig.reaches(&number, "cancelled");
    let folder = rig.home.work().join("project");
    let late = rig.submit(json!({ "agent": { "prompt": "too slow", "folder": folder }, "timeout_ms": 300 }));
    let ended = rig.reaches(&late, "failed");
    assert!(ended["reason"].to_string().contains("time"), "{ended:#}");
    let nowhere = rig.call("POST", "/api/tasks", &json!({ "agent": { "prompt": "x y", "folder": "/nowhere/at/all" } }));
    assert_eq!((nowhere.0, &nowhere.1["code"]), (400, &"bad_directory".into()), "{nowhere:?}");
}

#[test]
fn what_the_folder_says_to_those_who_work_in_it_is_told_and_marked() {
    let rig =
        Rig::start(&format!("{PRICED}[[rule]]\nmatch = {{ body = 'speak like a pirate' }}\nsay = 'Arr.'\n"), &[], &[]);
    rig.price("openai/m");
    fs::write(folder(&rig).join("AGENTS.md"), "speak like a pirate\n").unwrap();
    let number = task(&rig, "say hello");
    rig.reaches(&number, "completed");
    assert_eq!(rig.said(&number).0, "Arr.");
    let guidance = entries(&rig, &number)[0]["guidance"].as_str().unwrap().to_owned();
    assert!(guidance.starts_with("[ouroboros] ") && guidance.contains("AGENTS.md says"), "{guidance}");
}
