//! Every shape against every layer, the other layers switched off.

use crate::support::{self, DEADLINE, Running, Shape, custodian, have_namespaces, start};
use ouroboros_process::ledger::{self, Ended};
use ouroboros_process::{Signal, Status, identity};
use ouroboros_proto::kind::clock;

macro_rules! every {
    ($layer:ident { $($name:ident: $shape:expr),* $(,)? }) => {
        mod $layer {
            $(#[test] fn $name() { super::$layer(&$shape); })*
        }
    };
}

macro_rules! all_shapes {
    ($($layer:ident),*) => {
        $(every!($layer {
            leader_exits: ["leader-exits"],
            double_fork: ["double-fork"],
            clear_env: ["clear-env"],
            hold_pipe: ["hold-pipe"],
            chain: ["chain", "20000"],
            tower: ["tower", "250"],
            fork_storm: ["fork-storm"],
            ignore_term: ["ignore-term"],
            spin_on_exit: ["spin-on-exit"],
            stopped: ["stopped"],
            non_dumpable: ["non-dumpable"],
            main_thread_exits: ["main-thread-exits"],
            fill_memory: ["fill-memory", "67108864"],
            setuid: ["setuid"],
            three_deep: ["three-deep"],
            exit_at_once: ["exit-at-once"],
        });)*
    };
}

all_shapes!(namespace, user_namespace, own_sweep, own_tree, other_tree, orphans);

// What never leaves the group and has no child that does.
every!(group {
    leader_exits: ["leader-exits"],
    ignore_term: ["ignore-term"],
    spin_on_exit: ["spin-on-exit"],
    stopped: ["stopped"],
    non_dumpable: ["non-dumpable"],
    main_thread_exits: ["main-thread-exits"],
    fill_memory: ["fill-memory", "67108864"],
    three_deep: ["three-deep"],
});

// What still hangs below the recorded process.
every!(recorded {
    tower: ["tower", "100"],
    ignore_term: ["ignore-term"],
    spin_on_exit: ["spin-on-exit"],
    stopped: ["stopped"],
    non_dumpable: ["non-dumpable"],
    main_thread_exits: ["main-thread-exits"],
    setuid: ["setuid"],
    three_deep: ["three-deep"],
});

/// Starts custodians around the shape and waits until it stands; also gives the number of the outermost custodian's child. `None`
/// when the shape cannot be made here.
fn stand(shape: &Shape, before: &[&str], namespaces: bool) -> Option<(Running, i32)> {
    let mut running = start(&shape.after(before), namespaces);
    let line = running.line();
    if line.starts_with("ready") {
        // A check that finds nothing afterwards must have had something to find.
        let expected = match shape.name() {
            // One moves too fast to be looked at.
            "chain" | "exit-at-once" => 0,
            "tower" => 100,
            _ => 1,
        };
        let alive = shape.alive();
        assert!(alive.len() >= expected, "{alive:?}");
        let child = line.split(' ').next_back().unwrap().parse().unwrap();
        return Some((running, child));
    }
    support::skip(&format!("the shape does not stand: {line:?}"));
    None
}

fn time(layer: &str, shape: &[&str], micros: u64) {
    if std::env::var_os("OUROBOROS_TIMES").is_some() {
        eprintln!("TIME {layer} {} {micros}", shape[0]);
    }
}

/// The order's report says that nothing is left, and nothing is.
fn obeyed(running: &mut Running, order: &str, shape: &Shape, words: &[&str], layer: &str) {
    let report = running.order(order);
    assert!(report.contains("clean=true"), "{report}");
    shape.assert_gone();
    let micros = report.split(' ').find_map(|word| word.strip_prefix("micros=")?.parse().ok()).unwrap();
    time(layer, words, micros);
}

/// Killing the init of a namespace is all it takes.
fn namespace(words: &[&str]) {
    if !have_namespaces() {
        return;
    }
    let shape = Shape::new(words);
    let Some((running, _)) = stand(&shape, &[custodian(), "hold", "--"], true) else { return };
    let begun = clock::boot();
    running.child.pidfd().signal(Signal::KILL).unwrap();
    assert!(running.child.pidfd().wait_dead(DEADLINE));
    time("namespace", words, clock::boot().get() - begun.get());
    shape.assert_gone();
    assert_eq!(running.child.wait().unwrap().status, Status::Signaled { signal: 9, core: false });
}

/// The same without any privilege.
fn user_namespace(words: &[&str]) {
    if !support::is_root() {
        return support::skip("the other namespace tests already run without privilege");
    }
    if !have_namespaces() {
        return;
    }
    let shape = Shape::new(words);
    let before = [custodian(), "--as-nobody", "hold", "--namespaces", "--", custodian(), "hold", "--"];
    let Some((mut running, _)) = stand(&shape, &before, false) else { return };
    obeyed(&mut running, "tree", &shape, words, "user-namespace");
    running.finish();
}

/// What a worker does when its lifeline ends.
fn own_sweep(words: &[&str]) {
    let shape = Shape::new(words);
    let Some((mut running, _)) = stand(&shape, &[custodian(), "hold", "--"], false) else { return };
    obeyed(&mut running, "everything", &shape, words, "own-sweep");
    running.finish();
}

/// What a worker does when its command is cancelled.
fn own_tree(words: &[&str]) {
    let shape = Shape::new(words);
    let Some((mut running, _)) = stand(&shape, &[custodian(), "hold", "--"], false) else { return };
    obeyed(&mut running, "tree", &shape, words, "own-tree");
    running.finish();
}

/// What a server does with a worker that does not answer.
fn other_tree(words: &[&str]) {
    let shape = Shape::new(words);
    let before = [custodian(), "hold", "--", custodian(), "hold", "--"];
    let Some((mut running, _)) = stand(&shape, &before, false) else { return };
    obeyed(&mut running, "tree", &shape, words, "other-tree");
    running.finish();
}

/// What a server does after a worker was killed from outside.
fn orphans(words: &[&str]) {
    let shape = Shape::new(words);
    let before = [custodian(), "hold", "--", custodian(), "hold", "--"];
    let Some((mut running, _)) = stand(&shape, &before, false) else { return };
    obeyed(&mut running, "orphans", &shape, words, "orphans");
    running.finish();
}

/// The group alone, by somebody who adopts nobody.
fn group(words: &[&str]) {
    let shape = Shape::new(words);
    let Some((mut running, _)) = stand(&shape, &[custodian(), "hold", "--no-subreaper", "--"], false) else { return };
    running.order("group");
    // The leader's death is what the order waits for; the members were signalled with it.
    let begun = clock::boot();
    while !shape.alive().is_empty() {
        assert!(clock::boot().since(begun).duration() < DEADLINE, "{:?}", shape.alive());
        std::thread::yield_now();
    }
    running.finish();
}

/// What a new generation does with a row of the last one, whose child it is not.
fn recorded(words: &[&str]) {
    let shape = Shape::new(words);
    let before = [custodian(), "hold", "--no-subreaper", "--"];
    let Some((running, child)) = stand(&shape, &before, false) else { return };
    let row = identity::read(child).unwrap().unwrap();
    let begun = clock::boot();
    let ended = ledger::end(&row, DEADLINE);
    time("recorded", words, clock::boot().get() - begun.get());
    assert!(matches!(ended, Ended::Ended), "{ended:?}");
    shape.assert_gone();
    running.finish();
}
