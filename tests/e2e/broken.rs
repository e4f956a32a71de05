//! Answers that break off, and deaths in the middle of one: what may have cost is counted at its bound and never asked again.

use super::rig::{PRICED, Rig, cost, sends, states};
use super::scene::workers;
use serde_json::Value;
use support::home::kill;
use support::until;

/// The first call under the name `begun` stalls in the middle of its answer, for ever.
const STALLS: &str = "[[rule]]\nmatch = { text = 'begun' }\nsay = 'a long answer, in pieces, that will not end'\nstall_after_bytes = 900\n";

fn bound(send: &Value) -> u64 {
    send["bound_nanos"].as_u64().unwrap()
}

/// Waits until a part of an answer has reached its task.
#[track_caller]
fn speaks(rig: &Rig, task: &str) {
    until("a part of the answer is written", || (!rig.said(task).0.is_empty()).then_some(()));
}

/// One request, one row at its bound, and the task says that it is not known.
#[track_caller]
fn is_unknown(rig: &Rig, task: &str) {
    let ended = rig.ends(task);
    let failure = &ended["outcome"]["failed"]["ended"]["model_failed"]["failure"];
    assert_eq!((&ended["status"], failure), (&"failed".into(), &"unknown".into()), "{ended:#}");
    assert_eq!(states(&ended), ["unresolved"], "{ended:#}");
    let said = rig.home.run(&["logs", "--stderr", task]);
    assert!(said.out.contains("it may have cost, and is not sent again"), "{said:?}");
    assert_eq!(ended["cost"]["unresolved_nanos"], bound(&sends(&ended)[0]), "{ended:#}");
}

#[test]
fn what_breaks_off_is_not_known_and_is_never_sent_again() {
    let say = "say = 'an answer of which a part comes'";
    let script = format!(
        "{PRICED}[[rule]]\nmatch = {{ text = 'close' }}\n{say}\ncut = 'close'
        [[rule]]\nmatch = {{ text = 'reset' }}\n{say}\ncut = 'reset'
        [[rule]]\nmatch = {{ text = 'short' }}\n{say}\ncut = 'end'
        [[rule]]\nmatch = {{ text = 'hang' }}\nhang_up = 'close'\nbill = 'whole'"
    );
    let rig = Rig::start(&script, &[("models.fallbacks", "'openai/other'")], &[]);
    rig.price("openai/m");
    let tasks: Vec<String> = ["close", "reset", "short", "hang"].map(|prompt| rig.ask(prompt)).into();
    for task in &tasks {
        is_unknown(&rig, task);
    }
    let balance = rig.balance();
    assert_eq!((balance.received, balance.unknown, balance.settled), (4, 4, 0));
    let rows: Vec<Value> = tasks.iter().flat_map(|task| sends(&rig.task(task)).to_vec()).collect();
    assert_eq!(balance.unresolved, rows.iter().map(bound).sum::<u64>());
}

#[test]
fn an_answer_that_its_provider_breaks_off_is_not_asked_for_again() {
    let script = format!("{PRICED}[[rule]]\nsay = 'a part of an answer'\nerror_frame = {{ status = 503 }}");
    let rig = Rig::start(&script, &[("models.fallbacks", "'openai/other'")], &[]);
    rig.price("openai/m");
    let task = rig.ask("begun");
    let ended = rig.ends(&task);
    let failure = &ended["outcome"]["failed"]["ended"]["model_failed"]["failure"];
    assert_eq!((failure, states(&ended)), (&"unknown".into(), vec!["settled"]), "{ended:#}");
    assert_eq!(ended["cost"]["unresolved_nanos"], bound(&sends(&ended)[0]), "how much was answered was not counted");
    let (text, said) = rig.said(&task);
    assert_eq!(text, "a part of an answer");
    assert!(said.contains("the answer broke off") && said.contains("is not sent again"), "{said}");
    assert_eq!(rig.balance().received, 1);
}

#[test]
fn an_answer_that_stops_coming_is_given_up_after_the_set_time() {
    let script = format!("{PRICED}{STALLS}[[rule]]\nhalf_open = true\nbill = 'whole'");
    let rig = Rig::start(&script, &[("models.first_piece", "'1s'"), ("models.silence", "'1s'")], &[]);
    rig.price("openai/m");
    let (begun, silent) = (rig.ask("begun"), rig.ask("never begun"));
    is_unknown(&rig, &begun);
    is_unknown(&rig, &silent);
    assert_eq!(rig.balance().received, 2);
}

