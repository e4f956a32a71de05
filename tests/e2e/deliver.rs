//! What a task in words delivers: by a call, with the agent's own word on it, and as a value that satisfies a schema.

use super::agent::{entries, folder, kinds, requests, start};
use super::rig::{PRICED, Rig, sends};
use serde_json::{Value, json};
use std::fs;
use support::Ran;

fn delivers(objective: &str) -> String {
    format!(
        "{PRICED}[[rule]]\nmatch = {{ text = 'go on' }}\nsay = 'I went on.'
        [[rule]]\nsay = 'That is it.'\ncall = {{ tool = 'deliver', arguments = '{{\"text\":\"The door is red.\",\"objective\":\"{objective}\"}}' }}\n"
    )
}

fn run(rig: &Rig, more: &[&str]) -> Ran {
    let folder = folder(rig);
    let arguments = [&["run", "-C", folder.to_str().unwrap()], more, &["which colour is it?"]].concat();
    rig.home.run(&arguments)
}

#[test]
fn a_call_ends_the_work_and_says_whether_it_is_what_was_wanted() {
    let rig = start(&delivers("met"));
    let ran = run(&rig, &[]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "The door is red."), "{ran:?}");
    assert!(ran.err.contains("That is it.") && !ran.err.contains("objective"), "{ran:?}");
    let whole = entries(&rig, "last");
    assert_eq!(kinds(&whole), ["asked", "answered", "results", "delivered"]);
    assert_eq!((&whole[2]["results"][0]["outcome"], &whole[3]["objective"]), (&"ok".into(), &"met".into()));
    let shown = rig.task("last");
    assert_eq!((&shown["objective"], &shown["exit_code"], sends(&shown).len()), (&"met".into(), &0.into(), 1));
    let ran = rig.home.run(&["run", "--continue", "last", "go on"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "I went on."), "its conversation can be sent again: {ran:?}");
    assert_eq!(rig.task("last")["objective"], Value::Null, "words say nothing of it");
}

#[test]
fn what_it_says_itself_is_told_and_leaves_the_outcome_as_it_is() {
    let rig = start(&delivers("not_met"));
    let ran = run(&rig, &[]);
    assert_eq!((ran.code, ran.out.as_str()), (1, "The door is red."), "{ran:?}");
    assert!(ran.err.contains("its agent says itself that the objective is not met"), "{ran:?}");
    let shown = rig.task("last");
    assert_eq!((&shown["status"], &shown["outcome"]), (&"completed".into(), &"completed".into()), "{shown:#}");
    assert_eq!((&shown["objective"], &shown["exit_code"]), (&"not_met".into(), &1.into()), "{shown:#}");
    assert!(rig.home.run(&["show", "1"]).out.contains("objective   not met, as its agent says itself"));
    assert!(rig.home.run(&["tasks"]).out.contains("completed, not met"));
    assert_eq!(rig.home.run(&["wait", "1"]).code, 1);
    rig.provider.script(&delivers("partly"));
    let ran = run(&rig, &[]);
    assert!(ran.code == 0 && ran.err.contains("objective is partly met"), "{ran:?}");
}

#[test]
fn beside_other_calls_it_delivers_nothing_and_they_are_done() {
    let script = format!(
        "{PRICED}[[rule]]\ntimes = 1\ncall = [
        {{ tool = 'deliver', arguments = '{{\"text\":\"x\",\"objective\":\"met\"}}' }}, {{ tool = 'list_files', arguments = '{{}}' }} ]
        [[rule]]\ntimes = 1\ncall = {{ tool = 'deliver', arguments = '{{\"text\":\"x\"}}' }}
        [[rule]]\ncall = {{ tool = 'deliver', arguments = '{{\"text\":\"y\",\"objective\":\"met\"}}' }}\n"
    );
    let rig = start(&script);
    let ran = run(&rig, &[]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "y"), "{ran:?}");
    let whole = entries(&rig, "last");
    let results = |at: usize| whole[at]["results"].as_array().unwrap().iter().map(|one| &one["outcome"]);
    assert!(results(2).eq(["refusal", "ok"]), "{whole:#?}");
    assert!(results(4).eq(["argument_error"]) && results(6).eq(["ok"]), "{whole:#?}");
}

#[test]
fn a_server_that_dies_while_it_delivers_costs_nothing_of_it() {
    let script = format!(
        "{PRICED}[[rule]]\nmatch = {{ nth = 1 }}\ncall = {{ tool = 'run_command', arguments = '{{\"argv\":[\"true\"]}}' }}
        [[rule]]\nmatch = {{ last = 'More' }}\ncall = {{ tool = 'deliver', arguments = '{{\"text\":\"with that\",\"objective\":\"met\"}}' }}
        [[rule]]\nstall_before_ms = 'forever'\n"
    );
    let rig = start(&script);
    let number = rig.submit(json!({ "agent": { "prompt": "wait for more", "folder": folder(&rig) } }));
    rig.asked(2);
    let sent = rig.home.run(&["send", &number, "More"]);
    assert_eq!(sent.code, 0, "{sent:?}");
    rig.kill_server();
    rig.reaches(&number, "completed");
    assert_eq!((rig.said(&number).0.as_str(), &rig.task(&number)["objective"]), ("with that", &"met".into()));
}

