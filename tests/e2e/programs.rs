//! Programs that an agent runs: under custody, within what its mode and its owner allow, and gone when the task is.

use super::rig::{PRICED, Rig};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use support::until;

/// An installation whose model calls these tools, one a round, and is done.
fn start(calls: &[(&str, Value)], settings: &[(&str, &str)]) -> Rig {
    let rig = Rig::start(&script(calls), settings, &[]);
    rig.price("openai/m");
    fs::create_dir_all(folder(&rig)).unwrap();
    rig
}

fn script(calls: &[(&str, Value)]) -> String {
    let mut script = PRICED.to_owned();
    for (tool, arguments) in calls {
        let arguments = arguments.to_string();
        script
            .push_str(&format!("[[rule]]\ntimes = 1\ncall = [{{ tool = '{tool}', arguments = '''{arguments}''' }}]\n"));
    }
    script + "[[rule]]\nsay = 'Done.'\n"
}

fn folder(rig: &Rig) -> PathBuf {
    rig.home.work().join("project")
}

fn task(rig: &Rig, more: &Value) -> String {
    let mut agent = json!({ "prompt": "do it now", "folder": folder(rig) });
    for (name, value) in more.as_object().unwrap() {
        agent[name] = value.clone();
    }
    rig.submit(json!({ "agent": agent }))
}

/// What the calls of a task came to, in order.
fn results(rig: &Rig, task: &str) -> Vec<Value> {
    let page = rig.get(&format!("/api/tasks/{task}/transcript?from=1"));
    let entries = page["entries"].as_array().unwrap().iter();
    let results = entries.filter(|entry| entry["type"] == "results");
    results.flat_map(|entry| entry["results"].as_array().unwrap().clone()).collect()
}

fn sh(script: &str) -> (&'static str, Value) {
    ("run_command", json!({ "argv": ["sh", "-c", script] }))
}

/// Processes of the work below this home whose arguments contain `text`.
fn running(rig: &Rig, text: &str) -> usize {
    rig.home.alive().iter().filter(|found| found.command.contains(text)).count()
}

#[test]
fn a_command_gives_its_exit_and_what_it_wrote_and_leaves_nothing() {
    let calls = [
        sh("echo out; echo err >&2; echo made > made.txt; exit 3"),
        sh("sleep 987654 & echo began"),
        ("run_script", json!({ "script": "cat; pwd; echo $HOME\n", "stdin": "given\n" })),
        ("run_command", json!({ "argv": ["no-such-program"] })),
        ("run_command", json!({ "argv": ["sleep", "987655"], "timeout_s": 1 })),
    ];
    let rig = start(&calls, &[]);
    let number = task(&rig, &json!({}));
    rig.reaches(&number, "completed");
    let results = results(&rig, &number);
    let text = |at: usize| results[at]["text"].as_str().unwrap();
    assert!(text(0).starts_with("Exit 3 after ") && text(0).ends_with("\nout\nerr\n"), "{results:#?}");
    assert_eq!(fs::read_to_string(folder(&rig).join("made.txt")).unwrap(), "made\n");
    assert!(text(1).contains("It left 1 process behind") && text(1).ends_with("began\n"), "{}", text(1));
    let home = folder(&rig).canonicalize().unwrap().display().to_string();
    assert!(text(2).contains(&format!("given\n{home}\n")) && text(2).contains("/scratch/"), "{}", text(2));
    assert_eq!((&results[3]["code"], &results[3]["outcome"]), (&json!("no_program"), &json!("miss")));
    assert_eq!((&results[4]["code"], &results[4]["outcome"]), (&json!("timed_out"), &json!("failure")));
    assert!(results.iter().take(3).all(|result| result["decided"]["by"] == "mode"), "{results:#?}");
    assert_eq!(running(&rig, "98765"), 0);
}

#[test]
fn a_cancelled_task_takes_its_programs_along() {
    let rig = start(&[sh("trap '' TERM; touch began; while :; do sleep 987656; done")], &[]);
    let number = task(&rig, &json!({}));
    until("the program runs", || folder(&rig).join("began").exists().then_some(()));
    assert!(running(&rig, "987656") > 0);
    assert_eq!(rig.home.run(&["cancel", &number]).code, 0);
    rig.reaches(&number, "cancelled");
    assert_eq!(running(&rig, "987656"), 0);
}

