//! `events`: what happened, and what happens.

use super::args::look::Events;
use super::{Context, Failure, Outcome, follow};
use crate::client::{ClientError, Message, Refusal, query};
use crate::render;
use serde_json::Value;

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
    loop {
        while let Some(message) = stream.next() {
            match message.event.as_str() {
                "event" => context.print(&shown(context, &message)?)?,
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

fn shown(context: &Context, message: &Message) -> Result<String, Failure> {
    let event: Value =
        serde_json::from_str(&message.data).map_err(|error| ClientError::Malformed(error.to_string()))?;
    if context.json() { super::context::line(&event) } else { Ok(format!("{}\n", render::event::line(&event))) }
}

fn ended() -> Failure {
    Failure::new("server_gone", "the server ended the stream of events; what came before was printed")
        .remedy("`ouroboros status` says whether it runs; `--after NUMBER` takes the stream up where it ended.")
}
