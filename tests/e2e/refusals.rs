//! Bad input and a hostile machine: each a clear answer, nothing begun, nothing lost.

use super::scene::{
    self, Ending, NAMESPACE, Stranger, alarms, apart, code, count, numbers, refused, request, unprivileged,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::process::{Resource, Rlimit, getrlimit, prlimit};
use serde_json::json;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Stdio;
use support::{Home, program, until};

#[test]
fn bodies_that_mean_nothing_are_refused_by_name() {
    let mut home = Home::new();
    home.up();
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let huge = format!("{{\"command\":{{\"argv\":[\"{}\"]}}}}", "x".repeat(10 << 20));
    let argument = "x".repeat(120_000);
    let arguments = json!({ "command": { "argv": vec![argument.as_str(); 12] } }).to_string();
    let variables: serde_json::Map<String, serde_json::Value> =
        (0..8).map(|number| (format!("V{number}"), json!(argument))).collect();
    let environment = json!({ "command": { "argv": ["true"], "env": variables } }).to_string();
    let named = |name: &str| json!({ "command": { "argv": ["true"], "env": { name: "1" } } }).to_string();
    for (body, status, word) in [
        (&b""[..], 400, "bad_json"),
        (b"{", 400, "bad_json"),
        (b"{\"command\":{\"argv\":[\"true\"]}} trailing", 400, "bad_json"),
        (b"{\"command\":{\"argv\":[\"\xff\xfe\"]}}", 400, "bad_json"),
        (b"\x00\x01\x02\x03", 400, "bad_json"),
        (deep.as_bytes(), 400, "bad_json"),
        (huge.as_bytes(), 413, "body_too_large"),
        (arguments.as_bytes(), 413, "argv_too_large"),
        (environment.as_bytes(), 413, "env_too_large"),
        (named("").as_bytes(), 400, "bad_env"),
        (named("A=B").as_bytes(), 400, "bad_env"),
        (b"{\"command\":{\"argv\":[\"true\"],\"colour\":1}}", 400, "bad_field"),
        (b"{\"command\":{\"argv\":[\"true\"]},\"colour\":1}", 400, "bad_field"),
        (b"{\"command\":{\"argv\":[\"a\\u0000b\"]}}", 400, "bad_field"),
        (b"{\"command\":{\"argv\":[]}}", 400, "empty_argv"),
        (b"{\"command\":{\"argv\":[\"true\"],\"cwd\":\"not/absolute\"}}", 400, "bad_directory"),
    ] {
        let answer = request(&home, "POST", "/api/tasks", body);
        let begin = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
        assert_eq!(
            (answer.as_ref().map(|(status, _)| *status), code(&answer)),
            (Some(status), word),
            "{begin}: {answer:?}"
        );
    }
    assert_eq!(code(&request(&home, "GET", "/api/nothing/here", b"")), "unknown_path");
    assert_eq!(code(&request(&home, "DELETE", "/api/state", b"")), "bad_method");
    assert_eq!(code(&request(&home, "GET", "/api/tasks/77", b"")), "unknown_task");
    assert!(numbers(&home).is_empty());
    let ran = home.run(&["run", "--", "echo", "serves on"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "serves on\n"), "{ran:?}");
}

#[test]
fn the_same_key_with_another_body_is_a_conflict() {
    let mut home = Home::new();
    home.up();
    let body = |word: &str| json!({ "command": { "argv": ["echo", word], "cwd": "/" }, "key": "k" }).to_string();
    let (status, first) = request(&home, "POST", "/api/tasks", body("one").as_bytes()).unwrap();
    assert_eq!((status, &first["duplicate"]), (201, &json!(false)), "{first}");
    let (status, again) = request(&home, "POST", "/api/tasks", body("one").as_bytes()).unwrap();
    assert!((200..=299).contains(&status), "{again}");
    assert_eq!((&again["id"], &again["duplicate"]), (&first["id"], &json!(true)));
    let other = request(&home, "POST", "/api/tasks", body("two").as_bytes());
    assert_eq!((other.as_ref().map(|(status, _)| *status), code(&other)), (Some(409), "key_conflict"));
    assert_eq!(numbers(&home).len(), 1);
}

#[test]
fn text_that_is_not_utf8_is_refused_or_left_out() {
    let mut home = Home::new();
    home.up();
    let bad = OsStr::from_bytes(b"\xff\xfe");
    let mut command = home.command(program("ouroboros"));
    command.args(["run", "--detach", "--", "echo"]).arg(bad);
    let ran = scene::ends(command);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("UTF-8") && ran.err.contains("nothing was submitted"), "{ran:?}");
    let mut command = home.command(program("ouroboros"));
    command.args(["run", "--detach", "--env", "BAD", "--", "true"]).env("BAD", bad);
    let ran = scene::ends(command);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("UTF-8"), "{ran:?}");
    assert!(numbers(&home).is_empty());
    let mut command = home.command(program("ouroboros"));
    command.args(["--verbose", "run", "--", "sh", "-c", "echo \"[$BAD]\""]).env("BAD", bad);
    let ran = scene::ends(command);
    assert_eq!((ran.code, ran.out.as_str()), (0, "[]\n"), "{ran:?}");
    assert!(ran.err.contains("left out") && ran.err.contains("BAD"), "{ran:?}");
}

