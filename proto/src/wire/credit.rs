//! What the receiver of a call's pieces owes their sender.

use super::CALL_WINDOW;

/// Told from this much on: the sender has three quarters of the window left meanwhile, and a frame for each piece is saved.
const WORTH_A_FRAME: u64 = CALL_WINDOW / 4;

/// Counts the bytes of pieces that were taken and that the sender was not told of.
#[derive(Debug, Clone, Copy, Default)]
pub struct Credit {
    owed: u64,
}

impl Credit {
    /// Takes `bytes` in. What is to be told now, if it is worth it.
    pub fn take(&mut self, bytes: usize) -> Option<u64> {
        self.owed = self.owed.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        (self.owed >= WORTH_A_FRAME).then(|| std::mem::take(&mut self.owed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_told_before_the_window_is_used_up() {
        let mut credit = Credit::default();
        let (mut sent, mut told) = (0_u64, 0_u64);
        for bytes in [1, 7, 4_096, 65_535, 70_000, 300_000, 1, 1, 65_534].into_iter().cycle().take(90) {
            sent += bytes;
            told += credit.take(usize::try_from(bytes).expect("small")).unwrap_or_default();
            assert!(sent - told < CALL_WINDOW / 4, "{sent} {told}");
        }
        assert_eq!(Credit::default().take(10), None, "a short answer needs no frame");
    }
}
