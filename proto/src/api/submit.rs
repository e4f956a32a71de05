//! What a client sends to have work done, and what is stored of it.

use crate::agent::{Effort, Mode};
use crate::kind::{Isolation, Priority, TaskId, TaskNumber};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One task to accept: body of `POST /api/tasks`, an item of [`SubmitMany`], a line of `ouroboros submit`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct SubmitOne {
    /// A command to run. One of this, `ask` and `agent`.
    #[serde(default, skip_serializing_if = "CommandSpec::is_absent")]
    pub command: CommandSpec,
    /// A question to a model. One of this, `command` and `agent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<AskSpec>,
    /// A task in words. One of this, `command` and `ask`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentSpec>,
    /// A name for people; the command line when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Idempotency key: the same key with the same body gives the same task, with another body is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// `low`, `normal`, `high` or `urgent`.
    #[serde(default, with = "priority_word", skip_serializing_if = "is_normal")]
    pub priority: Priority,
    /// Milliseconds before it may start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// Tasks that must complete first: numbers, ids or `last`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// Whether it waits to be released.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hold: bool,
    /// Whether it may run again after an interruption, though it may have had effects.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rerun: bool,
    /// How often it is tried again after it failed. What a model may have answered is asked again only with `rerun`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u32,
    /// Milliseconds that one attempt may take; the configured bound when absent, 0 for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// `namespace` (default) or `host`.
    #[serde(default, with = "isolation_word", skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Dollars that it may spend on models, as text: `0.50`. The configured limit when absent, `none` for no limit of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<String>,
    /// An unsettled task that it belongs to: number, id or `last`. What it spends counts against that task's tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// A question to a model, without tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct AskSpec {
    /// The question.
    pub prompt: String,
    /// What holds for the answer as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// A route such as `openai/gpt-5.1`, or a model's name; the default route when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// Most tokens of the answer, thinking included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// How much the model should think.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// JSON Schema that the provider is told to make the answer follow; what comes is not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<serde_json::Value>,
    /// Images that go with the question.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageSpec>,
    /// Whether it waits for a route when there is none, instead of being refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wait_model: bool,
}

/// A task in words: a model works on it with tools, in a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct AgentSpec {
    /// What is wanted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// Absolute path of the folder it works in. It may read and change files there, and nowhere else. Only with `from` it may be absent:
    /// then it is that task's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// The task in words that it continues: it begins with what that one did and heard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<FromSpec>,
    /// A route such as `openai/gpt-5.1`, or a model's name; the default route when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// How much the model should think.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Answers of the model after which it must deliver; `agent.max_rounds` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u32>,
    /// Whether it waits for a route when there is none, instead of being refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wait_model: bool,
    /// How much it may do without asking; `agent.mode` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Where programs are looked for, as in `PATH`; the server's own when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether it may change files in its folder while other tasks do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parallel: bool,
    /// JSON Schema that what it delivers must satisfy; then its output is that JSON value, on one line. Complete in itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<serde_json::Value>,
    /// Images that go with what is wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageSpec>,
    /// A task in words that has ended, whose recorded answers are gone through again with the tools of today: number, id or `last`. No
    /// model is asked. Prompt and folder are that task's where they are not given, and the mode is `observe`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
}

/// What a task in words begins with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct FromSpec {
    /// The task: number, id or `last`. Without `round` it must have settled.
    pub task: String,
    /// With everything up to this answer of the model and the results of its calls, counted from 1 over the whole transcript;
    /// with all of it when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
}

/// Which task another one continues, as it was when that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Continued {
    /// The task.
    pub task: TaskId,
    /// Its number.
    pub number: TaskNumber,
    /// Answers of the model that were taken over.
    pub round: u32,
    /// Whether the round was named, so that what came after it was left out.
    pub fork: bool,
    /// Whether its recorded answers are gone through again, instead of asking a model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replay: bool,
}

/// An image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageSpec {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media_type: String,
    /// Its bytes, base64.
    pub data: String,
}

