//! Refusals, bounds, locks, lifelines and groups of the host.

use crate::support::{self, DEADLINE, Shape, custodian, spawner, start};
use ouroboros_process::cgroup::{Base, Missing};
use ouroboros_process::lock::{Acquired, InstanceLock};
use ouroboros_process::{Program, Signal, lifeline, probe, reaper};
use ouroboros_proto::kind::{AttemptId, Generation, InstallationId};
use rustix::pipe::{PipeFlags, pipe_with};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

#[test]
fn what_may_not_be_killed_is_a_survivor_and_not_a_hang() {
    if !support::is_root() {
        return support::skip("needs root, to start what another user may not kill");
    }
    let shape = Shape::new(&["three-deep"]);
    let mut running = start(&shape.after(&[custodian(), "hold", "--drop-after", "--"]), false);
    assert!(running.line().starts_with("ready"));
    let report = running.order("tree-briefly");
    assert!(
        report.contains("clean=false") && report.contains("survivors=4") && report.contains("refused=4"),
        "{report}"
    );
    assert_eq!(shape.alive().len(), 4);
    // Root may.
    assert!(reaper::end_tree(&running.child, DEADLINE).is_clean());
    for (pid, _) in shape.alive() {
        let row = ouroboros_process::identity::read(pid).unwrap().unwrap();
        assert!(matches!(ouroboros_process::ledger::end(&row, DEADLINE), ouroboros_process::ledger::Ended::Ended));
    }
    shape.assert_gone();
}

#[test]
fn limits_are_named_and_pass() {
    let words: &[&str] =
        if support::is_root() { &[custodian(), "--as-nobody", "limits"] } else { &[custodian(), "limits"] };
    let mut running = start(&[words, &[&support::zoo(), "exit-code", "3"]].concat(), false);
    assert_eq!(running.line(), "ok");
    running.finish();
}

#[test]
fn without_adoption_what_left_the_group_is_not_found() {
    let shape = Shape::new(&["double-fork"]);
    let mut running = start(&shape.after(&[custodian(), "hold", "--no-subreaper", "--"]), false);
    running.line();
    running.order("tree");
    let left = shape.alive();
    assert_eq!(left.len(), 1, "the orphan that the other tests find: {left:?}");
    let row = ouroboros_process::identity::read(left[0].0).unwrap().unwrap();
    assert!(matches!(ouroboros_process::ledger::end(&row, DEADLINE), ouroboros_process::ledger::Ended::Ended));
    shape.assert_gone();
    running.finish();
}

#[test]
fn a_killed_holder_gives_up_the_lock() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lock");
    let mut holder = start(&[custodian(), "lock", path.to_str().unwrap()], false);
    assert_eq!(holder.line(), "ready held");
    let Acquired::Busy { pid } = InstanceLock::acquire(&path).unwrap() else { panic!("held twice") };
    assert_eq!(pid, Some(holder.child.pid()));
    holder.child.pidfd().signal(Signal::KILL).unwrap();
    assert!(matches!(InstanceLock::wait(&path, DEADLINE).unwrap(), Acquired::Held(_)));
    holder.finish();
}

#[test]
fn a_lifeline_ends_with_its_other_end_and_not_with_data() {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let (tell, told) = sync_channel(1);
    lifeline::watch(reader, move || tell.send(()).unwrap()).unwrap();
    rustix::io::write(&writer, b"data").unwrap();
    assert!(told.recv_timeout(Duration::from_millis(50)).is_err());
    drop(writer);
    told.recv_timeout(DEADLINE).unwrap();

    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let (tell, told) = sync_channel(1);
    lifeline::watch(ours.try_clone().unwrap().into(), move || tell.send(()).unwrap()).unwrap();
    assert!(told.recv_timeout(Duration::from_millis(50)).is_err());
    drop(theirs);
    told.recv_timeout(DEADLINE).unwrap();
}

#[test]
fn a_probe_leaves_nothing() {
    let found = probe::probe(spawner(), Program::Path(custodian().into()));
    let again = probe::probe(spawner(), Program::Path("/bin/true".into()));
    assert_eq!(found, again);
    let missing = probe::probe(spawner(), Program::Path("/nonexistent".into()));
    assert!(!missing.namespaces.is_yes());
}

#[test]
fn a_host_group_takes_everything_in_it() {
    let base = match Base::detect() {
        Ok(base) => base,
        Err(
            missing @ (Missing::NoHierarchy | Missing::NotDelegated { .. } | Missing::NoKill | Missing::Unreadable(_)),
        ) => {
            return support::skip(&missing.to_string());
        }
    };
    let (owner, generation) = (InstallationId::mint(), Generation::new(3));
    let group = base.create(owner, generation, AttemptId::mint()).unwrap();
    assert!(group.is_empty().unwrap());
    let shape = Shape::new(&["double-fork"]);
    // The custodian moves first, so that all it starts is born inside.
    let mut lock = start(&[custodian(), "probe"], false);
    group.add(lock.child.pid()).unwrap();
    assert!(!group.is_empty().unwrap());
    group.kill().unwrap();
    assert!(group.wait_empty(DEADLINE).unwrap());
    lock.stdin = None;
    lock.finish();

    let mut running = start(&shape.after(&[custodian(), "hold", "--"]), false);
    running.line();
    group.add(running.child.pid()).unwrap();
    for (pid, _) in shape.alive() {
        group.add(pid).unwrap();
    }
    assert_eq!(base.leftovers(owner, Generation::new(4)).unwrap().len(), 1);
    assert_eq!(base.leftovers(owner, generation).unwrap().len(), 0);
    assert_eq!(base.leftovers(InstallationId::mint(), Generation::new(4)).unwrap().len(), 0);
    group.kill().unwrap();
    assert!(group.wait_empty(DEADLINE).unwrap());
    shape.assert_gone();
    running.finish();
    group.remove().unwrap();
    group.remove().unwrap();
}