#[test]
fn lines_that_cannot_be_submitted_are_named_and_nothing_is() {
    let mut home = Home::new();
    home.up();
    let good = "{\"command\":{\"argv\":[\"true\"],\"cwd\":\"/\"},\"hold\":true}\n";
    for bad in ["{\n".to_owned(), format!("{{\"command\":{{\"argv\":[\"{}\"]}}}}\n", "x".repeat(10 << 20))] {
        let ran = home.run_with_input(&["submit"], format!("{good}{bad}").as_bytes());
        assert_ne!(ran.code, 0);
        assert!(ran.err.contains('2'), "{}", ran.err);
        assert!(numbers(&home).is_empty(), "{}", ran.err);
    }
}

#[test]
fn a_taken_port_is_passed_by_or_refused() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let mut home = Home::new();
    home.configure(&format!("[server]\nlisten = \"{address}\"\nlisten_fallback = false\n"));
    let up = refused(&home);
    assert_eq!(up.code, 69, "{up:?}");
    assert!(up.err.contains(&address.to_string()) && up.err.contains("server.listen"), "{up:?}");
    home.is_empty();
    home.configure(&format!("[server]\nlisten = \"{address}\"\n"));
    home.up();
    let status = home.run(&["status", "--json"]).json();
    let url = status["url"].as_str().unwrap();
    assert!(url.starts_with("http://127.0.0.1:") && !url.ends_with(&address.to_string()), "{url}");
    drop(taken);
}

#[test]
fn of_many_launchers_at_once_exactly_one_serves() {
    let home = Home::new();
    let mut launchers: Vec<Ending> = (0..20)
        .map(|_| {
            let mut command = home.command(program("ouroboros"));
            command.arg("up").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            Ending::of(command.spawn().unwrap())
        })
        .collect();
    until("one is left", || {
        let left = launchers.iter_mut().map(Ending::is_over).filter(|over| !over).count();
        assert_ne!(left, 0, "none is left");
        (left == 1 && home.run(&["status"]).code == 0).then_some(())
    });
    let first = launchers.iter_mut().position(|launcher| !launcher.is_over()).unwrap();
    let first = launchers.remove(first);
    for other in launchers {
        let ran = other.ran();
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.out.contains(&format!("launcher pid {}", first.pid())), "{ran:?}");
    }
    let servers = home.alive().into_iter().filter(|found| found.command.contains("ouroboros-server")).count();
    assert_eq!(servers, 1);
    assert_eq!(home.run(&["stop"]).code, 0);
    assert_eq!(first.ran().code, 0);
    home.is_empty();
}

#[test]
fn a_server_beside_one_that_runs_leaves_and_says_who_has_the_directory() {
    let mut home = Home::new();
    home.up();
    let server = home.server();
    let mut command = home.command(program("ouroboros-server"));
    command.arg("run");
    let second = scene::ends(command);
    assert_eq!(second.code, 69, "{second:?}");
    assert!(second.err.contains(&format!("process {server} ")), "{second:?}");
    assert_eq!(home.server(), server);
    let ran = home.run(&["run", "--", "echo", "serves on"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "serves on\n"), "{ran:?}");
}

#[test]
fn what_an_earlier_life_left_does_not_keep_the_next_from_starting() {
    let mut home = Home::new();
    let mut stranger = Stranger::new();
    let run = home.data().join("run");
    fs::create_dir_all(&run).unwrap();
    for name in ["api.sock", "workers.sock"] {
        drop(UnixListener::bind(run.join(name)).unwrap());
    }
    let pid = stranger.pid();
    for name in ["launcher.lock", "server.lock"] {
        fs::write(home.data().join(name), format!("{pid}\n")).unwrap();
    }
    let port = json!({ "pid": pid, "url": "http://127.0.0.1:1", "socket": run.join("api.sock"), "build": "other" });
    fs::write(home.data().join("port"), port.to_string()).unwrap();
    let looked = home.run(&["tasks"]);
    assert!(looked.err.contains("not_running"), "{looked:?}");
    home.up();
    let ran = home.run(&["run", "--", "echo", "serves"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "serves\n"), "{ran:?}");
    let second = home.run(&["up"]);
    assert!(second.out.contains(&home.launcher().to_string()), "{second:?}");
    assert_eq!(home.run(&["stop"]).code, 0);
    assert_eq!(home.launcher_ends(), 0);
    assert!(stranger.lives());
}

