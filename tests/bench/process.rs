//! What the kernel says about processes.

use anyhow::Context as _;
use ouroboros_process::census;
use std::fs;

/// Ticks of a second in `/proc` (`USER_HZ`, the same on every machine we run on).
pub const TICKS: f64 = 100.0;

/// Counters of some processes, all of their threads together.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counters {
    /// Time on a processor, nanoseconds.
    pub run_nanos: u64,
    /// Bytes of pages that were made to be written to a disk.
    pub written: u64,
    /// Times that a thread slept and was woken.
    pub wakeups: u64,
}

/// The sum over these processes.
pub fn counters(pids: &[i32]) -> anyhow::Result<Counters> {
    let mut sum = Counters::default();
    for pid in pids {
        sum.written += written(*pid)?;
        for task in fs::read_dir(format!("/proc/{pid}/task")).context("its threads")?.flatten() {
            let times = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            sum.run_nanos += times.split(' ').next().and_then(|nanos| nanos.parse::<u64>().ok()).unwrap_or(0);
            let status = fs::read_to_string(task.path().join("status")).unwrap_or_default();
            sum.wakeups += field(&status, "voluntary_ctxt_switches").unwrap_or(0);
        }
    }
    Ok(sum)
}

/// `write_bytes` of `/proc/PID/io`: pages that a process made dirty in files on a disk. Unlike `wchar` it counts whole pages, which is
/// what the disk is given, and nothing that goes to sockets and pipes.
pub fn written(pid: i32) -> anyhow::Result<u64> {
    let io = fs::read_to_string(format!("/proc/{pid}/io")).context("its input and output")?;
    field(&io, "write_bytes").context("no write_bytes")
}

/// Proportional share of memory, bytes.
pub fn pss(pid: i32) -> anyhow::Result<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).context("its memory")?;
    Ok(field(&rollup, "Pss").context("no Pss")? << 10)
}

/// Resident memory, bytes.
pub fn resident(pid: i32) -> anyhow::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).context("its status")?;
    Ok(field(&status, "VmRSS").context("no VmRSS")? << 10)
}

/// Open descriptors, each by its number and what it is of.
pub fn descriptors(pid: i32) -> anyhow::Result<Vec<String>> {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).context("its descriptors")?.flatten();
    Ok(open
        .map(|entry| {
            let target = fs::read_link(entry.path()).unwrap_or_default();
            let name = target.file_name().unwrap_or(target.as_os_str());
            format!("{}={}", entry.file_name().display(), name.display())
        })
        .collect())
}

/// A process and everything below it.
pub fn tree(pid: i32) -> anyhow::Result<Vec<i32>> {
    let mut all = vec![pid];
    all.extend(census::descendants(pid)?.into_iter().map(|(pid, _)| pid));
    Ok(all)
}

/// Whether it ended and nobody waited for it.
pub fn is_zombie(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'))
}

fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(':')))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
