//! Tasks in words for programs, of which more is read than followed: what they go on from, and those whose events are gone.

use super::program::Home;
use super::sample::{self, END, answered, entry, result, settled, started};
use super::server::{Reply, Request, Server};
use super::told::{agent, lines, types};
use serde_json::{Value, json};

/// Two entries a part.
fn part(transcript: &[Value], request: &Request) -> Reply {
    let from: usize = request.target.rsplit_once("from=").unwrap().1.parse().unwrap();
    let part: Vec<&Value> = transcript.iter().skip(from - 1).take(2).collect();
    Reply::json(200, &json!({ "entries": part, "next": from + part.len() }))
}

/// What another task did: two calls, and nothing came of the second one there.
fn inherited() -> Vec<Value> {
    let calls = [("read_file", "{}")];
    vec![
        json!({ "type": "asked", "text": "look" }),
        answered("I look.", &calls),
        result("read_file", "ok", "one"),
        answered("I look again.", &calls),
    ]
}

#[test]
fn calls_are_counted_with_those_of_the_task_that_is_gone_on_from() {
    let home = Home::new();
    let server = Server::start(&home, |request| match request.line().as_str() {
        "GET /api/models" => Reply::json(200, &sample::models()),
        line if line.ends_with("/transcript") => part(&inherited(), request),
        line if line.ends_with("/events") => Reply::events(&[
            started(2, 1),
            entry(5, &result("read_file", "unknown", "")),
            entry(6, &json!({ "type": "asked", "text": "go on" })),
            entry(7, &answered("So be it.", &[("write_file", "{}")])),
            entry(
                8,
                &json!({ "type": "judged", "call": 3, "judgement": { "status": "safe", "reason": "x" }, "route": null }),
            ),
            entry(9, &result("write_file", "ok", "")),
            settled(9),
            END.to_owned(),
        ]),
        _ => {
            let mut task = agent();
            task["agent"]["inherited"] = json!(4);
            Reply::json(200, &task)
        }
    });
    let ran = home.run(&["attach", "--json", "7"]);
    let lines = lines(&ran.stdout);
    let of = |kind: &str| -> Vec<&Value> {
        lines.iter().filter(|line| line["type"] == kind).map(|line| &line["number"]).collect()
    };
    assert_eq!((of("call"), of("result")), (vec![&json!(3)], vec![&json!(2), &json!(3)]), "{}", ran.shown());
    assert_eq!(of("judgement"), [&json!(3)], "{}", ran.shown());
    assert_eq!(types(&lines).iter().filter(|kind| **kind == "text").count(), 1, "{}", ran.shown());
    let asked = server.requests().into_iter().find(|request| request.line().ends_with("/events")).unwrap();
    assert!(asked.target.contains("from_entry=5"), "{}", asked.target);
}

#[test]
fn a_task_whose_events_are_gone_is_told_from_what_is_kept() {
    let home = Home::new();
    let _server = Server::start(&home, |request| match request.line().as_str() {
        "GET /api/models" => Reply::json(200, &sample::models()),
        line if line.ends_with("/transcript") => {
            let mut transcript = inherited();
            transcript.push(result("read_file", "ok", "two"));
            transcript.push(json!({ "type": "of_a_newer_build" }));
            transcript.push(answered("Found.", &[]));
            transcript.push(json!({ "type": "delivered", "text": "Found.", "author": "model" }));
            part(&transcript, request)
        }
        line if line.ends_with("/events") => Reply::error(410, "events_expired", "They are gone.", "Read the task."),
        line if line.ends_with("/logs/stderr") => {
            Reply::bytes(b"it began\n\xc2\xb7 read_file\nit ended\n", "ouroboros-gap: 9-18\r\n")
        }
        _ => Reply::json(200, &agent()),
    });
    let ran = home.run(&["attach", "--json", "7"]);
    let lines = lines(&ran.stdout);
    let kinds = "task text call usage result text call usage result text usage note note note end";
    assert_eq!((ran.code, types(&lines).join(" ").as_str()), (Some(0), kinds), "{}", ran.shown());
    assert_eq!(lines[13]["text"], "10 bytes of stderr after the first 9 are not kept and are left out here");
    let end = lines.last().unwrap();
    assert_eq!((&end["state"], &end["output"], &end["author"]), (&json!("settled"), &json!("Found."), &json!("model")));
    assert_eq!(ran.err(), "");
}
