//! What is shown while somebody types: above the line that is being edited.

use rustyline::ExternalPrinter;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

/// Texts that wait to be shown; who has more to say then waits.
const WAITING: usize = 1_024;

/// Shows whole lines. Clones show to the same place, in the order of their words.
#[derive(Debug, Clone)]
pub struct Voice(SyncSender<String>);

impl Voice {
    /// One that shows through the line editor. The editor takes what is to be shown only while it reads, so that this waits on a thread of
    /// its own.
    pub fn new(mut printer: impl ExternalPrinter + Send + 'static) -> Self {
        let (voice, words) = sync_channel::<String>(WAITING);
        thread::spawn(move || {
            for text in words {
                // A terminal that is gone is noticed where it is read.
                let _ = printer.print(text);
            }
        });
        Self(voice)
    }

    /// Shows this text, with the end of its last line.
    pub fn say(&self, text: &str) {
        let text = text.trim_end_matches('\n');
        if !text.is_empty() {
            let _ = self.0.send(format!("{text}\n"));
        }
    }
}
