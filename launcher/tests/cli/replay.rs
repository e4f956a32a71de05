//! `replay`: calls of a task in words, done again and compared.

use super::program::Home;
use super::sample::{self, END, TASK, settled};
use super::server::{Reply, Server};
use serde_json::{Value, json};

fn replayed() -> Value {
    let mut task = sample::completed();
    task["kind"] = "agent".into();
    task["from"] = json!({ "task": TASK, "number": 3, "round": 1, "fork": false, "replay": true });
    task["agent"] = json!({ "head": "look", "route": null, "folder": "/srv/site" });
    task
}

fn transcript() -> Vec<Value> {
    let call = |id: &str, name: &str| json!({ "type": "tool_call", "id": id, "name": name, "arguments": "{}" });
    let calls = [call("a", "read_file"), call("b", "run_command"), call("c", "write_file"), call("d", "search_code")];
    let answered = json!({ "type": "answered", "answer": { "message": { "role": "assistant", "parts": calls }, "stop": "tool_calls",
        "usage": {}, "cost": null, "route": "r", "model": "m", "provider_request": null } });
    let result = |call: &str, outcome: &str, code: Option<&str>, text: &str| json!({ "call": call, "name": "x", "outcome": outcome, "code": code, "text": text, "millis": 3 });
    let then = [
        result("a", "ok", None, "one\ntwo\u{1b}[2J\nthree"),
        result("b", "ok", None, "Exit 0 after 0.1 s."),
        result("c", "ok", None, "written"),
        result("d", "ok", None, "found"),
    ];
    let now = [
        result("a", "ok", None, "one\n2\nthree"),
        result("b", "ok", None, "Exit 0 after 7.1 s."),
        result("c", "refusal", Some("not_allowed"), "no"),
        result("d", "miss", Some("no_match"), "nothing"),
    ];
    let asked = json!({ "type": "asked", "text": "look" });
    let results = |results: &[Value]| json!({ "type": "results", "results": results });
    vec![asked.clone(), answered.clone(), results(&then), asked, answered, results(&now)]
}

fn server(home: &Home) -> Server {
    Server::start(home, |request| match request.line().as_str() {
        "POST /api/tasks" if request.body["agent"]["replay"] == "4" => {
            Reply::error(409, "not_settled", "Task 4 has not settled; nothing was accepted.", "Wait for it.")
        }
        "POST /api/tasks" => Reply::json(201, &sample::accepted()),
        "GET /api/state" => Reply::json(200, &sample::state(None)),
        line if line == format!("GET /api/tasks/{TASK}/events") => Reply::events(&[settled(3), END.to_owned()]),
        line if line == format!("GET /api/tasks/{TASK}") => Reply::json(200, &replayed()),
        line if line == format!("GET /api/tasks/{TASK}/transcript") => {
            let from: usize = request.target.rsplit('=').next().unwrap().parse().unwrap();
            let whole = transcript();
            let part = whole.get(from - 1..).unwrap_or_default();
            Reply::json(200, &json!({ "entries": part, "next": from + part.len() }))
        }
        other => panic!("{other} was not expected"),
    })
}

#[test]
fn each_call_has_a_line_and_what_differs_gives_one() {
    let home = Home::new();
    let server = server(&home);
    insta::assert_snapshot!("replay", home.run(&["replay", "3"]).shown());
    insta::assert_snapshot!("replay_json", home.run(&["replay", "3", "--json"]).shown());
    let asked = |arguments: &[&str]| {
        home.run(arguments);
        let mut body = server.requests().into_iter().rfind(|it| it.line() == "POST /api/tasks").unwrap().body;
        body["agent"].as_object_mut().unwrap().remove("path");
        body["agent"].clone()
    };
    assert_eq!(asked(&["replay", "3"]), json!({ "replay": "3" }), "it looks only, where that task worked");
    assert_eq!(
        asked(&["replay", "3", "-C", "/srv/other", "--mode", "light"]),
        json!({ "replay": "3", "folder": "/srv/other", "mode": "light" })
    );
    insta::assert_snapshot!("replay_refused", home.run(&["replay", "4"]).shown());
    assert_eq!(home.run(&["replay"]).code, Some(2));
}
