//! Money. Integers only; a sum that would overflow saturates at the largest amount, so a limit can never be passed by wrapping.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A thousand-millionth of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub struct NanoDollars(u64);

impl NanoDollars {
    /// An amount of this many nano-dollars.
    #[must_use]
    pub const fn new(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nano-dollars.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The sum, or the largest amount when it does not fit.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for NanoDollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}
