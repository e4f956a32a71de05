//! Every setting. A new one is one row here; everything else follows.

use super::Effect::{Immediate, NextTask, Restart};
use super::Preset::{Fixed, Processors};
use super::define::settings;
use super::{Effect, Preset, Setting};
use crate::resolve::{Origin, Revision};
use crate::value::{Allowance, ByteSize, COVERAGES, Field, ISOLATIONS, Kind, LOG_LEVELS, LogLevel, MODES, Value};
use ouroboros_proto::agent::{Coverage, Mode};
use ouroboros_proto::kind::{Isolation, Millis};
use ouroboros_proto::limits;
use std::net::SocketAddr;

const MINUTE: u64 = 60;
const DAY: u64 = 24 * 60 * MINUTE;

const fn row(
    key: Key,
    description: &'static str,
    section: &'static str,
    name: &'static str,
    kind: Kind,
    preset: Preset,
    effect: Effect,
) -> Setting {
    Setting { key, description, section, name, kind, preset, effect, secret: false, owner_only: false }
}

const fn count(min: u64, max: u64) -> Kind {
    Kind::Integer { min, max }
}

const fn span(min: Millis, max: Millis) -> Kind {
    Kind::Duration { min, max }
}

const fn seconds(min: u64, max: u64) -> Kind {
    span(Millis::seconds(min), Millis::seconds(max))
}

const fn size(min: ByteSize, max: ByteSize) -> Kind {
    Kind::Bytes { min, max }
}

