//! The JSON shapes of what tasks ask their owner.

use super::schema::Kind::{Any, Count, Id, List, Ref, Text, Time, Word};
use super::schema::Openness::{Closed, Open};
use super::schema::{always, nullable, optional};
use super::shapes::Object;

pub(super) const OBJECTS: &[Object] = &[
    (
        "RequestView",
        "Something that a task asks its owner.",
        Open,
        &[
            always("task", Id, "The task."),
            always("number", Count, "That task's number."),
            always("request", Count, "Which request of the task."),
            always("attempt", Id, "The attempt that asked last."),
            always("state", Word(&["open", "answered", "expired", "withdrawn"]), "Where it stands."),
            always(
                "asks",
                Any,
                "What is asked: `{type: question, text, options?}`, or `{type: approval, tool, summary, why, rule?}`.",
            ),
            always("asked_at", Time, "When it was asked first."),
            nullable("expires_at", Time, "When it counts as refused; null is never."),
            nullable("closed_at", Time, "When it was answered, expired or was withdrawn."),
            nullable(
                "answer",
                Any,
                "What the owner answered: `type` is option, text, once, task, always or deny, with `number`, `text` or `reason`.",
            ),
        ],
    ),
    (
        "RequestsView",
        "Requests, those that were asked last first.",
        Open,
        &[always("requests", List(&Ref("RequestView")), "They; at most 1000.")],
    ),
    (
        "AnswerRequest",
        "An answer: one of `option`, `text` and `decision`.",
        Closed,
        &[
            optional("option", Count, "An option of a question, counted from 1."),
            optional("text", Text, "Words that answer a question."),
            optional(
                "decision",
                Word(&["once", "task", "always", "deny"]),
                "About an approval: this once, as long as the task goes on, from now on, or not.",
            ),
            optional("reason", Text, "Why, with the decision `deny`."),
            optional(
                "scope",
                Word(&["folder", "installation"]),
                "Where it holds, with the decision `always`; the task's folder when absent.",
            ),
        ],
    ),
    (
        "RuleView",
        "What the owner allowed or forbade for longer than once.",
        Open,
        &[
            always("id", Count, "Its number."),
            always("scope", Any, "Where it holds: `{in: installation}`, `{in: folder, path}` or `{in: task}`."),
            always("tool", Text, "The tool it is about."),
            always("pattern", Any, "What it matches, as it was proposed."),
            always("effect", Word(&["allow", "deny"]), "What it says."),
            always("created_at", Time, "When it was made."),
            always("from_task", Id, "The task whose request was answered."),
            always("from_request", Count, "Which request of that task."),
        ],
    ),
    ("RulesView", "Rules, oldest first.", Open, &[always("rules", List(&Ref("RuleView")), "They.")]),
];
