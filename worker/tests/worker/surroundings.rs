use crate::support::{Worker, shell};
use ouroboros_proto::kind::Ending;
use ouroboros_proto::wire::Stdin;
use std::os::unix::fs::PermissionsExt;

fn variables(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn the_environment_is_exactly_the_tasks() {
    let worker = Worker::new();
    let mut work = worker.work(&["/usr/bin/env"]);
    work.env = variables(&[("B", "2"), ("A", "=1\n"), (".C", ""), ("OUROBOROS_WORKER_TOKEN", "mine")]);
    assert_eq!(worker.run(work).text(), "B=2\nA==1\n\n.C=\nOUROBOROS_WORKER_TOKEN=mine\n");
}

#[test]
fn variables_act_on_the_command_only() {
    let worker = Worker::new();
    let mut work = worker.work(&["/usr/bin/env"]);
    work.env = variables(&[("LD_PRELOAD", "/no/such/library.so")]);
    let finished = worker.run(work);
    assert_eq!(finished.text(), "LD_PRELOAD=/no/such/library.so\n");
    let complaints = String::from_utf8(finished.stderr).unwrap();
    assert_eq!(complaints.matches("library.so").count(), 1, "{complaints}");
}

#[test]
fn a_variable_that_cannot_be_starts_nothing() {
    let worker = Worker::new();
    let mut work = worker.work(&["true"]);
    work.env = variables(&[("A=B", "x")]);
    worker
        .order(ouroboros_proto::wire::Order::Run { task: ouroboros_proto::kind::TaskId::mint(), work: Box::new(work) });
    assert_eq!(worker.finish().ending(), Ending::SetUpFailed { errno: 22 });
}

#[test]
fn the_program_is_searched_in_the_tasks_path_and_directory() {
    let worker = Worker::new();
    let path = worker.path().join("my-program");
    std::fs::write(&path, "#!/bin/sh\necho found $1\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut work = worker.work(&["my-program", "x y"]);
    work.env = variables(&[("PATH", "/no/such::/bin")]);
    assert_eq!(worker.run(work).text(), "found x y\n");

    let worker = Worker::new();
    let mut work = worker.work(&["sh", "-c", "pwd"]);
    work.env = Vec::new();
    let cwd = work.cwd.clone();
    assert_eq!(worker.run(work).text().trim_end(), cwd);
}

#[test]
fn standard_input_is_empty_or_the_file() {
    assert_eq!(shell("cat; test -c /dev/stdin && echo null").text(), "null\n");
    let worker = Worker::new();
    let path = worker.path().join("input");
    std::fs::write(&path, "given").unwrap();
    let mut work = worker.work(&["cat"]);
    work.stdin = Stdin::File { path: path.display().to_string() };
    assert_eq!(worker.run(work).text(), "given");
}

#[test]
fn the_mask_is_the_submitters() {
    let worker = Worker::new();
    let mut work = worker.shell("umask");
    work.umask = Some(0o027);
    assert_eq!(worker.run(work).text(), "0027\n");
}

#[test]
fn nothing_of_ours_is_inherited_and_limits_are_set() {
    let script = "grep -E '^(SigBlk|SigIgn|NoNewPrivs)' /proc/self/status | tr -d '\\t'; ulimit -c; \
                  cat /proc/self/oom_score_adj; ps -o sid= -p $$ | tr -d ' '; echo $$; ls /proc/self/fd";
    let finished = shell(script);
    let lines: Vec<&str> = finished.text().lines().collect();
    assert_eq!(lines[..5], ["SigBlk:0000000000000000", "SigIgn:0000000000000000", "NoNewPrivs:1", "0", "500"]);
    assert_eq!(lines[5], lines[6], "it leads a session");
    // `ls` itself opens the directory as 3.
    assert_eq!(lines[7..], ["0", "1", "2", "3"]);

    let worker = Worker::new();
    let mut work = worker.shell("grep NoNewPrivs /proc/self/status");
    work.no_new_privs = false;
    assert_eq!(worker.run(work).text(), "NoNewPrivs:\t0\n");
}

#[test]
fn a_shown_command_is_cut() {
    let worker = Worker::new();
    let begun = worker.begin(worker.work(&["true", &"é".repeat(300)]));
    assert_eq!(begun.command.chars().count(), 200);
    assert!(begun.command.starts_with("true é"));
    worker.release(&begun);
    assert_eq!(worker.finish().ending(), Ending::Exited { code: 0 });
}
