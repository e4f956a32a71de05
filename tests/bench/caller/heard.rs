//! What a caller is told to do, and what it heard.

use crate::sample::{Samples, micros};
use serde::{Deserialize, Serialize};

/// Calls to be made.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Round {
    /// So many.
    pub calls: usize,
    /// Of those, under way at once.
    pub at_once: usize,
}

/// What was heard of them. Times are microseconds.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Heard {
    /// From asking to the end, each.
    pub calls: Vec<u64>,
    /// From the stamp of a piece to its arrival, each.
    pub delays: Vec<u64>,
    /// From asking to the first stamp of the answer, each.
    pub leads: Vec<u64>,
    /// Calls that ended with an answer.
    pub answers: usize,
    /// How a call ended that did not.
    pub other: Option<String>,
    /// Pieces that came.
    pub pieces: usize,
    /// The first was asked then; 0 when none was.
    pub begin: u64,
    /// The last ended then.
    pub end: u64,
}

impl Heard {
    /// Takes in what another heard.
    pub fn merge(&mut self, more: Self) {
        self.begin = if self.begin == 0 { more.begin } else { self.begin.min(more.begin) };
        self.end = self.end.max(more.end);
        self.answers += more.answers;
        self.pieces += more.pieces;
        self.calls.extend(more.calls);
        self.delays.extend(more.delays);
        self.leads.extend(more.leads);
        self.other = self.other.take().or(more.other);
    }

    /// Takes in the text of a piece that arrived now: every stamp in it is one that was handed over. `asked` is when its call was, for
    /// the first piece of it.
    pub fn piece(&mut self, text: &[u8], asked: Option<u64>) {
        let now = micros();
        self.pieces += 1;
        let digits = text.split(|byte| !byte.is_ascii_digit()).filter(|digits| digits.len() == STAMP.len());
        let stamps = digits.filter_map(|digits| std::str::from_utf8(digits).ok()?.parse::<u64>().ok());
        for (place, at) in stamps.enumerate() {
            self.delays.push(now.saturating_sub(at));
            if place == 0 {
                self.leads.extend(asked.map(|asked| at.saturating_sub(asked)));
            }
        }
    }

    /// The calls, as samples.
    pub fn times(&self) -> Samples {
        of(&self.calls)
    }

    /// The delays, as samples.
    pub fn lags(&self) -> Samples {
        of(&self.delays)
    }

    /// The times to the first stamp, as samples.
    pub fn starts(&self) -> Samples {
        of(&self.leads)
    }

    /// Calls a second.
    pub fn rate(&self) -> f64 {
        self.calls.len() as f64 / (self.end.saturating_sub(self.begin) as f64 / 1e6)
    }
}

fn of(micros: &[u64]) -> Samples {
    let mut samples = Samples::default();
    micros.iter().for_each(|micros| samples.add(*micros));
    samples
}

/// What the scripted provider replaces by the time.
pub const STAMP: &str = "@@@@@@@@@@@@@@@@";
