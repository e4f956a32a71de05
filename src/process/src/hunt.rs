//! Finding what lives below a process, so that each can be signalled without ever reaching a stranger.
//!
//! A process belongs to a tree when, while it is held by a pidfd and alive, its parent is a live member that is held as well. Then
//! neither number can have been reused between the look and the signal.

use crate::deadline::Deadline;
use crate::pidfd::PidFd;
use crate::{census, proc};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

/// A member of a tree.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) pid: i32,
    pub(crate) pidfd: Arc<PidFd>,
}

/// What a walk does with each member before it lists the member's children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Touch {
    /// Nothing.
    Look,
    /// Stops it, so that it cannot start more.
    Stop,
}

/// Everything below the roots, parents first, without the roots. When descriptors run out the walk ends early and what it holds is
/// returned: the next walk, after these are gone, sees the rest.
///
/// # Errors
/// When `/proc` cannot be read.
pub(crate) fn below(roots: &[Held], touch: Touch) -> io::Result<Vec<Held>> {
    let mut seen: BTreeSet<i32> = roots.iter().map(|root| root.pid).collect();
    let mut members: Vec<Held> = Vec::new();
    let mut level: Vec<Held> = roots.to_vec();
    while !level.is_empty() {
        let mut next = Vec::new();
        for parent in level {
            if touch == Touch::Stop {
                // One that may not be stopped is reported when it may not be killed either.
                let _ = parent.pidfd.signal(Signal::STOP);
            }
            for child in census::children_of(parent.pid)? {
                if !seen.insert(child) {
                    continue;
                }
                match prove(child, |stat| stat.parent == parent.pid && !parent.pidfd.is_dead()) {
                    Ok(Some(pidfd)) => next.push(Held { pid: child, pidfd: Arc::new(pidfd) }),
                    Ok(None) => {}
                    Err(error) if out_of_descriptors(&error) => {
                        members.append(&mut next);
                        return Ok(members);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        members.extend(next.iter().cloned());
        level = next;
    }
    Ok(members)
}

/// Opens the process with this number if, held and alive, it is as `belongs` says.
pub(crate) fn prove(pid: i32, belongs: impl FnOnce(&proc::Stat) -> bool) -> io::Result<Option<PidFd>> {
    let Some(pidfd) = PidFd::open(pid)? else { return Ok(None) };
    let Some(stat) = proc::stat(pid)? else { return Ok(None) };
    let proven = belongs(&stat) && !pidfd.is_dead();
    Ok(proven.then_some(pidfd))
}

/// Stops a tree whose root is not our child, and everything else in the root's group: passes until one finds nobody new and
/// everybody has come to a halt. Returns all members, the root first.
pub(crate) fn freeze(root: Held, deadline: Deadline) -> io::Result<Vec<Held>> {
    let mut members = vec![root.clone()];
    loop {
        let known = members.len();
        for found in below(std::slice::from_ref(&root), Touch::Stop)?.into_iter().chain(group_of(&root)?) {
            if !members.iter().any(|member| member.pid == found.pid && !member.pidfd.is_dead()) {
                let _ = found.pidfd.signal(Signal::STOP);
                members.push(found);
            }
        }
        let settled = members.len() == known && members.iter().all(halted);
        if settled || deadline.passed() {
            return Ok(members);
        }
        // Somebody was still running a moment ago, or we may not stop it. Gives it the time to reach its stop.
        let running = members.iter().find(|member| !halted(member));
        if let Some(running) = running {
            let _ = running.pidfd.wait_dead(deadline.left().min(std::time::Duration::from_millis(1)));
        }
    }
}

/// The members of the group that the root leads. While the root is alive its number names no other group.
fn group_of(root: &Held) -> io::Result<Vec<Held>> {
    if proc::stat(root.pid)?.is_none_or(|stat| stat.group != root.pid) {
        return Ok(Vec::new());
    }
    let mut members = Vec::new();
    for pid in census::group_members(root.pid)? {
        let proven = prove(pid, |stat| pid != root.pid && stat.group == root.pid && !root.pidfd.is_dead())?;
        members.extend(proven.map(|pidfd| Held { pid, pidfd: Arc::new(pidfd) }));
    }
    Ok(members)
}

/// Whether it will not run its own code again. In an uninterruptible wait it meets its stop on the way out; waiting for that could
/// be for ever, since a parent in `vfork` waits for a child that we may have stopped before it executed.
fn halted(member: &Held) -> bool {
    member.pidfd.is_dead()
        || matches!(proc::stat(member.pid), Ok(Some(stat)) if matches!(stat.state, 'T' | 't' | 'D' | 'Z' | 'X'))
}

pub(crate) fn out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}
