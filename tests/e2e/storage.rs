//! Storage that fails: each a clear error, and nothing that was accepted is lost.

use super::scene::{self, NAMESPACE, alarms, apart, count, numbers, refused, request, unprivileged};
use rusqlite::Connection;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Stdio;
use support::home::kill;
use support::{Home, program, until};

const SMALL_DISK: &str =
    "[server]\nlisten = \"127.0.0.1:0\"\n[queue]\nslots = 4\n[disk]\nlow_water = \"8MiB\"\nreserve = \"4MiB\"\n";

/// An installation that has stopped, with one held task.
fn stopped() -> (Home, String) {
    let mut home = Home::new();
    home.up();
    let task = home.submit(&["--hold"], &["true"]);
    assert_eq!(home.run(&["stop"]).code, 0);
    assert_eq!(home.launcher_ends(), 0);
    (home, task)
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_data_directory_that_cannot_be_written_is_refused() {
    if !unprivileged("storage::a_data_directory_that_cannot_be_written_is_refused", "61001") {
        return;
    }
    let (mut home, task) = stopped();
    // The files of the last run are there, and one of them cannot be written.
    let database = home.data().join("store.db");
    fs::set_permissions(&database, Permissions::from_mode(0o400)).unwrap();
    let up = refused(&home);
    assert_eq!(up.code, 77, "{up:?}");
    assert!(up.err.contains("store.db") && up.err.contains("OUROBOROS_HOME"), "{up:?}");
    fs::set_permissions(&database, Permissions::from_mode(0o600)).unwrap();
    // None can be made.
    fs::remove_file(home.data().join("launcher.lock")).unwrap();
    fs::set_permissions(home.data(), Permissions::from_mode(0o500)).unwrap();
    let before = names(&home.data());
    let up = refused(&home);
    assert_eq!(up.code, 77, "{up:?}");
    assert!(up.err.contains("nothing was started"), "{up:?}");
    assert_eq!(names(&home.data()), before);
    let ran = home.run(&["run", "--", "true"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.err.contains("OUROBOROS_HOME"), "{ran:?}");
    home.is_empty();
    fs::set_permissions(home.data(), Permissions::from_mode(0o700)).unwrap();
    home.up();
    assert_eq!(home.status(&task), "held");
}

#[test]
fn a_read_only_file_system_is_refused() {
    use nix::mount::{MsFlags, mount};
    if !apart("storage::a_read_only_file_system_is_refused", NAMESPACE) {
        return;
    }
    let (home, task) = stopped();
    let none: Option<&str> = None;
    let data = home.data();
    mount(Some(&data), &data, none, MsFlags::MS_BIND, none).unwrap();
    mount(none, &data, none, MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY, none).unwrap();
    let up = refused(&home);
    assert_eq!(up.code, 77, "{up:?}");
    assert!(up.err.contains("Read-only"), "{up:?}");
    home.is_empty();
    nix::mount::umount(&data).unwrap();
    let mut home = home;
    home.up();
    assert_eq!(home.status(&task), "held");
}

#[test]
fn what_belongs_to_somebody_else_is_left_alone() {
    let (mut home, task) = stopped();
    if !nix::unistd::geteuid().is_root() {
        let mut command = home.command(program("ouroboros"));
        command.arg("up").env("OUROBOROS_HOME", "/");
        let up = scene::ends(command);
        assert_eq!(up.code, 77, "{up:?}");
        assert!(up.err.contains("belongs to user 0"), "{up:?}");
        return;
    }
    let own = nix::unistd::geteuid().as_raw();
    for path in [home.data(), home.data().join("store.db"), home.data().join("run")] {
        std::os::unix::fs::chown(&path, Some(65_534), None).unwrap();
        let before = names(&home.data());
        let up = refused(&home);
        assert_eq!(up.code, 77, "{path:?}: {up:?}");
        assert!(up.err.contains(path.to_str().unwrap()), "{path:?}: {up:?}");
        assert_eq!(names(&home.data()), before);
        assert_eq!(fs::metadata(&path).unwrap().uid(), 65_534);
        std::os::unix::fs::chown(&path, Some(own), None).unwrap();
    }
    home.up();
    assert_eq!(home.status(&task), "held");
}

#[test]
fn a_store_of_a_newer_version_is_refused_untouched() {
    let (mut home, task) = stopped();
    let database = home.data().join("store.db");
    let version = |number: i64| {
        let store = Connection::open(&database).unwrap();
        store.pragma_update(None, "user_version", number).unwrap();
    };
    let known: i64 =
        Connection::open(&database).unwrap().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    version(9_999);
    let before = fs::read(&database).unwrap();
    let up = refused(&home);
    assert_eq!(up.code, 65, "{up:?}");
    assert!(up.err.contains("9999") && up.err.contains("newer"), "{up:?}");
    assert!(fs::read(&database).unwrap() == before, "the database was changed");
    version(known);
    home.up();
    assert_eq!(home.status(&task), "held");
}

#[test]
fn a_file_system_without_locks_is_refused() {
    let (mut home, task) = stopped();
    let mut command = home.command(program("ouroboros"));
    command.arg("up").env("OUROBOROS_TEST_FAILPOINT", "store.lock_probe:error(io)");
    let up = scene::ends(command);
    assert_eq!(up.code, 69, "{up:?}");
    assert!(up.err.contains("lock") && up.err.contains("OUROBOROS_HOME"), "{up:?}");
    home.is_empty();
    home.up();
    assert_eq!(home.status(&task), "held");
}

#[test]
fn a_database_that_lost_its_end_is_refused_and_a_backup_takes_its_place() {
    let (mut home, task) = stopped();
    home.up();
    let backup = home.path().join("backup.db").display().to_string();
    let made = home.run(&["backup", &backup]);
    assert_eq!(made.code, 0, "{made:?}");
    assert_eq!(home.run(&["stop"]).code, 0);
    assert_eq!(home.launcher_ends(), 0);
    let database = home.data().join("store.db");
    let bytes = fs::read(&database).unwrap();
    fs::write(&database, &bytes[..bytes.len() / 2]).unwrap();
    let up = refused(&home);
    assert_eq!(up.code, 65, "{up:?}");
    assert!(up.err.contains("restore"), "{up:?}");
    let restored = home.run(&["restore", &backup]);
    assert_eq!(restored.code, 0, "{restored:?}");
    home.up();
    assert_eq!(home.status(&task), "held");
    until("the queue is held", || alarms(&home).contains(&"queue_held".to_owned()).then_some(()));
}

#[test]
fn one_bad_record_is_set_aside_and_the_rest_goes_on() {
    let (mut home, held) = stopped();
    home.up();
    let bad = home.submit(&["--hold"], &["true"]);
    let good = home.submit(&["--hold"], &["true"]);
    assert_eq!(home.run(&["stop"]).code, 0);
    assert_eq!(home.launcher_ends(), 0);
    let store = Connection::open(home.data().join("store.db")).unwrap();
    store
        .execute("UPDATE tasks SET comes_after = x'0102030405060708090a0b0c0d0e0f10' WHERE number = ?1", [&held])
        .unwrap();
    store.pragma_update(None, "ignore_check_constraints", true).unwrap();
    store.execute("UPDATE tasks SET priority = 77 WHERE number = ?1", [&bad]).unwrap();
    drop(store);
    home.up();
    assert_eq!(home.run(&["release", "--all"]).code, 0);
    home.reaches(&good, "completed");
    let store = Connection::open(home.data().join("store.db")).unwrap();
    let kept: i64 = store.query_row("SELECT count(*) FROM quarantine", (), |row| row.get(0)).unwrap();
    assert_eq!(kept, 1);
    let said = home.run(&["logs", "--server"]);
    assert!(said.out.contains("set aside"), "{said:?}");
}

#[test]
fn on_a_full_disk_work_is_refused_and_what_runs_still_settles() {
    use nix::mount::{MsFlags, mount};
    if !apart("storage::on_a_full_disk_work_is_refused_and_what_runs_still_settles", NAMESPACE) {
        return;
    }
    let mut home = Home::new();
    mount(Some("none"), &home.data(), Some("tmpfs"), MsFlags::empty(), Some("size=48m")).unwrap();
    home.configure(SMALL_DISK);
    home.up();
    let mut held: Vec<String> = (0..20).map(|_| home.submit(&["--hold"], &["true"])).collect();
    let script = "until [ -e gate ]; do sleep 0.01; done; echo done; exit 3";
    let running: Vec<String> = (0..4).map(|_| home.submit(&[], &["sh", "-c", script])).collect();
    for task in &running {
        home.begins(task);
    }
    let fill = home.data().join("fill");
    let mut filling = File::create(&fill).unwrap();
    while filling.write_all(&[1; 4096]).is_ok() {}
    drop(filling);
    // The disk is asked once a second; what is accepted until then is kept like everything else.
    let refusal = until("work is refused", || {
        let ran = home.run(&["run", "--detach", "--hold", "--", "true"]);
        if ran.code == 0 {
            held.push(ran.out.trim().to_owned());
        }
        ran.err.contains("disk_full").then_some(ran)
    });
    assert_eq!(refusal.code, 125, "{refusal:?}");
    assert!(refusal.err.contains("Nothing was accepted"), "{refusal:?}");
    until("the alarm is shown", || alarms(&home).contains(&"disk_low".to_owned()).then_some(()));
    fs::write(home.work().join("gate"), b"").unwrap();
    for task in &running {
        home.reaches(task, "failed");
        let shown = home.run(&["show", task, "--json"]).json();
        assert_eq!(support::home::find(&shown, "exit_code"), Some(&json!(3)), "{shown}");
    }
    until("a cancel is recorded", || {
        let ran = home.run(&["cancel", &held[0]]);
        // While the store is opened again with the reserve's room, that is said.
        let told = ["commit_unknown", "not_accepted", "already_settled"].iter().any(|code| ran.err.contains(code));
        assert!(ran.code == 0 || told, "{ran:?}");
        (home.status(&held[0]) == "cancelled").then_some(())
    });
    // Started on a full disk, it says so and knows everything.
    assert_eq!(home.run(&["stop"]).code, 0);
    assert_eq!(home.launcher_ends(), 0);
    home.up();
    for task in &running {
        assert_eq!(home.status(task), "failed");
    }
    fs::remove_file(&fill).unwrap();
    let after = until("work is accepted again", || {
        let ran = home.run(&["run", "--detach", "--", "true"]);
        (ran.code == 0).then(|| ran.out.trim().to_owned())
    });
    home.reaches(&after, "completed");
    until("the alarm is over", || alarms(&home).is_empty().then_some(()));
    for task in &held[1..] {
        assert_eq!(home.status(task), "held");
    }
    assert_eq!(numbers(&home).len(), held.len() + running.len() + 1);
    assert_eq!(fs::metadata(home.data().join("reserve")).unwrap().len(), 4 << 20);
}

/// Submits numbered tasks while commits fail until so many were accepted; gives what became of each.
fn submit_through_failures(home: &Home, accepted: usize) -> BTreeMap<usize, Result<String, String>> {
    let mut heard = BTreeMap::new();
    while heard.values().filter(|answer: &&Result<String, String>| answer.is_ok()).count() < accepted {
        let task = heard.len();
        assert!(task < 10_000, "hardly anything is accepted");
        let ran = home.run(&["run", "--detach", "--", "sh", "-c", &format!("echo {task} >> ran")]);
        let code = ran.err.split_once("error[").and_then(|(_, rest)| rest.split_once(']')).map(|(code, _)| code);
        let number = ran.out.trim().to_owned();
        heard.insert(task, if ran.code == 0 { Ok(number) } else { Err(code.unwrap_or_default().to_owned()) });
    }
    heard
}

#[test]
fn after_a_failed_commit_everybody_hears_the_truth() {
    let mut home = Home::new();
    home.up_with(&[(
        "OUROBOROS_TEST_FAILPOINT",
        "store.before_commit:error(io):12,store.before_commit:error(full):24,store.after_commit:error(io):40,\
         store.before_commit:visible_error:55,store.after_commit:error(io):70,store.before_commit:error(io):81,\
         store.before_epoch:error(io):2,store.before_truncate:error(io):3,store.before_load:error(io):4",
    )]);
    let server = home.server();
    let heard = submit_through_failures(&home, 100);
    for (task, answer) in &heard {
        match answer {
            Ok(number) => {
                home.reaches(number, "completed");
                assert_eq!(count(&home, "ran", &task.to_string()), 1, "{task} of {heard:?}");
            }
            Err(code) => assert!(["not_accepted", "commit_unknown"].contains(&code.as_str()), "{task}: {code}"),
        }
    }
    assert_eq!(home.server(), server, "the server went on");
    until("nothing is under way", || home.run(&["status", "--json"]).out.contains("\"running\":0").then_some(()));
    for (task, answer) in &heard {
        if answer == &Err("not_accepted".to_owned()) {
            assert_eq!(count(&home, "ran", &task.to_string()), 0, "{task} ran although it was refused");
        }
    }
    let said = home.run(&["logs", "--server"]).out;
    assert!(said.matches("a commit failed; the store is opened again").count() >= 6, "{said}");
    let accepted = heard.values().filter(|answer| answer.is_ok()).count();
    let unknown = heard.values().filter(|answer| *answer == &Err("commit_unknown".to_owned())).count();
    let kept = numbers(&home).len();
    assert!((accepted..=accepted + unknown).contains(&kept), "{kept} are kept of {heard:?}");
    assert!(alarms(&home).is_empty());
    // What is known is what is stored.
    kill(home.launcher());
    home.launcher_ends();
    home.is_empty();
    home.up();
    assert_eq!(numbers(&home).len(), kept);
    for answer in heard.values().flatten() {
        assert_eq!(home.status(answer), "completed");
    }
}

#[test]
fn while_nothing_can_be_recorded_a_cancel_still_kills() {
    let mut home = Home::new();
    home.up_with(&[("OUROBOROS_TEST_FAILPOINT", "store.before_commit:error(io):30,store.before_epoch:error(io):1+")]);
    let task = home.submit(&[], &["sleep", "1001"]);
    home.begins(&task);
    let sleeps = |home: &Home| home.alive().iter().any(|found| found.command == "sleep 1001");
    until("it runs", || sleeps(&home).then_some(()));
    let mut accepted = Vec::new();
    let refusal = until("storage fails", || {
        let ran = home.run(&["run", "--detach", "--hold", "--", "true"]);
        if ran.code == 0 {
            accepted.push(ran.out.trim().to_owned());
        }
        (ran.code != 0).then_some(ran)
    });
    assert!(refusal.err.contains("commit_unknown") || refusal.err.contains("not_accepted"), "{refusal:?}");
    until("the alarm is shown", || alarms(&home).contains(&"storage_failed".to_owned()).then_some(()));
    let cancelled = home.run(&["cancel", "--json", &task]);
    assert_ne!(cancelled.code, 0, "{cancelled:?}");
    assert!(cancelled.err.contains("\"durable\":false"), "{cancelled:?}");
    until("it is gone", || (!sleeps(&home)).then_some(()));
    kill(home.launcher());
    home.launcher_ends();
    home.is_empty();
    home.up();
    home.reaches(&task, "failed");
    for task in accepted {
        assert_eq!(home.status(&task), "held");
    }
}

/// Submits until the server dies at the point, starts again without it, and looks for everything that was acknowledged.
fn dies_at(point: &str) {
    let mut home = Home::new();
    let log = home.path().join("failing.out");
    let out = File::create(&log).unwrap();
    let mut command = home.command(program("ouroboros"));
    command.arg("up").env("OUROBOROS_TEST_FAILPOINT", point);
    command.stdin(Stdio::null()).stdout(out.try_clone().unwrap()).stderr(out);
    let mut launcher = command.spawn().unwrap();
    let work = home.work();
    let body = |task: usize| {
        let script = format!("echo {task} >> ran");
        let argv = ["sh", "-c", &script, &"x".repeat(6_000)];
        json!({ "command": { "argv": argv, "cwd": work }, "key": format!("key {task}") }).to_string()
    };
    let mut acknowledged = BTreeMap::new();
    let mut next = 0;
    until(&format!("the server dies at {point}"), || {
        if fs::read_to_string(&log).unwrap().contains("the next start is in") {
            return Some(());
        }
        let answer = request(&home, "POST", "/api/tasks", body(next).as_bytes());
        if let Some((200..=299, answer)) = answer {
            acknowledged.insert(next, answer["number"].as_u64().unwrap().to_string());
            next += 1;
        }
        assert!(next < 5_000, "{point} is never reached");
        None
    });
    let _ = launcher.kill();
    let _ = launcher.wait();
    home.is_empty();
    home.up();
    for (task, number) in &acknowledged {
        let status = until(&format!("task {task} settles after {point}"), || {
            let status = home.status(number);
            ["completed", "failed"].contains(&status.as_str()).then_some(status)
        });
        let ran = count(&home, "ran", &task.to_string());
        assert!(ran == 1 || (ran == 0 && status == "failed"), "{point}: task {task} is {status} and ran {ran} times");
        if status == "failed" {
            let shown = home.run(&["show", number, "--json"]);
            assert!(shown.out.to_lowercase().contains("interrupted"), "{point}: {shown:?}");
        }
    }
    // The one that was under way is the same task when it is sent again.
    let (status, again) = request(&home, "POST", "/api/tasks", body(next).as_bytes()).unwrap();
    assert!((200..=299).contains(&status), "{point}: {again}");
    home.reaches("last", if home.status("last") == "failed" { "failed" } else { "completed" });
    assert_eq!(numbers(&home).len(), acknowledged.len() + 1, "{point}");
    assert!(count(&home, "ran", &next.to_string()) <= 1, "{point}");
}

#[test]
fn a_server_that_dies_before_a_commit_loses_nothing_it_acknowledged() {
    for hit in [1, 2, 3, 5, 8, 13, 21] {
        dies_at(&format!("store.before_commit:abort:{hit}"));
    }
}

#[test]
fn a_server_that_dies_after_a_commit_loses_nothing_it_acknowledged() {
    for hit in [1, 2, 3, 5, 8, 13, 21] {
        dies_at(&format!("store.after_commit:abort:{hit}"));
    }
}

#[test]
fn a_server_that_dies_while_it_loads_or_recovers_loses_nothing_it_acknowledged() {
    for point in [
        "store.before_load:abort:1",
        "store.before_checkpoint:abort:1",
        "store.after_checkpoint:abort:1",
        "store.before_commit:error(io):9,store.before_epoch:abort",
        "store.after_commit:error(io):9,store.before_truncate:abort",
        "store.before_commit:visible_error:9,store.before_load:abort:2",
    ] {
        dies_at(point);
    }
}