settings! {
    /// Attempts that run at the same time; with 0 nothing starts.
    QueueSlots, queue_slots: u32 = row("queue", "slots", count(0, limits::SLOTS.max), Processors, Immediate);

    /// Workers kept started ahead of need, so that a task does not wait for a process to start.
    QueueSpares, queue_spares: u32 = row("queue", "spares", count(0, 32), Fixed("1"), Immediate);

    /// Tasks that may be unsettled at once; one more is refused.
    QueueMaxTasks, queue_max_tasks: u32 =
        row("queue", "max_tasks", count(1, limits::PENDING_TASKS.max), Fixed("200000"), Immediate);

    /// Time a cancelled task has to end by itself after the request, before it is killed; 0 kills at once.
    TaskCancelGrace, task_cancel_grace: Millis =
        row("task", "cancel_grace", span(Millis::ZERO, Millis::new(limits::GRACE_MILLIS.max)), Fixed("2s"), Immediate);

    /// Time a killed process has to be gone; after it the slot is given up as wedged until the kernel reports the death.
    TaskKillTimeout, task_kill_timeout: Millis =
        row("task", "kill_timeout", seconds(1, 10 * MINUTE), Fixed("10s"), Immediate);

    /// Time an attempt may run when its task names none; 0 is no bound.
    TaskDefaultTimeout, task_default_timeout: Millis = row(
        "task",
        "default_timeout",
        span(Millis::ZERO, Millis::new(limits::TIMEOUT_MILLIS.max)),
        Fixed("0s"),
        NextTask,
    );

    /// Whether an attempt runs in namespaces of its own, where it sees no other process, or on the host.
    TaskIsolation, task_isolation: Isolation =
        row("task", "isolation", Kind::Choice(ISOLATIONS), Fixed("namespace"), NextTask).owner_only();

    /// Bytes kept of each output stream of an attempt; of a longer one the head and the tail are kept.
    TaskOutputLimit, task_output_limit: ByteSize =
        row("task", "output_limit", size(ByteSize::kib(64), ByteSize::gib(16)), Fixed("64MiB"), NextTask);

    /// Whether commands are kept from gaining privileges through set-uid programs.
    TaskNoNewPrivs, task_no_new_privs: bool =
        row("task", "no_new_privs", Kind::Boolean, Fixed("true"), NextTask).owner_only();

    /// Most retries that a task may ask for.
    TaskMaxRetries, task_max_retries: u32 =
        row("task", "max_retries", count(0, limits::RETRIES.max), Fixed("100"), Immediate);

    /// What may be spent on models in all, in dollars.
    LimitsTotal, limits_total: Allowance = row("limits", "total", Kind::Money, Fixed("10.00"), Immediate).owner_only();

    /// What may be spent on models in any hour.
    LimitsHour, limits_hour: Allowance = row("limits", "hour", Kind::Money, Fixed("none"), Immediate).owner_only();

    /// What a task may spend on models together with everything that it starts, and with what repeats one of these.
    LimitsTree, limits_tree: Allowance = row("limits", "tree", Kind::Money, Fixed("none"), Immediate).owner_only();

    /// What a task may spend on models, when it has no limit of its own.
    LimitsTask, limits_task: Allowance = row("limits", "task", Kind::Money, Fixed("2.00"), Immediate).owner_only();

    /// Hundredths of a limit from which on it is said that it is nearly used up.
    LimitsNotice, limits_notice: u32 = row("limits", "notice", count(1, 100), Fixed("80"), Immediate);

    /// Answers of the model after which a task in words must deliver what it has.
    AgentMaxRounds, agent_max_rounds: u32 = row("agent", "max_rounds", count(1, 10_000), Fixed("200"), NextTask);

    /// How much a task in words may do without asking, when it does not say: observe, light, advanced, pro or cyber_pro.
    AgentMode, agent_mode: Mode = row("agent", "mode", Kind::Choice(MODES), Fixed("advanced"), NextTask).owner_only();

    /// Which calls of a task in words a model looks at before they are done: full is all that may do harm, light those that reach
    /// beyond what is confined and can be undone, off is none. Each look is a paid call.
    AgentSafety, agent_safety: Coverage =
        row("agent", "safety", Kind::Choice(COVERAGES), Fixed("light"), NextTask).owner_only();

    /// Whether programs of tasks in words run only where this machine can confine them as they should be. Without it they also run where
    /// something of that is missing, and what is missing is recorded with each.
    ToolsRequireConfinement, tools_require_confinement: bool =
        row("tools", "require_confinement", Kind::Boolean, Fixed("true"), NextTask).owner_only();

    /// Origins at private addresses that agents may fetch pages from, such as `http://localhost:3000`, with commas between.
    ToolsPrivateOrigins, tools_private_origins: String =
        row("tools", "private_origins", Kind::Text { max: 2_000 }, Fixed(""), NextTask).owner_only();

    /// Time that a question or a request for approval waits for its owner; after it the answer is no. 0 is no bound.
    ApprovalsTimeout, approvals_timeout: Millis = row(
        "approvals",
        "timeout",
        span(Millis::ZERO, Millis::new(limits::REQUEST_MILLIS.max)),
        Fixed("1h"),
        Immediate,
    );

    /// Route that is taken when none is named, such as `openai/gpt-5.1`; empty lets keys and local servers decide.
    ModelsDefault, models_default: String = row("models", "default", Kind::Text { max: 200 }, Fixed(""), NextTask);

    /// Routes that are tried in this order when the first cannot answer, with commas between.
    ModelsFallbacks, models_fallbacks: String =
        row("models", "fallbacks", Kind::Text { max: 2_000 }, Fixed(""), NextTask);

    /// Route that looks at calls of tasks in words before they are done; empty takes the route of the task.
    ModelsSafety, models_safety: String =
        row("models", "safety", Kind::Text { max: 200 }, Fixed(""), NextTask).owner_only();

    /// Tokens that prompt and answer may have together, by route or model, with commas between, such as `openai/gpt-5.1=128000`; the
    /// provider's own word where none is set.
    ModelsWindows, models_windows: String = row("models", "windows", Kind::Text { max: 4_000 }, Fixed(""), Immediate);

    /// Whether what is sent to providers and what comes back is kept, with keys hidden, to find out later what happened.
    ModelsRecord, models_record: bool = row("models", "record", Kind::Boolean, Fixed("true"), Restart).owner_only();

    /// Time to the first piece of an answer from a provider elsewhere. A model that thinks long is silent meanwhile, and what was given up
    /// is not sent again: it may have cost.
    ModelsFirstPiece, models_first_piece: Millis =
        row("models", "first_piece", seconds(1, 60 * MINUTE), Fixed("10m"), Immediate);

    /// Time between two pieces of an answer from a provider elsewhere, after which the connection counts as dead.
    ModelsSilence, models_silence: Millis = row("models", "silence", seconds(1, 60 * MINUTE), Fixed("5m"), Immediate);

    /// Base URL of a server that speaks OpenAI's chat completions, such as `https://models.example/v1`.
    ModelsCompatibleUrl, models_compatible_url: String =
        row("models", "compatible_url", Kind::Text { max: 1_000 }, Fixed(""), Immediate).owner_only();

    /// Whether servers on this machine are looked for on their usual ports.
    ModelsDiscover, models_discover: bool = row("models", "discover", Kind::Boolean, Fixed("true"), Immediate);

    /// Requests that a route of a provider elsewhere carries at the same time.
    ModelsConcurrency, models_concurrency: u32 = row("models", "concurrency", count(1, 1_024), Fixed("8"), Immediate);

    /// Tries after a rate limit or an overload, before another route is taken or the task waits.
    ModelsRetries, models_retries: u32 = row("models", "retries", count(0, 20), Fixed("4"), Immediate);

    /// Dollars for a million tokens that are set aside where no price is known; `none` takes the highest known price.
    ModelsAssumedPrice, models_assumed_price: Allowance =
        row("models", "assumed_price", Kind::Money, Fixed("none"), Immediate).owner_only();

    /// File with certificates, PEM, that are trusted besides the system's when models are reached; empty is none.
    ModelsCertificates, models_certificates: String =
        row("models", "certificates", Kind::Text { max: 4_000 }, Fixed(""), Restart).owner_only();

    /// Command that runs an inference server on this machine, with its arguments; `{model}` and `{port}` are filled in. Empty is none.
    ModelsLocalCommand, models_local_command: String =
        row("models", "local_command", Kind::Text { max: 4_000 }, Fixed(""), Immediate).owner_only();

    /// File with the weights that the command is given, such as a GGUF file.
    ModelsLocalFile, models_local_file: String =
        row("models", "local_file", Kind::Text { max: 4_000 }, Fixed(""), Immediate).owner_only();

    /// Port on which the command is to listen; 0 takes any free one.
    ModelsLocalPort, models_local_port: u32 = row("models", "local_port", count(0, 65_535), Fixed("0"), Immediate);

    /// Time without a request after which the command is ended; it is started again when it is needed. 0 is never.
    ModelsLocalIdle, models_local_idle: Millis =
        row("models", "local_idle", seconds(0, 7 * DAY), Fixed("5m"), Immediate);

    /// Address on which page and HTTP API are served; port 0 takes any free one.
    ServerListen, server_listen: SocketAddr =
        row("server", "listen", Kind::Address, Fixed("127.0.0.1:8765"), Restart).owner_only();

    /// Whether another port is taken when the one to listen on is in use.
    ServerListenFallback, server_listen_fallback: bool =
        row("server", "listen_fallback", Kind::Boolean, Fixed("true"), Restart);

    /// Time a stop may take in order; after it everything is killed.
    ServerStopTimeout, server_stop_timeout: Millis =
        row("server", "stop_timeout", seconds(1, 10 * MINUTE), Fixed("10s"), Immediate);

    /// Time that running tasks have to end when the server drains; after it they are interrupted. 0 is no bound.
    ServerDrainTimeout, server_drain_timeout: Millis =
        row("server", "drain_timeout", seconds(0, 7 * DAY), Fixed("0s"), Immediate);

    /// Time without work and clients after which a server that a command started by itself leaves; 0 is never.
    ServerIdleExit, server_idle_exit: Millis =
        row("server", "idle_exit", seconds(0, 7 * DAY), Fixed("10m"), Immediate);

    /// Age at which a settled task is forgotten.
    RetentionTasks, retention_tasks: Millis =
        row("retention", "tasks", seconds(MINUTE, 3_650 * DAY), Fixed("30d"), Immediate);

    /// Settled tasks kept; the oldest go first.
    RetentionMaxTasks, retention_max_tasks: u32 =
        row("retention", "max_tasks", count(100, 10_000_000), Fixed("1000000"), Immediate);

    /// Age at which the output of a settled task is deleted.
    RetentionOutput, retention_output: Millis =
        row("retention", "output", seconds(MINUTE, 3_650 * DAY), Fixed("14d"), Immediate);

    /// Bytes of output kept of all settled tasks together; the oldest go first.
    RetentionOutputTotal, retention_output_total: ByteSize =
        row("retention", "output_total", size(ByteSize::kib(64), ByteSize::gib(16 << 10)), Fixed("10GiB"), Immediate);

    /// Age at which what was sent to providers and what came back is deleted.
    RetentionExchanges, retention_exchanges: Millis =
        row("retention", "exchanges", seconds(MINUTE, 3_650 * DAY), Fixed("14d"), Immediate);

    /// Bytes kept of what was sent to providers and what came back in all; the oldest go first.
    RetentionExchangesTotal, retention_exchanges_total: ByteSize =
        row("retention", "exchanges_total", size(ByteSize::mib(1), ByteSize::gib(16 << 10)), Fixed("2GiB"), Immediate);

    /// Events kept; a reader that comes back later than the oldest is told so.
    RetentionEvents, retention_events: u32 =
        row("retention", "events", count(100, 10_000_000), Fixed("1000000"), Immediate);

    /// Age at which an idempotency key is forgotten, so that the same key makes a new task.
    RetentionKeys, retention_keys: Millis =
        row("retention", "keys", seconds(MINUTE, 365 * DAY), Fixed("7d"), Immediate);

    /// How much is logged: this level and everything more severe.
    LogLevel, log_level: LogLevel = row("log", "level", Kind::Choice(LOG_LEVELS), Fixed("info"), Immediate);

    /// Size at which a log file is closed and the next one begun.
    LogMaxSize, log_max_size: ByteSize =
        row("log", "max_size", size(ByteSize::kib(64), ByteSize::gib(1)), Fixed("10MiB"), Immediate);

    /// Closed log files kept beside the current one.
    LogKeep, log_keep: u32 = row("log", "keep", count(0, 100), Fixed("5"), Immediate);

    /// Free space of the data directory's disk below which no task is accepted.
    DiskLowWater, disk_low_water: ByteSize =
        row("disk", "low_water", size(ByteSize::mib(1), ByteSize::gib(1 << 10)), Fixed("256MiB"), Immediate);

    /// Space set aside, so that running tasks can still be ended in order on a full disk.
    DiskReserve, disk_reserve: ByteSize =
        row("disk", "reserve", size(ByteSize::mib(1), ByteSize::gib(1)), Fixed("16MiB"), Restart);
}
