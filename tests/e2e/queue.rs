//! The queue: order, waiting, holding, keys, retries.

use support::Home;

#[test]
fn tasks_start_by_priority_and_then_by_arrival() {
    let mut home = Home::new();
    home.configure("[server]\nlisten = \"127.0.0.1:0\"\n[queue]\nslots = 1\n");
    home.up();
    let held = home.run(&["hold", "--queue"]);
    assert_eq!(held.code, 0, "{held:?}");
    let mut last = String::new();
    for (priority, word) in [("low", "d"), ("normal", "b"), ("high", "a"), ("normal", "c")] {
        last = home.submit(&["--priority", priority], &["sh", "-c", &format!("echo {word} >> order")]);
    }
    assert_eq!(home.run(&["release", "--queue"]).code, 0);
    assert_eq!(home.run(&["wait", "1", "2", "3", &last]).code, 0);
    assert_eq!(std::fs::read_to_string(home.work().join("order")).unwrap(), "a\nb\nc\nd\n");
}

#[test]
fn a_task_comes_after_another_and_fails_with_it() {
    let mut home = Home::new();
    home.up();
    let first = home.submit(&["--delay", "200ms"], &["sh", "-c", "echo first >> order"]);
    let second = home.submit(&["--after", &first], &["sh", "-c", "echo second >> order"]);
    home.reaches(&second, "completed");
    assert_eq!(std::fs::read_to_string(home.work().join("order")).unwrap(), "first\nsecond\n");
    let bad = home.submit(&["--delay", "200ms"], &["false"]);
    let never = home.submit(&["--after", &bad], &["sh", "-c", "echo never >> order"]);
    home.reaches(&never, "failed");
    assert_eq!(std::fs::read_to_string(home.work().join("order")).unwrap(), "first\nsecond\n");
    let told = support::until("its ending is told", || {
        let told = home.run(&["events", "--task", &never]);
        told.out.contains("failed: ").then_some(told)
    });
    assert!(told.out.contains(&format!("failed: task {bad} did not complete")), "{told:?}");
    let retried = home.run(&["retry", &never]);
    assert_eq!(retried.code, 0, "{retried:?}");
    let told = home.run(&["events", "--task", "last"]);
    assert!(told.out.contains(&format!("submitted, repeats {never}\n")), "{told:?}");
}

#[test]
fn the_same_key_makes_one_task() {
    let mut home = Home::new();
    home.up();
    let one = home.submit(&["--key", "once"], &["true"]);
    let two = home.submit(&["--key", "once"], &["true"]);
    assert_eq!(one, two);
    let other = home.run(&["run", "--detach", "--key", "once", "--", "false"]);
    assert_eq!(other.code, 125, "{other:?}");
    assert!(other.err.contains("key_conflict"), "{other:?}");
}

#[test]
fn a_failed_task_is_tried_again_and_can_be_retried_by_hand() {
    let mut home = Home::new();
    home.up();
    let script = "echo x >> tries; [ $(wc -l < tries) -ge 2 ]";
    let task = home.submit(&["--retries", "3"], &["sh", "-c", script]);
    home.reaches(&task, "completed");
    assert_eq!(std::fs::read_to_string(home.work().join("tries")).unwrap(), "x\nx\n");
    let failed = home.submit(&[], &["sh", "-c", "exit 3"]);
    home.reaches(&failed, "failed");
    let retried = home.run(&["retry", &failed]);
    assert_eq!(retried.code, 0, "{retried:?}");
    home.reaches("last", "failed");
    assert_eq!(home.status(&failed), "failed");
}

#[test]
fn a_held_task_waits_until_it_is_released() {
    let mut home = Home::new();
    home.up();
    let task = home.submit(&["--hold"], &["true"]);
    assert_eq!(home.status(&task), "held");
    assert_eq!(home.run(&["release", &task]).code, 0);
    home.reaches(&task, "completed");
}

#[test]
fn many_tasks_are_submitted_in_one_go() {
    let mut home = Home::new();
    home.up();
    let lines: String =
        (0..2_500).map(|_| "{\"command\":{\"argv\":[\"true\"],\"cwd\":\"/\"},\"hold\":true}\n").collect();
    let ran = home.run_with_input(&["submit"], lines.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.out.lines().count(), 2_500);
    assert_eq!(ran.out.lines().last(), Some("2500"));
}

#[test]
fn a_settled_task_can_be_removed_and_then_is_unknown() {
    let mut home = Home::new();
    home.up();
    let task = home.submit(&[], &["echo", "hi"]);
    home.reaches(&task, "completed");
    // Its worker may still be leaving.
    support::until("the task can be removed", || (home.run(&["rm", &task]).code == 0).then_some(()));
    let shown = home.run(&["show", &task]);
    assert_ne!(shown.code, 0, "{shown:?}");
    assert!(shown.err.contains("unknown_task"), "{shown:?}");
}
