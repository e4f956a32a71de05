//! Running a command: what comes out, and how it ends.

use support::{Home, until};

#[test]
fn output_and_exit_code_are_the_commands_own() {
    let mut home = Home::new();
    home.up();
    let ran = home.run(&["run", "--", "sh", "-c", "printf 'out\\0put'; echo trouble >&2; exit 7"]);
    assert_eq!((ran.code, ran.out.as_str()), (7, "out\0put"), "{ran:?}");
    assert!(ran.err.contains("trouble"), "{ran:?}");
}

#[test]
fn endings_are_told_apart() {
    let mut home = Home::new();
    home.up();
    for (argv, code) in [
        (vec!["true"], 0),
        (vec!["sh", "-c", "kill -SEGV $$"], 128 + 11),
        (vec!["sh", "-c", "kill -KILL $$"], 128 + 9),
        (vec!["no-such-program-here"], 127),
        (vec!["/etc/passwd"], 126),
    ] {
        let mut arguments = vec!["run", "--"];
        arguments.extend(&argv);
        let ran = home.run(&arguments);
        assert_eq!(ran.code, code, "{argv:?}: {ran:?}");
    }
    let ran = home.run(&["run", "--timeout", "200ms", "--", "sleep", "1000"]);
    assert_eq!(ran.code, 124, "{ran:?}");
}

#[test]
fn input_is_stored_before_acceptance_and_otherwise_empty() {
    let mut home = Home::new();
    home.up();
    let ran = home.run_with_input(&["run", "-i", "--", "cat"], b"some input\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, "some input\n"), "{ran:?}");
    let ran = home.run_with_input(&["run", "--", "cat"], b"not wanted");
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
}

#[test]
fn a_detached_task_can_be_attached_to_and_waited_for() {
    let mut home = Home::new();
    home.up();
    let gate = home.work().join("gate");
    let task =
        home.submit(&[], &["sh", "-c", "echo begun; until [ -e gate ]; do sleep 0.01; done; echo ended; exit 5"]);
    home.begins(&task);
    std::fs::write(&gate, b"").unwrap();
    let attached = home.run(&["attach", &task]);
    assert_eq!((attached.code, attached.out.as_str()), (5, "begun\nended\n"), "{attached:?}");
    let again = home.run(&["attach", "last"]);
    assert_eq!((again.code, again.out.as_str()), (5, "begun\nended\n"), "{again:?}");
    let waited = home.run(&["wait", &task]);
    assert_eq!(waited.code, 5, "{waited:?}");
}

#[test]
fn much_output_arrives_whole_and_in_order() {
    let mut home = Home::new();
    home.up();
    let ran = home.run(&["run", "--", "seq", "1", "200000"]);
    let expected: String = (1..=200_000).map(|number| format!("{number}\n")).collect();
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.out.len(), expected.len());
    assert!(ran.out == expected);
}

#[test]
fn output_beyond_its_bound_keeps_head_and_tail() {
    let mut home = Home::new();
    home.configure("[server]\nlisten = \"127.0.0.1:0\"\n[task]\noutput_limit = \"64KiB\"\n");
    home.up();
    let task = home.submit(&[], &["seq", "1", "100000"]);
    home.reaches(&task, "completed");
    let logs = home.run(&["logs", &task]);
    assert!(logs.out.starts_with("1\n2\n3\n"));
    assert!(logs.out.ends_with("99999\n100000\n"));
    let shown = home.run(&["show", &task, "--json"]);
    let text = &shown.out;
    assert!(text.contains("\"truncated\": true") || text.contains("\"truncated\":true"), "{text}");
}

#[test]
fn the_task_sees_the_callers_surroundings_without_secrets() {
    let mut home = Home::new();
    home.up();
    let mut command = home.command(support::program("ouroboros"));
    command.args(["run", "--", "sh", "-c", "echo \"$COLOUR/$API_TOKEN/$OUROBOROS_HOME\"; pwd; umask"]);
    command.env("COLOUR", "green").env("API_TOKEN", "hush");
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("green//"), "{text}");
    let cwd = std::fs::canonicalize(lines.next().unwrap()).unwrap();
    assert_eq!(cwd, std::fs::canonicalize(home.work()).unwrap());
}

#[test]
fn a_task_in_a_namespace_sees_only_itself() {
    let mut home = Home::new();
    home.up();
    let ran = home.run(&["run", "--", "sh", "-c", "ls /proc | grep -c '^[0-9]'"]);
    let seen: u32 = ran.out.trim().parse().unwrap();
    let alone = home.run(&["run", "--", "sh", "-c", "readlink /proc/1/exe"]);
    if alone.out.contains("ouroboros-worker") || alone.code != 0 {
        assert!(seen < 10, "{seen} processes are seen");
    } else {
        support_skip("this machine gives no namespaces");
    }
}

fn support_skip(reason: &str) {
    eprintln!("SKIP {reason}");
    assert!(std::env::var_os("OUROBOROS_TEST_STRICT").is_none(), "{reason}");
}

#[test]
fn a_terminal_is_given_when_asked_for() {
    let mut home = Home::new();
    home.up();
    let ran = home.run(&["run", "-t", "--", "sh", "-c", "[ -t 1 ] && echo terminal"]);
    assert_eq!(ran.out.trim(), "terminal", "{ran:?}");
    let plain = home.run(&["run", "--", "sh", "-c", "[ -t 1 ] || echo none"]);
    assert_eq!(plain.out.trim(), "none", "{plain:?}");
}

#[test]
fn events_tell_the_whole_story_once() {
    let mut home = Home::new();
    home.up();
    let task = home.submit(&[], &["true"]);
    home.reaches(&task, "completed");
    let kinds = until("four events", || {
        let events = home.run(&["events", "--json", "--task", &task]);
        let kinds: Vec<String> = events
            .out
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .filter_map(|event| Some(event["event"]["type"].as_str()?.to_owned()))
            .collect();
        (kinds.len() >= 4).then_some(kinds)
    });
    assert_eq!(kinds, ["submitted", "started", "process_started", "settled"]);
}
