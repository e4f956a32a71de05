//! Starting, stopping, restarting, and the emergency stop.

use super::scene::{self, Ending, install};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use support::{Home, program, until};

#[test]
fn a_stop_ends_everything_in_order_and_keeps_what_waits() {
    let mut home = Home::new();
    home.configure("[server]\nlisten = \"127.0.0.1:0\"\n[queue]\nslots = 1\n");
    home.up();
    let running = home.submit(&[], &["sleep", "1000"]);
    let waiting = home.submit(&[], &["echo", "later"]);
    home.begins(&running);
    let stopped = home.run(&["stop"]);
    assert_eq!(stopped.code, 0, "{stopped:?}");
    assert_eq!(home.launcher_ends(), 0);
    home.is_empty();
    let status = home.run(&["status"]);
    assert_eq!(status.code, 3, "{status:?}");
    home.up();
    home.reaches(&waiting, "completed");
    assert_eq!(home.status(&running), "failed");
}

#[test]
fn a_drain_waits_for_what_runs() {
    let mut home = Home::new();
    home.up();
    let running = home.submit(&[], &["sh", "-c", "until [ -e gate ]; do sleep 0.01; done"]);
    home.begins(&running);
    let mut draining = home.command(support::program("ouroboros"));
    let mut draining = draining.args(["stop", "--drain"]).spawn().unwrap();
    until("it drains", || {
        let refused = home.run(&["run", "--detach", "--", "true"]);
        refused.err.contains("stopping").then_some(())
    });
    std::fs::write(home.work().join("gate"), b"").unwrap();
    assert_eq!(home.launcher_ends(), 0);
    assert!(draining.wait().unwrap().success());
    home.up();
    assert_eq!(home.status(&running), "completed");
}

#[test]
fn a_restart_gives_another_server_and_keeps_the_queue() {
    let mut home = Home::new();
    home.up();
    let before = home.server();
    let held = home.submit(&["--hold"], &["true"]);
    let restarted = home.run(&["restart"]);
    assert_eq!(restarted.code, 0, "{restarted:?}");
    until("another server answers", || {
        let status = home.run(&["status", "--json"]);
        (status.code == 0 && home.server() != before).then_some(())
    });
    assert_eq!(home.status(&held), "held");
}

#[test]
fn after_an_emergency_stop_nothing_starts_by_itself() {
    let mut home = Home::new();
    home.configure("[server]\nlisten = \"127.0.0.1:0\"\n[queue]\nslots = 1\n");
    home.up();
    let running = home.submit(&[], &["sh", "-c", "trap '' TERM; sleep 1000 & setsid sleep 1000 & wait"]);
    let waiting = home.submit(&[], &["echo", "later"]);
    home.begins(&running);
    let _ = home.run(&["panic"]);
    assert_eq!(home.launcher_ends(), 99);
    home.is_empty();
    home.up();
    let status = home.run(&["status"]);
    assert!(status.out.contains("held"), "{status:?}");
    assert_eq!(home.status(&waiting), "queued");
    assert_eq!(home.run(&["release", "--all"]).code, 0);
    home.reaches(&waiting, "completed");
    assert_eq!(home.run(&["stop"]).code, 0);
    assert_eq!(home.launcher_ends(), 0);
    home.up();
    let ran = home.run(&["run", "--", "echo", "normal again"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "normal again\n"), "{ran:?}");
}

#[test]
fn a_second_launcher_says_where_the_first_is() {
    let mut home = Home::new();
    home.up();
    let second = home.run(&["up"]);
    assert_eq!(second.code, 0, "{second:?}");
    assert!(second.out.contains(&home.launcher().to_string()), "{second:?}");
    assert!(second.out.contains("http://127.0.0.1:"), "{second:?}");
}

#[test]
fn a_signal_to_the_launcher_stops_in_order() {
    let mut home = Home::new();
    home.up();
    let running = home.submit(&[], &["sleep", "1000"]);
    home.begins(&running);
    let launcher = nix::unistd::Pid::from_raw(home.launcher());
    nix::sys::signal::kill(launcher, nix::sys::signal::Signal::SIGTERM).unwrap();
    assert_eq!(home.launcher_ends(), 0);
    home.is_empty();
}

#[test]
fn a_verb_that_acts_starts_what_it_needs_and_a_look_does_not() {
    let home = Home::new();
    let looked = home.run(&["tasks"]);
    assert_ne!(looked.code, 0, "{looked:?}");
    assert!(home.alive().is_empty());
    let ran = home.run(&["run", "--", "echo", "started"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "started\n"), "{ran:?}");
    assert!(ran.err.contains("ouroboros stop"), "{ran:?}");
    assert_eq!(home.run(&["stop"]).code, 0);
    home.is_empty();
}

