//! Cancel ends everything a task started, whatever shape it has.

use support::{Home, program, until};

const SHAPES: &[&[&str]] = &[
    &["leader-exits"],
    &["ignore-term"],
    &["three-deep"],
    &["double-fork"],
    &["clear-env"],
    &["non-dumpable"],
    &["stopped"],
    &["main-thread-exits"],
    &["fork-storm", "2"],
    &["chain"],
    &["tower", "50"],
    &["hold-pipe"],
    &["spin-on-exit"],
    &["exit-at-once"],
];

fn is_settled(status: &str) -> bool {
    ["cancelled", "completed", "failed"].contains(&status)
}

fn cancelled(isolation: &[&str]) {
    let mut home = Home::new();
    home.up();
    let zoo = program("zoo").display().to_string();
    for shape in SHAPES {
        let mut argv = vec![zoo.as_str()];
        argv.extend(*shape);
        let task = home.submit(isolation, &argv);
        until("the shape stands or has ended", || {
            let stands = home.run(&["logs", &task]).out.contains("ready");
            (stands || is_settled(&home.status(&task))).then_some(())
        });
        // Some end by themselves at any moment.
        let ran = home.run(&["cancel", "--grace", "0s", &task]);
        assert!(ran.code == 0 || ran.err.contains("already_settled"), "{shape:?}: {ran:?}");
        until(&format!("{shape:?} settles"), || is_settled(&home.status(&task)).then_some(()));
        until(&format!("nothing of {shape:?} is left"), || {
            let left: Vec<_> = home.alive().into_iter().filter(|found| found.command.contains("zoo")).collect();
            left.is_empty().then_some(())
        });
    }
}

#[test]
fn every_shape_is_gone_in_a_namespace() {
    cancelled(&[]);
}

#[test]
fn every_shape_is_gone_on_the_host() {
    cancelled(&["--host"]);
}

#[test]
fn a_grace_lets_the_command_end_by_itself_and_is_bounded() {
    let mut home = Home::new();
    home.up();
    let polite =
        home.submit(&[], &["sh", "-c", "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done"]);
    until("it is ready", || home.run(&["logs", &polite]).out.contains("ready").then_some(()));
    assert_eq!(home.run(&["cancel", "--grace", "30s", &polite]).code, 0);
    home.reaches(&polite, "cancelled");
    assert!(home.run(&["logs", &polite]).out.contains("bye"));
    let stubborn = home.submit(&[], &["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.01; done"]);
    until("it is ready", || home.run(&["logs", &stubborn]).out.contains("ready").then_some(()));
    assert_eq!(home.run(&["cancel", "--grace", "100ms", &stubborn]).code, 0);
    home.reaches(&stubborn, "cancelled");
}

#[test]
fn what_has_settled_stays_as_it_is() {
    let mut home = Home::new();
    home.up();
    let task = home.submit(&[], &["true"]);
    home.reaches(&task, "completed");
    let late = home.run(&["cancel", &task]);
    assert_ne!(late.code, 0);
    assert!(late.err.contains("already_settled"), "{late:?}");
    assert_eq!(home.status(&task), "completed");
    let queued = home.submit(&["--hold"], &["true"]);
    assert_eq!(home.run(&["cancel", &queued]).code, 0);
    assert_eq!(home.status(&queued), "cancelled");
}
