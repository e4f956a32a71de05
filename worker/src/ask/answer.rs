//! What is written of an answer while it comes, and what its end means.

use crate::model::Speech;
use ouroboros_proto::agent::{ModelAnswer, ModelEnd, Parked, Part, Piece, StopReason};
use ouroboros_proto::kind::{Ending, ModelFailure};
use std::ops::ControlFlow;

/// Takes the JSON of a piece. One that cannot be read is left out: the whole answer comes at the end.
pub fn piece(speech: &mut Speech, json: &[u8]) -> ControlFlow<()> {
    match serde_json::from_slice(json) {
        Ok(Piece::Text(text)) => speech.write(&text),
        Ok(Piece::Status(words)) => speech.say(&words),
        Ok(Piece::Reasoning(_) | Piece::ToolCall { .. } | Piece::Arguments { .. }) | Err(_) => {}
    }
    ControlFlow::Continue(())
}

/// Takes the JSON of the end.
pub fn over(speech: &mut Speech, json: &[u8]) -> Ending {
    match serde_json::from_slice(json) {
        Ok(ModelEnd::Answer(answer)) => answered(speech, &answer),
        Ok(ModelEnd::Failed { failure, detail, window: _, route: _ }) => {
            speech.say(&detail);
            Ending::ModelFailed { failure }
        }
        Ok(ModelEnd::Parked { park, detail }) => {
            speech.say(&detail);
            match park {
                Parked::Paused { .. } | Parked::Waiting { .. } => Ending::Parked,
            }
        }
        Err(error) => {
            speech.say(&format!("the end of the call cannot be read: {error}"));
            Ending::ModelFailed { failure: ModelFailure::Malformed }
        }
    }
}

fn answered(speech: &mut Speech, answer: &ModelAnswer) -> Ending {
    if !speech.has_written() {
        speech.write(&answer.message.text());
    }
    for part in &answer.message.parts {
        if let Part::ToolCall { name, arguments, .. } = part {
            // A question has no tools but where a route is tried out.
            speech.write(&format!("\n{name} {arguments}\n"));
        }
    }
    match &answer.stop {
        StopReason::Length => speech.say("the answer is cut: it reached the most tokens that were asked for"),
        StopReason::Filtered => speech.say("the answer is cut: the provider's filter stopped it"),
        StopReason::Refusal => {
            speech.say("the model declined to answer");
            return Ending::ModelFailed { failure: ModelFailure::Refused };
        }
        StopReason::End | StopReason::StopText | StopReason::ToolCalls | StopReason::Paused => {}
        StopReason::Other(why) => speech.say(&format!("the answer ended for a reason of the provider's own: {why}")),
    }
    Ending::Answered
}
