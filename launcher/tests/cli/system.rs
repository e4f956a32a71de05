//! Stopping, restarting, doctor.

use super::program::Home;
use super::sample;
use super::server::{Reply, Server};
use serde_json::{Value, json};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};

/// Processes that stand for a server and its launcher; they end when they are asked to.
struct Stand(Arc<Mutex<Vec<Child>>>, Value);

impl Stand {
    fn new() -> Self {
        let children: Vec<Child> = (0..2).map(|_| Command::new("sleep").arg("600").spawn().unwrap()).collect();
        let mut state = sample::state(None);
        state["pid"] = children[0].id().into();
        state["launcher_pid"] = children[1].id().into();
        Self(Arc::new(Mutex::new(children)), state)
    }

    fn serve(&self, home: &Home) -> Server {
        let (children, state) = (Arc::clone(&self.0), self.1.clone());
        let after = Arc::new(Mutex::new(state["generation"].as_u64().unwrap()));
        Server::start(home, move |request| {
            if request.method == "GET" {
                let mut state = state.clone();
                state["generation"] = (*after.lock().unwrap()).into();
                return Reply::json(200, &state);
            }
            for child in children.lock().unwrap().iter_mut() {
                child.kill().unwrap();
                child.wait().unwrap();
            }
            *after.lock().unwrap() += 1;
            Reply::json(200, &json!({ "message": "Stopping.", "tasks": [7, 9] }))
        })
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        for child in self.0.lock().unwrap().iter_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn a_stop_waits_for_the_end_and_lists_what_it_interrupts() {
    let home = Home::new();
    let stand = Stand::new();
    let server = stand.serve(&home);
    insta::assert_snapshot!("stop", home.run(&["stop"]).shown());
    assert_eq!(server.requests()[1].body, json!({ "command": "stop", "drain": false }));
}

#[test]
fn a_restart_waits_for_the_next_life() {
    let home = Home::new();
    let stand = Stand::new();
    let server = stand.serve(&home);
    let ran = home.run(&["restart", "--drain"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(
        ran.err().contains("waits for 2 running tasks: 7 9") && ran.err().contains("restarted: pid"),
        "{}",
        ran.err()
    );
    assert_eq!(server.requests()[1].body, json!({ "command": "restart", "drain": true }));
}

#[test]
fn a_panic_counts_when_everything_is_gone() {
    let home = Home::new();
    let stand = Stand::new();
    let (children, state) = (Arc::clone(&stand.0), stand.1.clone());
    // The server dies before it can answer.
    let _server = Server::start(&home, move |request| {
        if request.method == "GET" {
            return Reply::json(200, &state);
        }
        for child in children.lock().unwrap().iter_mut() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        Reply(Vec::new())
    });
    insta::assert_snapshot!("panic", home.run(&["panic"]).shown());
}

#[test]
fn a_server_of_another_build_keeps_look_ups_working() {
    let home = Home::new();
    let _server = Server::start(&home, |_| {
        let mut state = sample::state(None);
        state["build"] = json!("9.9.9");
        state["something_new"] = json!({ "a": 1 });
        Reply::json(200, &state)
    });
    let ran = home.run(&["status"]);
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.err().contains("The server is of build 9.9.9") && ran.err().contains("restart --drain"),
        "{}",
        ran.err()
    );
    assert_eq!(home.run(&["status", "--json"]).json()["something_new"]["a"], 1);
}

#[test]
fn beside_a_live_server_up_only_says_where_it_is() {
    let home = Home::new();
    let _server = Server::start(&home, |_| Reply::json(200, &sample::state(None)));
    assert_eq!(
        home.run(&["up"]).shown(),
        "exit code 0\n--- stdout\nalready running: launcher pid 4000000, http://127.0.0.1:8765\n"
    );
}

#[test]
fn the_doctor_names_what_is_wrong() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(home.file("config.toml"), "[queue]\nslots = 9999\n").unwrap();
    std::fs::write(home.file("panic"), "").unwrap();
    std::fs::write(home.file("port"), r#"{"url":"http://127.0.0.1:9","pid":1}"#).unwrap();
    let state = {
        let mut state = sample::state(Some("panic"));
        state["data_dir"] = json!("/elsewhere");
        state["build"] = json!("9.9.9");
        let alarm =
            |code: &str| json!({ "code": code, "message": "It is so.", "remedy": "Do it.", "since": sample::ago(5) });
        state["alarms"] = json!([alarm("not_isolated"), alarm("queue_held")]);
        state
    };
    let _server = Server::start(&home, move |request| match request.line().as_str() {
        "GET /api/state" => Reply::json(200, &state),
        _ => Reply::json(200, &json!([])),
    });
    let ran = home.run(&["doctor"]);
    assert_eq!(ran.code, Some(1));
    for line in [
        "warn  data directory: others may look into [HOME] (mode 755)",
        "fail  configuration: the configuration is not valid: [HOME]/config.toml:2: queue.slots: found 9999",
        "warn  emergency stop",
        "ok    server: pid 4000001 answers",
        "warn  version: server and command are of different builds",
        "fail  data directory: the server works on /elsewhere",
        "warn  page: it is at http://127.0.0.1:8765, and [HOME]/port says http://127.0.0.1:9",
        "warn  isolation: It is so.",
        "warn  alarm: queue_held: It is so.",
    ] {
        assert!(ran.out().contains(line), "{line:?} is missing from\n{}", ran.out());
    }
    assert_eq!(home.run(&["doctor", "--json"]).json()["ok"], false);
}

#[test]
fn the_servers_log_is_read_without_the_server() {
    use std::io::{Read, Write};
    let home = Home::new();
    let logs = home.file("logs");
    std::fs::create_dir_all(&logs).unwrap();
    std::fs::write(logs.join("server.log"), "one\n").unwrap();
    assert_eq!(home.run(&["logs", "--server"]).shown(), "exit code 0\n--- stdout\none\n");
    let mut child = home.spawn(&["logs", "--server", "-f"]);
    let mut expect = |wanted: &[u8]| {
        let mut bytes = vec![0; wanted.len()];
        child.stdout.as_mut().unwrap().read_exact(&mut bytes).unwrap();
        assert_eq!(bytes, wanted);
    };
    expect(b"one\n");
    std::fs::File::options().append(true).open(logs.join("server.log")).unwrap().write_all(b"two\n").unwrap();
    expect(b"two\n");
    std::fs::rename(logs.join("server.log"), logs.join("server.log.1")).unwrap();
    std::fs::write(logs.join("server.log"), "three\n").unwrap();
    expect(b"three\n");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_address_is_printed_also_without_a_display() {
    let home = Home::new();
    let _server = Server::start(&home, |_| {
        Reply::json(200, &json!({ "message": "x", "url": "http://127.0.0.1:1/login?code=c" }))
    });
    assert_eq!(home.run(&["open"]).shown(), "exit code 0\n--- stdout\nhttp://127.0.0.1:1/login?code=c\n");
    let bin = home.file("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let opened = home.fifo("opened");
    std::fs::write(bin.join("xdg-open"), format!("#!/bin/sh\necho \"$1\" > {}\n", opened.display())).unwrap();
    std::fs::set_permissions(bin.join("xdg-open"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = home.command(&["open"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).env("DISPLAY", ":0");
    home.finish(command.spawn().unwrap());
    assert_eq!(std::fs::read_to_string(opened).unwrap(), "http://127.0.0.1:1/login?code=c\n");
}
