//! What comes on the stream of a task, and where it goes.

use super::session::{Session, View};
use super::step::Step;
use crate::cli::Failure;
use crate::client::{ClientError, Message, Refusal};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ouroboros_proto::api::{Code, EventView, LiveOutput};
use ouroboros_proto::kind::Stream;
use serde_json::{Value, json};

/// What a message came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// There is more to come.
    More,
    /// The task has ended.
    End,
    /// The task waits, and nobody wants to wait for it here.
    Parked,
    /// The task asks its owner.
    Asks,
    /// The server cannot go on with this stream; another one may do.
    Broken,
}

impl Session<'_> {
    /// Takes one message. Kinds that this build does not know are passed over.
    pub(super) fn take(&mut self, message: &Message) -> Result<Taken, Failure> {
        match message.event.as_str() {
            "event" => self.take_event(message).map(|()| self.parking.verdict()),
            "caught_up" => {
                self.parking.caught_up();
                Ok(self.parking.verdict())
            }
            "output" if self.view != View::End => self.take_output(&message.data).map(|()| Taken::More),
            "end" => Ok(Taken::End),
            "error" => {
                let refusal = Refusal::read(500, message.data.as_bytes());
                let error = ClientError::Refused(Box::new(refusal));
                if error.passes_with_its_server() || error.is(Code::EventsExpired) {
                    Ok(Taken::Broken)
                } else {
                    Err(error.into())
                }
            }
            _ => Ok(Taken::More),
        }
    }

    fn take_event(&mut self, message: &Message) -> Result<(), Failure> {
        let mut event: Value = serde_json::from_str(&message.data).map_err(malformed)?;
        let number = message.id.or_else(|| event.get("seq").and_then(Value::as_u64));
        if !number.is_some_and(|number| self.position.take_event(number)) {
            return Ok(());
        }
        // An event that this version does not know is passed on as it is.
        let known = serde_json::from_value::<EventView>(event.clone()).ok().map(|view| view.event);
        let step = known.as_ref().and_then(Step::of);
        if let Some(event) = &known {
            self.position.follow_attempts(event);
        }
        if let Some(step) = step {
            self.parking.step(step);
            if let (Step::Heard(request), Some(prompt)) = (step, &mut self.prompt) {
                prompt.over(request);
            }
        }
        if self.view == View::End {
            return Ok(());
        }
        if self.context.json() {
            if let Some(event) = event.as_object_mut() {
                event.insert("message".to_owned(), "event".into());
            }
            return self.context.print_json(&event);
        }
        if let Some(step) = step {
            self.progress.step(step);
        }
        Ok(())
    }

    fn take_output(&mut self, data: &str) -> Result<(), Failure> {
        let output: LiveOutput = serde_json::from_str(data).map_err(malformed)?;
        let bytes = STANDARD.decode(&output.data).map_err(|error| ClientError::Malformed(error.to_string()))?;
        let Some(new) = self.position.take_output(&output, bytes.len()) else { return Ok(()) };
        let bytes = bytes.get(new.skip..).unwrap_or_default();
        let to = match self.view {
            View::One { stream, attempt } => {
                let other = stream != output.stream || attempt.is_some_and(|only| only != output.attempt);
                if other {
                    return Ok(());
                }
                Stream::Stdout
            }
            View::Output | View::End => output.stream,
        };
        let skipped = u64::try_from(new.skip).unwrap_or(u64::MAX);
        if self.context.json() {
            return self.context.print_json(&json!({
                "message": "output",
                "attempt": output.attempt,
                "stream": output.stream.as_str(),
                "offset": output.offset.saturating_add(skipped),
                "gap": new.missing,
                "data": STANDARD.encode(bytes),
            }));
        }
        self.progress.clear();
        if new.missing > 0 {
            let stream = output.stream.as_str();
            self.context.note(&format!("{} bytes of {stream} are not kept and are left out here", new.missing));
        }
        Ok(self.outlet.write(to, bytes)?)
    }
}

fn malformed(error: serde_json::Error) -> ClientError {
    ClientError::Malformed(error.to_string())
}
