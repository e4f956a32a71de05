//! The frames of an answer, before anything happens to them.

use bytes::Bytes;
use serde_json::Value;

/// One frame.
#[derive(Debug, Clone)]
pub struct Frame {
    /// Its bytes on the wire.
    pub bytes: Bytes,
    /// Whether it is a piece of the answer, with the script's gap before it.
    pub piece: bool,
}

/// Frames in order.
#[derive(Debug, Default)]
pub struct Frames {
    /// They.
    pub list: Vec<Frame>,
    /// Where the frames begin that say why the answer ended.
    pub ending: Option<usize>,
    /// Whether the last one is repeated for ever.
    pub endless: bool,
}

impl Frames {
    /// Bytes as they are.
    pub fn raw(&mut self, bytes: impl Into<Bytes>) {
        self.list.push(Frame { bytes: bytes.into(), piece: false });
    }

    /// A piece of the answer, as it is.
    pub fn raw_piece(&mut self, bytes: impl Into<Bytes>) {
        self.list.push(Frame { bytes: bytes.into(), piece: true });
    }

    /// An event without a name.
    pub fn data(&mut self, value: &Value) {
        self.raw(format!("data: {value}\n\n"));
    }

    /// The same with a piece of the answer.
    pub fn data_piece(&mut self, value: &Value) {
        self.raw_piece(format!("data: {value}\n\n"));
    }

    /// An event named as its `type` says.
    pub fn event(&mut self, value: &Value) {
        self.raw(named(value));
    }

    /// The same with a piece of the answer.
    pub fn event_piece(&mut self, value: &Value) {
        self.raw_piece(named(value));
    }

    /// From here on the frames say why the answer ended.
    pub fn ending(&mut self) {
        self.ending = Some(self.list.len());
    }
}

fn named(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", crate::wire::text_at(value, "type"))
}
