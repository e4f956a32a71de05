//! What a request is billed: the truth that the product's ledger is compared with.
//!
//! Tokens that the script does not give are counted: one for each begun four bytes of text. The prompt is every text in the
//! body's turns, system prompt and tools; the answer is its text, its thinking, and the names and arguments of its tool calls.
//!
//! An answer is billed whole as soon as the request is taken, whatever becomes of the connection. An error, a connection that is
//! hung up and one that is never answered are not billed. `bill` in the rule says otherwise. An endless answer is billed by the
//! words that were sent.

use serde::{Deserialize, Serialize};

/// Tokens as a script gives them.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Usage {
    /// All of the prompt.
    pub input: Option<u64>,
    /// All of the answer, thinking included.
    pub output: Option<u64>,
    /// Of the prompt, read from a cache.
    pub cached: u64,
    /// Of the prompt, written to a cache.
    pub cache_write: u64,
    /// Of the answer, thinking.
    pub reasoning: Option<u64>,
}

/// Tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tokens {
    /// All of the prompt.
    pub input: u64,
    /// All of the answer, thinking included.
    pub output: u64,
    /// Of the prompt, read from a cache.
    pub cached: u64,
    /// Of the prompt, written to a cache.
    pub cache_write: u64,
    /// Of the answer, thinking.
    pub reasoning: u64,
}

impl Usage {
    /// With `counted` in place of what is not given.
    pub fn or(self, counted: Tokens) -> Tokens {
        Tokens {
            input: self.input.unwrap_or(counted.input),
            output: self.output.unwrap_or(counted.output),
            cached: self.cached,
            cache_write: self.cache_write,
            reasoning: self.reasoning.unwrap_or(counted.reasoning),
        }
    }
}

impl Tokens {
    /// Prompt and answer.
    pub const fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// The prompt without what a cache had to do with.
    pub const fn uncached(&self) -> u64 {
        self.input.saturating_sub(self.cached).saturating_sub(self.cache_write)
    }

    /// The answer without thinking.
    pub const fn visible(&self) -> u64 {
        self.output.saturating_sub(self.reasoning)
    }
}

/// Nano-dollars a token.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Price {
    /// Of the prompt.
    pub input: u64,
    /// Of the answer.
    pub output: u64,
    /// Of the prompt, read from a cache; as any other when absent.
    pub cached: Option<u64>,
    /// Of the prompt, written to a cache; as any other when absent.
    pub cache_write: Option<u64>,
    /// Each request.
    pub request: u64,
}

impl Price {
    /// What these tokens cost, in nano-dollars.
    pub fn of(&self, tokens: &Tokens) -> u64 {
        [
            self.input.saturating_mul(tokens.uncached()),
            self.cached.unwrap_or(self.input).saturating_mul(tokens.cached),
            self.cache_write.unwrap_or(self.input).saturating_mul(tokens.cache_write),
            self.output.saturating_mul(tokens.output),
            self.request,
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }
}

/// One for each begun four bytes.
pub fn tokens_of(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX)
}

/// Dollars as plain decimal text, without a digit too many.
pub fn dollars(nanos: u64) -> String {
    let (whole, part) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    if part == 0 {
        return whole.to_string();
    }
    format!("{whole}.{part:09}").trim_end_matches('0').to_owned()
}

/// Nano-dollars of decimal text with or without an exponent, rounded up; `None` when it is anything else.
pub fn nanos(dollars: &str) -> Option<u64> {
    let (number, exponent) = match dollars.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
        None => (dollars, 0),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{part}");
    if whole.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let shift = exponent.checked_add(9)?.checked_sub(i32::try_from(part.len()).ok()?)?;
    let power = 10_u128.checked_pow(shift.unsigned_abs())?;
    let digits: u128 = digits.parse().ok()?;
    let amount = if shift < 0 { digits.div_ceil(power) } else { digits.checked_mul(power)? };
    u64::try_from(amount).ok()
}

/// Dollars as a script writes them: told digit for digit.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub struct Dollars {
    /// As they are written.
    pub text: String,
    /// How many nano-dollars that is, rounded up.
    pub nanos: u64,
}

impl TryFrom<String> for Dollars {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match nanos(&text) {
            Some(nanos) => Ok(Self { text, nanos }),
            None => Err(format!("{text:?} is no amount of dollars")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_and_nano_dollars_are_the_same_amount() {
        for (text, amount) in [("0", 0), ("0.0000025", 2_500), ("1.000000001", 1_000_000_001), ("12", 12_000_000_000)] {
            assert_eq!(nanos(text), Some(amount));
            assert_eq!(dollars(amount), text);
        }
        assert_eq!(nanos("0.0000000001"), Some(1), "rounded up");
        assert_eq!(nanos("1.4e-05"), Some(14_000), "as JSON writes small numbers");
        for wrong in ["", ".5", "-1", "1e", "1.2.3", "1e99", "+1"] {
            assert_eq!(nanos(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn each_part_of_the_prompt_is_charged_once() {
        let price = Price { input: 10, output: 100, cached: Some(1), cache_write: Some(12), request: 5 };
        let tokens = Tokens { input: 100, output: 3, cached: 60, cache_write: 30, reasoning: 2 };
        assert_eq!(price.of(&tokens), 10 * 10 + 60 + 30 * 12 + 300 + 5);
    }
}
