//! A model looks at calls before they are done: what is asked, what follows, and what is never asked.

use super::rig::{PRICED, Rig};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use support::until;

/// Matches requests of the safety check.
const CHECK: &str = "match = { body = 'You look at one act of an agent' }";

/// A model that runs these, one a round, and a check that answers like this, in order.
fn script(calls: &[Value], says: &[&str]) -> String {
    let mut script = PRICED.to_owned();
    for (at, answer) in says.iter().enumerate() {
        let times = if at + 1 == says.len() { "" } else { "times = 1\n" };
        script.push_str(&format!("[[rule]]\n{times}{CHECK}\n{answer}\n"));
    }
    for arguments in calls {
        script.push_str(&format!(
            "[[rule]]\ntimes = 1\ncall = [{{ tool = 'run_command', arguments = '''{arguments}''' }}]\n"
        ));
    }
    script + "[[rule]]\nsay = 'Done.'\n"
}

fn start(calls: &[Value], says: &[&str], settings: &[(&str, &str)]) -> Rig {
    let rig = Rig::start(&script(calls, says), settings, &[]);
    rig.price("openai/m");
    fs::create_dir_all(folder(&rig)).unwrap();
    rig
}

fn folder(rig: &Rig) -> PathBuf {
    rig.home.work().join("project")
}

fn task(rig: &Rig, mode: &str) -> String {
    rig.submit(json!({ "agent": { "prompt": "greet me, and spare the archive", "folder": folder(rig), "mode": mode } }))
}

fn says(status: &str, reason: &str) -> String {
    format!("say = '''{}'''", json!({ "status": status, "reason": reason }))
}

fn reach(word: &str) -> Value {
    json!({ "argv": ["sh", "-c", format!("echo {word} >> done")], "network": true })
}

fn entries(rig: &Rig, task: &str) -> Vec<Value> {
    rig.get(&format!("/api/tasks/{task}/transcript?from=1"))["entries"].as_array().unwrap().clone()
}

fn results(rig: &Rig, task: &str) -> Vec<Value> {
    let results = entries(rig, task).into_iter().filter(|entry| entry["type"] == "results");
    results.flat_map(|entry| entry["results"].as_array().unwrap().clone()).collect()
}

fn done(rig: &Rig) -> String {
    fs::read_to_string(folder(rig).join("done")).unwrap_or_default()
}

/// Requests of the check that its provider saw.
fn checks(rig: &Rig) -> Vec<Value> {
    rig.asked(1).into_iter().filter(|asked| asked.to_string().contains("You look at one act of an agent")).collect()
}

#[test]
fn what_is_found_decides_and_is_told() {
    let calls = ["a", "b", "c", "d", "e"].map(reach);
    let answers = [
        says("safe", "a greeting"),
        says("suspicious", "it writes a file"),
        says("dangerous", "it destroys the archive"),
        "say = 'I think it is fine.'".to_owned(),
        says("safe", "a greeting after all"),
        says("harmless", "?"),
    ];
    let rig = start(&calls, &answers.each_ref().map(String::as_str), &[]);
    let number = task(&rig, "pro");
    rig.reaches(&number, "completed");
    let results = results(&rig, &number);
    let codes: Vec<&Value> = results.iter().map(|result| &result["code"]).collect();
    assert_eq!(codes, [&Value::Null, &Value::Null, &json!("safety_violation"), &Value::Null, &json!("safety_failed")]);
    assert_eq!(done(&rig), "a\nb\nd\n", "{results:#?}");
    let status: Vec<&Value> = results.iter().map(|result| &result["decided"]["judged"]["status"]).collect();
    assert_eq!(status, ["safe", "suspicious", "dangerous", "safe", "failed"]);
    let text = |at: usize| results[at]["text"].as_str().unwrap();
    assert!(!text(0).contains("safety") && text(1).contains("suspicious: it writes a file"), "{results:#?}");
    assert!(text(2).contains("it destroys the archive") && results[2]["decided"]["by"] == "safety", "{results:#?}");
    let asked = checks(&rig);
    assert_eq!(asked.len(), 6, "the one that was no judgement was asked once more");
    let first = asked[0].to_string();
    assert!(
        first.contains("spare the archive") && first.contains("echo a >> done") && first.contains("\\\"pro\\\""),
        "{first}"
    );
    let why = rig.home.run(&["why", &number]);
    assert!(why.out.contains("Safety check: dangerous: it destroys the archive"), "{why:?}");
    let shown = rig.home.run(&["show", &number, "--transcript"]);
    assert!(shown.out.contains("a model is asked whether call 3 is safe"), "{shown:?}");
    let spent = rig.task(&number)["sends"].as_array().map(Vec::len);
    assert_eq!(spent, Some(12), "each is a paid call of the task");
}