#[test]
fn a_start_beside_a_stop_takes_its_place() {
    let mut home = Home::new();
    home.up();
    for round in 0..10 {
        let mut command = home.command(program("ouroboros"));
        command.arg("stop").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut stopping = Ending::of(command.spawn().unwrap());
        // Not waited for: the next start overlaps with this end, at another moment each time.
        until("a task is accepted after it", || {
            let over = stopping.is_over();
            let ran = home.run(&["run", "--detach", "--", "true"]);
            assert!(ran.code == 0 || ran.err.contains("stopping") || ran.err.contains("lost"), "{round}: {ran:?}");
            (ran.code == 0 && over).then_some(())
        });
        let stopped = stopping.ran();
        assert_eq!(stopped.code, 0, "round {round}: {stopped:?}");
        home.reaches("last", "completed");
    }
}

#[test]
fn without_user_namespaces_it_degrades_visibly() {
    if !apart("refusals::without_user_namespaces_it_degrades_visibly", NAMESPACE) {
        return;
    }
    for kind in ["user", "pid"] {
        fs::write(format!("/proc/sys/user/max_{kind}_namespaces"), "0").unwrap();
    }
    let mut home = Home::new();
    home.up();
    until("the alarm is shown", || (alarms(&home) == ["not_isolated"]).then_some(()));
    let (_, health) = request(&home, "GET", "/api/health", b"").unwrap();
    assert!(health.to_string().contains("degraded"), "{health}");
    let ran = home.run(&["run", "--", "echo", "all the same"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "all the same\n"), "{ran:?}");
    let task = home.submit(&[], &["sh", "-c", "sleep 1002 & setsid sleep 1002 & wait"]);
    let sleeping = |home: &Home| home.alive().iter().filter(|found| found.command == "sleep 1002").count();
    until("both run", || (sleeping(&home) == 2).then_some(()));
    assert_eq!(home.run(&["cancel", "--grace", "0s", &task]).code, 0);
    home.reaches(&task, "cancelled");
    assert_eq!(sleeping(&home), 0);
}

/// Lowers the soft limit of a process; gives the one before.
fn lower(pid: i32, resource: Resource, to: u64) -> Rlimit {
    let before = getrlimit(resource);
    let limit = Rlimit { current: Some(to), maximum: before.maximum };
    prlimit(rustix::process::Pid::from_raw(pid), resource, limit).unwrap()
}

fn restore(pid: i32, resource: Resource, limit: Rlimit) {
    prlimit(rustix::process::Pid::from_raw(pid), resource, limit).unwrap();
}

#[test]
fn at_the_limit_of_processes_work_waits_and_goes_on_by_itself() {
    if !unprivileged("refusals::at_the_limit_of_processes_work_waits_and_goes_on_by_itself", "61002") {
        return;
    }
    let mut home = Home::new();
    home.up();
    let first = home.run(&["run", "--", "echo", "first"]);
    assert_eq!(first.code, 0, "{first:?}");
    let server = home.server();
    let before = lower(server, Resource::Nproc, 1);
    // The spare serves one of them; nobody can be started for the others.
    let tasks: Vec<String> =
        (0..6).map(|task| home.submit(&[], &["sh", "-c", &format!("echo {task} >> ran")])).collect();
    until("the alarm is shown", || alarms(&home).contains(&"worker_storm".to_owned()).then_some(()));
    assert!(tasks.iter().any(|task| home.status(task) == "queued"));
    restore(server, Resource::Nproc, before);
    for (number, task) in tasks.iter().enumerate() {
        home.reaches(task, "completed");
        assert_eq!(count(&home, "ran", &number.to_string()), 1);
    }
    until("the alarm is over", || alarms(&home).is_empty().then_some(()));
    assert_eq!(home.server(), server);
}

