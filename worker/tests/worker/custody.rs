use crate::support::{DEADLINE, Worker, exit_code, is_gone, numbers, shell};
use ouroboros_process::{PidFd, Signal, SpawnError, Status};
use ouroboros_proto::kind::{Ending, Millis, Stream};
use ouroboros_proto::wire::Order;

/// Leaves the tree by a double fork and a new session, and says its number.
const ESCAPE: &str = "mkfifo p; (setsid sh -c 'trap \"\" TERM HUP; echo $$ > p; exec sleep 1000' > /dev/null 2>&1 &); \
                      read pid < p; echo $pid";

#[test]
fn a_descendant_that_holds_the_pipe_does_not_hold_the_end() {
    let finished = shell("sleep 1000 & echo $!");
    assert_eq!(finished.ending(), Ending::Exited { code: 0 });
    assert!(is_gone(numbers(&finished.stdout)[0]));
}

#[test]
fn a_daemon_is_gone_before_the_report() {
    let worker = Worker::new();
    let begun = worker.begin(worker.shell(ESCAPE));
    worker.release(&begun);
    let (_, report, _) = worker.terminal();
    assert_eq!(report.ending, Ending::Exited { code: 0 });
    assert!(is_gone(numbers(&worker.stored("stdout"))[0]));
}

#[test]
fn the_end_of_the_connection_is_the_end_of_everything() {
    let worker = Worker::new();
    let begun = worker.begin(worker.shell(&format!("{ESCAPE}; trap '' TERM; sleep 1000 & echo $!; sleep 1000")));
    worker.release(&begun);
    worker.await_output(Stream::Stdout, 6);
    let numbers = loop {
        let output = worker.stored("stdout");
        if output.iter().filter(|byte| **byte == b'\n').count() == 2 {
            break numbers(&output);
        }
        worker.await_output(Stream::Stdout, 0);
    };
    let Worker { child, stream, dir, .. } = worker;
    drop(stream);
    assert_eq!(exit_code(&child), Status::Exited(100));
    assert!(numbers.into_iter().all(is_gone) && is_gone(begun.identity.pid));
    assert!(!dir.path().join("attempts/1.ending").exists(), "our kill is no ending of the command's own");
}

#[test]
fn the_worker_does_not_outlive_its_server_with_a_report_in_hand() {
    let worker = Worker::new();
    let begun = worker.begin(worker.work(&["true"]));
    worker.release(&begun);
    let (frame, _, _) = worker.terminal();
    let ending = worker.stored("ending");
    let Worker { child, stream, .. } = worker;
    drop(stream);
    assert_eq!(exit_code(&child), Status::Exited(100));
    assert_eq!(ending, ouroboros_proto::wire::encode(&frame).unwrap());
}

#[test]
fn the_command_dies_with_its_worker() {
    let worker = Worker::new();
    let begun = worker.begin(worker.shell("echo; exec sleep 1000"));
    worker.release(&begun);
    worker.await_output(Stream::Stdout, 1);
    let command = PidFd::open(begun.identity.pid).unwrap().unwrap();
    worker.child.pidfd().signal(Signal::KILL).unwrap();
    assert!(command.wait_dead(DEADLINE));
}

#[test]
fn signals_of_a_terminal_do_not_end_the_worker() {
    let worker = Worker::new();
    for signal in [Signal::INT, Signal::HUP, Signal::QUIT, Signal::PIPE] {
        worker.child.pidfd().signal(signal).unwrap();
    }
    let work = worker.shell("exit 2");
    assert_eq!(worker.run(work).ending(), Ending::Exited { code: 2 });
}

/// A worker that is the init of a namespace, where this machine allows it.
fn namespaced() -> Option<Worker> {
    match Worker::try_new(true) {
        Ok(worker) => Some(worker),
        Err(SpawnError::Namespace { .. }) => {
            assert!(std::env::var_os("OUROBOROS_TEST_STRICT").is_none(), "no namespaces here");
            eprintln!("SKIP no user or PID namespaces here");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn as_init_of_a_namespace_it_does_the_same() {
    let Some(worker) = namespaced() else { return };
    assert_ne!(worker.hello.namespace, ouroboros_process::identity::of_self().unwrap().namespace);
    let begun = worker.begin(worker.shell(&format!("{ESCAPE}; echo $$; exit 7")));
    assert_eq!(begun.identity.namespace, worker.hello.namespace);
    worker.release(&begun);
    let finished = worker.finish();
    assert_eq!(finished.ending(), Ending::Exited { code: 7 });
    assert_eq!(numbers(&finished.stdout)[1], begun.identity.pid);
}

#[test]
fn as_init_of_a_namespace_it_stops_and_leaves() {
    let Some(worker) = namespaced() else { return };
    let begun = worker.begin(worker.shell(&format!("{ESCAPE}; sleep 1000")));
    worker.release(&begun);
    worker.await_output(Stream::Stdout, 2);
    worker.order(Order::Stop { grace: Millis::ZERO });
    assert_eq!(worker.finish().ending(), Ending::Stopped);

    let Some(worker) = namespaced() else { return };
    let begun = worker.begin(worker.shell("trap '' TERM; echo; sleep 1000"));
    worker.release(&begun);
    worker.await_output(Stream::Stdout, 1);
    let Worker { child, stream, .. } = worker;
    drop(stream);
    assert_eq!(exit_code(&child), Status::Exited(100));
}