#[test]
fn the_answer_to_a_dead_worker_is_read_to_its_end_and_paid_exactly() {
    let script = format!("{PRICED}[[rule]]\nsay = '{}'\nchunk = 5\ngap_ms = 10", "word ".repeat(100));
    let rig = Rig::start(&script, &[], &[]);
    rig.price("openai/m");
    let task = rig.ask("whoever asks");
    speaks(&rig, &task);
    for pid in workers(&rig.home) {
        kill(pid);
    }
    let ended = rig.ends(&task);
    assert_eq!(ended["status"], "failed", "{ended:#}");
    let settled =
        until("the answer is read to its end", || Some(rig.task(&task)).filter(|task| states(task) == ["settled"]));
    assert_eq!(cost(&sends(&settled)[0]), rig.provider.chats()[0]["cost_nanos"].as_u64());
    let balance = rig.balance();
    assert_eq!((balance.received, balance.unknown), (1, 0));
}

#[test]
fn what_a_dead_server_sent_counts_at_its_bound_and_what_it_did_not_is_sent_by_the_next() {
    let rig = Rig::start(&format!("{PRICED}{STALLS}"), &[("models.concurrency", "1")], &[]);
    rig.price("openai/m");
    let sent = rig.ask("begun");
    speaks(&rig, &sent);
    let waiting = rig.ask("waits for its place on the route");
    until("it waits for its place", || (rig.task(&waiting)["status"] == "running").then_some(()));
    rig.kill_server();
    let ended = rig.ends(&sent);
    assert_eq!((&ended["outcome"]["failed"], states(&ended)), (&"interrupted".into(), vec!["unresolved"]), "{ended:#}");
    assert_eq!(ended["cost"]["unresolved_nanos"], bound(&sends(&ended)[0]), "{ended:#}");
    assert_eq!(ended["cost"]["is_final"], false, "{ended:#}");
    rig.reaches(&waiting, "completed");
    let balance = rig.balance();
    assert_eq!((balance.received, balance.unknown, balance.unresolved), (2, 1, bound(&sends(&ended)[0])));
    // Another life changes nothing of what an earlier one left.
    rig.kill_server();
    assert_eq!(rig.balance(), balance);
    assert_eq!(rig.get("/api/state")["spending"]["unresolved_nanos"], balance.unresolved);
}

#[test]
fn a_restart_ends_a_question_and_keeps_what_waits() {
    let rig = Rig::start(&format!("{PRICED}{STALLS}"), &[("queue.slots", "1")], &[]);
    rig.price("openai/m");
    let (running, waiting) = (rig.ask("begun"), rig.ask("later"));
    speaks(&rig, &running);
    let server = rig.home.server();
    assert_eq!(rig.home.run(&["restart"]).code, 0);
    rig.succeeded(server);
    assert_eq!(states(&rig.ends(&running)), ["unresolved"]);
    rig.reaches(&waiting, "completed");
    assert_eq!(rig.balance().received, 2);
}

#[test]
fn a_drain_waits_for_an_answer() {
    let script = format!("{PRICED}[[rule]]\nsay = '{}'\nchunk = 5\ngap_ms = 10", "word ".repeat(100));
    let mut rig = Rig::start(&script, &[], &[]);
    rig.price("openai/m");
    let task = rig.ask("tell me to the end");
    speaks(&rig, &task);
    assert_eq!(rig.home.run(&["stop", "--drain"]).code, 0);
    assert_eq!(rig.home.launcher_ends(), 0);
    rig.up();
    let ended = rig.task(&task);
    assert_eq!((&ended["status"], states(&ended)), (&"completed".into(), vec!["settled"]), "{ended:#}");
    assert_eq!(rig.said(&task).0, "word ".repeat(100));
    assert_eq!(rig.balance().unknown, 0);
}

#[test]
fn a_stop_breaks_an_answer_off_and_says_so() {
    let mut rig = Rig::start(&format!("{PRICED}{STALLS}"), &[], &[]);
    rig.price("openai/m");
    let task = rig.ask("begun");
    speaks(&rig, &task);
    assert_eq!(rig.home.run(&["stop"]).code, 0);
    assert_eq!(rig.home.launcher_ends(), 0);
    rig.home.is_empty();
    rig.up();
    let ended = rig.task(&task);
    assert_eq!((&ended["status"], states(&ended)), (&"failed".into(), vec!["unresolved"]), "{ended:#}");
    let reason = ended["reason"].as_str().unwrap();
    assert!(reason.contains("the call may have been charged"), "{reason}");
    let balance = rig.balance();
    assert_eq!((balance.received, balance.unknown), (1, 1));
}
