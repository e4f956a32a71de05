//! Money: limits hold whoever asks at the same time, and every sum that is shown is the sum of what the provider billed.

use super::rig::{PRICED, Rig, cost, is_over, sends, states};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use support::until;

/// Every answer of this costs 200,000 nano-dollars.
const FIXED: &str = "[[rule]]\nsay = 'so much'\nusage = { input = 100, output = 50 }\n";
const EACH: u64 = 200_000;

/// A short answer, so that what is set aside for it is small.
fn short(prompt: &str) -> Value {
    json!({ "ask": { "prompt": prompt, "max_output_tokens": 100 } })
}

/// What is counted against everything.
#[track_caller]
fn accounted(rig: &Rig) -> u64 {
    rig.get("/api/state")["spending"]["accounted_nanos"].as_u64().unwrap()
}

/// What the events of a task say, one type at a time.
#[track_caller]
fn told(rig: &Rig, task: &str, kind: &str) -> Vec<Value> {
    let events = rig.home.run(&["events", "--json", "--task", task]);
    let events = events.out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events.map(|event| event["event"].clone()).filter(|event| event["type"] == kind).collect()
}

#[test]
fn sixty_four_who_ask_at_once_for_the_last_of_it_never_spend_more_and_none_is_lost() {
    let limit = 10_000_000;
    let settings = [("limits.total", "'0.01'"), ("queue.slots", "64"), ("models.concurrency", "64")];
    let rig = Rig::start(&format!("{PRICED}{FIXED}gap_ms = 5"), &settings, &[]);
    rig.price("openai/m");
    rig.command(&json!({ "command": "hold_queue" }));
    let tasks: Vec<String> = (0..64).map(|number| rig.submit(short(&format!("question {number} of 64")))).collect();
    rig.command(&json!({ "command": "release_queue" }));
    until("all have an answer or wait for money", || {
        let spent = accounted(&rig);
        assert!(spent <= limit, "{spent} is more than the limit");
        let queue = &rig.get("/api/state")["queue"];
        (queue["paused"].as_u64()? + queue["settled"].as_u64()? == 64 && queue["running"] == 0).then_some(())
    });
    let tasks: Vec<Value> = tasks.iter().map(|task| rig.task(task)).collect();
    let answered: Vec<&Value> = tasks.iter().filter(|task| task["status"] == "completed").collect();
    let paused: Vec<&Value> = tasks.iter().filter(|task| task["status"] == "paused").collect();
    assert_eq!(answered.len() + paused.len(), 64, "{tasks:#?}");
    let balance = rig.balance();
    assert_eq!((balance.received, balance.settled), (answered.len(), EACH * u64::try_from(answered.len()).unwrap()));
    assert_eq!(balance.unresolved, 0);
    let bound = sends(answered[0])[0]["bound_nanos"].as_u64().unwrap();
    assert!(balance.settled <= limit && balance.settled + bound > limit, "what fits was sent: {balance:?} {bound}");
    assert!(paused.iter().all(|task| task["pause"]["limit"] == "total" && sends(task).is_empty()), "{paused:#?}");
}

#[test]
fn what_nobody_knows_the_price_of_counts_by_its_tokens_and_not_by_all_that_was_set_aside() {
    let rig = Rig::start(&format!("{PRICED}{FIXED}"), &[("models.assumed_price", "'10'")], &[]);
    let ended = rig.reaches(&rig.ask("what does this cost?"), "completed");
    let send = &sends(&ended)[0];
    assert_eq!((&send["cost"], &send["bound_nanos"]), (&Value::Null, &(150 * 10_000).into()), "{ended:#}");
    assert_eq!((&ended["cost"]["unpriced"], &ended["cost"]["unresolved_nanos"]), (&1.into(), &(150 * 10_000).into()));
    assert_eq!(accounted(&rig), 150 * 10_000);
}

#[test]
fn the_limit_of_a_task_pauses_it_until_its_owner_gives_it_more() {
    let rig = Rig::start(&format!("{PRICED}{FIXED}"), &[], &[]);
    rig.price("openai/m");
    let ran = rig.home.run(&["ask", "--max-cost", "0.000001", "too dear for anybody"]);
    assert!(ran.code == 4 && ran.err.contains("resume"), "{ran:?}");
    let mut body = short("too dear");
    body["max_cost"] = "0.000001".into();
    let task = rig.submit(body);
    let paused = rig.reaches(&task, "paused");
    assert_eq!((&paused["pause"]["limit"], &paused["max_cost_nanos"]), (&"task".into(), &1_000.into()), "{paused:#}");
    assert!(rig.provider.chats().is_empty());
    // Resumed without more, it comes as far as before.
    rig.post(&format!("/api/tasks/{task}/resume"), &Value::Null);
    let again = until("it is paused once more", || {
        Some(rig.task(&task)).filter(|task| task["status"] == "paused" && task["pause"]["id"] != paused["pause"]["id"])
    });
    let stale = json!({ "pause": paused["pause"]["id"], "max_cost": "1" });
    let (status, refused) = rig.call("POST", &format!("/api/tasks/{task}/resume"), &stale);
    assert_eq!((status, &refused["code"]), (409, &"not_paused".into()), "{refused:#}");
    let more = json!({ "pause": again["pause"]["id"], "max_cost": "1" });
    rig.post(&format!("/api/tasks/{task}/resume"), &more);
    let ended = rig.reaches(&task, "completed");
    assert_eq!((&ended["id"], cost(&sends(&ended)[0])), (&paused["id"], Some(EACH)));
    assert_eq!(rig.balance().received, 1);
}

