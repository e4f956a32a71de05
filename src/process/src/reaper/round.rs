//! One round: list, signal, reap.

use crate::child::{Child, kill_group};
use crate::hunt::{self, Held, Touch};
use crate::pidfd::{PidFd, SignalError};
use crate::registry::{self, Reaped, Registry};
use crate::{census, identity};
use rustix::process::{Signal, getpgid};
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

/// Whether a child is to be left alone.
pub(super) type Keep<'a> = &'a dyn Fn(&Registry, i32) -> bool;

/// Rounds that each found somebody new before we stop everybody first.
const PATIENCE: u32 = 8;
/// Walks that stop in one round, before that round kills what it holds.
const STOP_WALKS: u32 = 16;

/// What rounds have found so far.
pub(super) struct Progress {
    pub(super) ended: usize,
    pub(super) refused: BTreeSet<i32>,
    seen: BTreeSet<i32>,
    rounds: u32,
    busy: u32,
}

/// What a round left.
pub(super) struct Left {
    /// Children that are to go and still run.
    pub(super) running: Vec<i32>,
    /// Some of them, to wait for.
    pub(super) handles: Vec<Arc<PidFd>>,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self { ended: 0, refused: BTreeSet::new(), seen: BTreeSet::new(), rounds: 0, busy: 0 }
    }

    /// Signals everything that is to go and reaps what has gone. `root`, a child we started, is signalled but not reaped: its
    /// exit belongs to its owner.
    pub(super) fn round(&mut self, root: Option<&Child>, keep: Keep<'_>) -> io::Result<Left> {
        let mut registry = registry::lock();
        let root = root.filter(|root| root.is_unreaped(&registry)).map(held);
        let victims = victims(&registry, keep)?;
        let fresh = victims.iter().filter(|pid| self.seen.insert(**pid)).count();
        self.busy = if fresh == 0 { 0 } else { self.busy.saturating_add(1) };

        // The first time everybody is listed before anybody is signalled. Later the orphans of what was killed come to us by
        // themselves, and a walk would only give a runaway time to fork.
        let below = if self.busy > PATIENCE {
            stop_all(&registry, keep)?
        } else if self.rounds == 0 {
            let mut roots: Vec<Held> = open_all(&victims)?;
            roots.extend(root.iter().cloned());
            hunt::below(&roots, Touch::Look)?
        } else {
            Vec::new()
        };
        self.rounds = self.rounds.saturating_add(1);

        for pid in root.iter().map(|root| root.pid).chain(victims.iter().copied()) {
            self.kill_child(pid);
        }
        for member in &below {
            if member.pidfd.signal(Signal::KILL) == Err(SignalError::NotPermitted) {
                self.refused.insert(member.pid);
            }
        }

        let mut running = Vec::new();
        for pid in victims {
            match registry.reap(pid)? {
                Reaped::Now => self.gone(pid),
                Reaped::NoChild => {}
                Reaped::Running => running.push(pid),
            }
        }
        let handles = open_all(running.get(..running.len().min(32)).unwrap_or_default())?;
        Ok(Left { running, handles: handles.into_iter().map(|held| held.pidfd).collect() })
    }

    fn gone(&mut self, pid: i32) {
        self.ended = self.ended.saturating_add(1);
        self.seen.remove(&pid);
        self.refused.remove(&pid);
    }

    /// An unreaped child; the lock is held, so the number is its own. The group goes first, while its leader still holds the name.
    fn kill_child(&mut self, pid: i32) {
        let Some(child) = identity::number(pid) else { return };
        if getpgid(Some(child)) == Ok(child) {
            let _ = kill_group(pid, Signal::KILL);
        }
        if rustix::process::kill_process(child, Signal::KILL) == Err(rustix::io::Errno::PERM) {
            self.refused.insert(pid);
        }
    }
}

/// Stops what is to go and everything below until a walk finds nobody new, then hands over all of it.
fn stop_all(registry: &Registry, keep: Keep<'_>) -> io::Result<Vec<Held>> {
    let mut known = BTreeSet::new();
    let mut members = Vec::new();
    for _ in 0..STOP_WALKS {
        let roots = open_all(&victims(registry, keep)?)?;
        members = hunt::below(&roots, Touch::Stop)?;
        members.extend(roots);
        let before = known.len();
        known.extend(members.iter().map(|member| member.pid));
        if known.len() == before {
            break;
        }
    }
    Ok(members)
}

/// The children that are to go, dead or alive. The caller holds the lock.
pub(super) fn victims(registry: &Registry, keep: Keep<'_>) -> io::Result<Vec<i32>> {
    Ok(census::children_of_self()?.into_iter().filter(|pid| !keep(registry, *pid)).collect())
}

/// Handles on children of ours, as many as descriptors allow. The caller holds the lock.
pub(super) fn open_all(children: &[i32]) -> io::Result<Vec<Held>> {
    let mut held = Vec::new();
    for pid in children {
        match PidFd::open(*pid) {
            Ok(Some(pidfd)) => held.push(Held { pid: *pid, pidfd: Arc::new(pidfd) }),
            Ok(None) => {}
            Err(error) if hunt::out_of_descriptors(&error) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(held)
}

pub(super) fn held(child: &Child) -> Held {
    Held { pid: child.pid(), pidfd: Arc::clone(child.pidfd()) }
}
