//! Tasks in words that are gone on from, spoken to, stopped, and taken back.

use super::agent::{entries, folder, kinds, requests, start};
use super::rig::{PRICED, Rig, sends};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use support::until;

const LOOKS: &str = "[[rule]]\nmatch = { nth = 1 }\nsay = 'I look.'\n\
    call = { tool = 'read_file', arguments = '{\"path\":\"README.md\"}' }\n\
    [[rule]]\nmatch = { last = 'shorter' }\nsay = 'Oslo.'\n\
    [[rule]]\nmatch = { body = 'the weather of Oslo' }\nsay = 'It is about the weather of Oslo.'\n";

const STALLS: &str = "[[rule]]\nmatch = { last = 'More' }\nsay = 'With that.'\n\
    [[rule]]\nmatch = { last = 'stopped this turn' }\nsay = 'I stopped.'\n\
    [[rule]]\nstall_before_ms = 'forever'\n";

fn ask(rig: &Rig, prompt: &str) -> String {
    let folder = folder(rig);
    rig.submit(json!({ "agent": { "prompt": prompt, "folder": folder } }))
}

/// Waits until something stands in the transcript.
fn reads(rig: &Rig, task: &str, words: &str) {
    until(&format!("{words:?} stands in the transcript of {task}"), || {
        entries(rig, task).iter().any(|entry| entry.to_string().contains(words)).then_some(())
    });
}