#[test]
fn two_installations_do_not_see_each_other() {
    let (mut one, mut two) = (Home::new(), Home::new());
    one.up();
    two.up();
    let task = one.submit(&[], &["sleep", "1000"]);
    one.begins(&task);
    assert_eq!(two.run(&["stop"]).code, 0);
    assert_eq!(two.launcher_ends(), 0);
    two.is_empty();
    assert_eq!(one.status(&task), "running");
}

#[test]
fn a_copied_data_directory_is_another_installation() {
    let mut home = Home::new();
    home.up();
    let task = home.submit(&["--hold"], &["true"]);
    assert_eq!(home.run(&["stop"]).code, 0);
    assert_eq!(home.launcher_ends(), 0);
    let mut copy = Home::new();
    std::fs::remove_dir_all(copy.data()).unwrap();
    let copied = copy.command("cp").arg("-a").arg(home.data()).arg(copy.data()).status().unwrap();
    assert!(copied.success());
    copy.up();
    let status = copy.run(&["status"]);
    assert!(status.out.contains("held"), "{status:?}");
    assert_eq!(copy.status(&task), "held");
}

#[test]
fn a_worker_that_became_ready_is_shown_without_anybody_asking_for_anything() {
    let mut home = Home::new();
    home.configure("[server]\nlisten = \"127.0.0.1:0\"\n[queue]\nslots = 2\nspares = 1\n");
    home.up();
    // To look is no input: nothing is decided between two looks but by the worker itself.
    let state = until("the spare is shown", || {
        let (_, state) = scene::request(&home, "GET", "/api/state", b"")?;
        (state["slots"]["spares"] == 1).then_some(state)
    });
    assert_eq!((&state["slots"]["starting"], &state["slots"]["assignable"]), (&0.into(), &2.into()), "{state}");
}

#[test]
fn a_launcher_whose_server_crashes_again_and_again_can_be_stopped() {
    let home = Home::new();
    let programs = home.path().join("programs");
    install(&programs);
    let server = programs.join("ouroboros-server");
    std::fs::write(&server, "#!/bin/sh\nexit 1\n").unwrap();
    std::fs::set_permissions(&server, std::fs::Permissions::from_mode(0o755)).unwrap();
    let log = home.path().join("launcher.out");
    let mut command = home.command(programs.join("ouroboros"));
    command.arg("up").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(std::fs::File::create(&log).unwrap());
    let mut launcher = Ending::of(command.spawn().unwrap());
    until("it has crashed twice", || {
        let said = std::fs::read_to_string(&log).unwrap();
        (said.matches("the next start is in").count() >= 2).then_some(())
    });
    let mut command = home.command(programs.join("ouroboros"));
    command.arg("stop");
    let stopped = scene::ends(command);
    assert_eq!(stopped.code, 0, "{stopped:?}");
    assert!(stopped.err.contains("its launcher is stopped"), "{stopped:?}");
    assert!(launcher.is_over(), "the stop was answered before the launcher ended");
    assert_eq!(launcher.ran().code, 0);
    home.is_empty();
}

#[test]
fn a_service_beside_a_live_launcher_is_told_why_it_cannot_be() {
    let mut home = Home::new();
    home.up();
    let mut command = home.command(program("ouroboros"));
    command.arg("up").env("NOTIFY_SOCKET", home.path().join("notify"));
    let second = scene::ends(command);
    assert_eq!(second.code, 69, "{second:?}");
    assert!(second.out.contains(&format!("already running: launcher pid {}", home.launcher())), "{second:?}");
    assert!(second.err.contains("the service cannot run beside it"), "{second:?}");
    assert_eq!(home.run(&["status"]).code, 0, "the first one serves on");
}

#[test]
fn a_verb_that_meets_a_launcher_says_that_it_started_nothing() {
    let mut home = Home::new();
    home.up();
    // To this verb nobody listens; to the launcher that it starts somebody does again.
    let socket = home.data().join("run").join("api.sock");
    let aside = socket.with_extension("aside");
    std::fs::rename(&socket, &aside).unwrap();
    let mut command = home.command(program("ouroboros"));
    command.args(["run", "--detach", "--", "true"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let verb = Ending::of(command.spawn().unwrap());
    until("another launcher is started", || {
        home.alive().iter().any(|found| found.command.ends_with("up --auto")).then_some(())
    });
    std::fs::rename(&aside, &socket).unwrap();
    let ran = verb.ran();
    assert_eq!((ran.code, ran.out.as_str()), (0, "1\n"), "{ran:?}");
    assert!(ran.err.contains("was there already; nothing was started"), "{ran:?}");
    assert!(!ran.err.contains("in the background"), "{ran:?}");
    until("the other one has left", || {
        (!home.alive().iter().any(|found| found.command.ends_with("up --auto"))).then_some(())
    });
    home.reaches("last", "completed");
}
