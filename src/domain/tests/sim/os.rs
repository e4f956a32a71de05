//! The process table. It outlives every server, but not the machine.

use ouroboros_proto::kind::{AttemptId, Identity};
use std::collections::BTreeMap;

pub struct Proc {
    pub identity: Identity,
    pub alive: bool,
    /// Set for tools.
    pub attempt: Option<AttemptId>,
    /// Whether a tool has passed its barrier: its program runs.
    pub runs: bool,
    /// SIGKILL does nothing to it for now.
    pub unkillable: bool,
}

pub struct Os {
    pub boot_id: [u8; 16],
    next_pid: i32,
    pub table: BTreeMap<i32, Proc>,
}

impl Os {
    pub fn new(boot_id: [u8; 16]) -> Self {
        Self { boot_id, next_pid: 100, table: BTreeMap::new() }
    }

    pub fn fork(&mut self, now: u64, namespace: u64, attempt: Option<AttemptId>, unkillable: bool) -> (i32, Identity) {
        self.next_pid += 1;
        let pid = self.next_pid;
        let identity = Identity { boot_id: self.boot_id, namespace, pid, start_ticks: now / 10_000, pidfd_inode: None };
        let proc = Proc { identity: identity.clone(), alive: true, attempt, runs: false, unkillable };
        self.table.insert(pid, proc);
        (pid, identity)
    }

    pub fn find(&self, identity: &Identity) -> Option<&Proc> {
        self.table.get(&identity.pid).filter(|proc| proc.identity.same(identity))
    }

    pub fn alive(&self, pid: i32) -> bool {
        self.table.get(&pid).is_some_and(|proc| proc.alive)
    }

    pub fn end(&mut self, pid: i32) {
        if let Some(proc) = self.table.get_mut(&pid) {
            proc.alive = false;
        }
    }

    /// SIGKILL; whether it is dead now.
    pub fn kill(&mut self, pid: i32) -> bool {
        match self.table.get_mut(&pid) {
            Some(proc) => {
                proc.alive &= proc.unkillable;
                !proc.alive
            }
            None => true,
        }
    }
}
