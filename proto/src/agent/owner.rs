//! What an attempt asks its owner, what the owner answers, and the rules that answers leave behind.

use crate::kind::{RequestKind, RuleEffect, RuleId, RuleScope};
use crate::limits::{APPROVAL_SUMMARY_BYTES, QUESTION_BYTES, REQUEST_OPTIONS, RULE_BYTES};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// Something that only the owner can say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum OwnerRequest {
    /// A question. It can always be answered in words of the owner's own.
    Question {
        /// In words.
        text: String,
        /// Answers that are offered.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
    },
    /// Whether something may be done.
    Approval {
        /// The tool that would do it.
        tool: String,
        /// What exactly would be done.
        summary: String,
        /// Which rule asks, in words.
        why: String,
        /// What would be saved for an answer that is to hold for longer; without it each answer is for once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<Value>,
    },
}

impl OwnerRequest {
    /// What kind of answer is wanted.
    #[must_use]
    pub const fn kind(&self) -> RequestKind {
        match self {
            Self::Question { .. } => RequestKind::Question,
            Self::Approval { .. } => RequestKind::Approval,
        }
    }

    /// What is wrong with it; `None` when it is within its bounds.
    #[must_use]
    pub fn fault(&self) -> Option<&'static str> {
        let longer = |text: &str, most: u64| u64::try_from(text.len()).unwrap_or(u64::MAX) > most;
        match self {
            Self::Question { text, options } => {
                let count = u64::try_from(options.len()).unwrap_or(u64::MAX);
                if text.trim().is_empty() {
                    Some("the question is empty")
                } else if count > REQUEST_OPTIONS.max {
                    Some("there are too many options")
                } else if options.iter().any(|option| option.trim().is_empty()) {
                    Some("an option is empty")
                } else {
                    let bytes = options.iter().map(String::len).fold(text.len(), usize::saturating_add);
                    let long = u64::try_from(bytes).unwrap_or(u64::MAX) > QUESTION_BYTES.max;
                    long.then_some("the question with its options is too long")
                }
            }
            Self::Approval { tool, summary, why, rule } => {
                let rule = rule.as_ref().map_or(0, |rule| rule.to_string().len());
                if tool.is_empty() || summary.trim().is_empty() {
                    Some("it does not say what would be done")
                } else if longer(summary, APPROVAL_SUMMARY_BYTES.max) {
                    Some("what would be done is too long to be shown")
                } else if longer(tool, 200) || longer(why, 1_000) {
                    Some("its reason is too long")
                } else {
                    (u64::try_from(rule).unwrap_or(u64::MAX) > RULE_BYTES.max).then_some("its rule is too long")
                }
            }
        }
    }

    /// What is asked, on a line or more.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Question { text, .. } => text,
            Self::Approval { summary, .. } => summary,
        }
    }
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum OwnerAnswer {
    /// One of the options of a question.
    Option {
        /// Which, counted from 1.
        number: u32,
        /// Its words.
        text: String,
    },
    /// A question is answered in the owner's words.
    Text {
        /// They.
        text: String,
    },
    /// It may be done, this once.
    Once,
    /// It may be done, and whatever its rule matches, as long as the task goes on.
    Task,
    /// It may be done, and whatever its rule matches, from now on.
    Always,
    /// It may not be done.
    Deny {
        /// Why, in the owner's words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Nobody answered within the time: it may not be done.
    Expired,
    /// It cannot be answered any more: it may not be done.
    Withdrawn,
}

impl OwnerAnswer {
    /// Whether it lets what was asked for be done.
    #[must_use]
    pub const fn allows(&self) -> bool {
        match self {
            Self::Once | Self::Task | Self::Always => true,
            Self::Option { .. } | Self::Text { .. } | Self::Deny { .. } | Self::Expired | Self::Withdrawn => false,
        }
    }
}

/// What the owner allowed or forbade for longer than once. What the pattern matches is known to those who propose patterns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Which.
    pub id: RuleId,
    /// Where it holds.
    pub scope: RuleScope,
    /// The tool it is about.
    pub tool: String,
    /// What was proposed as the rule of the request that was answered.
    pub pattern: Value,
    /// What it says.
    pub effect: RuleEffect,
}

impl Rule {
    /// Whether it holds for work in this folder, absolute and without dots. One for a task is given to that task only.
    #[must_use]
    pub fn holds_in(&self, folder: &str) -> bool {
        match &self.scope {
            RuleScope::Installation | RuleScope::Task => true,
            RuleScope::Folder { path } => Path::new(folder).starts_with(Path::new(path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::REQUEST_BYTES;

    #[test]
    fn a_rule_for_a_folder_holds_in_it_and_beneath_it() {
        let rule = |scope| Rule {
            id: RuleId::new(1),
            scope,
            tool: "run".to_owned(),
            pattern: Value::Null,
            effect: RuleEffect::Allow,
        };
        let folder = rule(RuleScope::Folder { path: "/a/b".to_owned() });
        assert!(folder.holds_in("/a/b") && folder.holds_in("/a/b/c"));
        assert!(!folder.holds_in("/a") && !folder.holds_in("/a/bc"));
        assert!(rule(RuleScope::Installation).holds_in("/a") && rule(RuleScope::Task).holds_in("/a"));
    }

    #[test]
    fn what_is_asked_is_bounded() {
        let question = |text: &str, options: usize| OwnerRequest::Question {
            text: text.to_owned(),
            options: vec!["yes".to_owned(); options],
        };
        assert_eq!(question("which?", 8).fault(), None);
        for bad in [question(" ", 0), question("which?", 9), question(&"x".repeat(9 << 10), 0)] {
            assert!(bad.fault().is_some(), "{bad:?}");
        }
        let approval = |summary: usize, rule: usize| OwnerRequest::Approval {
            tool: "run".to_owned(),
            summary: "x".repeat(summary),
            why: String::new(),
            rule: Some(Value::String("x".repeat(rule))),
        };
        assert_eq!(approval(4 << 10, 4_094).fault(), None);
        for bad in [approval(0, 0), approval((4 << 10) + 1, 0), approval(1, 4_095)] {
            assert!(bad.fault().is_some());
        }
        // Escaped, a letter takes up to six bytes.
        let longest = OwnerRequest::Question { text: "\u{1}".repeat(8 << 10), options: Vec::new() };
        assert_eq!(longest.fault(), None);
        let json = serde_json::to_vec(&longest).expect("JSON").len();
        assert!(u64::try_from(json).expect("fits") < REQUEST_BYTES.max);
    }
}
