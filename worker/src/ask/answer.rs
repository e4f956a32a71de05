//! What is written of an answer while it comes, and what its end means.

use crate::keep::Capture;
use crate::link::Reporter;
use ouroboros_proto::agent::{ModelAnswer, ModelEnd, Parked, Part, Piece, StopReason};
use ouroboros_proto::kind::{BootMicros, Captured, Ending, Millis, ModelFailure, Stream, clock};

/// The shortest time between two announcements of one stream while it is busy.
const PACE: Millis = Millis::new(10);

/// The two streams.
#[derive(Debug)]
pub struct Answer {
    text: Kept,
    said: Kept,
}

#[derive(Debug)]
struct Kept {
    stream: Stream,
    capture: Capture,
    announced: u64,
    may_announce: BootMicros,
}

impl Answer {
    /// Nothing came yet.
    pub fn new(base: &str, limit: u64) -> Self {
        let kept = |stream| Kept {
            stream,
            capture: Capture::new(stream, base, limit),
            announced: 0,
            may_announce: BootMicros::default(),
        };
        Self { text: kept(Stream::Stdout), said: kept(Stream::Stderr) }
    }

    /// Takes the JSON of a piece. One that cannot be read is left out: the whole answer comes at the end.
    pub fn piece(&mut self, json: &[u8]) {
        match serde_json::from_slice(json) {
            Ok(Piece::Text(text)) => self.text.capture.take(text.as_bytes()),
            Ok(Piece::Status(words)) => self.say(&words),
            Ok(Piece::Reasoning(_) | Piece::ToolCall { .. } | Piece::Arguments { .. }) | Err(_) => {}
        }
    }

    /// Takes the JSON of the end.
    pub fn over(&mut self, json: &[u8]) -> Ending {
        match serde_json::from_slice(json) {
            Ok(ModelEnd::Answer(answer)) => self.answered(&answer),
            Ok(ModelEnd::Failed { failure, detail, window: _ }) => {
                self.say(&detail);
                Ending::ModelFailed { failure }
            }
            Ok(ModelEnd::Parked { park, detail }) => {
                self.say(&detail);
                match park {
                    Parked::Paused { .. } | Parked::Waiting { .. } => Ending::Parked,
                }
            }
            Err(error) => {
                self.say(&format!("the end of the call cannot be read: {error}"));
                Ending::ModelFailed { failure: ModelFailure::Malformed }
            }
        }
    }

    fn answered(&mut self, answer: &ModelAnswer) -> Ending {
        if self.text.capture.written() == 0 {
            self.text.capture.take(answer.message.text().as_bytes());
        }
        for part in &answer.message.parts {
            if let Part::ToolCall { name, arguments, .. } = part {
                // A question has no tools but where a route is tried out.
                self.text.capture.take(format!("\n{name} {arguments}\n").as_bytes());
            }
        }
        match &answer.stop {
            StopReason::Length => self.say("the answer is cut: it reached the most tokens that were asked for"),
            StopReason::Filtered => self.say("the answer is cut: the provider's filter stopped it"),
            StopReason::Refusal => {
                self.say("the model declined to answer");
                return Ending::ModelFailed { failure: ModelFailure::Refused };
            }
            StopReason::End | StopReason::StopText | StopReason::ToolCalls | StopReason::Paused => {}
            StopReason::Other(why) => self.say(&format!("the answer ended for a reason of the provider's own: {why}")),
        }
        Ending::Answered
    }

    fn say(&mut self, words: &str) {
        self.said.capture.take(words.as_bytes());
        self.said.capture.take(b"\n");
    }

    /// When the next announcement is due; `None` when nothing grew.
    pub fn next_announcement(&self) -> Option<BootMicros> {
        [&self.text, &self.said].into_iter().filter(|kept| kept.grew()).map(|kept| kept.may_announce).min()
    }

    /// Announces what grew and is due.
    pub fn announce(&mut self, now: BootMicros, reporter: &mut Reporter) {
        for kept in [&mut self.text, &mut self.said] {
            if kept.grew() && kept.may_announce <= now {
                kept.announce(now, reporter);
            }
        }
    }

    /// Puts everything on the disk; says what is kept of text and words.
    pub fn finish(&mut self, reporter: &mut Reporter) -> (Captured, Captured) {
        for kept in [&mut self.text, &mut self.said] {
            if kept.grew() {
                kept.announce(clock::boot(), reporter);
            }
        }
        reporter.flush();
        (self.text.capture.finish(), self.said.capture.finish())
    }
}

impl Kept {
    fn grew(&self) -> bool {
        self.capture.written() > self.announced
    }

    fn announce(&mut self, now: BootMicros, reporter: &mut Reporter) {
        self.announced = self.capture.written();
        self.may_announce = now.plus(PACE);
        reporter.output(self.stream, self.announced);
    }
}
