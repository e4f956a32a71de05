//! What an agent is given to do.

use super::policy::Mode;
use super::request::Effort;
use super::transcript::CallImage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A task in words, and how it is worked on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// What is wanted.
    pub prompt: String,
    /// A route, or a model's name; the default route when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// How much the model should think.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Answers of the model after which it must deliver.
    pub max_rounds: u32,
    /// How much it may do without asking.
    #[serde(default)]
    pub mode: Mode,
    /// Where programs are looked for, as in `PATH`; the server's own when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// JSON Schema that what is delivered must satisfy; then it is a JSON value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Images that go with it, as the owner gave them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<CallImage>,
    /// Whether no model is asked: the answers are those that the task before it recorded, whose transcript it begins with.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replay: bool,
}
