//! The shapes of the system as a whole, described.

use super::schema::Kind::{Count, Flag, Id, List, Ref, Text, Time, Word};
use super::schema::Openness::{Closed, Open};
use super::schema::{Field, always, nullable, object, optional};
use super::shapes::Object;
use serde_json::{Value, json};

const HOLDS: &[&str] = &["owner", "panic", "restore", "copied"];

/// What an owner can do to the system.
pub fn command_request() -> Value {
    let variants: &[(&str, &[Field])] = &[
        ("stop", &[optional("drain", Flag, "Whether running tasks may end by themselves.")]),
        ("restart", &[optional("drain", Flag, "Whether running tasks may end by themselves.")]),
        ("panic", &[]),
        ("hold_queue", &[]),
        ("release_queue", &[optional("all", Flag, "Whether held tasks are released too.")]),
        ("set_slots", &[always("slots", Count, "The number.")]),
        ("reload", &[]),
        ("collect_garbage", &[]),
        (
            "backup",
            &[
                always("path", Text, "An absolute path that does not exist."),
                optional("output", Flag, "Whether the output of attempts goes along, beside it."),
            ],
        ),
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

/// The shapes.
pub const OBJECTS: &[Object] = &[
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
            nullable("spending", Ref("SpendingView"), "What is spent on models, and the limits on that."),
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
            always("paused", Count, "Waiting for their owner to let them spend more."),
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
