//! `events`: what happened, and what happens.

use super::args::look::Events;
use super::{Context, Failure, Outcome, follow};
use crate::client::{ClientError, Message, Refusal, query};
use crate::render;
use ouroboros_proto::kind::TaskId;
use serde_json::Value;
use std::collections::BTreeMap;

/// Tasks whose number is remembered, so that a long list does not ask for each one again.
const REMEMBERED: usize = 1_024;

/// Lists events; with `--follow` goes on until it is stopped.
pub fn events(context: &Context, events: &Events) -> Outcome {
    let task = match &events.task {
        Some(task) => Some(follow::look_up(context, task.as_str())?.id.to_string()),
        None => None,
    };
    let types = (!events.types.is_empty()).then(|| events.types.join(","));
    let target = query(
        "/api/events",
        &[
            ("task", task),
            ("type", types),
            ("follow", Some(events.follow.to_string())),
            ("after", events.after.map(|number| number.to_string())),
            ("tail", events.tail.map(|count| count.to_string())),
        ],
    );
    let mut stream = context.client().events(&target, None)?;
    let mut names = Names { context, known: BTreeMap::new() };
    loop {
        while let Some(message) = stream.next() {
            match message.event.as_str() {
                "event" => context.print(&shown(&mut names, &message)?)?,
                "caught_up" if !events.follow => return Ok(0),
                "error" => {
                    return Err(ClientError::Refused(Box::new(Refusal::read(500, message.data.as_bytes()))).into());
                }
                _ => {}
            }
        }
        match stream.read() {
            Ok(true) => {}
            Ok(false) if stream.has_next() => {}
            Ok(false) | Err(ClientError::Lost(_)) if events.follow => return Err(ended()),
            Ok(false) => return Ok(0),
            Err(error) => return Err(error.into()),
        }
    }
}

fn shown(names: &mut Names<'_>, message: &Message) -> Result<String, Failure> {
    let event: Value =
        serde_json::from_str(&message.data).map_err(|error| ClientError::Malformed(error.to_string()))?;
    if names.context.json() {
        return super::context::line(&event);
    }
    Ok(format!("{}\n", render::event::line(&event, &mut |task| names.of(task))))
}

/// What people call the tasks that events name by id.
struct Names<'a> {
    context: &'a Context,
    known: BTreeMap<TaskId, String>,
}

impl Names<'_> {
    /// The number of a task; its id when it is no longer kept.
    fn of(&mut self, task: TaskId) -> String {
        if let Some(name) = self.known.get(&task) {
            return name.clone();
        }
        let id = task.to_string();
        let name = follow::look_up(self.context, &id).map_or(id, |found| found.number.to_string());
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        self.known.insert(task, name.clone());
        name
    }
}

fn ended() -> Failure {
    Failure::new("server_gone", "the server ended the stream of events; what came before was printed")
        .remedy("`ouroboros status` says whether it runs; `--after NUMBER` takes the stream up where it ended.")
}
