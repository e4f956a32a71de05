//! Custody: no stranger is ever touched, and nothing of ours is left.

use super::scene::{Ending, Stranger, install, numbers};
use nix::sys::signal::{Signal, kill as signal};
use nix::unistd::Pid;
use ouroboros_proto::kind::{Identity, ProcessId};
use rusqlite::{Connection, params};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Stdio;
use support::home::kill;
use support::{Home, program, until};

fn identity(pid: i32) -> Identity {
    ouroboros_process::identity::read(pid).unwrap().unwrap()
}

/// Adds a process to the ledger of an installation that does not run.
fn forge(home: &Home, identity: &Identity, role: i64) {
    let store = Connection::open(home.data().join("store.db")).unwrap();
    store
        .execute(
            "INSERT INTO processes (id, boot_id, namespace, pid, start_ticks, pidfd_inode, role, generation, worker, attempt, \
             command, recorded_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, ?8, NULL, 'sleep', 0)",
            params![
                ProcessId::mint().as_bytes(),
                identity.boot_id,
                identity.namespace.cast_signed(),
                identity.pid,
                identity.start_ticks.cast_signed(),
                identity.pidfd_inode.map(u64::cast_signed),
                role,
                // Each of a worker of its own.
                identity.pid,
            ],
        )
        .unwrap();
}

fn recorded(home: &Home, pid: i32) -> bool {
    let store = Connection::open(home.data().join("store.db")).unwrap();
    let rows: i64 = store.query_row("SELECT count(*) FROM processes WHERE pid = ?1", [pid], |row| row.get(0)).unwrap();
    rows > 0
}

fn stop(home: &mut Home) {
    let stopped = home.run(&["stop"]);
    assert_eq!(stopped.code, 0, "{stopped:?}");
    assert_eq!(home.launcher_ends(), 0);
}

#[test]
fn rows_that_point_at_strangers_touch_nobody() {
    let mut home = Home::new();
    home.up();
    stop(&mut home);
    let mut strangers: Vec<Stranger> = (0..5).map(|_| Stranger::new()).collect();
    let forged: Vec<Identity> = strangers
        .iter()
        .enumerate()
        .map(|(kind, stranger)| {
            let mut identity = identity(stranger.pid());
            match kind {
                0 => identity.start_ticks += 1,
                1 => identity.boot_id = [7; 16],
                2 => identity.pidfd_inode = Some(identity.pidfd_inode.unwrap_or(0) + 1),
                3 => identity.namespace += 1,
                _ => (identity.start_ticks, identity.pidfd_inode) = (0, None),
            }
            identity
        })
        .collect();
    for (number, identity) in forged.iter().enumerate() {
        forge(&home, identity, i64::try_from(number % 4).unwrap());
    }
    home.up();
    let ran = home.run(&["run", "--", "echo", "serves"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "serves\n"), "{ran:?}");
    for (kind, identity) in forged.iter().enumerate() {
        // What is counted in another namespace cannot be looked for: it is reported and left alone.
        if kind == 3 {
            let said = until("it is reported", || {
                let said = home.run(&["logs", "--server"]).out;
                said.contains("cannot be recognised; left alone").then_some(said)
            });
            assert!(said.contains(&format!("pid={}", identity.pid)), "{said}");
        } else {
            until("the row is gone", || (!recorded(&home, identity.pid)).then_some(()));
        }
    }
    stop(&mut home);
    home.up();
    stop(&mut home);
    assert!(strangers.iter_mut().all(Stranger::lives));
}

#[test]
fn a_process_of_a_dead_generation_is_recognised_and_ended() {
    let mut home = Home::new();
    home.up();
    stop(&mut home);
    // As after the sudden end of everything: it lives, has left our tree, and only the ledger knows it.
    let mut left = Stranger::new();
    forge(&home, &identity(left.pid()), 3);
    home.up();
    until("it is ended", || (!left.lives()).then_some(()));
    until("the row is gone", || (!recorded(&home, left.pid())).then_some(()));
}

#[test]
fn a_copy_of_a_running_installation_leaves_its_processes_alone() {
    let mut home = Home::new();
    home.up();
    let task = home.submit(&["--host"], &["sleep", "1003"]);
    until("it runs", || home.alive().iter().any(|found| found.command == "sleep 1003").then_some(()));
    until("it is recorded", || home.run(&["ps", "--json"]).out.contains("sleep 1003").then_some(()));
    let backup = home.path().join("copy.db");
    // A consistent image of the store with its process rows.
    let from = Connection::open(home.data().join("store.db")).unwrap();
    from.execute("VACUUM INTO ?1", [backup.to_str().unwrap()]).unwrap();
    let rows: i64 = from.query_row("SELECT count(*) FROM processes", (), |row| row.get(0)).unwrap();
    assert!(rows > 0);
    drop(from);
    let before = home.alive();
    let mut copy = Home::new();
    fs::copy(&backup, copy.data().join("store.db")).unwrap();
    copy.up();
    let status = copy.run(&["status"]);
    assert!(status.out.contains("held"), "{status:?}");
    copy.reaches(&task, "failed");
    let store = Connection::open(copy.data().join("store.db")).unwrap();
    until("its rows are dropped", || {
        let dead: i64 = store
            .query_row(
                "SELECT count(*) FROM processes WHERE generation < (SELECT max(generation) FROM processes)",
                (),
                |row| row.get(0),
            )
            .unwrap();
        (dead == 0).then_some(())
    });
    assert_eq!(home.status(&task), "running");
    let after = home.alive();
    assert!(before.iter().filter(|found| found.command.starts_with("sleep")).all(|found| after.contains(found)));
}

