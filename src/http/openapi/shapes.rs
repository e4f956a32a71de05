//! The JSON shapes of the API, described.

use super::codes;
use super::schema::Kind::{Any, Count, Flag, Id, List, Map as Texts, Ref, Text, Time, Word};
use super::schema::Openness::{Closed, Open};
use super::schema::{Field, always, nullable, object, optional};
use serde_json::{Map, Value, json};

const PRIORITIES: &[&str] = &["low", "normal", "high", "urgent"];
const STATUSES: &[&str] = &["queued", "waiting", "held", "running", "cancelling", "completed", "failed", "cancelled"];
const HOLDS: &[&str] = &["owner", "panic", "restore", "copied"];

/// Every shape by name.
#[must_use]
pub fn schemas() -> Map<String, Value> {
    let mut all = Map::new();
    for (name, about, openness, fields) in OBJECTS {
        all.insert((*name).to_owned(), object(about, *openness, fields));
    }
    all.insert("CommandRequest".to_owned(), command_request());
    if let Some(Value::Object(error)) = all.get_mut("ApiError")
        && let Some(Value::Object(properties)) = error.get_mut("properties")
    {
        properties.insert("code".to_owned(), json!({
            "type": "string", "enum": codes(), "description": "What happened, for programs. Codes do not change; there may be new ones.",
        }));
    }
    all
}

fn command_request() -> Value {
    let variants: &[(&str, &[Field])] = &[
        ("stop", &[optional("drain", Flag, "Whether running tasks may end by themselves.")]),
        ("restart", &[optional("drain", Flag, "Whether running tasks may end by themselves.")]),
        ("panic", &[]),
        ("hold_queue", &[]),
        ("release_queue", &[optional("all", Flag, "Whether held tasks are released too.")]),
        ("set_slots", &[always("slots", Count, "The number.")]),
        ("reload", &[]),
        ("collect_garbage", &[]),
        ("backup", &[always("path", Text, "An absolute path that does not exist.")]),
        ("login_code", &[]),
    ];
    let schemas: Vec<Value> = variants
        .iter()
        .map(|(word, fields)| {
            let mut schema = object("", Closed, fields);
            if let Value::Object(map) = &mut schema {
                map.remove("description");
                if let Some(Value::Object(properties)) = map.get_mut("properties") {
                    properties.insert("command".to_owned(), json!({ "const": word }));
                }
                let mut required: Vec<Value> = vec!["command".into()];
                if let Some(Value::Array(more)) = map.remove("required") {
                    required.extend(more);
                }
                map.insert("required".to_owned(), required.into());
            }
            schema
        })
        .collect();
    json!({ "description": "What an owner can do to the system as a whole.", "oneOf": schemas })
}

