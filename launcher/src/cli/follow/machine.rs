//! A task in words for programs: one JSON object a line, each once, also over a server that was started again in between.
//!
//! The kinds and their fields are documented in the README and stay as they are; more may be added.

use super::session::Ended;
use super::step::Step;
use crate::cli::{Failure, OURS, ask};
use ouroboros_proto::agent::{Author, CallOutcome, Entry, ModelAnswer, Part};
use ouroboros_proto::api::{EventView, LivePiece, PausePhase, TaskView};
use serde_json::{Value, json};

/// Characters of a result that are given.
const HEAD: usize = 400;

/// How far it was told.
#[derive(Debug, Default)]
pub struct Machine {
    round: u32,
    /// Calls in the transcript before those of the last answer, and with them.
    before: u32,
    calls: u32,
    /// Attempt and call of a model, and what of its text was given.
    begun: Option<((u32, u32), String)>,
    delivered: Option<(String, Author)>,
}

/// Which task it is.
pub fn task(task: &Value, models: &Value) -> Value {
    let of = |from: &Value, field: &str| from.get(field).cloned().unwrap_or_default();
    let agent = of(task, "agent");
    let asked = of(&agent, "route");
    let route = if asked.is_null() { of(models, "default") } else { asked };
    json!({ "type": "task", "id": of(task, "id"), "number": of(task, "number"), "name": of(task, "name"), "route": route,
        "folder": of(&agent, "folder"), "max_cost_nanos": of(task, "max_cost_nanos"), "limits": of(models, "limits") })
}

impl Machine {
    /// The line for a recorded event; `None` when it changes nothing that is told.
    pub fn event(&self, event: &Value, seq: Option<u64>) -> Option<Value> {
        let view: EventView = serde_json::from_value(event.clone()).ok()?;
        let (step, at) = (Step::of(&view.event)?, view.at);
        let state = |state: &str, why: Option<&str>| {
            Some(json!({ "type": "state", "state": state, "why": why, "seq": seq, "at": at }))
        };
        match step {
            Step::Queued | Step::Resumed => state("queued", None),
            Step::Again => state("again", None),
            Step::Held => state("held", None),
            Step::Paused(limit) => state("paused", Some(limit.as_str())),
            Step::Model(reason) => state("waits_for_model", Some(reason.as_str())),
            Step::Cancelling => state("cancelling", None),
            Step::Wedged => state("wedged", None),
            Step::Started => state("running", None),
            Step::Settled => state("settled", None),
            Step::Asks => {
                let of =
                    |field: &str| event.get("event").and_then(|event| event.get(field)).cloned().unwrap_or_default();
                let (request, kind, expires) = (of("request"), of("kind"), of("expires_at"));
                Some(
                    json!({ "type": "request", "request": request, "kind": kind, "expires_at": expires, "seq": seq, "at": at }),
                )
            }
            Step::Heard(request) => {
                let answered = event.get("event").and_then(|event| event.get("type")).and_then(Value::as_str);
                let state = if answered == Some("request_answered") { "answered" } else { "closed" };
                Some(json!({ "type": "answer", "request": request, "state": state, "seq": seq, "at": at }))
            }
        }
    }

    /// The line for a piece of text.
    pub fn piece(&mut self, piece: &LivePiece) -> Option<Value> {
        let of = (piece.attempt, piece.call);
        let known = self.begun.take().filter(|(begun, _)| *begun == of).map(|(_, text)| text);
        let mut told = known.unwrap_or_default();
        // Given again from its beginning, after the connection was lost.
        let again = piece.offset == 0 && !told.is_empty();
        let more = if again { piece.text.strip_prefix(told.as_str()).unwrap_or_default() } else { &piece.text };
        let line = self.text(told.len(), more);
        told.push_str(more);
        self.begun = Some((of, told));
        line
    }

    /// Text of the answer that is being given, at this place in bytes.
    fn text(&self, offset: usize, text: &str) -> Option<Value> {
        let round = self.round.saturating_add(1);
        (!text.is_empty()).then(|| json!({ "type": "text", "round": round, "offset": offset, "text": text }))
    }

    /// Counts the calls of an entry that another task made, from which this one goes on.
    pub fn inherit(&mut self, entry: &Entry) {
        if let Entry::Answered { answer } = entry {
            self.count(answer);
        }
    }

    fn count(&mut self, answer: &ModelAnswer) {
        let calls = answer.message.parts.iter().filter(|part| matches!(part, Part::ToolCall { .. })).count();
        self.before = self.calls;
        self.calls = self.before.saturating_add(u32::try_from(calls).unwrap_or(u32::MAX));
    }