#[test]
fn at_the_limit_of_files_clients_wait_and_nothing_is_lost() {
    let mut home = Home::new();
    home.up();
    let server = home.server();
    let task = home.submit(&[], &["sh", "-c", "until [ -e gate ]; do sleep 0.01; done; exit 6"]);
    home.begins(&task);
    let open = fs::read_dir(format!("/proc/{server}/fd")).unwrap().count();
    let before = lower(server, Resource::Nofile, u64::try_from(open).unwrap().min(16));
    fs::write(home.work().join("gate"), b"").unwrap();
    let waiting: Vec<Ending> = (0..4)
        .map(|task| {
            let mut command = home.command(program("ouroboros"));
            command.args(["run", "--", "sh", "-c", &format!("echo {task} >> ran")]);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            Ending::of(command.spawn().unwrap())
        })
        .collect();
    until("it is felt", || {
        let said = fs::read_to_string(home.data().join("logs").join("server.log")).unwrap();
        said.contains("Too many open files").then_some(())
    });
    restore(server, Resource::Nofile, before);
    for client in waiting {
        let ran = client.ran();
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    for task in 0..4 {
        assert_eq!(count(&home, "ran", &task.to_string()), 1);
    }
    home.reaches(&task, "failed");
    let shown = home.run(&["show", &task, "--json"]).json();
    assert_eq!(support::home::find(&shown, "exit_code"), Some(&json!(6)), "{shown}");
    assert_eq!(home.server(), server);
}

#[test]
fn a_follower_whose_terminal_is_gone_leaves_and_the_task_goes_on() {
    let mut home = Home::new();
    home.up();
    let mut command = home.command(program("ouroboros"));
    command.args([
        "run",
        "--",
        "sh",
        "-c",
        "echo begun >> ran; until [ -e gate ]; do sleep 0.01; done; echo ended >> ran",
    ]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let follower = Ending::of(command.spawn().unwrap());
    until("it runs", || (count(&home, "ran", "begun") == 1).then_some(()));
    kill(Pid::from_raw(follower.pid()), Signal::SIGHUP).unwrap();
    let ran = follower.ran();
    assert!(!ran.err.contains("cancel"), "{ran:?}");
    assert_eq!(home.status("last"), "running");
    fs::write(home.work().join("gate"), b"").unwrap();
    home.reaches("last", "completed");
    assert_eq!(count(&home, "ran", "ended"), 1);
}

#[test]
fn a_reader_that_leaves_is_no_trouble() {
    let mut home = Home::new();
    home.up();
    let ouroboros = program("ouroboros").display().to_string();
    let mut command = home.command("sh");
    command.args(["-c", &format!("{ouroboros} run -- yes | head -1")]);
    let ran = scene::ends(command);
    assert_eq!((ran.code, ran.out.as_str()), (0, "y\n"), "{ran:?}");
    assert_eq!(ran.err.trim(), "ouroboros: task 1 accepted", "{ran:?}");
    // A closed standard output detaches.
    assert_eq!(home.status("1"), "running");
    assert_eq!(home.run(&["cancel", "--grace", "0s", "1"]).code, 0);
    home.reaches("1", "cancelled");
    for verb in ["tasks", "status", "ps", "events", "show 1", "logs 1"] {
        let mut command = home.command("bash");
        command.args(["-c", &format!("set -o pipefail; {ouroboros} {verb} | true; exit ${{PIPESTATUS[0]}}")]);
        let ran = scene::ends(command);
        assert!(ran.err.is_empty() && [0, 141].contains(&ran.code), "{verb}: {ran:?}");
    }
}

#[test]
fn an_output_that_cannot_be_written_is_said() {
    let mut home = Home::new();
    home.up();
    if !Path::new("/dev/full").exists() {
        return scene::skip("there is no /dev/full");
    }
    let _ = home.submit(&[], &["true"]);
    for arguments in [&["tasks"][..], &["run", "--", "echo", "much"], &["status", "--json"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut command = home.command(program("ouroboros"));
        let child = command.args(arguments).stdin(Stdio::null()).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
        let ran = Ending::of(child).ran();
        assert_ne!(ran.code, 0, "{arguments:?}: {ran:?}");
        assert!(ran.err.contains("No space left"), "{arguments:?}: {ran:?}");
    }
    home.reaches("last", "completed");
}

#[test]
fn closed_standard_streams_change_nothing() {
    let mut home = Home::new();
    home.up();
    let ouroboros = program("ouroboros").display().to_string();
    let database = fs::metadata(home.data().join("store.db")).unwrap().ino();
    let mut command = home.command("sh");
    command.args(["-c", &format!("{ouroboros} run --detach -- sh -c 'echo x >> ran' <&- >&- 2>&-; true")]);
    let ran = scene::ends(command);
    assert_eq!(ran.code, 0, "{ran:?}");
    home.reaches("last", "completed");
    assert_eq!(count(&home, "ran", "x"), 1);
    assert_eq!(fs::metadata(home.data().join("store.db")).unwrap().ino(), database);
}
