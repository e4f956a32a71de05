//! Sudden ends, of every combination of our processes: nothing is left behind, nothing is lost, nothing runs twice.

use super::scene::{kept, workers};
use support::home::kill;
use support::{Home, until};

#[test]
fn after_the_servers_sudden_end_the_queue_goes_on_by_itself() {
    let mut home = Home::new();
    home.configure("[server]\nlisten = \"127.0.0.1:0\"\n[queue]\nslots = 2\n");
    home.up();
    let once = home.submit(&[], &["sh", "-c", "echo x >> ran; sleep 1000"]);
    let again = home.submit(&["--rerun"], &["sh", "-c", "echo y >> ran; [ $(grep -c y ran) -ge 2 ] || sleep 1000"]);
    let queued: Vec<String> = (0..20).map(|_| home.submit(&[], &["sh", "-c", "echo z >> ran"])).collect();
    until("both run", || {
        let ran = std::fs::read_to_string(home.work().join("ran")).unwrap_or_default();
        (ran.contains('x') && ran.contains('y')).then_some(())
    });
    let server = home.server();
    kill(server);
    until("another server answers", || {
        let status = home.run(&["status", "--json"]);
        (status.code == 0 && home.server() != server).then_some(())
    });
    home.reaches(&once, "failed");
    home.reaches(&again, "completed");
    for task in &queued {
        home.reaches(task, "completed");
    }
    let ran = std::fs::read_to_string(home.work().join("ran")).unwrap();
    let count = |word: &str| ran.lines().filter(|line| *line == word).count();
    assert_eq!((count("x"), count("y"), count("z")), (1, 2, 20), "{ran}");
    let shown = home.run(&["show", &once]);
    assert!(shown.out.contains("retry"), "{shown:?}");
}

#[test]
fn a_dead_worker_is_replaced_and_its_task_told_apart() {
    let mut home = Home::new();
    home.up();
    let task = home.submit(&[], &["sleep", "1000"]);
    home.begins(&task);
    until("its process runs", || home.alive().iter().any(|found| found.command == "sleep 1000").then_some(()));
    let busy = home.run(&["ps", "--json"]);
    assert_eq!(busy.code, 0, "{busy:?}");
    for pid in workers(&home) {
        kill(pid);
    }
    home.reaches(&task, "failed");
    until("nothing of it is left", || (!home.alive().iter().any(|found| found.command == "sleep 1000")).then_some(()));
    let ran = home.run(&["run", "--", "echo", "goes on"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "goes on\n"), "{ran:?}");
}

#[test]
fn whatever_dies_at_once_nothing_survives() {
    for (launcher, server, worker) in
        [(true, false, false), (true, true, false), (true, false, true), (true, true, true)]
    {
        let mut home = Home::new();
        home.up();
        for _ in 0..3 {
            let _ = home.submit(&[], &["sh", "-c", "sleep 1000 & setsid sleep 1000 & sleep 1000"]);
        }
        until("all run", || {
            let sleeping = home.alive().iter().filter(|found| found.command.starts_with("sleep 1000")).count();
            (sleeping >= 9).then_some(())
        });
        let mut victims = Vec::new();
        if worker {
            victims.extend(workers(&home));
        }
        if server {
            victims.push(home.server());
        }
        if launcher {
            victims.push(home.launcher());
        }
        for pid in victims {
            kill(pid);
        }
        home.is_empty();
    }
}

#[test]
fn a_tasks_ending_that_nobody_recorded_is_found_again() {
    let mut home = Home::new();
    home.up();
    let task = home.submit(&[], &["sh", "-c", "echo > begun; until [ -e gate ]; do sleep 0.01; done; exit 4"]);
    until("it runs", || home.work().join("begun").exists().then_some(()));
    // The command ends while nobody can take its report.
    let server = home.server();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(server), nix::sys::signal::Signal::SIGSTOP).unwrap();
    std::fs::write(home.work().join("gate"), b"").unwrap();
    until("the report is kept", || (!kept(&home, ".ending").is_empty()).then_some(()));
    kill(server);
    home.reaches(&task, "failed");
    let shown = home.run(&["show", &task, "--json"]).json();
    assert_eq!(support::home::find(&shown, "exit_code").and_then(serde_json::Value::as_i64), Some(4), "{shown}");
}
