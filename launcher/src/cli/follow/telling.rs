//! What a task in words does, told as it happens: the text of its model while it is written, each call once its result is there.
//!
//! Everything told comes from the transcript; the pieces of an answer that is being written only come sooner. What is written of an
//! answer that never became whole stays, and the next one begins a line of its own.

use crate::cli::Failure;
use crate::client::{ClientError, Message};
use crate::render::{Look, Tone, call, money};
use ouroboros_proto::agent::{CallOutcome, CallResult, Entry, ModelAnswer, Part};
use ouroboros_proto::api::{EntryView, LivePiece};

/// Something to show.
#[derive(Debug, PartialEq, Eq)]
pub enum Told {
    /// More of the model's text.
    Text(String),
    /// The text is over.
    TextEnds,
    /// What the model said beside calls, as a whole: where its text is not shown while it is written.
    Words(String),
    /// A line beside that.
    Line(String),
}

/// How far a task was told.
#[derive(Debug)]
pub struct Telling {
    look: Look,
    round: u32,
    /// The calls of the last answer: their tools and arguments, by id.
    calls: Vec<(String, String, String)>,
    /// What the last answer cost, to be told after its calls.
    cost: Option<String>,
    /// Attempt and call of a model, and what of its text was told.
    begun: Option<((u32, u32), String)>,
    /// The last whole text.
    last: String,
}

impl Telling {
    /// Nothing is told yet. Lines look like this.
    pub fn new(look: Look) -> Self {
        Self { look, round: 0, calls: Vec::new(), cost: None, begun: None, last: String::new() }
    }

    /// The last text of the model that was told as a whole.
    pub fn last(&self) -> &str {
        &self.last
    }

    /// Takes a piece of a text that is being written.
    pub fn piece(&mut self, piece: LivePiece) -> Vec<Told> {
        let of = (piece.attempt, piece.call);
        match &mut self.begun {
            Some((begun, told)) if *begun == of && piece.offset == 0 => {
                // Told again from its beginning, after the connection was lost.
                let rest = piece.text.strip_prefix(told.as_str()).unwrap_or_default().to_owned();
                told.push_str(&rest);
                text(rest)
            }
            Some((begun, told)) if *begun == of => {
                told.push_str(&piece.text);
                text(piece.text)
            }
            begun => {
                let ends = begun.take().map(|_| Told::TextEnds);
                self.begun = Some((of, piece.text.clone()));
                ends.into_iter().chain(text(piece.text)).collect()
            }
        }
    }

    /// Takes an entry of the transcript.
    pub fn entry(&mut self, entry: &Entry) -> Vec<Told> {
        match entry {
            Entry::Answered { answer } => self.answered(answer),
            Entry::Results { results } => {
                // One that delivers is told by what it delivers.
                let is_told = |result: &&CallResult| result.name != "deliver" || result.outcome != CallOutcome::Ok;
                let mut lines: Vec<String> = results.iter().filter(is_told).map(|result| self.result(result)).collect();
                lines.extend(self.cost.take());
                lines.into_iter().map(Told::Line).collect()
            }
            // What else happens is told in the task's own words, on standard error.
            // An answer that was begun is not gone on with after these.
            Entry::Said { .. } | Entry::Notice { .. } | Entry::Parked { .. } => {
                self.begun.take().map(|_| Told::TextEnds).into_iter().collect()
            }
            Entry::Asked { .. }
            | Entry::Delivered { .. }
            | Entry::Window { .. }
            | Entry::Overflowed { .. }
            | Entry::Trimmed { .. }
            | Entry::Compacting { .. }
            | Entry::Compacted { .. }
            | Entry::PrefixBroken { .. }
            | Entry::Begins { .. }
            | Entry::Judging { .. }
            | Entry::Judged { .. } => Vec::new(),
        }
    }

    fn answered(&mut self, answer: &ModelAnswer) -> Vec<Told> {
        self.round = self.round.saturating_add(1);
        let whole = answer.message.text();
        let told = self.begun.take().map(|(_, told)| told).unwrap_or_default();
        let mut all = match whole.strip_prefix(told.as_str()) {
            Some(rest) => text(rest.to_owned()),
            None => [Told::TextEnds].into_iter().chain(text(whole.clone())).collect(),
        };
        if !whole.is_empty() {
            all.push(Told::TextEnds);
        }
        self.calls = answer.message.parts.iter().filter_map(called).collect();
        if !self.calls.is_empty() {
            if !whole.trim().is_empty() {
                all.push(Told::Words(whole.trim().to_owned()));
            }
            self.cost = self.costs(answer);
        }
        self.last = whole;
        all
    }

    /// What the round cost, where it did.
    fn costs(&self, answer: &ModelAnswer) -> Option<String> {
        let cost = answer.cost.filter(|cost| cost.amount.get() > 0)?;
        let tokens = money::tokens(answer.usage.input, answer.usage.output);
        Some(self.look.paint(Tone::Faint, &format!("  round {}: {} · {tokens}", self.round, cost.amount)))
    }

    fn result(&self, result: &CallResult) -> String {
        let known = self.calls.iter().find(|(id, ..)| *id == result.call);
        let arguments = known.map_or("{}", |(_, _, arguments)| arguments.as_str());
        call::line(self.look, &result.name, arguments, result)
    }
}

/// An entry as it comes on the stream; `None` for one of a kind that this build does not know.
pub fn entry(message: &Message) -> Result<Option<EntryView>, Failure> {
    let value: serde_json::Value = serde_json::from_str(&message.data).map_err(malformed)?;
    Ok(serde_json::from_value(value).ok())
}

