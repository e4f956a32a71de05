//! What runs below a process, as the kernel lists it.
//!
//! Orphans are handed to some thread of the adopting process, not to the one that spawned, so every thread's list is read. A list
//! is only as true as the moment: use it to find what to signal, and `wait` or a pidfd to prove that it is gone.

use crate::proc;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::OnceLock;

/// A process seen once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// User and system time used so far, microseconds.
    pub cpu_micros: u64,
    /// Resident memory, bytes.
    pub resident_bytes: u64,
    /// Its command line, or its name in brackets when it has none. At most 4 KiB.
    pub command: String,
    /// Clock ticks after boot at which it started.
    pub start_ticks: u64,
    /// The state letter of proc_pid_stat(5).
    pub state: char,
}

/// The children of the calling process, reaped or not yet, of every one of its threads. In no order.
///
/// # Errors
/// When `/proc` cannot be read.
pub fn children_of_self() -> io::Result<Vec<i32>> {
    children_of(rustix::process::getpid().as_raw_nonzero().get())
}

/// The children of a process, of every one of its threads; empty when there is no such process.
///
/// # Errors
/// When `/proc` cannot be read.
pub fn children_of(pid: i32) -> io::Result<Vec<i32>> {
    if !lists_children() {
        return Ok(by_parent()?.remove(&pid).unwrap_or_default());
    }
    let mut children = Vec::new();
    for task in proc::numbers_in(&format!("/proc/{pid}/task"))?.unwrap_or_default() {
        // The limit is that of a list of a million numbers.
        let list = proc::read_small(&format!("/proc/{pid}/task/{task}/children"), 8 << 20)?.unwrap_or_default();
        let text = std::str::from_utf8(&list).map_err(|_| proc::malformed("children"))?;
        children.extend(text.split_ascii_whitespace().filter_map(|number| number.parse::<i32>().ok()));
    }
    Ok(children)
}

/// Everything below a process as (pid, ppid), parents before their children.
///
/// # Errors
/// When `/proc` cannot be read.
pub fn descendants(pid: i32) -> io::Result<Vec<(i32, i32)>> {
    let scanned = if lists_children() { None } else { Some(by_parent()?) };
    let mut found = Vec::new();
    let mut seen = BTreeSet::from([pid]);
    let mut level = vec![pid];
    while !level.is_empty() {
        let mut next = Vec::new();
        for parent in level {
            let children = match &scanned {
                Some(map) => map.get(&parent).cloned().unwrap_or_default(),
                None => children_of(parent)?,
            };
            for child in children.into_iter().filter(|child| seen.insert(*child)) {
                found.push((child, parent));
                next.push(child);
            }
        }
        level = next;
    }
    Ok(found)
}

/// The members of a process group that `/proc` shows. Reads every process: for boot, not for the fast path.
///
/// # Errors
/// When `/proc` cannot be read.
pub fn group_members(group: i32) -> io::Result<Vec<i32>> {
    let mut members = Vec::new();
    for pid in proc::numbers_in("/proc")?.unwrap_or_default() {
        if proc::stat(pid)?.is_some_and(|stat| stat.group == group) {
            members.push(pid);
        }
    }
    Ok(members)
}

/// Looks at a process. `None` when there is no such process.
///
/// # Errors
/// When `/proc` cannot be read.
pub fn sample(pid: i32) -> io::Result<Option<Sample>> {
    let Some(stat) = proc::stat(pid)? else { return Ok(None) };
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    let page = u64::try_from(rustix::param::page_size()).unwrap_or(4096);
    Ok(Some(Sample {
        cpu_micros: stat.cpu_ticks.saturating_mul(1_000_000) / ticks,
        resident_bytes: stat.resident_pages.saturating_mul(page),
        command: command_line(pid)?.unwrap_or_else(|| format!("[{}]", stat.name)),
        start_ticks: stat.start_ticks,
        state: stat.state,
    }))
}

fn command_line(pid: i32) -> io::Result<Option<String>> {
    let bytes = proc::read_small(&format!("/proc/{pid}/cmdline"), 4096)?.unwrap_or_default();
    let words: Vec<_> = bytes.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    let line = words.join(" ");
    let line = line.trim_end();
    Ok(if line.is_empty() { None } else { Some(line.to_owned()) })
}

/// The number that a process has in the innermost PID namespace it is in. `None` when there is no such process.
///
/// # Errors
/// When `/proc` cannot be read.
pub fn namespace_pid(pid: i32) -> io::Result<Option<i32>> {
    let Some(bytes) = proc::read_small(&format!("/proc/{pid}/status"), 64 << 10)? else { return Ok(None) };
    let text = String::from_utf8_lossy(&bytes);
    let numbers = text.lines().find_map(|line| line.strip_prefix("NSpid:")).ok_or_else(|| proc::malformed("NSpid"))?;
    numbers
        .split_ascii_whitespace()
        .last()
        .and_then(|last| last.parse().ok())
        .map(Some)
        .ok_or_else(|| proc::malformed("NSpid"))
}

/// Whether this kernel has the `children` files (`CONFIG_PROC_CHILDREN`).
fn lists_children() -> bool {
    static LISTS: OnceLock<bool> = OnceLock::new();
    *LISTS.get_or_init(|| std::fs::exists("/proc/thread-self/children").unwrap_or(false))
}

/// Every visible process under its parent: the way without `children` files.
fn by_parent() -> io::Result<BTreeMap<i32, Vec<i32>>> {
    let mut map: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for pid in proc::numbers_in("/proc")?.unwrap_or_default() {
        if let Some(stat) = proc::stat(pid)? {
            map.entry(stat.parent).or_default().push(pid);
        }
    }
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_listing_agree_on_our_parent() {
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get();
        let own = rustix::process::getpid().as_raw_nonzero().get();
        assert!(children_of(parent).unwrap().contains(&own));
        assert!(by_parent().unwrap().get(&parent).unwrap().contains(&own));
    }

    #[test]
    fn a_sample_of_ourselves_shows_what_we_are() {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let sample = sample(own).unwrap().unwrap();
        assert!(sample.resident_bytes > 0 && !sample.command.is_empty());
        assert_eq!(sample.start_ticks, crate::identity::of_self().unwrap().start_ticks);
        assert_eq!(namespace_pid(own).unwrap(), Some(own));
    }
}
