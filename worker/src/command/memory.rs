//! Whether the kernel's out-of-memory killer ended a process.
//!
//! Two counters can tell. `oom_kill` in `memory.events` of a control group that holds this attempt and nothing else says both yes
//! and no. `oom_kill` in `/proc/vmstat` counts for the whole machine: when it has not moved the answer is no; when it has, it may
//! have been somebody else. References: the kernel's admin-guide/cgroup-v2, proc_vmstat(5).

use ouroboros_proto::kind::{AttemptId, OutOfMemory};
use std::fs;
use std::io::Read;
use std::path::Path;

/// Where version 2 groups are found.
const MOUNTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// The machine's counter at some moment.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    kills: Option<u64>,
}

impl Memory {
    /// As it is now.
    pub fn now() -> Self {
        Self { kills: counter(Path::new("/proc/vmstat")) }
    }

    /// Whether a process of this attempt that died of SIGKILL after `self` was taken died of that.
    pub fn verdict(self, attempt: AttemptId) -> OutOfMemory {
        judge(own_group_kills(attempt), self.kills, Self::now().kills)
    }
}

fn judge(own: Option<u64>, before: Option<u64>, after: Option<u64>) -> OutOfMemory {
    match (own, before, after) {
        (Some(0), _, _) => OutOfMemory::No,
        (Some(_), _, _) => OutOfMemory::Yes,
        (None, Some(before), Some(after)) if before == after => OutOfMemory::No,
        (None, _, _) => OutOfMemory::Unknown,
    }
}

/// The count of the group this process is in, when that group is named after the attempt.
fn own_group_kills(attempt: AttemptId) -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    group.ends_with(&attempt.to_string()).then_some(())?;
    MOUNTS.iter().find_map(|mount| counter(&Path::new(mount).join(group).join("memory.events")))
}

fn counter(file: &Path) -> Option<u64> {
    // Such files have no size to go by, and each read of one makes the kernel count anew.
    let mut text = String::with_capacity(16 << 10);
    fs::File::open(file).ok()?.read_to_string(&mut text).ok()?;
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_counted_for_us_says_yes() {
        assert_eq!(judge(Some(1), Some(5), Some(5)), OutOfMemory::Yes);
        assert_eq!(judge(Some(0), Some(5), Some(6)), OutOfMemory::No);
        assert_eq!(judge(None, Some(5), Some(5)), OutOfMemory::No);
        assert_eq!(judge(None, Some(5), Some(6)), OutOfMemory::Unknown);
        assert_eq!(judge(None, None, Some(6)), OutOfMemory::Unknown);
        assert_eq!(judge(None, None, None), OutOfMemory::Unknown);
    }
}