#[test]
fn a_daemon_is_ended_though_worker_and_server_died_at_once() {
    for isolation in [&[][..], &["--host"]] {
        let mut home = Home::new();
        home.up();
        let zoo = program("zoo").display().to_string();
        let script = format!("{zoo} double-fork & {zoo} clear-env & setsid -f {zoo} ignore-term; wait");
        let task = home.submit(isolation, &["sh", "-c", &script]);
        until("the daemons stand", || (home.run(&["logs", &task]).out.matches("ready").count() >= 3).then_some(()));
        let marked = |home: &Home| home.alive().iter().filter(|found| found.command.contains(&zoo)).count();
        assert!(marked(&home) >= 3);
        let server = home.server();
        let workers: Vec<i32> = home
            .alive()
            .into_iter()
            .filter(|found| found.command.contains("ouroboros-worker serve"))
            .map(|found| found.pid)
            .collect();
        for pid in workers.into_iter().chain([server]) {
            kill(pid);
        }
        until("another server answers", || {
            let status = home.run(&["status", "--json"]);
            (status.code == 0 && home.server() != server).then_some(())
        });
        assert_eq!(marked(&home), 0, "nothing was left when the next server started");
        home.reaches(&task, "failed");
        assert!(home.run(&["show", &task]).out.contains("retry"));
    }
}

#[test]
fn a_task_that_ends_by_itself_leaves_nothing_running() {
    let mut home = Home::new();
    home.up();
    for isolation in [&[][..], &["--host"]] {
        for script in [
            "sleep 1004 & exit 5",
            "setsid sleep 1004 & exit 5",
            "for i in 1 2 3 4 5 6 7 8; do setsid -f sh -c 'setsid sleep 1004 & setsid sleep 1004' & done; wait; exit 5",
            "(trap '' TERM HUP; sleep 1004) & exit 5",
            "nohup sleep 1004 >/dev/null 2>&1 & exit 5",
        ] {
            let task = home.submit(isolation, &["sh", "-c", script]);
            home.reaches(&task, "failed");
            // Settled is after its tree is gone.
            let left: Vec<_> = home.alive().into_iter().filter(|found| found.command.contains("1004")).collect();
            assert!(left.is_empty(), "{isolation:?} {script}: {left:?}");
            let shown = home.run(&["show", &task, "--json"]).json();
            assert_eq!(support::home::find(&shown, "exit_code"), Some(&serde_json::json!(5)), "{script}: {shown}");
        }
    }
}

#[test]
fn the_tree_of_every_process_is_shown() {
    let mut home = Home::new();
    home.up();
    let task = home.submit(&[], &["sh", "-c", "sleep 1005 & sleep 1005 & wait"]);
    let listed = until("the tool is shown", || {
        let listed = home.run(&["ps", "--json"]).json();
        let tools = listed["processes"].as_array()?.iter().filter(|row| row["role"] == "tool").count();
        (tools > 0).then_some(listed)
    });
    let rows = listed["processes"].as_array().unwrap();
    let number = task.parse().ok();
    let find = |role: &str, busy: bool| {
        rows.iter().find(|row| row["role"] == role && (!busy || row["task"].as_u64() == number)).unwrap()
    };
    let (launcher, server) = (find("launcher", false), find("server", false));
    let (worker, tool) = (find("worker", true), find("tool", true));
    assert_eq!(launcher["pid"], home.launcher());
    assert_eq!(server["pid"], home.server());
    for (child, parent) in [(server, launcher), (worker, server), (tool, worker)] {
        assert_eq!(child["parent"], parent["pid"], "{listed}");
    }
    let plain = home.run(&["ps"]);
    assert!(plain.out.contains("tool") && plain.out.contains("sh -c"), "{plain:?}");
}

