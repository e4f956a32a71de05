//! Server-sent events, as the WHATWG HTML specification defines the stream.

use super::{ClientError, Response};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};

/// Largest message that is held in memory.
const MESSAGE_BYTES: usize = 16 << 20;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Message {
    /// Its kind; `message` when it names none.
    pub event: String,
    /// What it carries.
    pub data: String,
    /// Its own number, when it has one.
    pub id: Option<u64>,
}

/// A stream of messages.
#[derive(Debug)]
pub struct EventStream {
    response: Response,
    parser: Parser,
    ready: VecDeque<Message>,
    bytes: Vec<u8>,
}

impl EventStream {
    /// The messages in the body of `response`.
    pub fn new(response: Response) -> Result<Self, ClientError> {
        let kind = response.header("content-type").unwrap_or_default();
        if !kind.starts_with("text/event-stream") {
            return Err(ClientError::Malformed(format!("an event stream was asked for and {kind:?} came")));
        }
        Ok(Self { response, parser: Parser::default(), ready: VecDeque::new(), bytes: Vec::new() })
    }

    /// The next message that is here already.
    pub fn next(&mut self) -> Option<Message> {
        self.ready.pop_front()
    }

    /// Whether [`EventStream::next`] has a message.
    pub fn has_next(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Whether bytes came with the head of the response: reading does not wait then, though polling would.
    pub fn has_early(&self) -> bool {
        self.response.has_early()
    }

    /// Waits for more bytes. False when the server has ended the stream.
    pub fn read(&mut self) -> Result<bool, ClientError> {
        self.bytes.clear();
        let more = self.response.read_some(&mut self.bytes)?;
        self.parser.feed(&self.bytes, &mut self.ready)?;
        Ok(more)
    }
}

impl AsFd for EventStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.response.as_fd()
    }
}

/// Makes messages of lines.
#[derive(Debug, Default)]
struct Parser {
    line: Vec<u8>,
    message: Message,
    has_data: bool,
}

impl Parser {
    fn feed(&mut self, bytes: &[u8], ready: &mut VecDeque<Message>) -> Result<(), ClientError> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if self.line.len().saturating_add(self.message.data.len()) > MESSAGE_BYTES {
                return Err(ClientError::Malformed("an event is too large".to_owned()));
            }
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                let line = String::from_utf8_lossy(&line);
                self.take(line.trim_end_matches(['\r', '\n']), ready);
            }
        }
        Ok(())
    }

    fn take(&mut self, line: &str, ready: &mut VecDeque<Message>) {
        if line.is_empty() {
            let mut message = std::mem::take(&mut self.message);
            if std::mem::take(&mut self.has_data) {
                if message.event.is_empty() {
                    "message".clone_into(&mut message.event);
                }
                ready.push_back(message);
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.message.event),
            "data" => {
                if self.has_data {
                    self.message.data.push('\n');
                }
                self.message.data.push_str(value);
                self.has_data = true;
            }
            "id" => self.message.id = value.parse().ok(),
            // Comments and fields we do not know are passed over, as the specification asks.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Message, Parser};
    use std::collections::VecDeque;

    #[test]
    fn every_split_of_a_stream_gives_the_same_messages() {
        let stream = ": hello\n\nid: 7\nevent: event\ndata: {\"a\":\ndata: 1}\n\r\nevent: output\r\ndata:x\r\n\r\nretry: 5\n\nid: 9\n\ndata\n\n";
        let message = |event: &str, data: &str, id| Message { event: event.to_owned(), data: data.to_owned(), id };
        let expected =
            [message("event", "{\"a\":\n1}", Some(7)), message("output", "x", None), message("message", "", None)];
        for step in 1..stream.len() {
            let (mut parser, mut ready) = (Parser::default(), VecDeque::new());
            for bytes in stream.as_bytes().chunks(step) {
                parser.feed(bytes, &mut ready).unwrap();
            }
            assert_eq!(ready, expected, "step {step}");
        }
    }

    #[test]
    fn an_endless_message_is_refused() {
        let (mut parser, mut ready) = (Parser::default(), VecDeque::new());
        let line = format!("data: {}\n", "x".repeat(1 << 20));
        assert!((0..20).any(|_| parser.feed(line.as_bytes(), &mut ready).is_err()));
    }
}