type Object = (&'static str, &'static str, super::schema::Openness, &'static [Field]);

const OBJECTS: &[Object] = &[
    (
        "ApiError",
        "Why a request was not done.",
        Open,
        &[
            always("code", Text, "What happened, for programs."),
            always("message", Text, "What happened and what was kept, for people."),
            optional("remedy", Text, "What to do about it."),
            optional("detail", Any, "Facts: the limit, the field, the task."),
        ],
    ),
    (
        "SubmitOne",
        "A task to accept.",
        Closed,
        &[
            always("command", Ref("CommandSpec"), "A command to run."),
            optional("name", Text, "A name for people; the command line when absent. At most 200 characters."),
            optional(
                "key",
                Text,
                "Idempotency key: the same key with the same body gives the same task, with another body 409.",
            ),
            optional("priority", Word(PRIORITIES), "How soon it starts."),
            optional("delay_ms", Count, "Milliseconds before it may start."),
            optional("after", List(&Text), "Tasks that must complete first: numbers, ids or `last`. At most 64."),
            optional("hold", Flag, "Whether it waits to be released."),
            optional("rerun", Flag, "Whether it may run again after an interruption, though it may have had effects."),
            optional("retries", Count, "How often it is tried again after it failed. At most 100."),
            optional(
                "timeout_ms",
                Count,
                "Milliseconds that one attempt may take; the configured bound when absent, 0 for none.",
            ),
            optional("isolation", Word(&["namespace", "host"]), "Where it runs; as configured when absent."),
        ],
    ),
    (
        "CommandSpec",
        "An argument vector and the surroundings it runs in.",
        Closed,
        &[
            always("argv", List(&Text), "Program and arguments. Never interpreted by a shell."),
            optional("cwd", Text, "Absolute working directory; the owner's home when absent."),
            optional(
                "env",
                Texts,
                "Variables to set, over PATH, HOME, USER, LOGNAME, SHELL, LANG, LC_*, TZ and TMPDIR of the server.",
            ),
            optional("clean_env", Flag, "Whether `env` is the whole environment."),
            optional("umask", Count, "File mode creation mask, 0 to 511."),
            optional("stdin", Text, "Standard input as text; /dev/null when absent."),
            optional("stdin_base64", Text, "Standard input as base64, for bytes that are not text."),
            optional("pty", Ref("PtySpec"), "A terminal of this size."),
        ],
    ),
    (
        "PtySpec",
        "Size of a terminal.",
        Closed,
        &[always("columns", Count, "Columns, from 1."), always("rows", Count, "Rows, from 1.")],
    ),
    (
        "SubmitMany",
        "Many tasks, accepted all or none.",
        Closed,
        &[always("tasks", List(&Ref("SubmitOne")), "The tasks, in order. At most 1000.")],
    ),
    (
        "SubmitAnswer",
        "An accepted task. It is durable.",
        Open,
        &[
            always("id", Id, "Its id."),
            always("number", Count, "Its number."),
            always("duplicate", Flag, "Whether an earlier request with the same key made it."),
        ],
    ),
    (
        "SubmitManyAnswer",
        "Accepted tasks.",
        Open,
        &[always("tasks", List(&Ref("SubmitAnswer")), "The tasks, in the order of the request.")],
    ),
    (
        "CancelRequest",
        "How to cancel.",
        Closed,
        &[optional(
            "grace_ms",
            Count,
            "Milliseconds that the processes may take to end by themselves; the configured grace when absent, 0 kills at once.",
        )],
    ),
    (
        "PriorityRequest",
        "A new place in the queue.",
        Closed,
        &[always("priority", Word(PRIORITIES), "How soon it starts.")],
    ),
    (
        "TaskPage",
        "A page of tasks, newest first.",
        Open,
        &[
            always("tasks", List(&Ref("TaskView")), "The tasks."),
            nullable("next", Text, "Give this as `cursor` for the next page; null at the end."),
        ],
    ),
    (
        "TaskView",
        "A task.",
        Open,
        &[
            always("id", Id, "Its id."),
            always("number", Count, "Its number."),
            always("kind", Word(&["command"]), "What kind of work it is."),
            always("name", Text, "Its name, or its command line cut to 80 characters."),
            always("status", Word(STATUSES), "Where it stands."),
            nullable("reason", Text, "A sentence on why it stands there."),
            always("priority", Word(PRIORITIES), "How soon it starts."),
            always("submitted_at", Time, "When it was accepted."),
            nullable("not_before", Time, "When it may start at the earliest."),
            nullable("started_at", Time, "When its last attempt started."),
            nullable("settled_at", Time, "When it settled."),
            always("after", List(&Count), "Tasks it comes after that have not completed."),
            always("attempts", Count, "Attempts started so far."),
            always("cancel_requested", Flag, "Whether a cancel was asked for."),
            nullable("outcome", Any, "How it ended, in full."),
            nullable("exit_code", Count, "The exit code that `ouroboros run` gives for it."),
            nullable("retry_of", Id, "The task it repeats."),
            optional(
                "command",
                Ref("CommandSpec"),
                "What it runs; only where one task is asked for, without environment and standard input.",
            ),
            optional(
                "attempt_list",
                List(&Ref("AttemptView")),
                "Its attempts, oldest first; only where one task is asked for.",
            ),
        ],
    ),
    (
        "AttemptView",
        "One attempt.",
        Open,
        &[
            always("id", Id, "Its id."),
            always("ordinal", Count, "Counted from 1."),
            always("generation", Count, "The server life that ran it."),
            always("started_at", Time, "When it started."),
            nullable("ended_at", Time, "When it was over."),
            always("released", Flag, "Whether its program may have run."),
            always("isolation", Word(&["namespace", "host"]), "What was really applied."),
            nullable("ending", Ref("EndingView"), "How its process ended; null while it runs and when it was lost."),
            nullable("usage", Ref("UsageView"), "What it used; null when not known."),
            always("stdout", Ref("StreamView"), "Standard output."),
            always("stderr", Ref("StreamView"), "Standard error."),
        ],
    ),
    (
        "EndingView",
        "How a process ended.",
        Open,
        &[
            always(
                "kind",
                Word(&[
                    "exited",
                    "signaled",
                    "timed_out",
                    "stopped",
                    "not_found",
                    "not_executable",
                    "bad_directory",
                    "set_up_failed",
                ]),
                "In a word.",
            ),
            nullable("code", Count, "Exit code, when it exited."),
            nullable("signal", Count, "Signal number, when a signal ended it."),
            nullable(
                "out_of_memory",
                Word(&["yes", "no", "unknown"]),
                "Whether memory was the reason, when a signal ended it.",
            ),
            always("text", Text, "In a sentence."),
        ],
    ),
    (
        "UsageView",
        "What an attempt used.",
        Open,
        &[
            always("user_micros", Count, "User CPU time."),
            always("system_micros", Count, "System CPU time."),
            always("max_resident_bytes", Count, "Largest resident set of one process."),
            always("elapsed_ms", Count, "Wall time."),
        ],
    ),
    (
        "StreamView",
        "An output stream of an attempt.",
        Open,
        &[
            always("written", Count, "Bytes that were written."),
            always("head", Count, "Bytes kept from the start."),
            always("tail", Count, "Bytes kept from the end, after a gap."),
            always("truncated", Flag, "Whether bytes between head and tail were dropped."),
            always("expired", Flag, "Whether the files are no longer kept."),
        ],
    ),
    (
        "EventView",
        "A recorded event.",
        Open,
        &[
            always("seq", Count, "Its place in the log."),
            always("at", Time, "When it was recorded."),
            nullable("task", Id, "The task it is about."),
            nullable("number", Count, "That task's number."),
            always("event", Any, "What happened: an object with `type` and what belongs to it."),
        ],
    ),
    (
        "LiveOutput",
        "Output as it is written.",
        Open,
        &[
            always("attempt", Count, "Which attempt, counted from 1."),
            always("stream", Word(&["stdout", "stderr"]), "Which stream."),
            always("offset", Count, "Where in the stream these bytes stand."),
            always("data", Text, "The bytes, base64."),
            always("gap", Count, "Bytes before these that are not kept."),
        ],
    ),
    (
        "Health",
        "Whether work can be done.",
        Open,
        &[
            always("api", Count, "Version of these shapes."),
            always("version", Text, "Version of the server."),
            always("ready", Flag, "Whether a task accepted now can run now."),
            always("degraded", List(&Ref("Alarm")), "Why not, or what else is wrong; empty when all is well."),
        ],
    ),
    (
        "Alarm",
        "Something that needs attention.",
        Open,
        &[
            always("code", Text, "In a word."),
            always("message", Text, "What is wrong."),
            nullable("remedy", Text, "What to do."),
            always("since", Time, "Since when."),
        ],
    ),
    (
        "StateView",
        "The system in numbers.",
        Open,
        &[
            always("api", Count, "Version of these shapes."),
            always("version", Text, "Version of the server."),
            always("build", Text, "Build of the server."),
            always("installation", Id, "The installation."),
            always("generation", Count, "Its life."),
            always("pid", Count, "The server's process number."),
            nullable("launcher_pid", Count, "The launcher's, when it has one."),
            always("started_at", Time, "When this life began."),
            nullable("url", Text, "Address of the page and API."),
            always("data_dir", Text, "The data directory."),
            always("ready", Flag, "Whether a task accepted now can run now."),
            always("stopping", Flag, "Whether it is stopping or draining."),
            always("alarms", List(&Ref("Alarm")), "What is wrong."),
            always("queue", Ref("QueueView"), "The queue."),
            always("slots", Ref("SlotsView"), "The slots."),
            always("disk", Ref("DiskView"), "Disk use."),
        ],
    ),
    (
        "QueueView",
        "The queue in numbers.",
        Open,
        &[
            always("queued", Count, "Ready to start."),
            always("waiting", Count, "Waiting for a time or another task."),
            always("held", Count, "Held."),
            always("running", Count, "Running, cancelling ones included."),
            always("settled", Count, "Settled and still kept."),
            nullable("queue_held", Word(HOLDS), "Why the whole queue is held, when it is."),
        ],
    ),
    (
        "SlotsView",
        "Capacity in numbers.",
        Open,
        &[
            always("configured", Count, "Attempts that may run at once."),
            always("busy", Count, "Under way."),
            always("ending", Count, "Being ended."),
            always("wedged", Count, "Given up because a process cannot be ended."),
            always("assignable", Count, "What could start now."),
            always("spares", Count, "Workers that are started and ready."),
            always("starting", Count, "Workers that are starting."),
        ],
    ),
    (
        "DiskView",
        "Disk use in bytes; null is unknown.",
        Open,
        &[
            nullable("database", Count, "The database with its log."),
            nullable("output", Count, "Output files."),
            nullable("logs", Count, "Log files."),
            nullable("free", Count, "Free on the file system."),
        ],
    ),
    (
        "ProcessView",
        "One process of ours.",
        Open,
        &[
            always("pid", Count, "Its number on the host."),
            nullable("parent", Count, "Its parent."),
            always("role", Word(&["launcher", "server", "worker", "tool"]), "What it is for."),
            nullable("task", Count, "Its task."),
            always("command", Text, "What it runs."),
            nullable("age_seconds", Count, "Seconds since it started."),
            nullable("cpu_micros", Count, "CPU time used."),
            nullable("resident_bytes", Count, "Resident memory."),
            always(
                "recorded",
                Flag,
                "Whether it is in the process ledger; descendants of a tool are found by census only.",
            ),
        ],
    ),
    (
        "CommandAnswer",
        "What was done to the system.",
        Open,
        &[
            always("message", Text, "A sentence."),
            optional("tasks", List(&Count), "Running tasks that it interrupts or waits for."),
            optional("url", Text, "For a login code: the address to open."),
            optional("freed_bytes", Count, "For garbage collection: bytes freed."),
            optional("needs_restart", List(&Text), "For reload: keys that wait for a restart."),
        ],
    ),
];