#[test]
fn what_an_interruption_met_is_told_to_be_unknown_and_not_run_again() {
    let rig = start(&[sh("echo ran >> count; sleep 987657")], &[]);
    let number = task(&rig, &json!({}));
    until("the program runs", || folder(&rig).join("count").exists().then_some(()));
    let worker = rig.home.alive().into_iter().find(|found| found.command.contains("ouroboros-worker serve"));
    let busy = rig.task(&number)["attempts"][0]["process"]["pid"].as_i64();
    let pid = busy.map_or_else(|| worker.map(|found| found.pid).unwrap(), |pid| i32::try_from(pid).unwrap());
    support::home::kill(pid);
    rig.reaches(&number, "completed");
    let results = results(&rig, &number);
    assert_eq!(results[0]["outcome"], "unknown", "{results:#?}");
    assert_eq!(fs::read_to_string(folder(&rig).join("count")).unwrap(), "ran\n");
    assert_eq!(running(&rig, "987657"), 0);
}

#[test]
fn a_service_runs_beside_the_work_and_ends_with_it() {
    // It writes more than a pipe takes, which nobody reads while the model thinks.
    let service = "echo up; head -c 300000 /dev/zero | tr \"\\0\" x; echo; echo up again; touch past; while :; do sleep 987658; done";
    let calls = [
        ("start_service", json!({ "name": "web", "argv": ["sh", "-c", service], "ready_text": "up" })),
        ("service_status", json!({})),
        sh("while [ ! -e past ]; do sleep 0.05; done; echo beside"),
        ("start_service", json!({ "name": "web", "argv": ["true"] })),
        ("stop_service", json!({ "name": "web" })),
        ("start_service", json!({ "name": "again", "argv": ["sh", "-c", service], "ready_text": "up" })),
        ("start_service", json!({ "name": "short", "argv": ["sh", "-c", "echo no; exit 4"], "ready_text": "up" })),
        ("service_status", json!({})),
    ];
    let rig = start(&calls, &[]);
    let number = task(&rig, &json!({}));
    rig.reaches(&number, "completed");
    let results = results(&rig, &number);
    let codes: Vec<&Value> = results.iter().map(|result| &result["code"]).collect();
    let none = &Value::Null;
    assert_eq!(
        codes,
        [none, none, none, &json!("already_exists"), none, none, &json!("service_ended"), none],
        "{results:#?}"
    );
    let text = |at: usize| results[at]["text"].as_str().unwrap();
    assert!(text(1).contains("Service web runs as process") && text(1).contains("up"), "{}", text(1));
    assert!(!text(2).contains("left"), "the service is not swept away: {}", text(2));
    assert!(text(6).contains("Exit 4") && text(6).contains("no"), "{}", text(6));
    assert!(text(7).contains("Service again runs") && text(7).contains("Service short is over"), "{}", text(7));
    assert_eq!(running(&rig, "987658"), 0);
}

#[test]
fn a_check_leaves_a_receipt_whether_it_holds_or_not() {
    let check = |expected: &str| json!({ "claim": "it says ok", "argv": ["echo", "ok"], "expected": expected });
    let rig = start(&[("verify_and_record", check("ok")), ("verify_and_record", check("no"))], &[]);
    let number = task(&rig, &json!({}));
    rig.reaches(&number, "completed");
    let results = results(&rig, &number);
    let held: Vec<&Value> = results.iter().map(|result| &result["receipt"]["holds"]).collect();
    assert_eq!(held, [&json!(true), &json!(false)], "{results:#?}");
    assert_eq!((&results[0]["receipt"]["argv"], &results[1]["code"]), (&json!(["echo", "ok"]), &json!("not_verified")));
}

