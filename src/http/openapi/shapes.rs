//! The JSON shapes of the API, described: tasks and what happens to them here, the rest beside it.

use super::schema::Kind::{Any, Count, Flag, Id, List, Map as Texts, Ref, Text, Time, Word};
use super::schema::Openness::{Closed, Open};
use super::schema::{Field, always, nullable, object, optional};
use super::{agent, codes, money, requests, system};
use serde_json::{Map, Value, json};

const PRIORITIES: &[&str] = &["low", "normal", "high", "urgent"];
const STATUSES: &[&str] =
    &["queued", "waiting", "held", "paused", "running", "cancelling", "completed", "failed", "cancelled"];

/// Every shape by name.
#[must_use]
pub fn schemas() -> Map<String, Value> {
    let mut all = Map::new();
    for (name, about, openness, fields) in
        OBJECTS.iter().chain(agent::OBJECTS).chain(money::OBJECTS).chain(requests::OBJECTS).chain(system::OBJECTS)
    {
        all.insert((*name).to_owned(), object(about, *openness, fields));
    }
    all.insert("CommandRequest".to_owned(), system::command_request());
    if let Some(Value::Object(error)) = all.get_mut("ApiError")
        && let Some(Value::Object(properties)) = error.get_mut("properties")
    {
        properties.insert("code".to_owned(), json!({
            "type": "string", "enum": codes(), "description": "What happened, for programs. Codes do not change; there may be new ones.",
        }));
    }
    all
}

/// Name, description, and fields of an object.
pub type Object = (&'static str, &'static str, super::schema::Openness, &'static [Field]);

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
            optional("command", Ref("CommandSpec"), "A command to run. One of this, `ask` and `agent`."),
            optional("ask", Ref("AskSpec"), "A question to a model. One of this, `command` and `agent`."),
            optional("agent", Ref("AgentSpec"), "A task in words. One of this, `command` and `ask`."),
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
            optional(
                "retries",
                Count,
                "How often it is tried again after it failed. At most 100. What a model may have answered is asked again only with `rerun`.",
            ),
            optional(
                "timeout_ms",
                Count,
                "Milliseconds that one attempt may take; the configured bound when absent, 0 for none.",
            ),
            optional("isolation", Word(&["namespace", "host"]), "Where it runs; as configured when absent."),
            optional(
                "max_cost",
                Text,
                "Dollars that it may spend on models, such as `0.50`, or `none`; as configured when absent.",
            ),
            optional("parent", Text, "An unsettled task that it belongs to: number, id or `last`."),
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
            always("kind", Word(&["command", "ask", "agent", "model"]), "What kind of work it is."),
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
            optional(
                "request",
                Ref("RequestView"),
                "What it asks its owner and waits for; the oldest, when there is more.",
            ),
            nullable("outcome", Any, "How it ended, in full."),
            nullable(
                "exit_code",
                Count,
                "The exit code that `ouroboros run` gives for it: 1 also for a task that completed and whose agent says that its objective is not met.",
            ),
            optional(
                "objective",
                Word(agent::OBJECTIVES),
                "Whether what was wanted is reached, in the agent's own word, where it said so. It is no part of `outcome`.",
            ),
            nullable("retry_of", Id, "The task it repeats."),
            optional("from", Ref("Continued"), "The task in words that it continues."),
            optional(
                "command",
                Ref("CommandSpec"),
                "What it runs; only where one task is asked for, without environment and standard input.",
            ),
            optional("ask", Ref("AskView"), "What it asks; only where one task is asked for."),
            optional("agent", Ref("AgentView"), "What is worked on in words; only where one task is asked for."),
            optional("pause", Ref("PauseView"), "Its pause for want of money."),
            optional("wait", Ref("WaitView"), "Its wait for a model."),
            optional(
                "waiting_workspace",
                Count,
                "The number of the task that it waits for because both act in the same folder, or one beneath the other.",
            ),
            optional(
                "max_cost_nanos",
                Any,
                "Nano-dollars that it may spend, when it has a limit of its own; `none` when that is none at all.",
            ),
            optional("cost", Ref("CostView"), "What it spent on models; only where one task is asked for."),
            optional(
                "sends",
                List(&Ref("SendView")),
                "Its sends to providers, oldest first; only where one task is asked for.",
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
                    "answered",
                    "model_failed",
                    "parked",
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
        "EntryView",
        "An entry of the transcript of a task in words.",
        Open,
        &[
            always("place", Count, "Its place, counted from 1."),
            always(
                "entry",
                Any,
                "What happened, as in `TranscriptView`: an object with `type` and what belongs to it.",
            ),
        ],
    ),
    (
        "LivePiece",
        "A piece of the text that a model is writing.",
        Open,
        &[
            always("attempt", Count, "Which attempt, counted from 1."),
            always("call", Count, "Which call of a model, counted from 1 within the attempt."),
            always("offset", Count, "Where in the text it stands, in bytes."),
            always("text", Text, "The text."),
        ],
    ),
];