#[test]
fn the_limit_of_a_tree_holds_for_all_of_it_and_nobody_else() {
    let rig = Rig::start(&format!("{PRICED}{FIXED}"), &[("limits.tree", "'0.002'")], &[]);
    rig.price("openai/m");
    let parent = rig.home.submit(&["--hold"], &["true"]);
    let child = |prompt: &str| {
        let mut body = short(prompt);
        body["parent"] = parent.as_str().into();
        rig.submit(body)
    };
    let mut paid = 0;
    let last = loop {
        let task = child(&format!("branch {paid}"));
        let ended = until("it ends or is paused", || {
            Some(rig.task(&task)).filter(|task| is_over(task) || task["status"] == "paused")
        });
        if ended["status"] == "paused" {
            break ended;
        }
        paid += EACH;
    };
    assert_eq!(last["pause"]["limit"], "tree", "{last:#}");
    assert!((EACH..=2_000_000).contains(&paid), "{paid}");
    let alone = rig.submit(short("of no tree"));
    rig.reaches(&alone, "completed");
    let trees = rig.get("/api/cost-breakdown?by=tree");
    let of = |root: &str| trees["groups"].as_array().unwrap().iter().find(|group| group["key"] == root).cloned();
    assert_eq!(of(&parent).unwrap()["cost"]["settled_nanos"], paid, "{trees:#}");
    assert_eq!(rig.balance().settled, paid + EACH);
}

#[test]
fn the_limit_of_an_hour_is_waited_for() {
    let rig = Rig::start(&format!("{PRICED}{FIXED}"), &[("limits.hour", "'0.0015'")], &[]);
    rig.price("openai/m");
    let task = rig.submit(short("the first of the hour"));
    rig.reaches(&task, "completed");
    let next = rig.submit(short("the second of the hour"));
    let waiting = rig.waits(&next, "hour_limit");
    assert!(waiting["reason"].as_str().unwrap().contains("The limit of the hour is used up"), "{waiting:#}");
    rig.set(&[("limits.hour", "'none'")]);
    rig.post(&format!("/api/tasks/{next}/resume"), &Value::Null);
    rig.reaches(&next, "completed");
    assert_eq!(rig.balance().settled, 2 * EACH);
}

#[test]
fn without_an_allowance_nothing_is_sent_and_more_of_it_wakes_nobody() {
    let rig = Rig::start(&format!("{PRICED}{FIXED}"), &[("limits.total", "'0'")], &[]);
    rig.price("openai/m");
    let tasks: Vec<String> = (0..3).map(|number| rig.ask(&format!("question {number} of three"))).collect();
    let paused: Vec<Value> = tasks.iter().map(|task| rig.reaches(task, "paused")).collect();
    assert!(paused.iter().all(|task| sends(task).is_empty() && task["pause"]["limit"] == "total"), "{paused:#?}");
    assert!(rig.provider.chats().is_empty());
    let (status, refused) = rig.call("POST", &format!("/api/tasks/{}/resume", tasks[0]), &Value::Null);
    assert_eq!((status, &refused["code"]), (409, &"nothing_left".into()), "{refused:#}");
    rig.set(&[("limits.total", "'5'")]);
    let other = rig.home.run(&["run", "--", "true"]);
    assert_eq!(other.code, 0, "{other:?}");
    for (task, before) in tasks.iter().zip(&paused) {
        assert_eq!(rig.task(task)["pause"], before["pause"]);
    }
    rig.command(&json!({ "command": "hold_queue" }));
    for _ in 0..2 {
        rig.post(&format!("/api/tasks/{}/resume", tasks[1]), &Value::Null);
    }
    rig.command(&json!({ "command": "release_queue" }));
    rig.reaches(&tasks[1], "completed");
    assert_eq!(told(&rig, &tasks[1], "resumed").len(), 1);
    assert_eq!([&tasks[0], &tasks[2]].map(|task| rig.task(task)["status"].clone()), ["paused", "paused"]);
    assert_eq!(rig.balance().received, 1);
    let queue = &rig.get("/api/state")["queue"];
    assert_eq!((&queue["paused"], &queue["running"]), (&2.into(), &0.into()), "{queue}");
}