/// A piece as it comes on the stream.
pub fn piece(message: &Message) -> Result<LivePiece, Failure> {
    Ok(serde_json::from_str(&message.data).map_err(malformed)?)
}

fn malformed(error: serde_json::Error) -> ClientError {
    ClientError::Malformed(error.to_string())
}

fn text(text: String) -> Vec<Told> {
    if text.is_empty() { Vec::new() } else { vec![Told::Text(text)] }
}

fn called(part: &Part) -> Option<(String, String, String)> {
    match part {
        Part::ToolCall { id, name, arguments, .. } => Some((id.clone(), name.clone(), arguments.clone())),
        Part::Text { .. }
        | Part::Image { .. }
        | Part::Reasoning { .. }
        | Part::ToolResult { .. }
        | Part::Refusal { .. }
        | Part::Native { .. } => None,
    }
}

/// The lines of a task's own words that tell nothing of what the transcript says.
#[derive(Debug, Default)]
pub struct Aside {
    begun: Vec<u8>,
}

impl Aside {
    /// What is left of the lines that are whole with these bytes.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.begun.extend_from_slice(bytes);
        let end = self.begun.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at.saturating_add(1));
        let whole: Vec<u8> = self.begun.drain(..end).collect();
        let told = |line: &[u8]| {
            use ouroboros_proto::agent::{TOLD_CALL, TOLD_WORDS};
            line.starts_with(TOLD_CALL.as_bytes()) || line.starts_with(TOLD_WORDS.as_bytes())
        };
        whole.split_inclusive(|byte| *byte == b'\n').filter(|line| !told(line)).flatten().copied().collect()
    }

    /// What is left of the line that is begun: it is not gone on with.
    pub fn cut(&mut self) -> Vec<u8> {
        if self.begun.is_empty() { Vec::new() } else { self.take(b"\n") }
    }
}

#[cfg(test)]
mod tests {
    use super::{Aside, Telling, Told};
    use crate::render::Look;
    use ouroboros_proto::agent::Entry;
    use ouroboros_proto::api::LivePiece;
    use serde_json::json;

    fn piece(call: u32, offset: u64, text: &str) -> LivePiece {
        LivePiece { attempt: 1, call, offset, text: text.to_owned() }
    }

    fn answered(text: &str, calls: bool) -> Entry {
        let mut parts = vec![json!({ "type": "text", "text": text })];
        if calls {
            parts.push(json!({ "type": "tool_call", "id": "a", "name": "read_file", "arguments": "{\"path\":\"a\"}" }));
        }
        let usage = json!({ "input": 10, "cached": null, "cache_write": null, "cache_write_long": null, "output": 2, "reasoning": null });
        serde_json::from_value(json!({ "type": "answered", "answer": { "message": { "role": "assistant", "parts": parts },
            "stop": "end", "usage": usage, "cost": { "amount": 2_000_000, "source": "catalogue" }, "route": "r", "model": "m",
            "provider_request": null } }))
        .unwrap()
    }

    fn texts(told: Vec<Told>) -> String {
        told.into_iter()
            .map(|told| match told {
                Told::Text(text) => text,
                Told::TextEnds => "|".to_owned(),
                Told::Words(words) => format!("<{words}>"),
                Told::Line(line) => format!("[{line}]"),
            })
            .collect()
    }

    #[test]
    fn text_comes_once_however_it_comes() {
        let mut telling = Telling::new(Look::PLAIN);
        assert_eq!(texts(telling.piece(piece(1, 0, "I "))), "I ");
        assert_eq!(texts(telling.piece(piece(1, 2, "look "))), "look ");
        assert_eq!(texts(telling.piece(piece(1, 0, "I look at "))), "at ", "after a lost connection");
        assert_eq!(texts(telling.entry(&answered("I look at it.", true))), "it.|<I look at it.>");
        let results = json!({ "type": "results", "results": [
            { "call": "a", "name": "read_file", "outcome": "ok", "text": "x\ny", "millis": 4 }] });
        assert_eq!(
            texts(telling.entry(&serde_json::from_value(results).unwrap())),
            "[· read_file a — 2 lines, 4 ms][  round 1: $0.002 · 10 in, 2 out]"
        );
        assert_eq!(texts(telling.piece(piece(2, 0, "Well "))), "Well ");
        assert_eq!(texts(telling.piece(piece(3, 0, "It "))), "|It ", "that answer never became whole");
        assert_eq!(texts(telling.entry(&answered("Done.", false))), "|Done.|", "it was another one");
        assert_eq!(telling.last(), "Done.");
        assert_eq!(texts(telling.piece(piece(4, 0, "Half "))), "Half ");
        let stopped = serde_json::from_value(json!({ "type": "notice", "text": "Stopped." })).unwrap();
        assert_eq!(
            (texts(telling.entry(&stopped)), texts(telling.piece(piece(5, 0, "New ")))),
            ("|".into(), "New ".into())
        );
    }

    #[test]
    fn what_the_transcript_says_is_not_told_twice() {
        let mut aside = Aside::default();
        assert_eq!(aside.take("it waits\n· read_file {}\n> I lo".as_bytes()), b"it waits\n");
        assert_eq!(aside.take(b"ok.\nbye\nhalf"), b"bye\n");
        assert_eq!((aside.cut(), aside.cut()), (b"half\n".to_vec(), Vec::new()));
        assert_eq!(aside.take(b"> of it\n"), b"");
    }
}
