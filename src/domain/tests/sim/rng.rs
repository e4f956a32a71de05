//! The only source of chance: splitmix64, so that a seed is a whole run.

use ouroboros_proto::kind::{ProcessId, TaskId};

#[derive(Clone)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Less than `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    pub fn percent(&mut self, chance: u64) -> bool {
        chance > 0 && self.below(100) < chance
    }

    pub fn permille(&mut self, chance: u64) -> bool {
        chance > 0 && self.below(1_000) < chance
    }

    pub fn pick<'list, T>(&mut self, list: &'list [T]) -> Option<&'list T> {
        let at = usize::try_from(self.below(list.len() as u64)).unwrap_or(0);
        list.get(at)
    }

    /// Between both bounds, each order of magnitude equally likely.
    pub fn span(&mut self, low: u64, high: u64) -> u64 {
        let doublings = (high / low.max(1)).max(1).ilog2();
        let scale = low << self.below(u64::from(doublings) + 1);
        (scale + self.below(scale.max(1))).min(high)
    }

    pub fn bytes(&mut self) -> [u8; 16] {
        let (high, low) = (self.next(), self.next());
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&high.to_be_bytes());
        bytes[8..].copy_from_slice(&low.to_be_bytes());
        bytes
    }

    pub fn task(&mut self) -> TaskId {
        TaskId::from_bytes(self.bytes())
    }

    pub fn process(&mut self) -> ProcessId {
        ProcessId::from_bytes(self.bytes())
    }
}
