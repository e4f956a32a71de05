//! What attempts write: what is kept of it, what can be asked of it, and what is tidied away.

use super::scene::{code, kept, ranged, workers};
use nix::sys::signal::{Signal, kill as signal};
use nix::unistd::Pid;
use support::home::{find, kill};
use support::{Home, until};

#[test]
fn what_a_lost_attempt_wrote_is_still_shown() {
    let mut home = Home::new();
    home.up();
    let script = "echo before the end; echo trouble >&2; sleep 1003";
    let task = home.submit(&[], &["sh", "-c", script]);
    until("both lines are written", || {
        let written = kept(&home, ".stdout").into_iter().chain(kept(&home, ".stderr"));
        (written.filter(|path| std::fs::metadata(path).is_ok_and(|file| file.len() > 0)).count() == 2).then_some(())
    });
    for worker in workers(&home) {
        kill(worker);
    }
    home.reaches(&task, "failed");
    let shown = home.run(&["show", &task, "--json"]).json();
    let attempt = &find(&shown, "attempt_list").unwrap()[0];
    assert!(attempt["ending"].is_null(), "it was reported: {shown}");
    assert_eq!((&attempt["stdout"]["written"], &attempt["stderr"]["written"]), (&15.into(), &8.into()), "{shown}");
    let shown = home.run(&["show", &task]).out;
    assert!(shown.contains("stdout 15 B") && shown.contains("stderr 8 B"), "{shown}");
    let logs = home.run(&["logs", &task]);
    assert_eq!((logs.code, logs.out.as_str()), (0, "before the end\n"), "{logs:?}");
    let logs = home.run(&["logs", "--stderr", &task]);
    assert!(format!("{}{}", logs.out, logs.err).contains("trouble"), "{logs:?}");
}

#[test]
fn nothing_but_its_output_stays_of_an_attempt_that_is_recorded() {
    let mut home = Home::new();
    home.up();
    let script = "cat; until [ -e gate ]; do sleep 0.01; done";
    let ran = home.run_with_input(&["run", "--detach", "-i", "--", "sh", "-c", script], b"some input\n");
    let task = ran.out.trim().to_owned();
    home.begins(&task);
    assert_eq!(kept(&home, ".stdin").len(), 1, "its input was given a file");
    // It ends while nobody can take its report, and is told once somebody can.
    let server = Pid::from_raw(home.server());
    signal(server, Signal::SIGSTOP).unwrap();
    std::fs::write(home.work().join("gate"), b"").unwrap();
    until("the report is kept", || (!kept(&home, ".ending").is_empty()).then_some(()));
    signal(server, Signal::SIGCONT).unwrap();
    home.reaches(&task, "completed");
    until("both are removed", || (kept(&home, ".ending").is_empty() && kept(&home, ".stdin").is_empty()).then_some(()));
    let logs = home.run(&["logs", &task]);
    assert_eq!((logs.code, logs.out.as_str()), (0, "some input\n"), "{logs:?}");
}

#[test]
fn dropped_bytes_of_a_running_task_are_a_bad_range() {
    let mut home = Home::new();
    home.configure("[server]\nlisten = \"127.0.0.1:0\"\n[task]\noutput_limit = \"64KiB\"\n");
    home.up();
    let task = home.submit(&[], &["sh", "-c", "seq 1 300000; until [ -e gate ]; do sleep 0.01; done"]);
    let path = format!("/api/tasks/{task}/logs/stdout");
    until("all of it is written", || {
        let shown = home.run(&["show", &task, "--json"]).json();
        (find(&shown, "stdout")?["written"].as_u64()? == 1_988_895).then_some(())
    });
    let head = ranged(&home, &path, "bytes=0-9");
    assert!(head.is_none(), "bytes, no error: {head:?}");
    for range in ["bytes=40000-50000", "bytes=40000-"] {
        let refused = ranged(&home, &path, range);
        assert_eq!((refused.as_ref().unwrap().0, code(&refused)), (416, "bad_range"), "{range}: {refused:?}");
    }
    std::fs::write(home.work().join("gate"), b"").unwrap();
    home.reaches(&task, "completed");
    let refused = ranged(&home, &path, "bytes=40000-50000");
    assert_eq!((refused.as_ref().unwrap().0, code(&refused)), (416, "bad_range"), "{refused:?}");
}