#[test]
fn git_is_asked_and_nothing_is_changed() {
    let calls = [
        ("vcs_status", json!({})),
        ("vcs_diff", json!({ "base": "HEAD" })),
        ("vcs_log", json!({})),
        ("vcs_show", json!({ "rev": "HEAD", "path": "a.txt" })),
        ("vcs_show", json!({ "rev": "nothing-like-it" })),
    ];
    let rig = start(&calls, &[]);
    let git = |arguments: &[&str]| {
        let ran = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org", "-C"])
            .arg(folder(&rig))
            .args(arguments)
            .output()
            .unwrap();
        assert!(ran.status.success(), "{ran:?}");
    };
    git(&["init", "-q"]);
    fs::write(folder(&rig).join("a.txt"), "old\n").unwrap();
    git(&["add", "a.txt"]);
    git(&["commit", "-q", "-m", "the first"]);
    fs::write(folder(&rig).join("a.txt"), "new\n").unwrap();
    let index = fs::metadata(folder(&rig).join(".git/index")).unwrap().modified().unwrap();
    let number = task(&rig, &json!({}));
    rig.reaches(&number, "completed");
    let results = results(&rig, &number);
    let text = |at: usize| results[at]["text"].as_str().unwrap();
    assert!(text(0).contains(" M a.txt"), "{}", text(0));
    assert!(text(1).contains("-old\n+new"), "{}", text(1));
    assert!(text(2).contains("the first"), "{}", text(2));
    assert_eq!((text(3), &results[4]["code"]), ("old\n", &json!("not_found")));
    assert_eq!(fs::metadata(folder(&rig).join(".git/index")).unwrap().modified().unwrap(), index);
}

#[test]
fn a_mode_says_what_is_done_and_what_is_refused() {
    let calls = [
        ("write_file", json!({ "path": "a.txt", "content": "x" })),
        ("run_command", json!({ "argv": ["true"], "network": true })),
        ("read_file", json!({ "path": "/etc/hostname" })),
    ];
    let rig = start(&calls, &[]);
    let observed = task(&rig, &json!({ "mode": "observe" }));
    rig.reaches(&observed, "completed");
    let seen = results(&rig, &observed);
    assert!(seen.iter().all(|result| result["code"] == "not_allowed"), "{seen:#?}");
    assert!(seen[0]["text"].as_str().unwrap().contains("mode observe"), "{seen:#?}");
    assert!(!folder(&rig).join("a.txt").exists());
}

#[test]
fn its_owner_is_asked_for_what_reaches_further() {
    let reach = json!({ "argv": ["echo", "reached"], "network": true });
    let calls = [
        ("run_command", reach.clone()),
        ("run_command", reach),
        ("read_file", json!({ "path": "/etc/passwd" })),
        ("web_fetch", json!({ "url": "file:///etc/passwd" })),
    ];
    let rig = start(&calls, &[("agent.safety", "'off'")]);
    let number = task(&rig, &json!({}));
    let request = |place: usize| {
        until("it asks", || {
            let open = rig.get("/api/requests?state=open");
            let open = open["requests"].as_array().unwrap().clone();
            open.into_iter().find(|request| request["request"] == place)
        })
    };
    assert!(request(1).to_string().contains("access to the network"));
    assert_eq!(rig.home.run(&["answer", &number, "--task"]).code, 0);
    assert!(request(3).to_string().contains("Read files in /etc"));
    assert_eq!(rig.home.run(&["answer", &number, "--deny", "not yours"]).code, 0);
    rig.reaches(&number, "completed");
    let results = results(&rig, &number);
    let by: Vec<&Value> = results.iter().take(3).map(|result| &result["decided"]["by"]).collect();
    assert_eq!(by, ["owner", "rule", "owner"], "{results:#?}");
    assert_eq!((&results[1]["outcome"], &results[2]["code"]), (&json!("ok"), &json!("not_allowed")));
    assert!(results[2]["text"].as_str().unwrap().contains("not yours"), "{results:#?}");
    assert_eq!(results[3]["code"], "bad_url", "nobody is asked about what is no page: {results:#?}");
    let why = rig.home.run(&["why", &number, "3"]);
    assert!(why.code == 0 && why.out.contains("the owner said no: not yours"), "{why:?}");
}

