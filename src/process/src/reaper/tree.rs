//! Rounds until nothing is left or the bound has passed.

use super::round::{Keep, Left, Progress, held, open_all, victims};
use super::{Report, Survivor};
use crate::child::Child;
use crate::deadline::{Deadline, timespec};
use crate::hunt::{self, Held, Touch};
use crate::pidfd::PidFd;
use crate::{census, identity, registry};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Signal;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The longest wait between two rounds: an adoption is no event that could be waited for.
const PAUSE: Duration = Duration::from_millis(10);

/// Kills and reaps every child of the calling process, and whatever becomes one meanwhile, except those for which `keep` says
/// yes, until the kernel says that no other is left. Children we started are reaped too; their exits stay with their handles.
///
/// At least one round is made, whatever the bound.
pub fn end_everything(keep: &dyn Fn(i32) -> bool, bound: Duration) -> Report {
    run(None, &|_, pid| keep(pid), bound)
}

/// Kills and reaps the children nobody of us started: orphans of something that is dead already.
pub fn end_adopted(bound: Duration) -> Report {
    run(None, &|registry, pid| registry.is_ours(pid), bound)
}

/// Dead orphans reaped at once, so that a caller with other duties comes back to them.
const BATCH: usize = 4_096;

/// Reaps the dead among the children nobody of us started, and lets the living ones live. Without this a process that daemonises
/// over and over below us would fill the machine with zombies. Tells whether more may be waiting.
pub fn reap_orphans() -> bool {
    use nix::sys::wait::{Id, WaitPidFlag, waitid};
    // The kernel names one dead child at a time, which keeps up with what forks; lists of all children would not.
    let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    let mut registry = registry::lock();
    for _ in 0..BATCH {
        let Some(pid) = waitid(Id::All, look).ok().and_then(|status| status.pid()) else { return false };
        // One of ours stands in front of the others until it is waited for; its owner is told of its death by its pidfd.
        if registry.is_ours(pid.as_raw()) || registry.reap(pid.as_raw()).is_err() {
            return false;
        }
    }
    true
}

/// Kills the tree of one child: everything in its PID namespace when it is the init of one; else its group, its descendants, and
/// what it leaves to us as orphans. Other adopted children go with them, since nobody owns those. The child itself is not reaped:
/// its exit stays for [`Child::wait`].
pub fn end_tree(child: &Child, bound: Duration) -> Report {
    if !child.is_namespaced() {
        return run(Some(child), &|registry, pid| registry.is_ours(pid), bound);
    }
    // It is our unreaped child, or gone; the pidfd cannot reach anybody else.
    let refused = child.pidfd().signal(Signal::KILL) == Err(crate::pidfd::SignalError::NotPermitted);
    if child.pidfd().wait_dead(bound) {
        return Report { ended: 1, ..Report::default() };
    }
    Report { survivors: vec![survivor(child.pid(), refused)], ..Report::default() }
}

fn run(root: Option<&Child>, keep: Keep<'_>, bound: Duration) -> Report {
    let deadline = Deadline::after(bound);
    let mut progress = Progress::new();
    let mut empty_before = false;
    let mut pause = Duration::from_micros(500);
    let mut root_counted = root.is_none_or(|root| root.pidfd().is_dead());
    loop {
        let before = progress.ended;
        let left = match progress.round(root, keep) {
            Ok(left) => left,
            Err(error) if deadline.passed() => return report(root, keep, &progress, Some(error)),
            // Descriptors or memory ran out for a moment: what dies gives some back.
            Err(_) => Left {
                running: Vec::new(),
                handles: root.map(|root| vec![Arc::clone(root.pidfd())]).unwrap_or_default(),
            },
        };
        let root_dead = root.is_none_or(|root| root.pidfd().is_dead());
        if root_dead && !root_counted {
            root_counted = true;
            progress.ended = progress.ended.saturating_add(1);
        }
        let empty = root_dead && left.running.is_empty() && nobody(keep);
        // One list can miss a child that was handed over while it was read; "no child at all" cannot.
        if empty && (empty_before || registry::childless()) {
            return report(root, keep, &progress, None);
        }
        if deadline.passed() {
            return report(root, keep, &progress, None);
        }
        empty_before = empty;
        if !empty {
            pause = if progress.ended > before { Duration::from_micros(500) } else { (pause * 2).min(PAUSE) };
            let mut handles = left.handles;
            handles.extend(root.filter(|_| !root_dead).map(|root| Arc::clone(root.pidfd())));
            wait_any(&handles, pause.min(deadline.left()));
        }
    }
}

fn nobody(keep: Keep<'_>) -> bool {
    let registry = registry::lock();
    victims(&registry, keep).is_ok_and(|victims| victims.is_empty())
}

/// Until one of them is dead, at most `timeout`.
fn wait_any(handles: &[Arc<PidFd>], timeout: Duration) {
    let mut fds: Vec<PollFd<'_>> = handles.iter().map(|handle| PollFd::new(&**handle, PollFlags::IN)).collect();
    // A failed wait only makes the next round come early.
    let _ = poll(&mut fds, Some(&timespec(timeout)));
}

/// What is still there, with everything below it.
fn report(root: Option<&Child>, keep: Keep<'_>, progress: &Progress, failed: Option<io::Error>) -> Report {
    let mut report = Report { ended: progress.ended, survivors: Vec::new(), unknown: failed };
    match remaining(root, keep) {
        Ok(alive) => {
            let named = alive.into_iter().map(|held| survivor(held.pid, progress.refused.contains(&held.pid)));
            report.survivors.extend(named);
        }
        Err(error) => report.unknown = Some(error),
    }
    report
}

fn remaining(root: Option<&Child>, keep: Keep<'_>) -> io::Result<Vec<Held>> {
    let registry = registry::lock();
    let mut alive = open_all(&victims(&registry, keep)?)?;
    alive.extend(root.map(held));
    let below = hunt::below(&alive, Touch::Look)?;
    alive.extend(below);
    alive.retain(|held| !held.pidfd.is_dead());
    Ok(alive)
}

pub(crate) fn survivor(pid: i32, refused: bool) -> Survivor {
    let command = census::sample(pid).ok().flatten().map(|sample| sample.command).unwrap_or_default();
    Survivor { pid, identity: identity::read(pid).ok().flatten(), command, refused }
}
