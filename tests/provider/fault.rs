//! An error before a dialect gives it its shape.

use crate::rule::{ErrorFrame, Rule};
use crate::wire::Asked;

/// An error.
#[derive(Debug, Clone)]
pub struct Fault {
    /// Status of the response.
    pub status: u16,
    /// For people.
    pub message: Option<String>,
    /// Code or kind; what goes with the status when absent.
    pub code: Option<String>,
    /// The field of the request that it is about.
    pub param: Option<String>,
    /// What it is about.
    pub kind: Kind,
    /// Seconds or a date.
    pub retry_after: Option<String>,
    /// The id of the request.
    pub request: String,
    /// The model.
    pub model: String,
}

/// What an error is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// What its status says.
    Status,
    /// The key is not accepted.
    Key,
    /// The prompt does not fit.
    Overflow {
        /// Tokens that fit.
        window: u64,
        /// Tokens that there are.
        prompt: u64,
    },
}

impl Fault {
    /// One with this status.
    pub fn status(asked: &Asked, request: &str, status: u16) -> Self {
        Self {
            status,
            message: None,
            code: None,
            param: None,
            kind: Kind::Status,
            retry_after: None,
            request: request.to_owned(),
            model: asked.model.clone(),
        }
    }

    /// The one of a key that is not accepted, with this status.
    pub fn key(asked: &Asked, request: &str, status: u16) -> Self {
        Self { kind: Kind::Key, ..Self::status(asked, request, status) }
    }

    /// The one of a rule; `None` when the rule answers.
    pub fn of(rule: &Rule, asked: &Asked, request: &str) -> Option<Self> {
        let kind = rule.overflow.map(|window| Kind::Overflow {
            window,
            prompt: crate::money::tokens_of(asked.prompt).max(window.saturating_add(1)),
        });
        let status = match (rule.status, kind) {
            (Some(status), _) => status,
            (None, Some(_)) => 400,
            (None, None) => return None,
        };
        Some(Self {
            message: rule.error.clone(),
            code: rule.code.clone(),
            param: rule.param.clone(),
            kind: kind.unwrap_or(Kind::Status),
            retry_after: rule.retry_after.as_ref().map(ToString::to_string),
            ..Self::status(asked, request, status)
        })
    }

    /// The one in the middle of a stream.
    pub fn frame(frame: &ErrorFrame, asked: &Asked, request: &str) -> Self {
        Self {
            message: Some(frame.message.clone()),
            code: frame.code.clone(),
            ..Self::status(asked, request, frame.status)
        }
    }

    /// Its message, or `usual`.
    pub fn message(&self, usual: impl FnOnce() -> String) -> String {
        self.message.clone().unwrap_or_else(usual)
    }

    /// Its code, or `usual`.
    pub fn code<'a>(&'a self, usual: &'a str) -> &'a str {
        self.code.as_deref().unwrap_or(usual)
    }
}
