//! What the agent did and heard: read when an attempt begins, recorded as it grows.

use super::steps;
use super::{MUST_DELIVER, must_deliver};
use crate::model::{Line, Speech};
use ouroboros_proto::agent::{Author, Entry, StopReason};
use ouroboros_proto::limits::FRAME_BYTES;
use ouroboros_proto::wire::Report;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};

/// Said to the model when an attempt was lost.
const INTERRUPTED: &str = "[ouroboros] The work was interrupted here and goes on now. An answer of yours may be lost.";
/// Said to the model after a wait.
const GOES_ON: &str = "[ouroboros] The work waited here and goes on now.";
/// Said to the model when the attempt before failed.
const AGAIN: &str = "[ouroboros] The work failed here and is tried again.";
/// What a call came to that was under way then.
const UNKNOWN: &str =
    "The work was interrupted while this ran. Whether it was done is not known: look before you do it again.";

/// An entry that is longer fits no frame.
const LONGEST: u64 = FRAME_BYTES.max - (16 << 10);

/// The entries so far.
pub struct Transcript {
    entries: Vec<Entry>,
    /// Something could not be recorded: what follows from it must not happen.
    broken: bool,
}

impl Transcript {
    /// What earlier attempts recorded in this file; nothing when the name is empty.
    ///
    /// # Errors
    /// The file cannot be read, or is no transcript.
    pub fn load(path: &str) -> io::Result<Self> {
        if path.is_empty() {
            return Ok(Self { entries: Vec::new(), broken: false });
        }
        let lines = BufReader::new(File::open(path)?).lines();
        let entry = |line: io::Result<String>| serde_json::from_str(&line?).map_err(io::Error::other);
        Ok(Self { entries: lines.map(entry).collect::<io::Result<_>>()?, broken: false })
    }

    /// The entries, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Answers of the model so far.
    pub fn rounds(&self) -> u32 {
        let rounds = self.entries.iter().filter(|entry| matches!(entry, Entry::Answered { .. })).count();
        u32::try_from(rounds).unwrap_or(u32::MAX)
    }

    /// What was delivered, when the work is over. Last words that were no answer end an attempt, and not the work.
    pub fn delivered(&self) -> Option<&str> {
        match self.entries.last()? {
            Entry::Delivered { text, author: Author::Model | Author::ModelAtLimit | Author::ModelInCircles } => {
                Some(text)
            }
            Entry::Delivered { author: Author::Host, .. }
            | Entry::Asked { .. }
            | Entry::Notice { .. }
            | Entry::Answered { .. }
            | Entry::Results { .. }
            | Entry::Parked { .. } => None,
        }
    }

    /// Whether something could not be recorded.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Adds an entry, and returns when it is durable, or the transcript is broken.
    pub fn record(&mut self, entry: Entry, line: &mut Line<'_>, speech: &mut Speech) {
        let json = serde_json::to_vec(&entry).unwrap_or_default();
        let fits = !json.is_empty() && u64::try_from(json.len()).is_ok_and(|bytes| bytes <= LONGEST);
        if fits {
            line.record(Report::Entry { entry: json }, speech);
        } else {
            speech.say("what happened is too long to be recorded; the work ends here");
            self.broken = true;
        }
        self.entries.push(entry);
    }

    /// Brings what an attempt before left into an order that a model can be sent. To be called once, at the begin of an attempt.
    pub fn mend(&mut self, line: &mut Line<'_>, speech: &mut Speech) {
        if let Some(entry) = mended(&self.entries) {
            speech.say("it goes on from what was done before");
            self.record(entry, line, speech);
        }
    }
}

/// The entry with which a conversation that was left like this goes on. There is one wherever a request may be under way: the next
/// request is another one then.
fn mended(entries: &[Entry]) -> Option<Entry> {
    let notice = |text: &str| Some(Entry::Notice { text: text.to_owned() });
    let (last, before) = entries.split_last()?;
    match last {
        Entry::Answered { answer } => {
            let calls = steps::calls(&answer.message);
            match (calls.is_empty(), &answer.stop) {
                (true, StopReason::Paused) => notice(INTERRUPTED),
                // It is done what the answer asks for.
                (true, _) => None,
                (false, _) if must_deliver(before) => {
                    Some(Entry::Results { results: steps::refused(&calls, "must_deliver", MUST_DELIVER) })
                }
                (false, _) => Some(Entry::Results { results: steps::unknown(&calls, "interrupted", UNKNOWN) }),
            }
        }
        Entry::Asked { .. } | Entry::Notice { .. } | Entry::Results { .. } => notice(INTERRUPTED),
        Entry::Delivered { author: Author::Host, .. } => notice(AGAIN),
        Entry::Parked { .. } => notice(GOES_ON),
        Entry::Delivered { author: Author::Model | Author::ModelAtLimit | Author::ModelInCircles, .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::{answered, asked, call, results};
    use ouroboros_proto::agent::CallOutcome;

    #[test]
    fn every_call_of_an_interrupted_turn_is_told_to_be_unknown() {
        let entries = [asked(), answered("I look.", &[call("a", "{}"), call("b", "{}")])];
        let Some(Entry::Results { results }) = mended(&entries) else { panic!("no results") };
        let told: Vec<_> = results.iter().map(|result| (result.call.as_str(), result.outcome)).collect();
        assert_eq!(told, [("a", CallOutcome::Unknown), ("b", CallOutcome::Unknown)]);
    }

    #[test]
    fn a_call_that_was_not_to_be_done_is_told_to_be_refused() {
        let notice = |text: &str| Entry::Notice { text: text.to_owned() };
        // An interruption between the two adds words and changes nothing.
        for between in [None, Some(notice(INTERRUPTED))] {
            let mut entries = vec![asked(), notice(crate::agent::LAST_ROUND)];
            entries.extend(between);
            entries.push(answered("", &[call("a", "{}")]));
            let Some(Entry::Results { results }) = mended(&entries) else { panic!("no results") };
            assert_eq!(results[0].outcome, CallOutcome::Refusal);
        }
    }

    #[test]
    fn what_was_asked_is_never_asked_again_as_it_was() {
        let told = answered("I look.", &[call("a", "{}")]);
        let mut paused = answered("", &[]);
        if let Entry::Answered { answer } = &mut paused {
            answer.stop = StopReason::Paused;
        }
        let parked = Entry::Parked { detail: String::new() };
        for entries in
            [vec![asked()], vec![asked(), told, results(&["a"])], vec![asked(), parked], vec![asked(), paused]]
        {
            assert!(matches!(mended(&entries), Some(Entry::Notice { .. })), "{entries:?}");
        }
        let host = Entry::Delivered { text: String::new(), author: Author::Host };
        assert!(matches!(mended(&[asked(), host]), Some(Entry::Notice { .. })));
    }

    #[test]
    fn what_is_over_or_about_to_be_is_left_as_it_is() {
        let over = Entry::Delivered { text: "done".to_owned(), author: Author::Model };
        for last in [over.clone(), answered("done", &[])] {
            assert_eq!(mended(&[asked(), last]), None);
        }
        let transcript = Transcript { entries: vec![asked(), over], broken: false };
        assert_eq!(transcript.delivered(), Some("done"));
        assert!(Transcript::load("").expect("nothing to read").entries().is_empty());
    }
}
