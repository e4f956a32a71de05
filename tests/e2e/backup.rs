//! Copies of everything, and a new beginning from one.

use super::scene::{kept, walk};
use std::fs;
use support::home::find;
use support::{Home, Ran, program};

const CONFIG: &str = "[server]\nlisten = \"127.0.0.1:0\"\n[queue]\nslots = 4\n[task]\noutput_limit = \"64KiB\"\n";

/// A settled task whose environment and input are large, and whose output is too large to be kept whole.
fn large(home: &Home) -> String {
    let variable: String = (0..5_000).map(|number| format!("{number:05} ")).collect();
    let input: String = (0..50_000).map(|number| format!("line {number}\n")).collect();
    fs::write(home.work().join("input"), input).unwrap();
    let script = "cat; printf '%s' \"$LARGE\" | wc -c; echo trouble >&2";
    let mut command = home.command(program("ouroboros"));
    command.args(["run", "--detach", "-i", "--", "sh", "-c", script]).env("LARGE", variable);
    command.stdin(fs::File::open(home.work().join("input")).unwrap());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let task = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    home.reaches(&task, "completed");
    task
}

fn logs(home: &Home, task: &str) -> Ran {
    let logs = home.run(&["logs", task]);
    assert!(logs.code != 0 || logs.out.ends_with("line 49999\n30000\n"), "{}", logs.out.len());
    logs
}

fn stop(home: &mut Home) {
    assert_eq!(home.run(&["stop"]).code, 0);
    assert_eq!(home.launcher_ends(), 0);
}

/// Removes the data directory and begins again from a copy.
fn begin_again(home: &mut Home, copy: &str) -> Ran {
    stop(home);
    fs::remove_dir_all(home.data()).unwrap();
    home.configure(CONFIG);
    let restored = home.run(&["restore", copy]);
    assert_eq!(restored.code, 0, "{restored:?}");
    home.up();
    restored
}

#[test]
fn a_task_with_large_input_and_its_output_survive_the_loss_of_everything_but_a_backup() {
    let mut home = Home::new();
    home.configure(CONFIG);
    home.up();
    let task = large(&home);
    let before = logs(&home, &task);
    assert_eq!(before.code, 0, "{}", before.err);
    assert_eq!(walk(&home.data().join("content")).len(), 2, "environment and input have files of their own");
    assert_eq!(kept(&home, ".tail").len(), 1, "its output is more than its head");
    let copy = home.path().join("copies").join("all.db").display().to_string();
    let taken = home.run(&["backup", "--output", &copy]);
    assert_eq!(taken.code, 0, "{taken:?}");
    assert!(taken.err.contains(&format!("bytes of output are in {copy}.output")), "{taken:?}");
    let again = home.run(&["backup", &copy]);
    assert!(again.code != 0 && again.err.contains("exists already"), "{again:?}");

    let restored = begin_again(&mut home, &copy);
    assert!(restored.out.contains("bytes of output were put back"), "{restored:?}");
    assert!(!restored.out.contains("large bodies"), "{restored:?}");
    assert_eq!(walk(&home.data().join("content")).len(), 2, "they are files again");
    assert_eq!(home.status(&task), "completed");
    assert!(logs(&home, &task).out == before.out, "its output is another one");
    let errors = home.run(&["logs", "--stderr", &task]);
    assert!(format!("{}{}", errors.out, errors.err).contains("trouble"), "{errors:?}");
    let retried = home.run(&["retry", &task]);
    assert_eq!(retried.code, 0, "{retried:?}");
    assert_eq!(home.status("last"), "queued", "the queue is held after a restore");
    assert_eq!(home.run(&["release", "--all"]).code, 0);
    home.reaches("last", "completed");
    assert!(logs(&home, "last").out == before.out, "it ran with another environment or input");
}

#[test]
fn a_backup_without_output_is_one_file_that_tasks_can_run_from() {
    let mut home = Home::new();
    home.configure(CONFIG);
    home.up();
    let task = large(&home);
    let before = logs(&home, &task);
    let copies = home.path().join("copies");
    let copy = copies.join("all.db").display().to_string();
    assert_eq!(home.run(&["backup", &copy]).code, 0);
    assert_eq!(walk(&copies).len(), 1);

    let restored = begin_again(&mut home, &copy);
    assert!(!restored.out.contains("large bodies"), "{restored:?}");
    let gone = logs(&home, &task);
    assert!(gone.code != 0 && gone.err.contains("expired"), "{gone:?}");
    let shown = home.run(&["show", &task, "--json"]).json();
    assert_eq!(find(&shown, "stdout").unwrap()["expired"], true, "{shown}");
    assert_eq!(home.run(&["retry", &task]).code, 0);
    assert_eq!(home.run(&["release", "--all"]).code, 0);
    home.reaches("last", "completed");
    assert!(logs(&home, "last").out == before.out, "it ran with another environment or input");
}
