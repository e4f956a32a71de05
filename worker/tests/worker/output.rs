use crate::support::{Worker, shell};
use ouroboros_proto::kind::{Captured, Ending, Stream};
use ouroboros_proto::wire::PtySize;
use std::os::unix::fs::PermissionsExt;

#[test]
fn streams_are_kept_apart_and_exact() {
    let finished = shell(r"printf 'a\000\377\n'; printf 'err' >&2");
    assert_eq!(finished.stdout, b"a\0\xff\n");
    assert_eq!(finished.stderr, b"err");
    assert_eq!(finished.report.stdout, Captured { written: 4, head: 4, tail: 0 });
    assert_eq!(finished.report.stderr, Captured { written: 3, head: 3, tail: 0 });
    assert!(finished.announced.contains(&(Stream::Stdout, 4)) && finished.announced.contains(&(Stream::Stderr, 3)));
}

#[test]
fn a_silent_command_leaves_only_its_ending() {
    let worker = Worker::new();
    let begun = worker.begin(worker.work(&["true"]));
    worker.release(&begun);
    let (_, report, announced) = worker.terminal();
    assert_eq!((report.stdout, report.stderr, announced.len()), (Captured::default(), Captured::default(), 0));
    let attempts = worker.path().join("attempts");
    assert_eq!(std::fs::read_dir(&attempts).unwrap().count(), 1);
    assert_eq!(std::fs::metadata(&attempts).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(std::fs::metadata(attempts.join("1.ending")).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn output_is_announced_while_the_command_runs() {
    let worker = Worker::new();
    let begun = worker.begin(worker.shell("mkfifo go; echo one; read line < go; echo two"));
    worker.release(&begun);
    worker.await_output(Stream::Stdout, 4);
    assert_eq!(worker.stored("stdout"), b"one\n");
    std::fs::write(worker.path().join("go"), "\n").unwrap();
    assert_eq!(worker.finish().stdout, b"one\ntwo\n");
}

#[test]
fn of_much_output_head_and_tail_are_kept_exactly() {
    let worker = Worker::new();
    let mut work = worker.shell("head -c 3000000 /dev/urandom | tee copy");
    let limit = 700_001_usize;
    work.output_limit = u64::try_from(limit).unwrap();
    let begun = worker.begin(work);
    worker.release(&begun);
    let (_, report, announced) = worker.terminal();
    let copy = std::fs::read(worker.path().join("copy")).unwrap();
    assert_eq!(copy.len(), 3_000_000);
    let (head_room, tail_room) = (limit / 2, limit - limit / 2);
    let counts =
        [report.stdout.written, report.stdout.head, report.stdout.tail].map(|count| usize::try_from(count).unwrap());
    assert_eq!(counts, [3_000_000, head_room, tail_room]);
    assert!(worker.stored("stdout") == copy[..head_room]);
    let ring = worker.stored("stdout.tail");
    let tail: Vec<u8> = (3_000_000 - tail_room..3_000_000).map(|o| ring[(o - head_room) % tail_room]).collect();
    assert!(tail == copy[3_000_000 - tail_room..]);
    assert_eq!(announced.last(), Some(&(Stream::Stdout, 3_000_000)));
    assert!(announced.is_sorted());
}

#[test]
fn a_disk_that_takes_nothing_does_not_stop_the_command() {
    let worker = Worker::new();
    std::fs::write(worker.path().join("occupied"), "").unwrap();
    let mut work = worker.shell("head -c 1000000 /dev/zero; echo done >&2");
    work.output_base = worker.path().join("occupied/1").display().to_string();
    let begun = worker.begin(work);
    worker.release(&begun);
    let (_, report, _) = worker.terminal();
    assert_eq!(report.ending, Ending::Exited { code: 0 });
    assert_eq!(report.stdout, Captured { written: 1_000_000, head: 0, tail: 0 });
    assert_eq!(report.stderr, Captured { written: 5, head: 0, tail: 0 });
}

#[test]
fn a_terminal_is_one_stream_with_a_size() {
    let worker = Worker::new();
    let mut work = worker.shell("test -t 0 && test -t 1 && test -t 2 && stty size < /dev/tty; echo e >&2");
    work.pty = Some(PtySize { columns: 123, rows: 45 });
    let finished = worker.run(work);
    assert_eq!(finished.text(), "45 123\r\ne\r\n");
    assert_eq!(finished.report.stderr, Captured::default());
    assert_eq!(finished.ending(), Ending::Exited { code: 0 });
}

#[test]
fn a_terminal_loses_nothing_when_its_command_ends() {
    let worker = Worker::new();
    let mut work = worker.work(&["seq", "1", "200000"]);
    work.pty = Some(PtySize { columns: 80, rows: 24 });
    work.output_limit = 8 << 20;
    let expected: String = (1..=200_000).map(|number| format!("{number}\r\n")).collect();
    assert!(worker.run(work).text() == expected);
}