#[test]
fn the_owner_is_told_once_before_a_limit_is_used_up() {
    let settings = [("limits.total", "'0.004'"), ("limits.notice", "50")];
    let rig = Rig::start(&format!("{PRICED}{FIXED}"), &settings, &[]);
    rig.price("openai/m");
    let mut near = Vec::new();
    for number in 0..9 {
        let task = rig.submit(short(&format!("question {number}")));
        rig.reaches(&task, "completed");
        near.extend(told(&rig, &task, "limit_near"));
    }
    // What is set aside falls below the threshold again when it is settled, and passes it again with the next.
    assert!(
        !near.is_empty() && near.iter().all(|event| event["limit"] == "total" && event["of"] == 4_000_000),
        "{near:#?}"
    );
    assert!(near.iter().all(|event| event["spent"].as_u64().unwrap() >= 2_000_000), "{near:#?}");
    rig.balance();
}

#[test]
fn every_sum_is_that_of_the_rows_however_it_is_asked_for() {
    let script = format!(
        "{PRICED}[[rule]]\nmatch = {{ text = 'gone' }}\nhalf_open = true\nbill = 'whole'
        [[rule]]\nmatch = {{ text = 'busy', nth = 1 }}\nstatus = 503\n{FIXED}"
    );
    let rig = Rig::start(&script, &[("models.first_piece", "'1s'")], &[]);
    rig.price("openai/m");
    let tasks = ["one", "busy", "gone"].map(|prompt| rig.ask(prompt));
    tasks.iter().for_each(|task| drop(rig.ends(task)));
    let balance = rig.balance();
    let all = (balance.received, balance.settled, balance.unknown);
    assert_eq!(all, (4, 2 * EACH, 1), "{:#?} {:#?}", rig.tasks(), rig.provider.chats());
    let count = |groups: &Value, name: &str| -> u64 {
        groups.as_array().unwrap().iter().map(|group| group["cost"][name].as_u64().unwrap()).sum()
    };
    for by in ["task", "tree", "route", "model", "day"] {
        let shown = rig.get(&format!("/api/cost-breakdown?by={by}"));
        for name in ["settled_nanos", "reserved_nanos", "unresolved_nanos", "accounted_nanos", "sends", "output_tokens"]
        {
            assert_eq!(shown["whole"][name], count(&shown["groups"], name), "{by} {name}: {shown:#}");
        }
        assert_eq!(shown["whole"]["sends"], 4, "{shown:#}");
    }
    let costs = rig.home.run(&["costs", "--json"]).json();
    assert_eq!(costs["whole"]["accounted_nanos"], balance.settled + balance.unresolved, "{costs:#}");
    let spending = &rig.get("/api/state")["spending"];
    assert_eq!(
        (&spending["settled_nanos"], &spending["unresolved_nanos"], &spending["reserved_nanos"]),
        (&balance.settled.into(), &balance.unresolved.into(), &0.into())
    );
    let by_task = rig.get("/api/cost-breakdown?by=task");
    let groups: BTreeMap<&str, &Value> = by_task["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| (group["key"].as_str().unwrap(), &group["cost"]))
        .collect();
    for task in &tasks {
        assert_eq!(groups[task.as_str()], &rig.task(task)["cost"], "{by_task:#}");
    }
}

#[test]
fn what_was_given_up_can_be_settled_once_when_its_cost_is_known_after_all() {
    let rig = Rig::start(&format!("{PRICED}[[rule]]\nhang_up = 'close'\nbill = 'whole'"), &[], &[]);
    rig.price("openai/m");
    let task = rig.ask("what did it cost?");
    let send = sends(&rig.ends(&task))[0].clone();
    assert_eq!(send["state"], "unresolved");
    let billed = rig.provider.billed();
    let path = format!("/api/sends/{}/receipt", send["id"].as_str().unwrap());
    let receipt = json!({ "cost": format!("0.{billed:09}") });
    rig.post(&path, &receipt);
    let after = rig.task(&task);
    assert_eq!((states(&after), cost(&sends(&after)[0])), (vec!["settled"], Some(billed)), "{after:#}");
    let (status, again) = rig.call("POST", &path, &receipt);
    assert_eq!((status, &again["code"]), (409, &"not_unresolved".into()), "{again:#}");
    let balance = rig.balance();
    assert_eq!((balance.settled, balance.unresolved), (billed, 0));
    rig.kill_server();
    assert_eq!(rig.balance(), balance);
}
