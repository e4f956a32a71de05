//! Every refusal and failure that a caller can meet.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $status:literal;)*) => {
        /// A stable name for what went wrong. Texts may change, codes do not.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Code {
            $($(#[$doc])* #[serde(rename = $text)] $name,)*
        }

        impl Code {
            /// Every code, in the order of this file.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The code as it stands in an answer.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// The HTTP status that goes with it.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(Self::$name => $status),* }
            }
        }
    };
}

codes! {
    /// The body is not JSON, or nested too deeply.
    BadJson = "bad_json", 400;
    /// A field is unknown, of the wrong type, or out of its bounds.
    BadField = "bad_field", 400;
    /// No argument vector, or an empty program name.
    EmptyArgv = "empty_argv", 400;
    /// There is no question, or there is a command as well.
    EmptyPrompt = "empty_prompt", 400;
    /// The question with its images is over its bounds.
    PromptTooLarge = "prompt_too_large", 413;
    /// The argument vector is over its bounds.
    ArgvTooLarge = "argv_too_large", 413;
    /// The environment is over its bounds.
    EnvTooLarge = "env_too_large", 413;
    /// A variable's name is empty or has `=` or NUL in it, or its value has NUL in it.
    BadEnv = "bad_env", 400;
    /// The working directory is not absolute, too long, or not a directory.
    BadDirectory = "bad_directory", 400;
    /// The standard input is over its bounds.
    StdinTooLarge = "stdin_too_large", 413;
    /// The name is too long.
    NameTooLong = "name_too_long", 400;
    /// The idempotency key is too long or empty.
    KeyTooLong = "key_too_long", 400;
    /// The same idempotency key came with another request.
    KeyConflict = "key_conflict", 409;
    /// Too many tasks to come after.
    TooManyDependencies = "too_many_dependencies", 400;
    /// A task to come after does not exist.
    UnknownDependency = "unknown_dependency", 400;
    /// A task to come after has already failed or was cancelled.
    DependencyFailed = "dependency_failed", 409;
    /// Too many tasks in one request.
    TooManyTasks = "too_many_tasks", 413;
    /// The queue is full.
    QueueFull = "queue_full", 429;
    /// No such task.
    UnknownTask = "unknown_task", 404;
    /// The task has settled; that cannot be changed.
    AlreadySettled = "already_settled", 409;
    /// The task has not settled.
    NotSettled = "not_settled", 409;
    /// The task is running; this is only for queued ones.
    AlreadyRunning = "already_running", 409;
    /// The task that it is to belong to does not exist or has ended.
    ParentNotLive = "parent_not_live", 409;
    /// The schema of what is to be delivered cannot be used.
    BadSchema = "bad_schema", 400;
    /// The route to the model takes no images.
    NoImages = "no_images", 409;
    /// That is only for tasks in words.
    NotInWords = "not_in_words", 409;
    /// The task has delivered, has ended or is being cancelled: it hears nothing any more.
    NotListening = "not_listening", 409;
    /// Too many messages to the task.
    TooManyMessages = "too_many_messages", 429;
    /// The message is too long.
    MessageTooLarge = "message_too_large", 413;
    /// No attempt of the task is under way.
    NotRunning = "not_running", 409;
    /// The task has not recorded that round.
    UnknownRound = "unknown_round", 409;
    /// The task waits neither for its owner nor for a model.
    NotPaused = "not_paused", 409;
    /// The task is still saving itself.
    StillPausing = "still_pausing", 409;
    /// A limit on spending leaves nothing.
    NothingLeft = "nothing_left", 409;
    /// There is no route to a model, or none of that name.
    NoModelRoute = "no_model_route", 409;
    /// No such send to a provider.
    UnknownSend = "unknown_send", 404;
    /// What the send cost is known, or is about to be.
    NotUnresolved = "not_unresolved", 409;
    /// The task has no request of that number.
    UnknownRequest = "unknown_request", 404;
    /// No such call of a tool is under way.
    CallNotUnderWay = "call_not_under_way", 409;
    /// The request is answered, or over without an answer.
    RequestClosed = "request_closed", 409;
    /// It is no answer to this request.
    BadAnswer = "bad_answer", 400;
    /// The owner has as many rules as there may be.
    TooManyRules = "too_many_rules", 409;
    /// No rule has that number.
    UnknownRule = "unknown_rule", 404;
    /// No provider goes by that name.
    UnknownProvider = "unknown_provider", 404;
    /// It cannot be a key.
    BadKey = "bad_key", 400;
    /// The task's specification or output is no longer kept.
    Expired = "expired", 410;
    /// Events before this one are no longer kept.
    EventsExpired = "events_expired", 410;
    /// The range lies outside of what is kept of the stream.
    BadRange = "bad_range", 416;
    /// No such path.
    UnknownPath = "unknown_path", 404;
    /// The path does not answer to this method.
    BadMethod = "bad_method", 405;
    /// The body must be `application/json`.
    BadMediaType = "bad_media_type", 415;
    /// The request body is too large.
    BodyTooLarge = "body_too_large", 413;
    /// The request headers are too large.
    HeadersTooLarge = "headers_too_large", 431;
    /// The request took too long to arrive.
    RequestTimeout = "request_timeout", 408;
    /// Not logged in, or the login has ended.
    Unauthorized = "unauthorized", 401;
    /// Logged in, but this request is not allowed: wrong host, origin, or missing confirmation header.
    Forbidden = "forbidden", 403;
    /// Too many connections.
    TooManyConnections = "too_many_connections", 503;
    /// Too many open event streams.
    TooManyStreams = "too_many_streams", 503;
    /// Too much is waiting; try again.
    Busy = "busy", 503;
    /// The server is stopping.
    Stopping = "stopping", 503;
    /// The disk is too full to accept work.
    DiskFull = "disk_full", 507;
    /// Storage does not answer; nothing was accepted.
    StorageStalled = "storage_stalled", 503;
    /// Storage failed; the request was not accepted.
    NotAccepted = "not_accepted", 503;
    /// Storage failed and whether the request was accepted is not known: repeat it with the same key.
    CommitUnknown = "commit_unknown", 503;
    /// The configuration is not valid.
    BadConfig = "bad_config", 400;
    /// A fault of ours.
    Internal = "internal", 500;
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The body of every answer that is not a success.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// What happened, for programs.
    pub code: Code,
    /// What happened and what was kept, for people; one sentence or two.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// Facts: the limit, the field, the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<serde_json::Value>,
}

impl ApiError {
    /// An error with a message.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), remedy: None, detail: None }
    }

    /// The same with what to do about it.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// The same with facts.
    #[must_use]
    pub fn detail(mut self, detail: serde_json::Value) -> Self {
        self.detail = Some(detail);
        self
    }

    /// A refusal by a row of the limits table. `found` is in the limit's unit.
    #[must_use]
    pub fn limit(limit: &crate::limits::Limit, found: u64) -> Self {
        Self::new(
            limit.refusal.unwrap_or(Code::Internal),
            format!("{found} {} is over the limit of {} {}; nothing was accepted", limit.unit, limit.max, limit.unit),
        )
        .detail(serde_json::json!({ "limit": limit.name, "max": limit.max, "found": found, "unit": limit.unit }))
    }
}
