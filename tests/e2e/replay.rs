//! What a model answered in a task, gone through again without it.

use super::agent::{entries, folder, kinds, start};
use super::rig::{PRICED, Rig, sends};
use serde_json::{Value, json};
use std::fs;
use support::until;

const WORKS: &str = "[[rule]]\ntimes = 1\ncall = [{ tool = 'read_file', arguments = '{\"path\":\"README.md\"}' },
    { tool = 'run_command', arguments = '{\"argv\":[\"cat\",\"src/main.rs\"]}' }]
    [[rule]]\ntimes = 1\ncall = [{ tool = 'write_file', arguments = '{\"path\":\"new.txt\",\"content\":\"x\"}' },
    { tool = 'ask_owner', arguments = '{\"question\":\"Which colour?\"}' }]
    [[rule]]\nsay = 'Done.'\n";

/// A task that read, ran, wrote and asked.
fn worked(rig: &Rig) {
    let number = rig.submit(json!({ "agent": { "prompt": "do it all", "folder": folder(rig) } }));
    until("it asks", || rig.task(&number)["request"].is_object().then_some(()));
    assert_eq!(rig.home.run(&["answer", &number, "red"]).code, 0);
    rig.reaches(&number, "completed");
}

#[test]
fn calls_are_done_again_and_compared_and_nothing_is_asked_or_spent() {
    let rig = start(&format!("{PRICED}{WORKS}"));
    worked(&rig);
    let folder = folder(&rig);
    fs::remove_file(folder.join("new.txt")).unwrap();
    let asked = rig.provider.chats().len();
    let ran = rig.home.run(&["replay", "1"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let words: Vec<Vec<&str>> = ran.out.lines().map(|line| line.split_whitespace().take(4).collect()).collect();
    assert_eq!(words[..2], [vec!["1", "read_file", "same"], vec!["2", "run_command", "same"]], "{ran:?}");
    assert_eq!(words[2..4], [vec!["3", "write_file", "not", "run:"], vec!["4", "ask_owner", "same"]], "{ran:?}");
    assert!(ran.out.ends_with("4 calls: 3 same, 0 differ, 1 not run\n"), "{ran:?}");
    assert!(!folder.join("new.txt").exists() && rig.provider.chats().len() == asked);
    let shown = rig.task("last");
    assert_eq!((sends(&shown).len(), &shown["from"]["replay"], &shown["from"]["number"]), (0, &true.into(), &1.into()));
    assert!(rig.home.run(&["show", "last"]).out.contains("replays 1 (round 3)"));
    let whole = entries(&rig, "last");
    let own = whole.iter().rposition(|entry| entry["type"] == "asked").unwrap();
    let again = ["asked", "answered", "results", "answered", "results", "answered", "delivered"];
    assert_eq!(kinds(&whole[own..]), again, "{whole:#?}");
    assert_eq!(rig.get("/api/requests")["requests"].as_array().unwrap().len(), 1, "nobody is asked again");
}

#[test]
fn what_differs_is_shown_and_gives_one() {
    let rig = start(&format!("{PRICED}{WORKS}"));
    worked(&rig);
    fs::write(folder(&rig).join("README.md"), "# Weather\nIt knows the weather of Bergen.\n").unwrap();
    let ran = rig.home.run(&["replay", "1"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("differs in its text\n     - ") && ran.out.contains("Bergen"), "{ran:?}");
    let ran = rig.home.run(&["replay", "1", "--json"]);
    let lines: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let verdicts: Vec<&Value> = lines.iter().take(4).map(|line| &line["verdict"]).collect();
    assert_eq!(verdicts, ["differs", "same", "not_run", "same"], "{ran:?}");
    let last = lines.last().unwrap();
    assert_eq!((ran.code, &last["replays"], &last["differs"]), (1, &1.into(), &1.into()), "{last}");
    let elsewhere = rig.home.work().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let ran = rig.home.run(&["replay", "1", "-C", elsewhere.to_str().unwrap(), "--mode", "light"]);
    assert!(ran.code == 1 && ran.out.contains("differs: ok, now miss"), "{ran:?}");
    assert!(elsewhere.join("new.txt").exists(), "its mode lets it write there");
}

#[test]
fn only_what_ended_and_was_in_words_is_replayed() {
    let rig = start(&format!("{PRICED}[[rule]]\nstall_before_ms = 'forever'\n"));
    let running = rig.submit(json!({ "agent": { "prompt": "never answered", "folder": folder(&rig) } }));
    rig.asked(1);
    assert_eq!(rig.home.run(&["replay", &running]).code, 1);
    let command = rig.home.submit(&[], &["true"]);
    let ran = rig.home.run(&["replay", &command]);
    assert!(ran.code == 1 && ran.err.contains("not one in words"), "{ran:?}");
    let body = json!({ "agent": { "replay": "1", "prompt": "something else" } });
    assert_eq!(rig.call("POST", "/api/tasks", &body).1["code"], "bad_field");
}

#[test]
fn a_server_that_dies_in_the_middle_costs_a_call_and_not_the_rest() {
    let script = format!(
        "{PRICED}[[rule]]\ntimes = 1\ncall = {{ tool = 'run_command', arguments = '{{\"argv\":[\"sh\",\"-c\",\"test -e go || sleep 1000\"]}}' }}
        [[rule]]\ntimes = 1\ncall = {{ tool = 'list_files', arguments = '{{}}' }}\n[[rule]]\nsay = 'Done.'\n"
    );
    let rig = start(&script);
    let go = folder(&rig).join("go");
    fs::write(&go, "").unwrap();
    let first = rig.submit(json!({ "agent": { "prompt": "wait for it", "folder": folder(&rig) } }));
    rig.reaches(&first, "completed");
    fs::remove_file(&go).unwrap();
    let again = rig.post("/api/tasks", &json!({ "agent": { "replay": first } }))["number"].to_string();
    until("its first call is under way", || {
        (kinds(&entries(&rig, &again)).ends_with(&["asked", "answered"])).then_some(())
    });
    rig.kill_server();
    fs::write(&go, "").unwrap();
    let ended = rig.reaches(&again, "completed");
    assert_eq!(sends(&ended).len(), 0);
    let whole = entries(&rig, &again);
    let own = whole.iter().rposition(|entry| entry["type"] == "asked").unwrap();
    let outcomes: Vec<&Value> = whole[own..]
        .iter()
        .filter(|entry| entry["type"] == "results")
        .map(|entry| &entry["results"][0]["outcome"])
        .collect();
    assert_eq!(outcomes, ["unknown", "ok"], "{whole:#?}");
}
