use crate::support::{Worker, seconds, shell};
use ouroboros_proto::kind::{Captured, Ending, Millis, OutOfMemory};
use ouroboros_proto::wire::Stdin;
use std::os::unix::fs::PermissionsExt;

fn ending_of(argv: &[&str]) -> Ending {
    let worker = Worker::new();
    let work = worker.work(argv);
    worker.run(work).ending()
}

#[test]
fn an_exit_code_is_the_commands_own() {
    assert_eq!(ending_of(&["true"]), Ending::Exited { code: 0 });
    assert_eq!(shell("exit 255").ending(), Ending::Exited { code: 255 });
}

#[test]
fn a_signal_is_told_with_its_reason() {
    let segv = Ending::Signaled { signal: 11, out_of_memory: OutOfMemory::No };
    assert_eq!(shell("kill -SEGV $$").ending(), segv);
    let Ending::Signaled { signal: 9, out_of_memory } = shell("kill -KILL $$").ending() else { panic!() };
    assert_ne!(out_of_memory, OutOfMemory::Yes);
}

#[test]
fn somebody_elses_kill_is_not_our_stop() {
    let worker = Worker::new();
    let begun = worker.begin(worker.shell("echo; sleep 1000"));
    worker.release(&begun);
    worker.await_output(ouroboros_proto::kind::Stream::Stdout, 1);
    let process = ouroboros_process::PidFd::open(begun.identity.pid).unwrap().unwrap();
    process.signal(ouroboros_process::Signal::KILL).unwrap();
    assert!(matches!(worker.finish().ending(), Ending::Signaled { signal: 9, .. }));
}

#[test]
fn the_time_is_over() {
    for script in ["sleep 1000", "trap '' TERM; sleep 1000 & wait; sleep 1000"] {
        let worker = Worker::new();
        let mut work = worker.shell(script);
        work.timeout = Some(Millis::new(100));
        let finished = worker.run(work);
        assert_eq!(finished.ending(), Ending::TimedOut);
        assert!(finished.report.usage.elapsed >= Millis::new(100));
    }
}

#[test]
fn the_time_starts_with_the_release() {
    let worker = Worker::new();
    let mut work = worker.shell("exit 4");
    work.timeout = Some(seconds(30));
    assert_eq!(worker.run(work).ending(), Ending::Exited { code: 4 });
}

#[test]
fn a_program_that_is_not_there() {
    assert_eq!(ending_of(&["no-such-program-anywhere"]), Ending::NotFound);
    assert_eq!(ending_of(&["/no/such/program"]), Ending::NotFound);
    assert_eq!(ending_of(&[""]), Ending::NotFound);
}

#[test]
fn a_program_that_cannot_be_executed() {
    let not_executable = |name: &str, mode: u32, content: &str, errno: i32| {
        let worker = Worker::new();
        let path = worker.path().join(name);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let work = worker.work(&[&format!("./{name}")]);
        assert_eq!(worker.run(work).ending(), Ending::NotExecutable { errno }, "{name}");
    };
    not_executable("plain", 0o644, "#!/bin/sh\n", 13);
    not_executable("no-format", 0o755, "echo hi\n", 8);
    not_executable("no-interpreter", 0o755, "#!/no/such/interpreter\n", 2);
    assert_eq!(ending_of(&["/tmp"]), Ending::NotExecutable { errno: 13 });
}

#[test]
fn a_directory_that_cannot_be_entered() {
    let worker = Worker::new();
    let mut work = worker.work(&["true"]);
    work.cwd = "/no/such/directory".to_owned();
    assert_eq!(worker.run(work).ending(), Ending::BadDirectory { errno: 2 });
}

#[test]
fn what_cannot_be_set_up_starts_no_process() {
    let worker = Worker::new();
    let mut work = worker.work(&["true"]);
    work.stdin = Stdin::File { path: "/no/such/file".to_owned() };
    worker
        .order(ouroboros_proto::wire::Order::Run { task: ouroboros_proto::kind::TaskId::mint(), work: Box::new(work) });
    let finished = worker.finish();
    assert_eq!(finished.ending(), Ending::SetUpFailed { errno: 2 });
    assert_eq!(finished.report.stdout, Captured::default());
}

#[test]
fn an_argument_the_kernel_refuses_is_not_executable() {
    let worker = Worker::new();
    let work = worker.work(&["true", &"x".repeat(200_000)]);
    worker
        .order(ouroboros_proto::wire::Order::Run { task: ouroboros_proto::kind::TaskId::mint(), work: Box::new(work) });
    assert_eq!(worker.finish().ending(), Ending::NotExecutable { errno: 7 });
}

#[test]
fn what_was_used_comes_from_the_kernel() {
    let finished = shell("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done");
    let usage = finished.report.usage;
    assert!(usage.user_micros + usage.system_micros > 1_000, "{usage:?}");
    assert!(usage.max_resident_bytes > 100_000, "{usage:?}");
}