#[test]
fn what_is_done_is_gone_on_from_in_a_new_task_that_depends_on_nothing() {
    let rig = start(&format!("{PRICED}{LOOKS}"));
    let folder = folder(&rig);
    let first = rig.home.run(&["run", "-C", folder.to_str().unwrap(), "what is this about?"]);
    assert_eq!(first.code, 0, "{first:?}");
    let ran = rig.home.run(&["run", "--continue", "last", "shorter"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Oslo."), "{ran:?}");
    let shown = rig.task("last");
    assert_eq!(shown["agent"]["folder"], folder.to_str().unwrap(), "{shown:#}");
    assert_eq!(shown["from"], json!({ "task": rig.task("1")["id"], "number": 1, "round": 2, "fork": false }));
    let lines = rig.home.run(&["show", "2"]).out;
    assert!(lines.contains("continues 1 (round 2)"), "{lines}");
    assert!(rig.home.run(&["tasks"]).out.contains("continues 1: shorter"));
    let whole = entries(&rig, "2");
    assert_eq!(
        kinds(&whole),
        ["asked", "answered", "results", "answered", "delivered", "asked", "answered", "delivered"]
    );
    assert_eq!(whole[..5], entries(&rig, "1")[..]);
    let sent = requests(&rig, &shown);
    let before = requests(&rig, &rig.task("1"));
    let (old, new) = (before[1]["messages"].as_array().unwrap(), sent[0]["messages"].as_array().unwrap());
    assert_eq!(&new[..old.len()], old, "it begins with what was sent before");
    assert_eq!((sends(&shown).len(), new.len()), (1, old.len() + 2), "its answer, then what is wanted now");
    assert_eq!(rig.home.run(&["rm", "1"]).code, 0);
    assert_eq!(rig.home.run(&["retry", "2"]).code, 0);
    rig.reaches("3", "completed");
    assert_eq!(entries(&rig, "3")[..6], whole[..6], "what repeats it begins where it began");
}

#[test]
fn what_failed_or_was_cancelled_is_gone_on_from_too_and_what_runs_is_not() {
    let script = format!(
        "{PRICED}[[rule]]\nmatch = {{ last = 'go on' }}\nsay = 'I went on.'
        [[rule]]\nmatch = {{ body = 'fail' }}\nsay = 'Just one more look.'\ncall = {{ tool = 'read_file', arguments = '{{\"path\":\"README.md\"}}' }}
        [[rule]]\nstall_before_ms = 'forever'\n"
    );
    let rig = start(&script);
    let folder = folder(&rig);
    let failed = rig.submit(json!({ "agent": { "prompt": "fail", "folder": folder, "max_rounds": 1 } }));
    rig.reaches(&failed, "failed");
    let next = rig.submit(json!({ "agent": { "prompt": "go on", "from": { "task": failed } } }));
    rig.reaches(&next, "completed");
    assert_eq!(rig.said(&next).0, "I went on.", "its rounds are its own");
    let running = ask(&rig, "never answered");
    let refused = rig.home.run(&["run", "-d", "--continue", &running, "go on"]);
    assert!(refused.code != 0 && refused.err.contains("ouroboros send"), "{refused:?}");
    let (status, body) =
        rig.call("POST", "/api/tasks", &json!({ "agent": { "prompt": "go on", "from": { "task": running } } }));
    assert_eq!((status, &body["code"]), (409, &"not_settled".into()), "{body}");
    rig.asked(3);
    assert_eq!(rig.home.run(&["cancel", &running]).code, 0);
    rig.reaches(&running, "cancelled");
    let next = rig.submit(json!({ "agent": { "prompt": "go on, after that", "from": { "task": running } } }));
    rig.reaches(&next, "completed");
    assert_eq!(kinds(&entries(&rig, &next)), ["asked", "asked", "answered", "delivered"]);
    let command = rig.home.run(&["run", "-d", "--", "true"]).out.trim().to_owned();
    let (status, body) =
        rig.call("POST", "/api/tasks", &json!({ "agent": { "prompt": "go on", "from": { "task": command } } }));
    assert_eq!((status, &body["code"]), (409, &"not_in_words".into()), "{body}");
}

#[test]
fn a_fork_keeps_everything_up_to_a_round_and_nothing_after_it() {
    let rig = start(&format!("{PRICED}{LOOKS}"));
    let first = ask(&rig, "what is this about?");
    rig.reaches(&first, "completed");
    let ran = rig.home.run(&["run", "--fork", &format!("{first}@1"), "say it shorter"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Oslo."), "{ran:?}");
    assert_eq!(kinds(&entries(&rig, "last")), ["asked", "answered", "results", "asked", "answered", "delivered"]);
    assert!(rig.home.run(&["show", "last"]).out.contains("forks 1 (round 1)"));
    let refused = rig.home.run(&["run", "--fork", &format!("{first}@9"), "say it shorter"]);
    assert!(refused.code != 0 && refused.err.contains("has not recorded answer 9"), "{refused:?}");
}

#[test]
fn the_turn_under_way_is_stopped_and_the_task_goes_on() {
    let rig = start(&format!("{PRICED}{STALLS}"));
    let number = ask(&rig, "never answered");
    rig.asked(1);
    let ran = rig.home.run(&["interrupt", &number]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let ended = rig.reaches(&number, "completed");
    assert_eq!(rig.said(&number).0, "I stopped.");
    assert_eq!(kinds(&entries(&rig, &number)), ["asked", "notice", "answered", "delivered"]);
    let states = super::rig::states(&ended);
    assert_eq!((states.len(), states[1]), (2, "settled"), "{ended:#}");
    assert_ne!(states[0], "settled", "nothing is known of what was called off: {ended:#}");
    let late = rig.home.run(&["interrupt", &number]);
    assert!(late.code == 1, "{late:?}");
}

#[test]
fn who_stops_to_say_something_is_waited_for_also_through_the_death_of_the_server() {
    let rig = start(&format!("{PRICED}{STALLS}"));
    let number = ask(&rig, "never answered");
    rig.asked(1);
    assert_eq!(rig.home.run(&["interrupt", "--hold", &number]).code, 0);
    reads(&rig, &number, "to say something");
    rig.kill_server();
    rig.reaches(&number, "running");
    let path = format!("/api/tasks/{number}/messages");
    assert_eq!(rig.call("POST", &path, &json!({ "text": " " })).0, 400);
    let ran = rig.home.run(&["send", "--key", "k", &number, "More", "of", "it"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let again = rig.home.run(&["send", "--json", "--key", "k", &number, "More of it"]);
    let again: Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!((&again["number"], &again["duplicate"]), (&1.into(), &true.into()));
    let ended = rig.reaches(&number, "completed");
    assert_eq!(rig.said(&number).0, "With that.");
    assert_eq!(kinds(&entries(&rig, &number)), ["asked", "notice", "said", "answered", "delivered"]);
    assert_eq!(rig.asked(2).len(), 2, "nothing was asked while it waited");
    let message = &ended["agent"]["messages"][0];
    assert_eq!((&message["text"], &message["taken"]), (&"More of it".into(), &3.into()), "{ended:#}");
    let late = rig.home.run(&["send", &number, "and more"]);
    assert!(late.code == 1 && late.err.contains("--continue"), "{late:?}");
    assert_eq!(rig.call("POST", &path, &json!({ "text": "x" })).1["code"], "not_listening");
}

#[test]
fn what_is_said_before_it_begins_is_heard_first_and_what_nobody_heard_is_said_to_be() {
    let rig = start(&format!("{PRICED}{STALLS}"));
    let folder = folder(&rig);
    let number = rig.submit(json!({ "agent": { "prompt": "wait for it", "folder": folder }, "hold": true }));
    assert_eq!(rig.home.run(&["send", &number, "More of it"]).code, 0);
    assert_eq!(rig.home.run(&["release", &number]).code, 0);
    rig.reaches(&number, "completed");
    assert_eq!(kinds(&entries(&rig, &number)), ["asked", "said", "answered", "delivered"]);
    let silent = rig.submit(json!({ "agent": { "prompt": "never begun", "folder": folder }, "hold": true }));
    assert_eq!(rig.home.run(&["send", &silent, "too late"]).code, 0);
    assert_eq!(rig.home.run(&["cancel", &silent]).code, 0);
    rig.reaches(&silent, "cancelled");
    let shown = rig.home.run(&["show", &silent]).out;
    assert!(shown.contains("1 (not taken: the task had ended): too late"), "{shown}");
}

#[test]
fn what_it_changed_is_shown_and_taken_back() {
    let script = format!(
        "{PRICED}[[rule]]\nmatch = {{ nth = 1 }}\ncall = [
        {{ tool = 'edit_text', arguments = '{{\"path\":\"src/main.rs\",\"old\":\"rain\",\"new\":\"sun\"}}' }},
        {{ tool = 'write_file', arguments = '{{\"path\":\"notes/new.txt\",\"content\":\"x\\n\"}}' }},
        {{ tool = 'apply_patch', arguments = '{{\"patch\":\"--- README.md\\n+++ /dev/null\\n@@ -1,2 +0,0 @@\\n-# Weather\\n-It knows the weather of Oslo.\\n\"}}' }} ]
        [[rule]]\nsay = 'Done.'\n"
    );
    let rig = start(&script);
    let folder = folder(&rig);
    let (main, readme) = (folder.join("src/main.rs"), folder.join("README.md"));
    let old = (fs::read_to_string(&main).unwrap(), fs::read_to_string(&readme).unwrap());
    fs::set_permissions(&readme, fs::Permissions::from_mode(0o640)).unwrap();
    let number = rig.submit(json!({ "agent": { "prompt": "make it sunny", "folder": folder } }));
    rig.reaches(&number, "completed");
    let diff = rig.home.run(&["diff", &number]);
    let shown = "--- a/README.md\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-# Weather\n-It knows the weather of Oslo.\n\
        --- /dev/null\n+++ b/notes/new.txt\n@@ -0,0 +1 @@\n+x\n\
        --- a/src/main.rs\n+++ b/src/main.rs\n@@ -1,3 +1,3 @@\n fn main() {\n-    println!(\"rain\");\n+    println!(\"sun\");\n }\n";
    assert_eq!((diff.code, diff.out.as_str()), (0, shown), "{diff:?}");
    let dry = rig.home.run(&["undo", "--dry-run", &number]);
    assert!(dry.code == 0 && dry.out.contains("restored   README.md") && !readme.exists(), "{dry:?}");
    fs::write(&main, "mine\n").unwrap();
    let undone = rig.home.run(&["undo", &number]);
    assert!(undone.code == 1 && undone.out.contains("refused    src/main.rs"), "{undone:?}");
    assert!(undone.out.contains("removed    notes/new.txt") && !folder.join("notes/new.txt").exists());
    assert_eq!(fs::read_to_string(&readme).unwrap(), old.1);
    assert_eq!(readme.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_to_string(&main).unwrap(), "mine\n", "what somebody else did stays");
    let forced = rig.home.run(&["undo", "--force", &number, "src/main.rs"]);
    assert_eq!((forced.code, forced.out.as_str()), (0, "restored   src/main.rs\n"), "{forced:?}");
    assert_eq!(fs::read_to_string(&main).unwrap(), old.0);
    let changes = rig.get(&format!("/api/tasks/{number}/changes"));
    assert!(changes["files"].as_array().unwrap().iter().all(|file| file["change"] == "same"), "{changes:#}");
}

#[test]
fn nothing_is_taken_back_under_a_task_that_runs() {
    let rig = start(&format!("{PRICED}{STALLS}"));
    let number = ask(&rig, "never answered");
    rig.asked(1);
    let refused = rig.home.run(&["undo", &number]);
    assert!(refused.code == 1 && refused.err.contains("running"), "{refused:?}");
    assert_eq!(rig.home.run(&["cancel", &number]).code, 0);
    rig.reaches(&number, "cancelled");
    let nothing = rig.home.run(&["undo", &number]);
    assert!(nothing.code == 0 && nothing.err.contains("changed nothing"), "{nothing:?}");
    let command = rig.home.run(&["run", "-d", "--", "true"]).out.trim().to_owned();
    assert_eq!(rig.home.run(&["diff", &command]).code, 1);
}

#[test]
fn the_conversation_is_readable_in_a_terminal() {
    let script = format!(
        "{PRICED}[[rule]]\nmatch = {{ nth = 1 }}\nsay = \"I look.\\u001b[2J\"\ncall = {{ tool = 'read_file', arguments = '{{\"path\":\"long.txt\"}}' }}
        [[rule]]\nsay = 'Done.'\n"
    );
    let rig = start(&script);
    let folder = folder(&rig);
    let lines: String = (1..=100).map(|line| format!("line {line}\n")).collect();
    fs::write(folder.join("long.txt"), lines).unwrap();
    let number = rig.submit(json!({ "agent": { "prompt": "read it", "folder": folder } }));
    rig.reaches(&number, "completed");
    let shown = rig.home.run(&["show", "--transcript", &number]).out;
    for words in [
        "── asked\nread it",
        "── round 1 · openai/m · ",
        "I look.\\u{1b}[2J",
        "→ read_file",
        "more; --full",
        "── delivered by the model",
    ] {
        assert!(shown.contains(words), "{words:?} in {shown}");
    }
    assert!(!shown.contains("line 50") && !shown.contains('\u{1b}'), "{shown}");
    let full = rig.home.run(&["show", "--transcript", "--full", &number]).out;
    assert!(full.contains("line 50") && !full.contains("--full"), "{full}");
    let json = rig.home.run(&["show", "--transcript", "--json", &number]).out;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["entries"].as_array().unwrap()[..], entries(&rig, &number)[..]);
}
