//! How many tokens a request will have: measured on the answers of this task, never guessed where something was counted.

use ouroboros_proto::agent::TokenUsage;

/// Tokens of a thousand bytes before anything was counted: more than text in most languages has.
const AT_FIRST: u64 = 400;
/// No tokenizer in use has more.
const MOST: u64 = 1_000;
/// Fewer are a slip of who counted.
const LEAST: u64 = 20;
/// Text of which a token stands for more bytes than this is rare: a request of which even then too many are left does not fit.
const BYTES_OF_A_TOKEN: u64 = 8;

/// The tokens of a byte.
#[derive(Debug, Default, Clone, Copy)]
pub struct Measure {
    /// Tokens of a thousand bytes in the last two requests, the newest first.
    seen: [Option<u64>; 2],
}

impl Measure {
    /// A request of so many bytes was counted.
    pub fn counted(&mut self, bytes: u64, usage: &TokenUsage) {
        if let Some(input) = usage.input.filter(|input| *input > 0 && bytes > 0) {
            self.see(input, bytes);
        }
    }

    /// A request of so many bytes had more tokens than this.
    pub fn had_more_than(&mut self, bytes: u64, tokens: u64) {
        if bytes > 0 && self.tokens(bytes) <= tokens {
            self.see(tokens.saturating_add(1), bytes);
        }
    }

    fn see(&mut self, tokens: u64, bytes: u64) {
        let [last, _] = self.seen;
        let now = tokens.saturating_mul(1_000).div_ceil(bytes.max(1)).clamp(LEAST, MOST);
        self.seen = [Some(now), last];
    }

    fn of_a_thousand(&self) -> u64 {
        self.seen.iter().flatten().copied().max().unwrap_or(AT_FIRST)
    }

    /// The tokens that a request of so many bytes is believed to have.
    pub fn tokens(&self, bytes: u64) -> u64 {
        bytes.saturating_mul(self.of_a_thousand()).div_ceil(1_000)
    }

    /// The bytes of a request that is believed to have so many tokens.
    pub fn bytes(&self, tokens: u64) -> u64 {
        tokens.saturating_mul(1_000) / self.of_a_thousand().max(1)
    }
}

/// The tokens that a request of so many bytes has at least, as far as anybody can say.
pub const fn at_least(bytes: u64) -> u64 {
    bytes / BYTES_OF_A_TOKEN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_believed_and_the_dearer_of_two() {
        let usage = |input| TokenUsage { input, ..TokenUsage::default() };
        let mut measure = Measure::default();
        assert_eq!(measure.tokens(1_000), AT_FIRST);
        measure.counted(4_000, &usage(None));
        assert_eq!(measure.tokens(1_000), AT_FIRST);
        measure.counted(4_000, &usage(Some(1_000)));
        assert_eq!((measure.tokens(8_000), measure.bytes(2_000)), (2_000, 8_000));
        measure.counted(4_000, &usage(Some(800)));
        assert_eq!(measure.tokens(4_000), 1_000);
        measure.counted(4_000, &usage(Some(800)));
        assert_eq!(measure.tokens(4_000), 800);
        measure.counted(4_000, &usage(Some(150_000)));
        assert_eq!(measure.tokens(4_000), 4_000, "a token stands for at least a byte");
        let mut measure = Measure::default();
        measure.had_more_than(1_000, 700);
        assert_eq!(measure.tokens(1_000), 701);
        measure.had_more_than(1_000, 10);
        assert_eq!(measure.tokens(1_000), 701);
    }
}
