//! The one table of bounds. Everything that queues, grows, waits or is read from outside has a row here.
//!
//! Rows with a [`Code`](crate::api::Code) are refusals that a caller meets; rows without one bound something internal that
//! drops, truncates or waits, and says so where it does.

use crate::api::Code;

/// One bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Its name, as shown in `detail.limit` of a refusal.
    pub name: &'static str,
    /// The largest allowed value.
    pub max: u64,
    /// What `max` counts.
    pub unit: &'static str,
    /// The refusal that a caller gets past it.
    pub refusal: Option<Code>,
}

macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident = $max:expr, $unit:literal, $refusal:expr;)*) => {
        $($(#[$doc])* pub const $name: Limit =
            Limit { name: stringify!($name), max: $max, unit: $unit, refusal: $refusal };)*

        /// Every bound, in the order of this file.
        pub const ALL: &[Limit] = &[$($name),*];
    };
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

limits! {
    /// Unsettled tasks, when `queue.max_tasks` is not lower.
    PENDING_TASKS = 1_000_000, "tasks", Some(Code::QueueFull);
    /// Tasks in one request.
    TASKS_PER_REQUEST = 1_000, "tasks", Some(Code::TooManyTasks);
    /// Body of an HTTP request.
    REQUEST_BODY = 8 * MIB, "bytes", Some(Code::BodyTooLarge);
    /// Nesting of a JSON body.
    JSON_DEPTH = 32, "levels", Some(Code::BadJson);
    /// Arguments of one command.
    ARGV_ITEMS = 16_384, "arguments", Some(Code::ArgvTooLarge);
    /// Bytes of all arguments of one command.
    ARGV_BYTES = MIB, "bytes", Some(Code::ArgvTooLarge);
    /// Bytes of one argument; the kernel's own bound.
    ARGUMENT_BYTES = 128 * KIB - 1, "bytes", Some(Code::ArgvTooLarge);
    /// Variables of one environment.
    ENV_ITEMS = 4_096, "variables", Some(Code::EnvTooLarge);
    /// Bytes of one environment.
    ENV_BYTES = 512 * KIB, "bytes", Some(Code::EnvTooLarge);
    /// Bytes of a working directory's path.
    CWD_BYTES = 4_095, "bytes", Some(Code::BadDirectory);
    /// Bytes of a question with its images, as it is sent to the worker.
    ASK_BYTES = 6 * MIB, "bytes", Some(Code::PromptTooLarge);
    /// Answers of the model in one task in words.
    AGENT_ROUNDS = 10_000, "answers", Some(Code::BadField);
    /// Bytes of the schema of what a task in words delivers.
    OUTPUT_SCHEMA_BYTES = 64 * KIB, "bytes", Some(Code::BadSchema);
    /// Images that go with one task in words.
    AGENT_IMAGES = 16, "images", Some(Code::BadField);
    /// Messages to one task in words.
    MESSAGES_PER_TASK = 1_000, "messages", Some(Code::TooManyMessages);
    /// Messages that one task in words has not taken yet. With `MESSAGE_BYTES`, all of them fit a frame beside the task's words.
    MESSAGES_WAITING = 16, "messages", Some(Code::TooManyMessages);
    /// Bytes of one message.
    MESSAGE_BYTES = 64 * KIB, "bytes", Some(Code::MessageTooLarge);
    /// Files that one undo names.
    UNDO_FILES = 1_000, "files", Some(Code::BadField);
    /// Bytes of a file whose changes are shown line by line.
    DIFF_FILE_BYTES = MIB, "bytes", None;
    /// Bytes of all changes that one answer shows line by line.
    DIFF_BYTES = 4 * MIB, "bytes", None;
    /// Bytes of stored standard input.
    STDIN_BYTES = 4 * MIB, "bytes", Some(Code::StdinTooLarge);
    /// Characters of a task's name.
    NAME_CHARS = 200, "characters", Some(Code::NameTooLong);
    /// Characters of an idempotency key.
    KEY_CHARS = 200, "characters", Some(Code::KeyTooLong);
    /// Tasks that one task may come after.
    AFTER_ITEMS = 64, "tasks", Some(Code::TooManyDependencies);
    /// Retries of one task.
    RETRIES = 100, "retries", Some(Code::BadField);
    /// Delay before a task's first start: 366 days.
    DELAY_MILLIS = 366 * 86_400_000, "milliseconds", Some(Code::BadField);
    /// Time one attempt may take: 366 days.
    TIMEOUT_MILLIS = 366 * 86_400_000, "milliseconds", Some(Code::BadField);
    /// Time that a cancelled process may take to end by itself.
    GRACE_MILLIS = 600_000, "milliseconds", Some(Code::BadField);
    /// Slots.
    SLOTS = 256, "slots", Some(Code::BadField);
    /// Rows in one page of a listing.
    PAGE_ROWS = 1_000, "rows", Some(Code::BadField);
    /// Open HTTP connections.
    HTTP_CONNECTIONS = 1_024, "connections", Some(Code::TooManyConnections);
    /// Open event streams.
    EVENT_STREAMS = 256, "streams", Some(Code::TooManyStreams);
    /// Bytes of request headers.
    HEADER_BYTES = 32 * KIB, "bytes", Some(Code::HeadersTooLarge);
    /// Time a client may take to send its request headers.
    HEADER_MILLIS = 5_000, "milliseconds", None;
    /// Time a client may take to send its request body.
    BODY_MILLIS = 30_000, "milliseconds", Some(Code::RequestTimeout);
    /// Requests that wait for the decision core.
    PENDING_REQUESTS = 4_096, "requests", Some(Code::Busy);
    /// Decisions that are stacked on commits not yet durable.
    UNDURABLE_DECISIONS = 1_024, "decisions", None;
    /// Decisions in one commit.
    DECISIONS_PER_COMMIT = 256, "decisions", None;
    /// One frame between server and worker.
    FRAME_BYTES = 8 * MIB, "bytes", None;
    /// Worker connections that have not said hello.
    UNGREETED_CONNECTIONS = 64, "connections", None;
    /// Time from a worker's start to its hello.
    READY_MILLIS = 5_000, "milliseconds", None;
    /// Frames from one worker that wait for the decision core; then its socket is no longer read.
    FRAMES_PER_WORKER = 64, "frames", None;
    /// Tool processes of one attempt that are recorded at once.
    PROCESSES_PER_ATTEMPT = 256, "processes", None;
    /// Longest pause between worker starts while workers die.
    SPAWN_PAUSE_MILLIS = 30_000, "milliseconds", None;
    /// Longest pause before a failed task is tried again.
    RETRY_PAUSE_MILLIS = 300_000, "milliseconds", None;
    /// Counted worker deaths after which a task runs alone.
    CRASHES_BEFORE_ALONE = 2, "deaths", None;
    /// Bytes of what an attempt asks its owner.
    REQUEST_BYTES = 64 * KIB, "bytes", None;
    /// Bytes of a question with its options.
    QUESTION_BYTES = 8 * KIB, "bytes", None;
    /// Options of one question.
    REQUEST_OPTIONS = 8, "options", None;
    /// Bytes of what would be done, as the owner is told when asked for approval.
    APPROVAL_SUMMARY_BYTES = 4 * KIB, "bytes", None;
    /// Bytes of a rule that an answer would save.
    RULE_BYTES = 4 * KIB, "bytes", None;
    /// Requests of one task, answered ones too; a further one is withdrawn at once.
    REQUESTS_PER_TASK = 1_000, "requests", None;
    /// Bytes of an answer to a request.
    ANSWER_BYTES = 8 * KIB, "bytes", Some(Code::BadAnswer);
    /// Rules of the owner, those for single tasks too.
    RULES = 256, "rules", Some(Code::TooManyRules);
    /// Attempts that lend their slot while they wait for their owner; further ones keep theirs.
    LENT_SLOTS = 64, "slots", None;
    /// Time that a request may wait for its owner: 366 days.
    REQUEST_MILLIS = 366 * 86_400_000, "milliseconds", None;
    /// Login codes that wait to be used.
    LOGIN_CODES = 16, "codes", Some(Code::Busy);
    /// Browser sessions.
    SESSIONS = 64, "sessions", None;
}