const SCHEMA: &str = r##"{ "type": "object", "properties": { "colours": { "type": "array", "items": { "$ref": "#/$defs/colour" } } },
    "required": ["colours"], "additionalProperties": false, "$defs": { "colour": { "enum": ["red", "blue"] } } }"##;

fn valued(rig: &Rig, more: &[&str]) -> Ran {
    let file = rig.home.work().join("schema.json");
    fs::write(&file, SCHEMA).unwrap();
    run(rig, &[&["--output-schema", file.to_str().unwrap()], more].concat())
}

fn call(arguments: &str) -> String {
    format!("call = {{ tool = 'deliver', arguments = '{arguments}' }}\n")
}

#[test]
fn a_value_is_delivered_when_it_satisfies_the_schema() {
    let (wrong, right) = (
        call(r#"{"value":{"colours":["green"]},"objective":"met"}"#),
        call(r#"{"value":{ "colours" : [ "red" ] },"objective":"met"}"#),
    );
    let script = format!(
        "{PRICED}[[rule]]\nmatch = {{ nth = 1 }}\nsay = 'It is green.'
        [[rule]]\nmatch = {{ last = 'Call deliver' }}\n{wrong}[[rule]]\nmatch = {{ last = '/colours/0' }}\n{right}"
    );
    let rig = start(&script);
    let ran = valued(&rig, &[]);
    assert_eq!((ran.code, ran.out.as_str()), (0, r#"{"colours":["red"]}"#), "{ran:?}");
    let whole = entries(&rig, "last");
    assert_eq!(
        kinds(&whole),
        ["asked", "answered", "notice", "answered", "results", "answered", "results", "delivered"]
    );
    let sent = requests(&rig, &rig.task("last"));
    let tools = sent[0]["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]);
    let deliver = tools.into_iter().find(|tool| tool["name"] == "deliver").unwrap();
    let value = &deliver["parameters"]["properties"]["value"];
    assert_eq!(value["properties"]["colours"]["items"]["$ref"], "#/properties/value/$defs/colour", "{value:#}");
}

#[test]
fn words_that_are_the_value_are_delivered_and_others_fail_in_the_end() {
    let rig = start(&format!("{PRICED}[[rule]]\nsay = '''```json\n{{ \"colours\": [] }}\n```'''\n"));
    let ran = valued(&rig, &[]);
    assert_eq!((ran.code, ran.out.as_str()), (0, r#"{"colours":[]}"#), "{ran:?}");
    rig.provider.script(&format!("{PRICED}[[rule]]\nsay = 'It is green.'\n"));
    for rounds in ["9", "1"] {
        let ran = valued(&rig, &["--max-rounds", rounds]);
        assert!(ran.code == 1 && ran.err.contains("not the value that was wanted"), "{ran:?}");
        let shown = rig.task("last");
        assert_eq!(shown["outcome"]["failed"]["ended"]["model_failed"]["failure"], "not_delivered", "{shown:#}");
        assert_eq!((rig.said("last").0.as_str(), sends(&shown).len()), ("It is green.", 3), "{shown:#}");
    }
}

#[test]
fn in_its_last_round_it_delivers_by_a_call() {
    let right = call(r#"{"value":{"colours":[]},"objective":"partly"}"#);
    let rig = start(&format!(
        "{PRICED}[[rule]]\nmatch = {{ last = 'No rounds are left' }}\n{right}[[rule]]\ncall = {{ tool = 'list_files', arguments = '{{}}' }}\n"
    ));
    let ran = valued(&rig, &["--max-rounds", "2"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, r#"{"colours":[]}"#), "{ran:?}");
    assert_eq!(entries(&rig, "last").last().unwrap()["author"], "model_at_limit");
}

#[test]
fn a_schema_that_cannot_be_used_is_refused_before_anything_is_spent() {
    let rig = start(&format!("{PRICED}[[rule]]\nsay = 'x'\n"));
    let folder = folder(&rig);
    let refused = |schema: Value| {
        let body = json!({ "agent": { "prompt": "x y", "folder": folder, "output_schema": schema } });
        let (status, answer) = rig.call("POST", "/api/tasks", &body);
        assert_eq!((status, &answer["code"]), (400, &"bad_schema".into()), "{answer}");
        answer["message"].as_str().unwrap().to_owned()
    };
    assert!(refused(json!({ "type": "text" })).contains("/type"));
    assert!(refused(json!({ "$ref": "https://example.com/s.json" })).contains("nothing is fetched"));
    assert!(refused(json!({ "description": "x".repeat(70_000) })).contains("65536"));
    assert!(rig.tasks().is_empty());
}