    /// The lines for an entry of the transcript.
    pub fn entry(&mut self, entry: &Entry) -> Vec<Value> {
        // Where anything follows, as what was said while it was recorded, the delivery did not hold.
        self.delivered = None;
        match entry {
            Entry::Answered { answer } => self.answered(answer),
            Entry::Results { results } => {
                let result = |(number, result): (u32, &ouroboros_proto::agent::CallResult)| {
                    let head: String = result.text.chars().take(HEAD).collect();
                    json!({ "type": "result", "round": self.round, "number": number, "id": result.call, "name": result.name,
                        "outcome": outcome(result.outcome), "code": result.code, "millis": result.millis,
                        "cut": head.len() < result.text.len(), "head": head })
                };
                (self.before.saturating_add(1)..).zip(results).map(result).collect()
            }
            Entry::Said { number, text } => vec![json!({ "type": "message", "number": number, "text": text })],
            Entry::Judged { call, judgement, .. } => {
                vec![json!({ "type": "judgement", "number": call, "judgement": judgement })]
            }
            // Its own word on it is the task's.
            Entry::Delivered { text, author, objective: _ } => {
                self.delivered = Some((text.clone(), *author));
                Vec::new()
            }
            Entry::Notice { text } => vec![json!({ "type": "notice", "text": text })],
            Entry::Asked { .. }
            | Entry::Parked { .. }
            | Entry::Window { .. }
            | Entry::Overflowed { .. }
            | Entry::Trimmed { .. }
            | Entry::Compacting { .. }
            | Entry::Compacted { .. }
            | Entry::PrefixBroken { .. }
            | Entry::Begins { .. }
            | Entry::Judging { .. } => Vec::new(),
        }
    }

    fn answered(&mut self, answer: &ModelAnswer) -> Vec<Value> {
        let whole = answer.message.text();
        let told = self.begun.take().map(|(_, told)| told).unwrap_or_default();
        let mut lines: Vec<Value> = match whole.strip_prefix(told.as_str()) {
            Some(rest) => self.text(told.len(), rest).into_iter().collect(),
            // It was another text: this one begins anew.
            None => self.text(0, &whole).into_iter().collect(),
        };
        self.round = self.round.saturating_add(1);
        self.count(answer);
        let mut number = self.before;
        for part in &answer.message.parts {
            if let Part::ToolCall { id, name, arguments, .. } = part {
                number = number.saturating_add(1);
                let read: Value = serde_json::from_str(arguments).unwrap_or_else(|_| arguments.as_str().into());
                lines.push(json!({ "type": "call", "round": self.round, "number": number, "id": id, "name": name, "arguments": read }));
            }
        }
        let cost = answer.cost.map(|cost| cost.amount);
        lines.push(json!({ "type": "usage", "round": self.round, "route": answer.route, "model": answer.model,
            "tokens": answer.usage, "cost_nanos": cost }));
        lines
    }

    /// The last line.
    pub fn end(&self, ended: &Result<Ended, Failure>) -> Value {
        let (output, author) = self.delivered.as_ref().map(|(text, author)| (text.as_str(), *author)).unzip();
        let (state, code, task, error) = match ended {
            Ok(Ended::Settled(task)) => ("settled", task.exit_code.unwrap_or(ask::FAILED), Some(task), None),
            Ok(Ended::Parked(task)) => (waits(task), ask::parked_code(task), Some(task), None),
            Ok(Ended::Detached) => ("left", 0, None, None),
            Err(Failure::Closed) => ("left", 0, None, None),
            Err(Failure::Told(report)) => {
                let code = if report.exit == 1 { OURS } else { report.exit };
                let error = json!({ "code": report.code, "message": report.message, "remedy": report.remedy });
                ("lost", code, None, Some(error))
            }
        };
        json!({ "type": "end", "state": state, "status": task.map(|task| task.status.as_str()),
            "outcome": task.and_then(|task| task.outcome.as_ref()), "reason": task.and_then(|task| task.reason.as_ref()),
            "objective": task.and_then(|task| task.objective),
            "exit_code": code, "output": output, "author": author, "cost": task.and_then(|task| task.cost.as_ref()),
            "error": error })
    }
}

/// What a task that has not ended waits for.
fn waits(task: &TaskView) -> &'static str {
    let paused = task.pause.is_some_and(|pause| pause.phase != PausePhase::Resumed);
    match (paused, task.request.is_some()) {
        (true, _) => "paused",
        (false, true) => "asks",
        (false, false) => "waits",
    }
}

fn outcome(outcome: CallOutcome) -> Value {
    serde_json::to_value(outcome).unwrap_or_default()
}
