//! The JSON shapes of tasks in words.

use super::money::EFFORTS;
use super::schema::Kind::{Any, Count, Flag, List, Text, Word};
use super::schema::Openness::{Closed, Open};
use super::schema::{always, nullable, optional};
use super::shapes::Object;

pub(super) const OBJECTS: &[Object] = &[
    (
        "AgentSpec",
        "A task in words: a model works on it with tools, in a folder.",
        Closed,
        &[
            always("prompt", Text, "What is wanted."),
            always(
                "folder",
                Text,
                "Absolute path of the folder it works in. It reads and changes files there, and nowhere else.",
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
                "Entries, oldest first: `asked`, `notice`, `answered`, `results`, `parked` or `delivered`, as `type` says.",
            ),
            always("next", Count, "`from` of the next part; there is none yet when `entries` is empty."),
        ],
    ),
];
