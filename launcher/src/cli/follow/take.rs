//! What comes on the stream of a task, and where it goes.

use super::session::{Session, View};
use super::step::Step;
use super::telling::{self, Told};
use crate::cli::Failure;
use crate::client::{ClientError, Message, Refusal};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ouroboros_proto::agent::Entry;
use ouroboros_proto::api::{Code, EntryView, EventView, LiveOutput, LivePiece};
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
            "piece" if self.in_words => {
                let piece = telling::piece(message)?;
                self.piece(piece).map(|()| Taken::More)
            }
            "entry" if self.in_words => {
                if let Some(EntryView { place, entry }) = telling::entry(message)?
                    && self.position.take_entry(place)
                {
                    self.entry(&entry)?;
                }
                Ok(Taken::More)
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
        if let Some(machine) = &mut self.machine {
            let line = machine.event(&event, number);
            return line.map_or(Ok(()), |line| self.say_opened(line));
        }
        if self.context.json() {
            if let Some(event) = event.as_object_mut() {
                event.insert("message".to_owned(), "event".into());
            }
            return self.context.print_json(&event);
        }
        if let Some(step) = step {
            if step.is_wait() {
                self.outlet.leave_line()?;
            }
            self.progress.step(step, self.context);
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
        if self.machine.is_some() {
            return self.noted(to, new.missing, bytes);
        }
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
            if output.stream == Stream::Stderr {
                let begun = self.aside.cut();
                self.outlet.write(Stream::Stderr, &begun)?;
            }
            self.context.note(&missing(new.missing, output.stream));
        }
        let told = self.tells();
        if told && to == Stream::Stdout && self.context.out().terminal {
            // Its text was shown while it was written.
            self.delivered.extend_from_slice(bytes);
            return Ok(());
        }
        if told && to == Stream::Stderr {
            let aside = self.aside.take(bytes);
            return Ok(self.outlet.write(to, &aside)?);
        }
        Ok(self.outlet.write(to, bytes)?)
    }

    /// Whether the transcript of a task in words is told to a person.
    fn tells(&self) -> bool {
        self.in_words && self.view == View::Output && self.machine.is_none()
    }

    fn piece(&mut self, piece: LivePiece) -> Result<(), Failure> {
        if let Some(machine) = &mut self.machine {
            return machine.piece(&piece).map_or(Ok(()), |line| self.context.print_json(&line));
        }
        let told = self.telling.piece(piece);
        self.show(told)
    }

    pub(super) fn entry(&mut self, entry: &Entry) -> Result<(), Failure> {
        if let Some(machine) = &mut self.machine {
            return machine.entry(entry).iter().try_for_each(|line| self.context.print_json(line));
        }
        let told = self.telling.entry(entry);
        self.show(told)
    }

    fn show(&mut self, told: Vec<Told>) -> Result<(), Failure> {
        let here = self.context.out().terminal;
        for told in told {
            self.progress.clear();
            match told {
                Told::Text(text) if here => self.outlet.write(Stream::Stdout, text.as_bytes())?,
                Told::TextEnds if here => self.outlet.text_ends()?,
                Told::Words(words) if !here => self.outlet.write(Stream::Stderr, format!("{words}\n").as_bytes())?,
                Told::Line(line) => self.outlet.line(&line)?,
                Told::Text(_) | Told::TextEnds | Told::Words(_) => {}
            }
        }
        Ok(())
    }

    /// Shows what was delivered, unless it was shown while it was written, and ends what was begun.
    pub(super) fn close(&mut self) -> Result<(), Failure> {
        let delivered = std::mem::take(&mut self.delivered);
        if !delivered.is_empty() && delivered.trim_ascii() != self.telling.last().as_bytes().trim_ascii() {
            self.outlet.write(Stream::Stdout, &delivered)?;
        }
        Ok(self.outlet.close()?)
    }

    /// Prints a line about an event; of a request, what it asks is looked up.
    fn say_opened(&self, mut line: Value) -> Result<(), Failure> {
        if line.get("type").and_then(Value::as_str) == Some("request") {
            // One that is over asks nothing any more.
            let task = self.context.client().get(&self.path()).and_then(|answer| answer.value());
            let request = task.ok().and_then(|task| task.get("request").cloned());
            let same = |asked: &Value| asked.get("request") == line.get("request");
            let asks = request.filter(same).and_then(|asked| asked.get("asks").cloned()).unwrap_or_default();
            if let Some(line) = line.as_object_mut() {
                line.insert("asks".to_owned(), asks);
            }
        }
        self.context.print_json(&line)
    }

    /// What a task in words says beside its transcript, for programs, and how many bytes before it are not kept. What it delivers is in
    /// its transcript.
    pub(super) fn noted(&mut self, stream: Stream, gap: u64, bytes: &[u8]) -> Result<(), Failure> {
        if stream == Stream::Stdout {
            return Ok(());
        }
        if gap > 0 {
            let begun = self.aside.cut();
            self.notes(&begun)?;
            self.note(&missing(gap, stream))?;
        }
        let aside = self.aside.take(bytes);
        self.notes(&aside)
    }

    fn notes(&self, bytes: &[u8]) -> Result<(), Failure> {
        String::from_utf8_lossy(bytes).lines().try_for_each(|text| self.note(text))
    }

    /// Prints a note.
    pub(super) fn note(&self, text: &str) -> Result<(), Failure> {
        self.context.print_json(&json!({ "type": "note", "text": text }))
    }
}

/// That bytes are missing.
fn missing(bytes: u64, stream: Stream) -> String {
    format!("{bytes} bytes of {} are not kept and are left out here", stream.as_str())
}

fn malformed(error: serde_json::Error) -> ClientError {
    ClientError::Malformed(error.to_string())
}
