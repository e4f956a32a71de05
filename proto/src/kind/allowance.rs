//! What may be spent.

use super::NanoDollars;
use super::money::NoAmount;
use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// An amount, or no limit. Nothing is an amount too: then nothing may be spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance(pub Option<NanoDollars>);

impl Allowance {
    /// Reads `2`, `0.50`, `$10.00` or `none`.
    ///
    /// # Errors
    /// It says neither an amount nor `none`.
    pub fn read(text: &str) -> Result<Self, NoAmount> {
        match text {
            "none" => Ok(Self(None)),
            _ => NanoDollars::read(text).map(|amount| Self(Some(amount))),
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

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Json {
    Nanos(NanoDollars),
    Word(String),
}

/// Nano-dollars, or the word `none`.
impl Serialize for Allowance {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.map_or_else(|| Json::Word("none".to_owned()), Json::Nanos).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Allowance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Json::deserialize(deserializer)? {
            Json::Nanos(amount) => Ok(Self(Some(amount))),
            Json::Word(word) if word == "none" => Ok(Self(None)),
            Json::Word(word) => Err(D::Error::invalid_value(Unexpected::Str(&word), &"nano-dollars or none")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_and_shown_as_people_write_it() {
        for (text, amount, shown) in [
            ("none", None, "none"),
            ("0", Some(0), "0.00"),
            ("$0.50", Some(500_000_000), "0.50"),
            ("2", Some(2_000_000_000), "2.00"),
        ] {
            let allowance = Allowance(amount.map(NanoDollars::new));
            assert_eq!(Allowance::read(text), Ok(allowance), "{text}");
            assert_eq!(allowance.to_string(), shown);
            let json = serde_json::to_value(allowance).unwrap();
            assert_eq!(json.is_string(), amount.is_none(), "{json}");
            assert_eq!(serde_json::from_value::<Allowance>(json).unwrap(), allowance);
        }
        assert!(Allowance::read("None").is_err() && serde_json::from_str::<Allowance>("\"much\"").is_err());
    }
}