#[test]
fn one_call_is_cancelled_and_the_rest_of_its_turn_goes_on() {
    let calls = [
        sh("trap 'echo asked to end; exit 7' TERM; echo begun; touch began; while :; do sleep 0.05; done"),
        sh("echo beside > after"),
        ("run_command", json!({ "argv": ["touch", "reached"], "network": true })),
        ("ask_owner", json!({ "question": "Which?" })),
    ];
    let calls =
        calls.map(|(tool, arguments)| format!("{{ tool = '{tool}', arguments = '''{arguments}''' }}")).join(", ");
    let script = format!("{PRICED}[[rule]]\ntimes = 1\ncall = [{calls}]\n[[rule]]\nsay = 'Done.'\n");
    let rig = Rig::start(&script, &[], &[]);
    rig.price("openai/m");
    fs::create_dir_all(folder(&rig)).unwrap();
    let number = task(&rig, &json!({}));
    until("the program runs", || folder(&rig).join("began").exists().then_some(()));
    let wrong = rig.home.run(&["interrupt", &number, "--call", "5"]);
    assert!(wrong.code == 1 && wrong.err.contains("call_not_under_way") && wrong.err.contains("1 to 4"), "{wrong:?}");
    assert_eq!(rig.home.run(&["interrupt", &number, "--call", "1"]).code, 0);
    for call in [3, 4] {
        until("it asks", || {
            let open = rig.get("/api/requests?state=open");
            open["requests"].as_array().unwrap().iter().any(|one| one["request"] == call).then_some(())
        });
        let cancelled = rig.home.run(&["interrupt", &number, "--call", &call.to_string()]);
        assert_eq!(cancelled.code, 0, "{cancelled:?}");
    }
    rig.reaches(&number, "completed");
    let results = results(&rig, &number);
    let codes: Vec<&Value> = results.iter().map(|result| &result["code"]).collect();
    let cancelled = json!("cancelled");
    assert_eq!(codes, [&json!("stopped"), &Value::Null, &cancelled, &cancelled], "{results:#?}");
    assert_eq!(results[0]["outcome"], "failure");
    let wrote = results[0]["text"].as_str().unwrap();
    assert!(wrote.contains("begun\n") && wrote.contains("asked to end\n"), "{results:#?}");
    assert!(folder(&rig).join("after").exists() && !folder(&rig).join("reached").exists());
    let late = rig.home.run(&["interrupt", &number, "--call", "1"]);
    assert_eq!(late.code, 1, "{late:?}");
}

#[test]
fn a_service_is_ready_when_it_listens() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = free.local_addr().unwrap().port();
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    drop(other);
    let serve = "use IO::Socket::INET; select(undef, undef, undef, 0.3); \
        my $s = IO::Socket::INET->new(Listen => 5, LocalAddr => \"127.0.0.1\", LocalPort => $ARGV[0], ReuseAddr => 1) or die; sleep 987660";
    let service = |port: u16, network: bool| {
        let argv = json!(["perl", "-e", serve, port.to_string()]);
        ("start_service", json!({ "name": "web", "argv": argv, "ready_port": port, "network": network, "ready_s": 60 }))
    };
    let calls = [service(port, false), service(taken, true), service(port, true)];
    let rig = start(&calls, &[("agent.safety", "'off'")]);
    let number = task(&rig, &json!({ "mode": "pro" }));
    rig.reaches(&number, "completed");
    drop(free);
    let results = results(&rig, &number);
    let text = |at: usize| results[at]["text"].as_str().unwrap();
    assert_eq!((&results[0]["code"], &results[1]["code"]), (&json!("bad_arguments"), &json!("already_exists")));
    assert!(text(0).contains("ready_port needs network") && text(1).contains("listens on port"), "{results:#?}");
    assert!(results[2]["outcome"] == "ok" && text(2).starts_with("It is ready."), "{results:#?}");
    assert_eq!(running(&rig, "987660"), 0);
}

#[test]
fn a_service_that_is_not_allowed_does_not_learn_what_listens() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let service = json!({ "name": "web", "argv": ["true"], "ready_port": port, "network": true });
    let rig = start(&[("start_service", service)], &[]);
    let number = task(&rig, &json!({ "mode": "light" }));
    rig.reaches(&number, "completed");
    let results = results(&rig, &number);
    assert_eq!(results[0]["code"], "not_allowed", "{results:#?}");
    taken.set_nonblocking(true).unwrap();
    assert!(taken.accept().is_err(), "nothing connected");
}
