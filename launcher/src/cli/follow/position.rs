//! How far a task was followed.

use crate::cli::Failure;
use ouroboros_proto::api::{Code, LiveOutput};
use ouroboros_proto::kind::{Event, Stream};
use serde_json::Value;

/// Query parameters about a transcript: whether it is wanted, and from where on.
const WORDS: [&str; 2] = ["entries", "from_entry"];

/// A refusal to open the stream of a task in words, told as what it is when the server does not know of transcripts on it.
pub fn or_too_old(failure: Failure) -> Failure {
    let Failure::Told(report) = &failure else { return failure };
    let parameter = report.detail.as_ref().and_then(|detail| detail.get("parameter")).and_then(Value::as_str);
    if failure.is(Code::BadField) && parameter.is_some_and(|parameter| WORDS.contains(&parameter)) {
        return Failure::new("server_too_old", "the running server is too old to tell what a task in words does.")
            .remedy(
                "`ouroboros restart --drain` starts the installed one; `ouroboros attach` follows the task there.",
            );
    }
    failure
}

/// What was shown of a task: events up to a number, bytes of an attempt's streams up to an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// Number of the last event.
    pub event: Option<u64>,
    /// The attempt, counted from 1; 0 before any output.
    pub attempt: u32,
    /// Bytes of its standard output.
    pub stdout: u64,
    /// Bytes of its standard error.
    pub stderr: u64,
    /// Place of the next entry of a transcript; 0 before any.
    pub entry: u64,
}

/// What is new of some output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct New {
    /// Bytes at its start that were shown already.
    pub skip: usize,
    /// Bytes before it that are not kept.
    pub missing: u64,
}

impl Position {
    /// Whether this event is new; it counts as shown then.
    pub fn take_event(&mut self, number: u64) -> bool {
        let new = self.event.is_none_or(|last| number > last);
        if new {
            self.event = Some(number);
        }
        new
    }

    /// Whether this entry is new; it counts as shown then.
    pub fn take_entry(&mut self, place: u64) -> bool {
        let new = place >= self.entry;
        if new {
            self.entry = place.saturating_add(1);
        }
        new
    }

    /// What to ask the server for beside the transcript's kinds of messages, to go on from here.
    pub fn of_words(&self) -> [(&'static str, Option<String>); 2] {
        let [wanted, from] = WORDS;
        [(wanted, Some("true".to_owned())), (from, Some(self.entry.to_string()))]
    }

    /// Keeps the offsets those of the attempt that is under way after `event`, as the server takes them.
    pub fn follow_attempts(&mut self, event: &Event) {
        if let Event::Started { ordinal, .. } = event
            && *ordinal > self.attempt
        {
            *self = Self { event: self.event, entry: self.entry, attempt: *ordinal, ..Self::default() };
        } else if matches!(event, Event::AttemptEnded { .. }) {
            *self = Self { stdout: 0, stderr: 0, ..*self };
        }
    }

    /// What is new of `length` bytes of output; they count as shown then. `None` for an attempt that is over.
    pub fn take_output(&mut self, output: &LiveOutput, length: usize) -> Option<New> {
        if output.attempt < self.attempt {
            return None;
        }
        if output.attempt > self.attempt {
            *self = Self { event: self.event, entry: self.entry, attempt: output.attempt, ..Self::default() };
        }
        let shown = match output.stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        let missing = output.offset.saturating_sub(*shown);
        let skip = usize::try_from(shown.saturating_sub(output.offset)).unwrap_or(usize::MAX).min(length);
        let end = output.offset.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
        *shown = end.max(*shown);
        Some(New { skip, missing })
    }
}

#[cfg(test)]
mod tests {
    use super::{New, Position};
    use ouroboros_proto::api::LiveOutput;
    use ouroboros_proto::kind::Stream;

    fn output(attempt: u32, stream: Stream, offset: u64) -> LiveOutput {
        LiveOutput { attempt, stream, offset, data: String::new(), gap: 0 }
    }

    #[test]
    fn nothing_is_shown_twice_and_gaps_are_seen() {
        let mut position = Position::default();
        let mut take = |attempt, stream, offset, length| position.take_output(&output(attempt, stream, offset), length);
        assert_eq!(take(1, Stream::Stdout, 0, 10), Some(New { skip: 0, missing: 0 }));
        assert_eq!(take(1, Stream::Stdout, 4, 10), Some(New { skip: 6, missing: 0 }));
        assert_eq!(take(1, Stream::Stdout, 0, 5), Some(New { skip: 5, missing: 0 }));
        assert_eq!(take(1, Stream::Stdout, 20, 1), Some(New { skip: 0, missing: 6 }));
        assert_eq!(take(1, Stream::Stderr, 0, 3), Some(New { skip: 0, missing: 0 }));
        assert_eq!(take(2, Stream::Stdout, 0, 3), Some(New { skip: 0, missing: 0 }));
        assert_eq!(take(1, Stream::Stdout, 21, 3), None);
    }

    #[test]
    fn events_are_shown_once() {
        let mut position = Position::default();
        assert_eq!([5, 5, 4, 6].map(|number| position.take_event(number)), [true, false, false, true]);
    }
}
