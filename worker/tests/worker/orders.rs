use crate::support::{DEADLINE, GENERATION, Worker, exit_code, is_gone, numbers, seconds};
use ouroboros_process::Status;
use ouroboros_proto::kind::{AttemptId, Ending, Generation, Millis, ProcessId, Stream, TaskId};
use ouroboros_proto::wire::{Order, Report};

/// Waits for a signal without a process of its own, which could miss the signal between its creation and its program.
const SPIN: &str = "while :; do :; done";

fn stop(grace: Millis) -> Order {
    Order::Stop { grace }
}

#[test]
fn a_stop_without_grace_kills_at_once() {
    let worker = Worker::new();
    let begun = worker.begin(worker.shell("trap '' TERM; sleep 1000 & echo $!; sleep 1000"));
    worker.release(&begun);
    worker.await_output(Stream::Stdout, 2);
    worker.order(stop(Millis::ZERO));
    let finished = worker.finish();
    assert_eq!(finished.ending(), Ending::Stopped);
    assert!(is_gone(numbers(&finished.stdout)[0]) && is_gone(begun.identity.pid));
}

#[test]
fn a_stop_with_grace_lets_the_command_end_itself() {
    let worker = Worker::new();
    let begun = worker.begin(worker.shell(&format!("trap 'echo bye; exit 3' TERM; echo ready; {SPIN}")));
    worker.release(&begun);
    worker.await_output(Stream::Stdout, 6);
    worker.order(stop(seconds(600)));
    let finished = worker.finish();
    assert_eq!((finished.ending(), finished.text()), (Ending::Stopped, "ready\nbye\n"));
}

#[test]
fn what_the_leader_leaves_may_use_the_grace_too() {
    let worker = Worker::new();
    let below = "trap \"echo late; exit\" TERM; echo ready;";
    let begun = worker.begin(worker.shell(&format!("sh -c '{below} {SPIN}' & wait")));
    worker.release(&begun);
    worker.await_output(Stream::Stdout, 6);
    worker.order(stop(seconds(600)));
    let finished = worker.finish();
    assert_eq!((finished.ending(), finished.text()), (Ending::Stopped, "ready\nlate\n"));
}

#[test]
fn a_grace_ends_and_a_shorter_one_shortens_it() {
    for orders in
        [vec![Millis::new(50)], vec![seconds(600), Millis::ZERO], vec![seconds(600), Millis::new(50), seconds(600)]]
    {
        let worker = Worker::new();
        let begun = worker.begin(worker.shell("trap '' TERM; echo; sleep 1000"));
        worker.release(&begun);
        worker.await_output(Stream::Stdout, 1);
        orders.into_iter().for_each(|grace| worker.order(stop(grace)));
        assert_eq!(worker.finish().ending(), Ending::Stopped);
    }
}

#[test]
fn a_stopped_process_gets_its_grace() {
    let worker = Worker::new();
    let begun = worker.begin(worker.shell(&format!("trap 'echo bye; exit' TERM; echo; kill -STOP $$; {SPIN}")));
    worker.release(&begun);
    worker.await_output(Stream::Stdout, 1);
    worker.order(stop(seconds(600)));
    let finished = worker.finish();
    assert_eq!((finished.ending(), finished.text()), (Ending::Stopped, "\nbye\n"));
}

#[test]
fn before_the_release_nothing_of_the_command_runs() {
    let worker = Worker::new();
    let begun = worker.begin(worker.shell("touch ran"));
    worker.order(Order::Release { process: ProcessId::mint() });
    worker.order(stop(seconds(600)));
    worker.release(&begun);
    let (_, report, _) = worker.terminal();
    assert_eq!(report.ending, Ending::Stopped);
    assert!(is_gone(begun.identity.pid));
    assert!(!worker.path().join("ran").exists());
}

#[test]
fn a_barrier_nobody_is_left_to_open_stays_shut() {
    let worker = Worker::new();
    let begun = worker.begin(worker.shell("touch ran"));
    let Worker { child, stream, dir, .. } = worker;
    drop(stream);
    assert_eq!(exit_code(&child), Status::Exited(100));
    assert!(is_gone(begun.identity.pid));
    assert!(!dir.path().join("ran").exists());
}

#[test]
fn reports_are_sent_again_until_they_are_acknowledged() {
    let worker = Worker::new();
    let begun = worker.begin(worker.work(&["true"]));
    worker.order(Order::Resend { after: 0 });
    let again = worker.next();
    assert!(matches!(again.report, Report::ProcessStarted { process, .. } if process == begun.process));
    worker.release(&begun);
    let (terminal, _, _) = worker.terminal();
    assert_eq!(terminal.sequence, 2);
    worker.order(Order::Resend { after: 0 });
    assert_eq!((worker.next().sequence, worker.next().sequence), (1, 2));
    worker.order(Order::Resend { after: 1 });
    assert_eq!(worker.next(), terminal);
    worker.order(Order::Acknowledge { sequence: 1 });
    worker.order(Order::Resend { after: 0 });
    assert_eq!(worker.next(), terminal);
    worker.order(Order::Acknowledge { sequence: 2 });
    assert_eq!(exit_code(&worker.child), Status::Exited(0));
}

#[test]
fn orders_for_others_are_ignored() {
    let worker = Worker::new();
    worker.order(stop(Millis::ZERO));
    let begun = worker.begin(worker.shell("exit 5"));
    worker.order_as(AttemptId::mint(), GENERATION, stop(Millis::ZERO));
    worker.order_as(worker.attempt, Generation::new(6), stop(Millis::ZERO));
    worker.order(Order::Run { task: TaskId::mint(), work: Box::new(worker.shell("exit 6")) });
    worker.release(&begun);
    assert_eq!(worker.finish().ending(), Ending::Exited { code: 5 });
}

#[test]
fn a_server_that_does_not_read_does_not_stop_the_command() {
    let worker = Worker::new();
    let mut work = worker.shell("i=0; while [ $i -lt 3000 ]; do echo $i; echo $i >&2; i=$((i+1)); done; touch done");
    work.output_limit = 100;
    let begun = worker.begin(work);
    // Fills the way from worker to server: each answer is sent, none is read.
    for _ in 0..4_000 {
        worker.order(Order::Resend { after: 0 });
    }
    worker.release(&begun);
    let deadline = ouroboros_proto::kind::clock::boot().plus(Millis::new(u64::try_from(DEADLINE.as_millis()).unwrap()));
    while !worker.path().join("done").exists() {
        assert!(ouroboros_proto::kind::clock::boot() < deadline);
        std::thread::yield_now();
    }
    let mut last = worker.next();
    while !matches!(last.report, Report::Terminal(_)) {
        last = worker.next();
    }
    worker.order(Order::Acknowledge { sequence: last.sequence });
    assert_eq!(exit_code(&worker.child), Status::Exited(0));
}
