//! Events of a stream, however its bytes are split.
//!
//! Server-sent events as in the HTML standard (`html.spec.whatwg.org`, "Parsing an event stream"), with one difference: an event
//! without an empty line after it counts when the stream ends, because some servers leave that line out.

use crate::dialect::{Event, Framing};

/// A line, and the data of an event, has at most this many bytes. Some providers repeat the whole answer in their last event, so this is
/// more than an answer may have.
pub(super) const MAX_EVENT_BYTES: usize = 8 << 20;

/// A line or an event is longer than [`MAX_EVENT_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than {MAX_EVENT_BYTES} bytes")]
pub(super) struct TooLong;

/// How events are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Framed(Framing),
    /// The whole response is one event: it was asked for as a stream and is none.
    Whole,
}

/// Takes bytes, gives events.
#[derive(Debug)]
pub(super) struct Frames {
    form: Form,
    lines: Lines,
    name: Option<String>,
    data: Option<String>,
}

impl Frames {
    pub(super) fn new(framing: Framing) -> Self {
        Self { form: Form::Framed(framing), lines: Lines::default(), name: None, data: None }
    }

    /// For a response that is a single JSON text.
    pub(super) fn whole() -> Self {
        Self { form: Form::Whole, lines: Lines::default(), name: None, data: None }
    }

    /// Takes bytes; gives the events that are whole with them.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Event>, TooLong> {
        if self.form == Form::Whole {
            return self.lines.add(bytes).map(|()| Vec::new());
        }
        let mut events = Vec::new();
        let mut rest = bytes;
        while let Some((line, after)) = self.lines.next(rest)? {
            rest = after;
            events.extend(self.line(&line)?);
        }
        Ok(events)
    }

    /// The stream has ended: what is left counts.
    pub(super) fn finish(mut self) -> Result<Vec<Event>, TooLong> {
        let last = self.lines.rest();
        let mut events: Vec<Event> = self.line(&last)?.into_iter().collect();
        events.extend(self.event());
        Ok(events)
    }

    fn line(&mut self, line: &[u8]) -> Result<Option<Event>, TooLong> {
        let line = String::from_utf8_lossy(line);
        match self.form {
            Form::Whole | Form::Framed(Framing::JsonLines) => {
                let text = line.trim();
                Ok((!text.is_empty()).then(|| Event::data(text)))
            }
            Form::Framed(Framing::Sse) if line.is_empty() => Ok(self.event()),
            Form::Framed(Framing::Sse) => self.field(&line).map(|()| None),
        }
    }

    fn field(&mut self, line: &str) -> Result<(), TooLong> {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.name = Some(value.to_owned()),
            "data" => {
                let data = match self.data.take() {
                    None => value.to_owned(),
                    Some(data) if data.len().saturating_add(value.len()) >= MAX_EVENT_BYTES => return Err(TooLong),
                    Some(mut data) => {
                        data.push('\n');
                        data.push_str(value);
                        data
                    }
                };
                self.data = Some(data);
            }
            // A comment has no field; `id` and `retry` are for streams that are taken up again.
            _ => {}
        }
        Ok(())
    }

    fn event(&mut self) -> Option<Event> {
        let name = self.name.take().filter(|name| !name.is_empty());
        Some(Event { name, data: self.data.take()? })
    }
}

/// A line without its end, and the bytes after it.
type Line<'b> = (Vec<u8>, &'b [u8]);

/// Lines that end with LF, CR or CRLF.
#[derive(Debug, Default)]
struct Lines {
    line: Vec<u8>,
    /// The last byte was a CR: an LF belongs to it.
    after_cr: bool,
    /// Something came: a byte order mark is none any more.
    begun: bool,
}

