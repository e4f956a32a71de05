//! What is read from a response besides its events.

use super::outcome::{Exchange, MAX_RECORDED_BYTES};
use reqwest::header::HeaderMap;
use std::error::Error;

/// An error with its causes, each once; without the URL.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// A header's value as text.
pub(super) fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

impl Exchange {
    /// Bytes came.
    pub(super) fn record(&mut self, bytes: &[u8]) {
        self.bytes = self.bytes.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        let room = MAX_RECORDED_BYTES.saturating_sub(self.response.len());
        self.response.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }
}