#[test]
fn what_is_confined_is_not_looked_at_by_default_and_nothing_is_when_it_is_off() {
    let confined = json!({ "argv": ["sh", "-c", "echo in >> done"] });
    for (coverage, mode, asked) in [("light", "advanced", 0), ("full", "advanced", 1), ("off", "pro", 0)] {
        let call = if mode == "pro" { reach("in") } else { confined.clone() };
        let quoted = format!("'{coverage}'");
        let rig = start(&[call], &[&says("safe", "a greeting")], &[("agent.safety", &quoted)]);
        let number = task(&rig, mode);
        rig.reaches(&number, "completed");
        assert_eq!((done(&rig).as_str(), checks(&rig).len()), ("in\n", asked), "{coverage}");
        let judged = results(&rig, &number)[0]["decided"]["judged"].clone();
        let status = if asked == 0 { "waved_through" } else { "safe" };
        assert_eq!(judged["status"], status, "{judged}");
        if asked == 0 {
            let why = rig.home.run(&["why", &number]);
            assert!(why.out.contains(&format!("none was made, as agent.safety is {coverage}")), "{why:?}");
        }
    }
}

#[test]
fn in_the_widest_mode_it_is_advice() {
    let rig = start(&[reach("a")], &[&says("dangerous", "it destroys the archive")], &[]);
    let number = task(&rig, "cyber_pro");
    rig.reaches(&number, "completed");
    let results = results(&rig, &number);
    assert_eq!((done(&rig).as_str(), &results[0]["decided"]["judged"]["status"]), ("a\n", &json!("dangerous")));
    assert!(
        results[0]["text"].as_str().unwrap().contains("With a warning: the safety check found it dangerous"),
        "{results:#?}"
    );
}

#[test]
fn what_its_owner_allowed_in_person_is_not_judged_and_what_a_rule_allows_is() {
    let rig = start(&[reach("a"), reach("a")], &[&says("dangerous", "twice is too much")], &[]);
    let number = task(&rig, "advanced");
    until("it asks", || (!rig.task(&number)["request"].is_null()).then_some(()));
    assert_eq!(rig.home.run(&["answer", &number, "--task"]).code, 0);
    rig.reaches(&number, "completed");
    let results = results(&rig, &number);
    let by: Vec<&Value> = results.iter().map(|result| &result["decided"]["by"]).collect();
    assert_eq!((by, done(&rig).as_str()), (vec![&json!("owner"), &json!("safety")], "a\n"));
    assert_eq!(checks(&rig).len(), 1);
}

#[test]
fn what_is_too_long_is_refused_and_not_cut() {
    let rig = start(
        &[json!({ "argv": ["true", "x".repeat(100_000), "y".repeat(100_000), "z".repeat(60_000)], "network": true })],
        &[&says("safe", "")],
        &[],
    );
    let number = task(&rig, "pro");
    rig.reaches(&number, "completed");
    assert_eq!(results(&rig, &number)[0]["code"], "safety_subject_too_large");
    assert_eq!(checks(&rig).len(), 0);
}

#[test]
fn a_check_that_was_interrupted_leaves_a_call_that_had_not_begun() {
    let rig = start(&[reach("a")], &["stall_before_ms = 'forever'"], &[]);
    let number = task(&rig, "pro");
    until("the check is asked", || (!checks(&rig).is_empty()).then_some(()));
    rig.kill_server();
    rig.reaches(&number, "completed");
    let results = results(&rig, &number);
    assert_eq!((&results[0]["code"], done(&rig).as_str()), (&json!("not_begun"), ""), "{results:#?}");
    assert_eq!(checks(&rig).len(), 1, "it is not asked again behind its back");
}

#[test]
fn without_money_for_the_check_the_task_pauses_and_the_call_has_not_begun() {
    let costly = "[[rule]]\ntimes = 1\nusage = { input = 155000, output = 10 }\ncall";
    let words = script(&[reach("a")], &[&says("safe", "a greeting")]).replace("[[rule]]\ntimes = 1\ncall", costly);
    let rig = Rig::start(&words, &[], &[]);
    rig.price("openai/m");
    fs::create_dir_all(folder(&rig)).unwrap();
    let agent = json!({ "prompt": "greet me", "folder": folder(&rig), "mode": "pro" });
    let number = rig.submit(json!({ "agent": agent, "max_cost": "0.16" }));
    rig.reaches(&number, "paused");
    assert_eq!(rig.asked(1).len(), 1, "nothing was sent for the check");
    assert_eq!(rig.home.run(&["resume", &number, "--max-cost", "2"]).code, 0);
    rig.reaches(&number, "completed");
    let results = results(&rig, &number);
    assert_eq!((&results[0]["code"], done(&rig).as_str()), (&json!("safety_unavailable"), ""), "{results:#?}");
}

