//! Tasks in words that may change the same files: one after the other, unless they are told to share.

use super::agent::{folder, start};
use super::rig::{PRICED, Rig};
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use support::until;

/// A model that never answers who is told to linger, and anybody else at once.
const STAYS: &str =
    "[[rule]]\nmatch = { body = 'linger-here' }\nstall_before_ms = 'forever'\n[[rule]]\nsay = 'Done.'\n";

fn begin() -> Rig {
    start(&format!("{PRICED}{STAYS}"))
}

fn submit(rig: &Rig, prompt: &str, folder: &str, more: &[(&str, Value)]) -> String {
    let mut agent = json!({ "prompt": prompt, "folder": folder });
    for (name, value) in more {
        agent[*name] = value.clone();
    }
    rig.submit(json!({ "agent": agent }))
}

fn path(rig: &Rig) -> String {
    folder(rig).to_str().unwrap().to_owned()
}

#[test]
fn two_in_one_folder_work_one_after_the_other() {
    let rig = begin();
    let path = path(&rig);
    symlink(&path, rig.home.work().join("link")).unwrap();
    let first = submit(&rig, "linger-here", &path, &[]);
    rig.reaches(&first, "running");
    let link = rig.home.work().join("link/./").to_str().unwrap().to_owned();
    let second = submit(&rig, "go", &link, &[]);
    let beneath = submit(&rig, "go", &format!("{path}/src"), &[]);
    for task in [&second, &beneath] {
        let shown = rig.reaches(task, "waiting");
        assert_eq!(shown["waiting_workspace"].to_string(), first, "{shown:#}");
        assert_eq!(shown["reason"], format!("Waits for task {first}, which works in the same folder."));
    }
    let shown = rig.task(&second);
    assert_eq!(shown["agent"]["folder"], path.as_str(), "every spelling is one folder: {shown:#}");
    let listed = rig.home.run(&["tasks"]).out;
    assert!(listed.contains(&format!("waiting for {first}")), "{listed}");
    rig.post(&format!("/api/tasks/{first}/cancel"), &Value::Null);
    for task in [&second, &beneath] {
        let shown = rig.reaches(task, "completed");
        assert!(shown["waiting_workspace"].is_null(), "{shown:#}");
    }
    let started = |task: &str| rig.task(task)["started_at"].as_str().unwrap().to_owned();
    assert!(started(&second) < started(&beneath), "who came first goes first");
}

#[test]
fn other_folders_those_who_look_and_those_who_share_do_not_wait() {
    let rig = begin();
    let path = path(&rig);
    let elsewhere = rig.home.work().join("project-two");
    std::fs::create_dir_all(&elsewhere).unwrap();
    let first = submit(&rig, "linger-here", &path, &[]);
    rig.reaches(&first, "running");
    let free = [
        submit(&rig, "go", elsewhere.to_str().unwrap(), &[]),
        submit(&rig, "go", &path, &[("mode", json!("observe"))]),
        submit(&rig, "go", &path, &[("parallel", json!(true))]),
    ];
    for task in &free {
        rig.reaches(task, "completed");
    }
    assert_eq!(rig.task(&first)["status"], "running");
    let ran = rig.home.run(&["run", "--parallel", "-C", &path, "go on"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Done."), "{ran:?}");
}

#[test]
fn what_is_lost_keeps_its_turn_and_who_waits_starts_after_it() {
    let rig = start(&format!(
        "{PRICED}[[rule]]\nmatch = {{ nth = 1 }}\nstall_before_ms = 'forever'\n[[rule]]\nsay = 'Done.'\n"
    ));
    let path = path(&rig);
    let first = submit(&rig, "one", &path, &[]);
    rig.asked(1);
    let second = submit(&rig, "two", &path, &[]);
    rig.reaches(&second, "waiting");
    let worker = until("its worker is known", || {
        let workers = super::scene::workers(&rig.home);
        (!workers.is_empty()).then_some(workers)
    });
    for pid in worker {
        support::home::kill(pid);
    }
    rig.ends(&first);
    let shown = rig.reaches(&second, "completed");
    let (one, two) = (rig.task(&first), shown);
    assert!(one["settled_at"].as_str().unwrap() <= two["started_at"].as_str().unwrap(), "{one:#} {two:#}");
}

#[test]
fn a_killed_server_lets_nobody_in_before_what_it_left_is_gone() {
    let rig = begin();
    let path = path(&rig);
    let first = submit(&rig, "linger-here", &path, &[]);
    rig.reaches(&first, "running");
    let second = submit(&rig, "go", &path, &[]);
    rig.reaches(&second, "waiting");
    rig.kill_server();
    rig.reaches(&first, "running");
    let shown = rig.reaches(&second, "waiting");
    assert_eq!(shown["waiting_workspace"].to_string(), first, "{shown:#}");
    rig.post(&format!("/api/tasks/{first}/cancel"), &Value::Null);
    rig.reaches(&second, "completed");
}
