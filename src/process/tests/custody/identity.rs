//! A signal never reaches a process that is not the recorded one.

use crate::support::{self, DEADLINE, Shape, custodian, have_namespaces, start, zoo};
use ouroboros_process::ledger::{self, Ended, Verdict};
use ouroboros_process::{Checked, Doubt, PidFd, Signal, identity};
use ouroboros_proto::kind::Identity;

#[test]
fn a_reused_number_is_a_stranger_and_is_never_signalled() {
    if !have_namespaces() {
        return;
    }
    let unshare = "/usr/bin/unshare";
    if !std::path::Path::new(unshare).exists() {
        return support::skip("no unshare program to get a PID namespace with");
    }
    let mut running = start(
        &[
            unshare,
            "--user",
            "--map-root-user",
            "--pid",
            "--fork",
            "--mount-proc",
            "--kill-child",
            custodian(),
            "reuse",
            &zoo(),
            "sleep",
        ],
        false,
    );
    let line = running.line();
    if let Some(reason) = line.strip_prefix("skip ") {
        return support::skip(reason);
    }
    assert_eq!(line, "ok");
    running.finish();
}

#[test]
fn a_forged_row_harms_nobody() {
    let mut innocent = start(&[&zoo(), "sleep"], false);
    innocent.line();
    let real = innocent.child.identity().clone();
    let earlier = Identity { start_ticks: real.start_ticks - 1, pidfd_inode: None, ..real.clone() };
    let other_inode = Identity { pidfd_inode: real.pidfd_inode.map(|inode| inode + 1), ..real.clone() };
    let other_boot = Identity { boot_id: [7; 16], ..real.clone() };
    let elsewhere = Identity { namespace: real.namespace + 1, ..real.clone() };
    let negative = Identity { pid: -1, ..real.clone() };
    let zero = Identity { pid: 0, ..real.clone() };

    assert!(matches!(ledger::judge(&earlier), Verdict::Stranger));
    if real.pidfd_inode.is_some() {
        assert!(matches!(ledger::judge(&other_inode), Verdict::Stranger));
    }
    assert!(matches!(ledger::judge(&other_boot), Verdict::Gone));
    assert!(matches!(ledger::judge(&elsewhere), Verdict::Unknown(Doubt::OtherNamespace)));
    assert!(!matches!(ledger::judge(&negative), Verdict::Ours(_)));
    assert!(!matches!(ledger::judge(&zero), Verdict::Ours(_)));
    assert!(matches!(ledger::end(&elsewhere, DEADLINE), Ended::Unknown(_)));
    for row in [&earlier, &other_boot, &negative, &zero] {
        assert!(matches!(ledger::end(row, DEADLINE), Ended::Ended), "{row:?}");
    }
    assert!(!innocent.child.pidfd().is_dead());
    assert!(matches!(ledger::judge(&real), Verdict::Ours(_)));
    innocent.child.pidfd().signal(Signal::KILL).unwrap();
    innocent.finish();
}

#[test]
fn a_thread_that_has_the_number_is_a_stranger() {
    let (tell, told) = std::sync::mpsc::sync_channel(1);
    let (stop, stopped) = std::sync::mpsc::sync_channel::<()>(1);
    let thread = std::thread::spawn(move || {
        tell.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
        let _ = stopped.recv();
    });
    let row = Identity { pid: told.recv().unwrap(), pidfd_inode: None, ..identity::of_self().unwrap() };
    assert!(matches!(ledger::judge(&row), Verdict::Stranger));
    drop(stop);
    thread.join().unwrap();
}

#[test]
fn an_exit_between_check_and_signal_is_no_fault() {
    for _ in 0..100 {
        let running = start(&[&zoo(), "exit-at-once"], false);
        let row = running.child.identity().clone();
        let ended = ledger::end(&row, DEADLINE);
        assert!(matches!(ended, Ended::Ended), "{ended:?}");
        assert!(matches!(ledger::judge(&row), Verdict::Gone));
        running.finish();
    }
}

#[test]
fn the_dead_and_unreaped_are_gone_and_the_number_stays_theirs() {
    let running = start(&[&zoo(), "exit-at-once"], false);
    assert!(running.child.pidfd().wait_dead(DEADLINE));
    let row = running.child.identity().clone();
    assert!(matches!(PidFd::open_checked(&row), Checked::Gone));
    assert!(identity::read(row.pid).unwrap().unwrap().same(&row));
    running.child.wait().unwrap();
    assert!(identity::read(row.pid).unwrap().is_none_or(|other| !other.same(&row)));
}

#[test]
fn a_dead_main_thread_is_no_dead_process() {
    let mut running = start(&[&zoo(), "main-thread-exits"], false);
    running.line();
    let row = running.child.identity().clone();
    let seen = ouroboros_process::census::sample(row.pid).unwrap().unwrap();
    assert_eq!(seen.state, 'Z');
    assert!(!running.child.pidfd().is_dead());
    assert_eq!(running.child.try_wait().unwrap(), None);
    assert!(matches!(ledger::judge(&row), Verdict::Ours(_)));
    running.child.pidfd().signal(Signal::KILL).unwrap();
    running.finish();
}

#[test]
fn two_side_by_side_do_not_touch_each_other() {
    let (ended, kept) = (Shape::new(&["double-fork"]), Shape::new(&["double-fork"]));
    let mut first = start(&ended.after(&[custodian(), "hold", "--"]), false);
    let mut second = start(&kept.after(&[custodian(), "hold", "--"]), false);
    assert!(first.line().starts_with("ready") && second.line().starts_with("ready"));
    assert!(first.order("everything").contains("clean=true"));
    ended.assert_gone();
    assert_eq!(kept.alive().len(), 2);
    assert!(second.order("everything").contains("clean=true"));
    kept.assert_gone();
    first.finish();
    second.finish();
}
