//! What an agent may do, and who decided.

use super::safety::Judgement;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How much an agent may do without asking. Each step allows what the one before does, and more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// It looks: nothing in the folder changes, and programs can write to their scratch directory only.
    Observe,
    /// It changes files in its folder and runs programs there, without network. Reaching further is refused.
    Light,
    /// The same; for what reaches further its owner is asked.
    #[default]
    Advanced,
    /// Programs and fetches may use the network without asking.
    Pro,
    /// Nothing is asked: programs run with all rights of the owner. What belongs to this installation stays closed.
    CyberPro,
}

impl Mode {
    /// Every mode, the narrowest first.
    pub const ALL: [Self; 5] = [Self::Observe, Self::Light, Self::Advanced, Self::Pro, Self::CyberPro];

    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Light => "light",
            Self::Advanced => "advanced",
            Self::Pro => "pro",
            Self::CyberPro => "cyber_pro",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == text).ok_or(UnknownMode)
    }
}

/// There is no such mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownMode;

impl fmt::Display for UnknownMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the modes are observe, light, advanced, pro and cyber_pro")
    }
}

impl std::error::Error for UnknownMode {}

/// What was decided about a call, and by whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// Whether it was allowed.
    pub allowed: bool,
    /// Who decided.
    pub by: Decider,
    /// The rule, in words.
    pub rule: String,
    /// What a second look by a model came to, where the call is one that is looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<Judgement>,
}

/// Who decided about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decider {
    /// The mode of the task.
    Mode,
    /// A rule that the owner left for longer than once.
    Rule,
    /// The owner, asked about this call.
    Owner,
    /// Nobody: the owner was asked and did not answer in time.
    Nobody,
    /// A second look by a model, at what was allowed otherwise.
    Safety,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lead_back_to_their_modes_and_are_those_of_the_wire() {
        for mode in Mode::ALL {
            assert_eq!(mode.as_str().parse(), Ok(mode));
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.as_str());
        }
        assert_eq!("root".parse::<Mode>(), Err(UnknownMode));
        assert!(Mode::Observe < Mode::CyberPro);
    }
}
