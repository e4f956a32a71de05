//! The JSON shapes of tasks in words.

use super::money::EFFORTS;
use super::schema::Kind::{Any, Count, Flag, Id, List, Ref, Text, Time, Word};

const MODES: &[&str] = &["observe", "light", "advanced", "pro", "cyber_pro"];
use super::schema::Openness::{Closed, Open};
use super::schema::{always, nullable, optional};
use super::shapes::Object;

/// What an agent says of what was wanted.
pub(super) const OBJECTIVES: &[&str] = &["met", "partly", "not_met"];

/// Who says how large a window is.
const WINDOW_SOURCES: &[&str] = &["owner", "reported", "learned", "inferred"];

pub(super) const OBJECTS: &[Object] = &[
    (
        "AgentSpec",
        "A task in words: a model works on it with tools, in a folder.",
        Closed,
        &[
            optional("prompt", Text, "What is wanted. Must be there, but with `replay`."),
            optional(
                "folder",
                Text,
                "Absolute path of the folder it works in. It reads and changes files there, and nowhere else. Must be there, but with `from`: then it is that task's when absent.",
            ),
            optional(
                "from",
                Ref("FromSpec"),
                "The task in words that it continues. Folder, route, effort, mode and isolation are that task's where they are not given; limits are its own.",
            ),
            optional(
                "route",
                Text,
                "A route such as `openai/gpt-5.1`, or a model's name; the default route when absent.",
            ),
            optional("effort", Word(EFFORTS), "How much the model should think."),
            optional(
                "max_rounds",
                Count,
                "Answers of the model after which it must deliver; `agent.max_rounds` when absent.",
            ),
            optional("wait_model", Flag, "Whether it waits for a route when there is none, instead of being refused."),
            optional("mode", Word(MODES), "How much it may do without asking; `agent.mode` when absent."),
            optional("path", Text, "Where programs are looked for, as in `PATH`; the server's own when absent."),
            optional("parallel", Flag, "Whether it may change files in its folder while other tasks do."),
            optional(
                "output_schema",
                Any,
                "JSON Schema that what it delivers must satisfy; then its output is that JSON value, on one line. Complete in itself: nothing is fetched. At most 65536 bytes.",
            ),
            optional("images", List(&Ref("ImageSpec")), "Images that go with what is wanted. At most 16."),
            optional(
                "replay",
                Text,
                "A task in words that has ended, whose recorded answers are gone through again with the tools of today: number, id or `last`. No model is asked. Prompt and folder are that task's where they are not given, and the mode is `observe`.",
            ),
        ],
    ),
    (
        "AgentView",
        "A task in words, as far as it is shown.",
        Open,
        &[
            always("head", Text, "Its first characters."),
            nullable("route", Text, "The route that was asked for."),
            always("folder", Text, "The folder it works in."),
            optional(
                "window",
                Ref("WindowView"),
                "How much prompt and answer may have together, as it is believed now.",
            ),
            optional("messages", List(&Ref("MessageView")), "What was said to it while it worked, oldest first."),
            always(
                "inherited",
                Count,
                "How many entries at the begin of its transcript are another task's, from which it goes on.",
            ),
        ],
    ),
    (
        "WindowView",
        "How much prompt and answer may have together on a route.",
        Open,
        &[
            always("route", Text, "The route."),
            always("tokens", Count, "Tokens."),
            always("source", Word(WINDOW_SOURCES), "Who says so."),
        ],
    ),
    (
        "TranscriptView",
        "A part of what a task in words did and heard.",
        Open,
        &[
            always(
                "entries",
                List(&Any),
                "Entries, oldest first: `asked`, `notice`, `answered`, `results`, `parked`, `said`, `delivered`, and what shortens the \
                 conversation (`window`, `overflowed`, `trimmed`, `compacting`, `compacted`, `prefix_broken`), as `type` says.",
            ),
            always("next", Count, "`from` of the next part; there is none yet when `entries` is empty."),
        ],
    ),
    (
        "FromSpec",
        "What a task in words begins with: what another one did and heard.",
        Closed,
        &[
            always("task", Text, "That task: number, id or `last`. Without `round` it must have settled."),
            optional(
                "round",
                Count,
                "Take over everything up to this answer of the model and the results of its calls, counted from 1 over the whole transcript.",
            ),
        ],
    ),
    (
        "Continued",
        "The task in words that another one continues.",
        Open,
        &[
            always("task", Id, "Its id."),
            always("number", Count, "Its number."),
            always("round", Count, "Answers of the model that were taken over."),
            always("fork", Flag, "Whether that round was named, so that what came after it was left out."),
            optional("replay", Flag, "Whether its recorded answers are gone through again, instead of asking a model."),
        ],
    ),
    (
        "MessageRequest",
        "Something to say to a task in words.",
        Closed,
        &[always("text", Text, "What is said. At most 65536 bytes.")],
    ),
    (
        "MessageAnswer",
        "A message that was accepted. It is durable.",
        Open,
        &[
            always("number", Count, "Counted from 1 within the task."),
            always("duplicate", Flag, "Whether an earlier request with the same key made it."),
        ],
    ),
    (
        "MessageView",
        "Something that was said to a task in words.",
        Open,
        &[
            always("number", Count, "Counted from 1 within the task."),
            always("at", Time, "When it was accepted."),
            always("text", Text, "What was said."),
            nullable(
                "taken",
                Count,
                "The place in the transcript where the task took it. One that is not taken when the task settles never is.",
            ),
        ],
    ),
    (
        "InterruptRequest",
        "How to stop a turn.",
        Closed,
        &[
            optional("hold", Flag, "Whether the task then waits for a message, instead of going on by itself."),
            optional(
                "call",
                Count,
                "Only this call of a tool, by its place among all calls of the task; the turn goes on.",
            ),
        ],
    ),
    (
        "ChangesView",
        "What a task in words changed in its folder.",
        Open,
        &[always("folder", Text, "The folder."), always("files", List(&Ref("ChangeView")), "Its files, by path.")],
    ),
    (
        "ChangeView",
        "A file that a task changed.",
        Open,
        &[
            always("path", Text, "Its path in the folder."),
            always(
                "change",
                Word(&["created", "changed", "deleted", "same", "unreadable"]),
                "How it differs from what it was before the task.",
            ),
            always("foreign", Flag, "Whether it is not what the task left: somebody else has changed it since."),
            optional("diff", Text, "The difference line by line, as `diff -u` writes it, with keys hidden."),
            optional("note", Text, "Why there is no `diff`."),
        ],
    ),
    (
        "UndoRequest",
        "What to take back.",
        Closed,
        &[
            optional("files", List(&Text), "Paths in the folder; every file that the task changed when empty."),
            optional("dry_run", Flag, "Only say what would be done."),
            optional("force", Flag, "Also where somebody else has changed a file since."),
        ],
    ),
    (
        "UndoAnswer",
        "What became of the files, each by itself.",
        Open,
        &[
            always("folder", Text, "The folder."),
            always("dry_run", Flag, "Whether nothing was done, because only that was asked for."),
            always("files", List(&Ref("UndoOne")), "The files, newest change first."),
        ],
    ),
    (
        "UndoOne",
        "What became of one file.",
        Open,
        &[
            always("path", Text, "Its path in the folder."),
            always("done", Word(&["restored", "removed", "unchanged", "refused"]), "What was done, or would be."),
            optional("why", Text, "Why not, when it was refused."),
        ],
    ),
];
