//! A pause for want of money outlives the server in every one of its phases, under the same task, and a grant counts once.

use super::rig::{PRICED, Rig, states};
use serde_json::{Value, json};
use support::home::kill;
use support::until;

const ANSWER: &str = "[[rule]]\nsay = 'so much'\nusage = { input = 100, output = 50 }\n";

/// A task that is paused because nothing at all may be spent.
fn paused() -> (Rig, String, Value) {
    let rig = Rig::start(&format!("{PRICED}{ANSWER}"), &[("limits.total", "'0'")], &[]);
    rig.price("openai/m");
    let task = rig.ask("a question for later");
    let shown = rig.reaches(&task, "paused");
    (rig, task, shown)
}

#[track_caller]
fn phase(rig: &Rig, task: &str, phase: &str) -> Value {
    until(&format!("the pause is {phase}"), || Some(rig.task(task)).filter(|task| task["pause"]["phase"] == phase))
}

#[track_caller]
fn resume(rig: &Rig, task: &str) {
    rig.post(&format!("/api/tasks/{task}/resume"), &Value::Null);
}

#[test]
fn a_pause_that_had_begun_is_one_in_the_next_life() {
    let script = format!("{PRICED}[[rule]]\nmatch = {{ nth = 1 }}\nstatus = 429\nretry_after = 2\n{ANSWER}");
    let rig = Rig::start(&script, &[("queue.spares", "0")], &[]);
    rig.price("openai/m");
    let task = rig.ask("stopped in the middle");
    rig.asked(1);
    // Its worker hears nothing any more, so it cannot leave; then nothing may be spent.
    let workers = super::scene::workers(&rig.home);
    for pid in &workers {
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(*pid), nix::sys::signal::Signal::SIGSTOP).unwrap();
    }
    rig.set(&[("limits.total", "'0'")]);
    let pausing = phase(&rig, &task, "pausing");
    let (status, refused) = rig.call("POST", &format!("/api/tasks/{task}/resume"), &json!({ "max_cost": "5" }));
    assert_eq!((status, &refused["code"]), (409, &"still_pausing".into()), "{refused:#}");
    rig.kill_server();
    workers.into_iter().for_each(kill);
    let after = until("what became of it is shown", || {
        Some(rig.task(&task)).filter(|task| task["pause"]["phase"] == "paused" || super::rig::is_over(task))
    });
    assert_eq!((&after["status"], &after["pause"]["id"]), (&"paused".into(), &pausing["pause"]["id"]), "{after:#}");
    rig.set(&[("limits.total", "'5'")]);
    resume(&rig, &task);
    let ended = rig.reaches(&task, "completed");
    assert_eq!(states(&ended), ["settled"; 2], "{ended:#}");
    rig.balance();
}

#[test]
fn a_pause_is_the_same_one_in_the_next_life() {
    let (rig, task, before) = paused();
    rig.kill_server();
    let after = rig.task(&task);
    assert_eq!((&after["status"], &after["pause"], &after["id"]), (&"paused".into(), &before["pause"], &before["id"]));
    rig.set(&[("limits.total", "'5'")]);
    resume(&rig, &task);
    rig.reaches(&task, "completed");
    assert_eq!(rig.balance().received, 1);
}

#[test]
fn a_grant_that_was_not_used_is_void_in_the_next_life() {
    let (rig, task, before) = paused();
    rig.set(&[("limits.total", "'5'")]);
    rig.command(&json!({ "command": "hold_queue" }));
    resume(&rig, &task);
    phase(&rig, &task, "resumed");
    rig.kill_server();
    let after = phase(&rig, &task, "paused");
    assert_eq!(after["pause"]["id"], before["pause"]["id"], "{after:#}");
    rig.command(&json!({ "command": "release_queue" }));
    let other = rig.home.run(&["run", "--", "true"]);
    assert_eq!(other.code, 0, "{other:?}");
    assert_eq!((&rig.task(&task)["status"], rig.provider.chats().len()), (&"paused".into(), 0));
    resume(&rig, &task);
    rig.reaches(&task, "completed");
    assert_eq!(rig.balance().received, 1);
}

#[test]
fn a_grant_that_was_used_is_gone_with_what_was_sent() {
    let (rig, task, _) = paused();
    rig.provider.script(&format!("{PRICED}[[rule]]\nhalf_open = true\nbill = 'whole'"));
    rig.set(&[("limits.total", "'5'")]);
    resume(&rig, &task);
    rig.asked(1);
    assert_eq!(rig.task(&task)["pause"], Value::Null);
    rig.kill_server();
    let ended = rig.ends(&task);
    assert_eq!((&ended["outcome"]["failed"], states(&ended)), (&"interrupted".into(), vec!["unresolved"]), "{ended:#}");
    let (status, refused) = rig.call("POST", &format!("/api/tasks/{task}/resume"), &Value::Null);
    assert_eq!((status, &refused["code"]), (409, &"already_settled".into()), "{refused:#}");
    let balance = rig.balance();
    assert_eq!((balance.received, balance.unknown), (1, 1));
}