#[test]
fn while_the_server_is_stopped_nobody_starts_another() {
    let mut home = Home::new();
    home.up();
    let server = home.server();
    let socket = home.data().join("run").join("api.sock");
    let inode = fs::metadata(&socket).unwrap().ino();
    signal(Pid::from_raw(server), Signal::SIGSTOP).unwrap();
    let start = |arguments: &[&str]| {
        let mut command = home.command(program("ouroboros"));
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ending::of(command.spawn().unwrap())
    };
    let clients: Vec<Ending> = (0..5).map(|_| start(&["run", "--", "echo", "patient"])).collect();
    let beside = start(&["up"]);
    until("all have connected", || {
        let listening = fs::read_to_string("/proc/net/unix").unwrap();
        let name = socket.display().to_string();
        (listening.lines().filter(|line| line.ends_with(&name)).count() > 6).then_some(())
    });
    let servers =
        |home: &Home| home.alive().into_iter().filter(|found| found.command.contains("ouroboros-server")).count();
    assert_eq!(servers(&home), 1);
    signal(Pid::from_raw(server), Signal::SIGCONT).unwrap();
    for client in clients {
        let ran = client.ran();
        assert_eq!((ran.code, ran.out.as_str()), (0, "patient\n"), "{ran:?}");
    }
    let ran = beside.ran();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains(&home.launcher().to_string()), "{ran:?}");
    assert_eq!((servers(&home), home.server()), (1, server));
    assert_eq!(fs::metadata(&socket).unwrap().ino(), inode);
    assert_eq!(numbers(&home).len(), 5);
}

fn image(pid: i32) -> Option<u64> {
    fs::metadata(format!("/proc/{pid}/exe")).ok().map(|found| found.ino())
}

fn inode(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}

#[test]
fn new_programs_are_taken_by_a_restart_and_what_runs_ends_first() {
    let home = Home::new();
    let bin = home.path().join("bin");
    install(&bin);
    let ouroboros = bin.join("ouroboros");
    let log = File::create(home.path().join("launcher.out")).unwrap();
    let mut command = home.command(&ouroboros);
    command.arg("up").stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
    let mut launcher = Ending::of(command.spawn().unwrap());
    until("it is ready", || (home.run(&["status"]).code == 0).then_some(()));
    let script = "echo $$ > begun; until [ -e gate ]; do sleep 0.01; done; exit 9";
    let task = home.submit(&["--host"], &["sh", "-c", script]);
    until("it runs", || home.work().join("begun").exists().then_some(()));
    let old = home.server();
    let (old_server, old_worker) = (inode(&bin.join("ouroboros-server")), inode(&bin.join("ouroboros-worker")));
    install(&bin);
    assert_ne!(inode(&bin.join("ouroboros-server")), old_server);
    // A worker that is started now is still of the server's own build.
    let other = home.submit(
        &["--host"],
        &["sh", "-c", "readlink -f /proc/$PPID/exe > parent; stat -Lc %i /proc/$PPID/exe >> parent"],
    );
    home.reaches(&other, "completed");
    let parent = fs::read_to_string(home.work().join("parent")).unwrap();
    assert!(parent.lines().any(|line| line == old_worker.to_string()), "{parent}, not {old_worker}");
    let mut command = home.command(&ouroboros);
    command.args(["restart", "--drain"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let restarting = Ending::of(command.spawn().unwrap());
    until("it drains", || home.run(&["run", "--detach", "--", "true"]).err.contains("stopping").then_some(()));
    assert_eq!((home.server(), home.status(&task).as_str()), (old, "running"));
    fs::write(home.work().join("gate"), b"").unwrap();
    let ran = restarting.ran();
    assert_eq!(ran.code, 0, "{ran:?}");
    let new = home.server();
    assert_ne!(new, old);
    assert_eq!(image(new), Some(inode(&bin.join("ouroboros-server"))));
    assert_eq!(home.status(&task), "failed");
    let shown = home.run(&["show", &task, "--json"]).json();
    assert_eq!(support::home::find(&shown, "exit_code"), Some(&serde_json::json!(9)), "{shown}");
    let after = home.submit(&["--host"], &["sh", "-c", "stat -Lc %i /proc/$PPID/exe > parent"]);
    home.reaches(&after, "completed");
    let parent = fs::read_to_string(home.work().join("parent")).unwrap();
    assert_eq!(parent.trim(), inode(&bin.join("ouroboros-worker")).to_string());
    assert!(!launcher.is_over());
    assert_eq!(home.run(&["stop"]).code, 0);
    assert_eq!(launcher.ran().code, 0);
    home.is_empty();
}

#[test]
fn what_was_replaced_by_something_broken_is_tried_again_until_it_is_whole() {
    let home = Home::new();
    let bin = home.path().join("bin");
    install(&bin);
    let log = home.path().join("launcher.out");
    let out = File::create(&log).unwrap();
    let mut command = home.command(bin.join("ouroboros"));
    command.arg("up").stdin(Stdio::null()).stdout(out.try_clone().unwrap()).stderr(out);
    let mut launcher = Ending::of(command.spawn().unwrap());
    until("it is ready", || (home.run(&["status"]).code == 0).then_some(()));
    let task = home.submit(&["--hold"], &["true"]);
    let server = home.server();
    fs::remove_file(bin.join("ouroboros-server")).unwrap();
    kill(server);
    until("it is tried", || fs::read_to_string(&log).unwrap().contains("cannot be started").then_some(()));
    assert!(!launcher.is_over());
    install(&bin);
    until("it is ready again", || (home.run(&["status"]).code == 0).then_some(()));
    assert_eq!(home.status(&task), "held");
    assert_eq!(home.run(&["stop"]).code, 0);
    let ran = launcher.ran();
    assert_eq!(ran.code, 0, "{ran:?}");
}
