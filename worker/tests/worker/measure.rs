//! Times, printed and never judged: `cargo test --release -p ouroboros-worker -- --ignored --nocapture measure`.

use crate::support::{Desk, Worker, start_program};
use ouroboros_proto::kind::clock;

const SAMPLES: usize = 300;

fn print(what: &str, mut micros: Vec<u64>) {
    micros.sort_unstable();
    let at = |percent: usize| micros[(micros.len() - 1) * percent / 100];
    println!("{what}: p50 {} us, p90 {} us, p99 {} us", at(50), at(90), at(99));
}

/// What the machine takes for a process that does nothing, to compare with.
#[test]
#[ignore = "prints times; run by hand on a quiet machine"]
fn floor() {
    for program in [env!("CARGO_BIN_EXE_ouroboros-worker"), "/bin/true"] {
        let mut micros = Vec::new();
        for _ in 0..SAMPLES {
            let start = clock::boot().get();
            let _ = start_program(program, &["probe"], Vec::new(), false).unwrap().wait();
            micros.push(clock::boot().get() - start);
        }
        print(&format!("{program} probe, start to reaped"), micros);
    }
}

#[test]
#[ignore = "prints times; run by hand on a quiet machine"]
fn start_to_hello() {
    for namespaces in [false, true] {
        let mut micros = Vec::new();
        for _ in 0..SAMPLES {
            let desk = Desk::new();
            let start = clock::boot().get();
            let Ok(child) = desk.start(namespaces) else { return };
            let (stream, _) = desk.accept();
            micros.push(clock::boot().get() - start);
            drop(stream);
            let _ = child.wait();
        }
        print(&format!("start to hello (namespaces: {namespaces})"), micros);
    }
}

#[test]
#[ignore = "prints times; run by hand on a quiet machine"]
fn run_to_terminal() {
    for argv in [&["true"][..], &["echo", "hi"]] {
        let (mut to_started, mut to_terminal, mut to_exit) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..SAMPLES {
            let worker = Worker::new();
            let work = worker.work(argv);
            // A spare has been waiting for a while.
            std::thread::sleep(std::time::Duration::from_millis(2));
            let start = clock::boot().get();
            let begun = worker.begin(work);
            to_started.push(clock::boot().get() - start);
            worker.release(&begun);
            let (frame, _, _) = worker.terminal();
            to_terminal.push(clock::boot().get() - start);
            let end = clock::boot().get();
            worker.order(ouroboros_proto::wire::Order::Acknowledge { sequence: frame.sequence });
            let _ = worker.child.wait();
            to_exit.push(clock::boot().get() - end);
        }
        print(&format!("{argv:?} run to started"), to_started);
        print(&format!("{argv:?} run to terminal"), to_terminal);
        print(&format!("{argv:?} acknowledge to exit"), to_exit);
    }
}