/// An argument vector and the surroundings it runs in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct CommandSpec {
    /// Program and arguments. Never interpreted by a shell.
    pub argv: Vec<String>,
    /// Absolute working directory; the owner's home when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Variables to set, over the server's allow-list (`PATH`, `HOME`, `USER`, `LOGNAME`, `SHELL`, `LANG`, `LC_*`, `TZ`, `TMPDIR`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Whether `env` is the whole environment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub clean_env: bool,
    /// File mode creation mask, 0 to 511.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub umask: Option<u32>,
    /// Standard input as text; `/dev/null` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Standard input as base64, for bytes that are not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin_base64: Option<String>,
    /// A terminal of this size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pty: Option<PtySpec>,
}

impl CommandSpec {
    /// Whether nothing of it was given.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        *self == Self::default()
    }
}

/// Size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PtySpec {
    /// Columns.
    pub columns: u16,
    /// Rows.
    pub rows: u16,
}

/// Many tasks, accepted all or none in one commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubmitMany {
    /// The tasks, in order.
    pub tasks: Vec<SubmitOne>,
}

/// An accepted task. It is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmitAnswer {
    /// Its id.
    pub id: TaskId,
    /// Its number.
    pub number: TaskNumber,
    /// Whether an earlier request with the same key made it.
    pub duplicate: bool,
}

/// Accepted tasks, in the order of the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmitManyAnswer {
    /// The tasks.
    pub tasks: Vec<SubmitAnswer>,
}

/// What the store keeps of a task's request, as JSON. Fields may be added with a default, never renamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSpec {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Absolute working directory.
    pub cwd: String,
    /// File mode creation mask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub umask: Option<u32>,
    /// Content hash (SHA-256, hex) of the environment, kept apart because many tasks share one.
    pub env: String,
    /// Content hash of stored standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Size of the terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pty: Option<PtySpec>,
    /// Name, when one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A question to a model; then the fields of a command are empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<StoredAsk>,
    /// A task in words; then the fields of a command are empty but for the directory, which is its folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<StoredAsk>,
    /// The task in words that this one continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Continued>,
}

impl StoredSpec {
    /// Of a question: nothing of a command.
    #[must_use]
    pub fn question(ask: StoredAsk, name: Option<String>) -> Self {
        Self {
            argv: Vec::new(),
            cwd: String::new(),
            umask: None,
            env: String::new(),
            stdin: None,
            pty: None,
            name,
            ask: Some(ask),
            agent: None,
            from: None,
        }
    }

    /// Of a task in words that is worked on in `folder`.
    #[must_use]
    pub fn agent(job: StoredAsk, folder: String, name: Option<String>) -> Self {
        Self { cwd: folder, ask: None, agent: Some(job.clone()), ..Self::question(job, name) }
    }
}

/// What the store keeps of a question or a task in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredAsk {
    /// Content hash of the [`ModelRequest`](crate::agent::ModelRequest) or the [`Job`](crate::agent::Job) as JSON.
    pub request: String,
    /// Its first characters, for people.
    pub head: String,
    /// The route that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde calls")]
fn is_zero(value: &u32) -> bool {
    *value == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde calls")]
fn is_normal(priority: &Priority) -> bool {
    *priority == Priority::Normal
}

mod priority_word {
    use crate::kind::Priority;
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde calls")]
    pub fn serialize<S: Serializer>(priority: &Priority, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(priority.as_str())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Priority, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

mod isolation_word {
    use crate::kind::Isolation;
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    #[expect(clippy::ref_option, reason = "the signature serde calls")]
    pub fn serialize<S: Serializer>(isolation: &Option<Isolation>, serializer: S) -> Result<S::Ok, S::Error> {
        match isolation {
            None => serializer.serialize_none(),
            Some(Isolation::Namespace) => serializer.serialize_str("namespace"),
            Some(Isolation::Host) => serializer.serialize_str("host"),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Isolation>, D::Error> {
        match Option::<String>::deserialize(deserializer)?.as_deref() {
            None => Ok(None),
            Some("namespace") => Ok(Some(Isolation::Namespace)),
            Some("host") => Ok(Some(Isolation::Host)),
            Some(other) => Err(D::Error::custom(format!("unknown isolation {other:?}; it is namespace or host"))),
        }
    }
}