#[test]
fn while_its_provider_is_busy_the_task_waits_and_the_call_has_not_begun() {
    let answers = ["status = 429", &says("safe", "a greeting")];
    let rig = start(&[reach("a"), reach("a")], &answers, &[("models.retries", "0")]);
    let number = task(&rig, "pro");
    rig.waits(&number, "rate_limit");
    let resumed = rig.home.run(&["resume", &number]);
    assert_eq!(resumed.code, 0, "{resumed:?}");
    rig.reaches(&number, "completed");
    let results = results(&rig, &number);
    assert_eq!(
        (&results[0]["code"], &results[1]["outcome"]),
        (&json!("safety_unavailable"), &json!("ok")),
        "{results:#?}"
    );
    assert_eq!((done(&rig).as_str(), checks(&rig).len()), ("a\n", 2), "the model called it again");
}

#[test]
fn a_route_of_its_own_is_asked_where_one_is_named() {
    let words = script(&[reach("a")], &[&says("safe", "a greeting")]);
    let key = [("ANTHROPIC_API_KEY", "sk-ant-of-a-test-000001")];
    let rig = Rig::start(&words, &[("models.safety", "'anthropic/m'")], &key);
    rig.price("openai/m");
    rig.price("anthropic/m");
    fs::create_dir_all(folder(&rig)).unwrap();
    let number = task(&rig, "pro");
    rig.reaches(&number, "completed");
    let judged = entries(&rig, &number).into_iter().find(|entry| entry["type"] == "judged").unwrap();
    assert_eq!(judged["route"], "anthropic/m", "{judged}");
}

/// A folder that looks like the source of this program, and an agent that makes these calls in it.
fn in_own_source(calls: &[(&str, Value)]) -> Rig {
    let mut words = PRICED.to_owned();
    for (tool, arguments) in calls {
        words
            .push_str(&format!("[[rule]]\ntimes = 1\ncall = [{{ tool = '{tool}', arguments = '''{arguments}''' }}]\n"));
    }
    let rig = Rig::start(&(words + "[[rule]]\nsay = 'Done.'\n"), &[("agent.safety", "'off'")], &[]);
    rig.price("openai/m");
    let folder = folder(&rig);
    fs::create_dir_all(folder.join("worker/src/sandbox")).unwrap();
    let manifest = "[workspace]\nmembers = [\"launcher\", \"worker\", \"proto\"]\n\
        [workspace.dependencies]\nouroboros-proto = { path = \"proto\" }\n";
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    for file in ["deny.toml", "worker/src/sandbox/view.rs", "README.md"] {
        fs::write(folder.join(file), "as it is\n").unwrap();
    }
    rig
}

#[test]
fn its_own_source_is_changed_as_far_as_the_mode_goes() {
    let edit = |path: &str| ("edit_text", json!({ "path": path, "old": "as it is", "new": "changed" }));
    let read = |path: &str| ("read_file", json!({ "path": path }));
    let through = "for file in README.md deny.toml worker/src/sandbox/view.rs worker/src/sandbox/new.rs; do \
        (echo more >> $file) 2> /dev/null && echo wrote $file; done; mv worker aside 2> /dev/null && echo moved; echo tried";
    let calls = [
        read("README.md"),
        edit("README.md"),
        read("deny.toml"),
        edit("deny.toml"),
        ("write_file", json!({ "path": "worker/src/sandbox/new.rs", "content": "x" })),
        ("run_command", json!({ "argv": ["sh", "-c", through] })),
        ("run_command", json!({ "argv": ["true"], "unconfined": true })),
    ];
    let (light, core) = (json!("light_mode_blocked"), json!("core_protection_blocked"));
    let (none, not_allowed) = (Value::Null, json!("not_allowed"));
    for (mode, codes, wrote) in [
        ("light", [&light, &light, &light, &none, &light], "tried\n"),
        ("advanced", [&none, &core, &core, &none, &core], "wrote README.md\ntried\n"),
    ] {
        let rig = in_own_source(&calls);
        let number = task(&rig, mode);
        rig.reaches(&number, "completed");
        let results = results(&rig, &number);
        let found: Vec<&Value> = [1, 3, 4, 5, 6].iter().map(|at| &results[*at]["code"]).collect();
        assert!(found == codes || found[..4] == codes[..4] && *found[4] == not_allowed, "{mode} {results:#?}");
        assert!(results[5]["text"].as_str().unwrap().ends_with(wrote), "{mode} {}", results[5]["text"]);
        assert_eq!(fs::read_to_string(folder(&rig).join("deny.toml")).unwrap(), "as it is\n", "{mode}");
        assert!(!folder(&rig).join("worker/src/sandbox/new.rs").exists(), "{mode}");
    }
    for (mode, notice) in [("pro", true), ("cyber_pro", false)] {
        let rig = in_own_source(&[read("deny.toml"), edit("deny.toml"), read("README.md"), edit("README.md")]);
        let number = task(&rig, mode);
        rig.reaches(&number, "completed");
        let results = results(&rig, &number);
        let noticed = |at: usize| results[at]["text"].as_str().unwrap().contains("core_patch_notice");
        assert_eq!((noticed(1), noticed(3)), (notice, false), "{mode} {results:#?}");
        assert_eq!(fs::read_to_string(folder(&rig).join("deny.toml")).unwrap(), "changed\n", "{mode}");
    }
}