impl Lines {
    /// The next line. `None` when it does not end here; then everything is kept.
    fn next<'b>(&mut self, bytes: &'b [u8]) -> Result<Option<Line<'b>>, TooLong> {
        let mut bytes = bytes;
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let (part, rest) = bytes.split_at_checked(end.unwrap_or(bytes.len())).unwrap_or((bytes, &[]));
        self.add(part)?;
        let Some((terminator, rest)) = rest.split_first() else { return Ok(None) };
        self.after_cr = *terminator == b'\r';
        Ok(Some((self.rest(), rest)))
    }

    fn add(&mut self, part: &[u8]) -> Result<(), TooLong> {
        if self.line.len().saturating_add(part.len()) > MAX_EVENT_BYTES {
            return Err(TooLong);
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    /// What came of the line so far.
    fn rest(&mut self) -> Vec<u8> {
        let line = std::mem::take(&mut self.line);
        if std::mem::replace(&mut self.begun, true) {
            return line;
        }
        line.strip_prefix(b"\xEF\xBB\xBF").map(<[u8]>::to_vec).unwrap_or(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, data: &str) -> Event {
        Event { name: Some(name.to_owned()), data: data.to_owned() }
    }

    /// Every way to split the bytes once gives the same events, and so does a byte at a time.
    fn check(framing: Framing, text: &[u8], events: &[Event]) {
        let read = |pieces: &[&[u8]]| {
            let mut frames = Frames::new(framing);
            let mut found = Vec::new();
            for piece in pieces {
                found.extend(frames.feed(piece).expect("bounded"));
            }
            found.extend(frames.finish().expect("bounded"));
            found
        };
        for at in 0..=text.len() {
            let (left, right) = text.split_at(at);
            assert_eq!(read(&[left, right]), events, "split at {at}");
        }
        assert_eq!(read(&text.chunks(1).collect::<Vec<_>>()), events);
    }

    #[test]
    fn events_are_the_same_however_they_are_split_and_ended() {
        let expected = [named("message_start", "{\"a\":1}"), Event::data("two\nlines"), Event::data("ä€")];
        for end in ["\n", "\r\n", "\r"] {
            let text = [
                "\u{feff}: comment",
                "event: message_start",
                "data: {\"a\":1}",
                "id: 7",
                "",
                "",
                ":",
                "event: without data",
                "",
                "data:two",
                "data: lines",
                "retry: 3",
                "",
                "data: ä€",
                "",
                "",
            ]
            .join(end);
            check(Framing::Sse, text.as_bytes(), &expected);
        }
    }

    #[test]
    fn the_last_event_needs_no_empty_line() {
        check(Framing::Sse, b"data: [DONE]\n", &[Event::data("[DONE]")]);
        check(Framing::Sse, b"event: x\ndata: [DONE]", &[named("x", "[DONE]")]);
        check(Framing::Sse, b"", &[]);
        check(Framing::Sse, b": only\n\n: comments\n\n", &[]);
    }

    #[test]
    fn an_event_of_an_empty_line_of_data_is_one() {
        check(Framing::Sse, b"data\n\ndata:\ndata:\n\n", &[Event::data(""), Event::data("\n")]);
    }

    #[test]
    fn lines_of_json_are_events() {
        let events = [Event::data("{\"a\":1}"), Event::data("{\"b\":\"ä\"}"), Event::data("{}")];
        check(Framing::JsonLines, "{\"a\":1}\n\r\n  {\"b\":\"ä\"} \r\n{}".as_bytes(), &events);
    }

    #[test]
    fn a_response_that_is_no_stream_is_one_event() {
        let mut frames = Frames::whole();
        assert_eq!(frames.feed(b"{\n\n\"a\":"), Ok(Vec::new()));
        assert_eq!(frames.feed(b"1}\n"), Ok(Vec::new()));
        assert_eq!(frames.finish(), Ok(vec![Event::data("{\n\n\"a\":1}")]));
    }

    #[test]
    fn bytes_that_are_no_text_do_not_stop_the_stream() {
        check(Framing::Sse, b"data: a\xFFb\n\n", &[Event::data("a\u{fffd}b")]);
    }

    #[test]
    fn what_never_ends_is_bounded() {
        let chunk = vec![b'x'; 1 << 20];
        let mut frames = Frames::new(Framing::JsonLines);
        let fed = (0..=8).find_map(|_| frames.feed(&chunk).err());
        assert_eq!(fed, Some(TooLong));
        let mut line = b"data:".to_vec();
        line.extend_from_slice(&chunk);
        line.push(b'\n');
        let mut frames = Frames::new(Framing::Sse);
        let fed = (0..=8).find_map(|_| frames.feed(&line).err());
        assert_eq!(fed, Some(TooLong));
    }
}
