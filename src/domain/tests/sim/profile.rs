//! How unkind the world of one seed is.

use crate::rng::Rng;

/// Chances are in percent unless said otherwise.
#[derive(Clone, Default)]
pub struct Profile {
    pub spawn_fails: u64,
    pub never_greets: u64,
    pub dies_at_start: u64,
    /// An attempt goes wrong in one of the ways of [`crate::worker::Slip`].
    pub slips: u64,
    pub lies: u64,
    pub repeats: u64,
    pub loses_frame: u64,
    pub unkillable: u64,
    /// A worker or tool outlives its server.
    pub survives: u64,
    pub ignores_stop: u64,
    /// Per mille of commits.
    pub commit_errors: u64,
    /// Per mille of commits during which the server dies.
    pub dies_in_commit: u64,
    /// Weights of faults of the world: kill, power, panic, worker killed, clock, stop.
    pub faults: [u64; 6],
    /// Owner's actions between two faults, about.
    pub fault_every: u64,
    /// Per mille of assignments whose specification cannot be read.
    pub unreadable: u64,
    pub host_only: bool,
    pub stack: usize,
    pub slow_disk: bool,
    /// Some tasks ask models.
    pub money: bool,
    /// Sends that fail in one of the ways that a send can fail.
    pub sends_fail: u64,
    /// Calls that are dropped between the answer and the send.
    pub drops_calls: u64,
    /// Tasks that keep a transcript ask their owner.
    pub asks_owner: u64,
    /// Tasks that act in a folder.
    pub acts: u64,
}

impl Profile {
    pub fn draw(rng: &mut Rng) -> Self {
        let mut some = |chance: u64, most: u64| if rng.percent(chance) { rng.below(most) + 1 } else { 0 };
        Self {
            spawn_fails: some(20, 20),
            never_greets: some(20, 20),
            dies_at_start: some(30, 30),
            slips: some(70, 60),
            lies: some(30, 30),
            repeats: some(30, 30),
            loses_frame: some(30, 20),
            unkillable: some(40, 40),
            survives: some(50, 50),
            ignores_stop: some(40, 60),
            commit_errors: some(40, 60),
            dies_in_commit: some(40, 40),
            faults: [some(60, 4), some(40, 3), some(20, 2), some(50, 5), some(50, 3), some(40, 2)],
            fault_every: 3 + some(100, 20),
            unreadable: some(20, 80),
            host_only: some(30, 1) > 0,
            stack: if some(30, 1) > 0 { 1 + usize::try_from(some(100, 4)).unwrap_or(1) } else { 1_024 },
            slow_disk: some(20, 1) > 0,
            money: some(20, 1) > 0,
            sends_fail: some(80, 60),
            drops_calls: some(50, 20),
            asks_owner: some(60, 80),
            acts: some(50, 90),
        }
    }

    /// Nothing goes wrong any more.
    pub fn calm(&self) -> Self {
        Self {
            host_only: self.host_only,
            stack: self.stack,
            money: self.money,
            acts: self.acts,
            fault_every: u64::MAX,
            ..Self::default()
        }
    }
}
