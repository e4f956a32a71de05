//! What may be spent.

use ouroboros_proto::kind::NanoDollars;
use std::fmt;

/// An amount of dollars, or no limit. Nothing is an amount too: then nothing may be spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance(pub Option<NanoDollars>);

impl Allowance {
    /// Reads `2`, `0.50`, `$10.00` or `none`.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        match text {
            "none" => Some(Self(None)),
            _ if text.contains(['e', 'E']) => None,
            _ => NanoDollars::from_dollars(text.strip_prefix('$').unwrap_or(text)).map(|amount| Self(Some(amount))),
        }
    }
}

/// As it is written in the file: `2.00`, `none`.
impl fmt::Display for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("none"),
            Some(amount) => f.write_str(amount.to_string().trim_start_matches('$')),
        }
    }
}
