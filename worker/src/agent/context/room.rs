//! The next request: shortened where it would not fit, and once more after its provider said that it did not.
//!
//! Shortening goes in stages, each only while the one before was not enough: long results of old rounds by head and tail; a text in
//! place of old rounds; the same for all but the newest round; at last the newest results too. A stage that would not make the request
//! clearly smaller is left out, and nothing is asked for it.

use super::measure;
use super::prefix::Sent;
use super::units::{self, Range};
use super::{summary, view};
use crate::agent::{Agent, conversation, steps};
use ouroboros_proto::agent::{Entry, ModelEnd, ModelRequest, NoteAuthor, StopReason};
use ouroboros_proto::kind::{Cost, Ending, ModelFailure};
use ouroboros_proto::limits;

/// What a stage does.
#[derive(Debug, Clone, Copy)]
enum Stage {
    /// Results before the newest rounds are shown with so many bytes.
    Trim { keep: usize, most: u64 },
    /// A text stands in place of all but the newest rounds.
    Replace { keep: usize },
}

/// All stages, in order.
const STAGES: [Stage; 6] = [
    Stage::Trim { keep: 3, most: 2 << 10 },
    Stage::Replace { keep: 3 },
    Stage::Trim { keep: 1, most: 2 << 10 },
    Stage::Replace { keep: 1 },
    Stage::Trim { keep: 0, most: 2 << 10 },
    Stage::Trim { keep: 0, most: 512 },
];
/// Hundredths of what may be sent to which the first stage has to come, so that it is not needed again at once.
const FIRST_ENOUGH: usize = 85;
/// Hundredths of what may be sent that a text in place of rounds has to save at least: it is paid for.
const WORTH_A_TEXT: usize = 10;
/// The same for results by head and tail, and never less than these bytes.
const WORTH_A_CUT: (usize, usize) = (2, 512);
/// Most tokens of a summary, thinking included.
const SUMMARY_TOKENS: u32 = 8_192;
/// Bytes of other things in a request, that prompt and results share the room with.
const SLACK: usize = 1 << 10;

/// Requests of this round that did not fit: since the last answer, or since the work began or was ended.
pub fn overflows(entries: &[Entry]) -> usize {
    let over = |entry: &&Entry| {
        matches!(entry, Entry::Answered { .. } | Entry::Asked { .. } | Entry::Said { .. } | Entry::Delivered { .. })
    };
    let since = entries.iter().rev().take_while(|entry| !over(entry));
    since.filter(|entry| matches!(entry, Entry::Overflowed { .. })).count()
}

/// The entry that puts a text in place of others.
pub fn compacted(entries: &[Entry], range: Range, text: String, author: NoteAuthor, cost: Option<Cost>) -> Entry {
    let digest = units::digest(entries, range);
    Entry::Compacted { from: view::number(range.from), to: view::number(range.to), text, digest, author, cost }
}

/// Whether a summary of this stretch was asked for, and nobody knows what came of it.
fn is_abandoned(entries: &[Entry], range: Range) -> bool {
    let same = |entry: &Entry| {
        matches!(entry, Entry::Compacting { from, to, .. }
            if (view::index(*from), view::index(*to)) == (range.from, range.to))
    };
    let Some(at) = entries.iter().rposition(same) else { return false };
    // Who waits for money was not served yet.
    !matches!(entries.get(at.saturating_add(1)), Some(Entry::Parked { .. }))
}

/// What a call for a summary came to.
struct Written {
    text: Option<String>,
    cost: Option<Cost>,
}

impl Agent<'_, '_> {
    /// The next request as it is sent. The error is how the attempt ends instead.
    pub(in crate::agent) fn fitting(&mut self, may_call: bool) -> Result<Vec<u8>, Ending> {
        self.measure_again(may_call);
        if let Some(entry) = self.context.windows.news() {
            if let Entry::Window { route, tokens, source } = &entry {
                self.speech.say(&format!("{route} takes {tokens} tokens at a time ({})", source.words()));
            }
            self.transcript.record(entry, self.line, self.speech);
        }
        let (request, json) = self.built(may_call)?;
        self.refuse_what_cannot_fit(json.len().saturating_sub(conversation::image_bytes(&request)))?;
        let most = self.most();
        let (request, json) = if json.len() > most {
            self.make_room(may_call, most)?;
            self.built(may_call)?
        } else {
            (request, json)
        };
        let bytes = u64::try_from(json.len()).unwrap_or(u64::MAX);
        if bytes > limits::ASK_BYTES.max {
            self.speech.say("the conversation is longer than a request may be");
            self.salvage();
            return Err(Ending::ModelFailed { failure: ModelFailure::TooLarge });
        }
        self.context.sent = Some((Sent::of(&request), bytes));
        Ok(json)
    }

    /// The last request did not fit. When it can be made smaller, the next one is; the error is how the attempt ends otherwise.
    pub(in crate::agent) fn overflowed(
        &mut self,
        route: Option<String>,
        window: Option<u64>,
        detail: &str,
        may_call: bool,
    ) -> Result<(), Ending> {
        self.speech.say(detail);
        let bytes = self.context.sent.take().map_or(0, |(_, bytes)| bytes);
        let tokens = self.context.measure.tokens(bytes);
        let known = self.context.windows.route().map(str::to_owned);
        let route = route.or(known).or_else(|| self.job.route.clone()).unwrap_or_default();
        self.context.windows.overflowed(&route, window, tokens);
        if let Some(window) = window {
            // The answer may be counted with it.
            let answer = u64::from(self.context.windows.answer_room().unwrap_or(SUMMARY_TOKENS));
            self.context.measure.had_more_than(bytes, window.saturating_sub(answer));
        }
        self.transcript.record(Entry::Overflowed { route, window, bytes, tokens }, self.line, self.speech);
        let before = view::index(bytes);
        if overflows(self.transcript.entries()) < 2 && !self.transcript.is_broken() {
            self.make_room(may_call, self.most().min(before.saturating_mul(9) / 10))?;
            let now = self.built(may_call)?.1.len();
            if now < before {
                self.speech.say(&format!("it did not fit; it is asked again with {now} bytes instead of {before}"));
                return Ok(());
            }
            self.speech.say("it does not fit, and nothing of it can be left out");
        } else {
            self.speech.say("it was shortened and does not fit all the same");
        }
        self.salvage();
        Err(Ending::ModelFailed { failure: ModelFailure::ContextOverflow })
    }

    /// Bytes that the next request should not pass.
    fn most(&self) -> usize {
        let bound = limits::ASK_BYTES.max.saturating_mul(95) / 100;
        let fits = self.context.windows.most_bytes(&self.context.measure).unwrap_or(bound);
        view::index(fits.min(bound))
    }

    fn request(&self, entries: &[Entry], may_call: bool) -> ModelRequest {
        let mut request = conversation::request(&self.job, &self.session, &self.specs, entries, may_call);
        request.max_output_tokens = self.context.windows.answer_room();
        request
    }

    fn built(&mut self, may_call: bool) -> Result<(ModelRequest, Vec<u8>), Ending> {
        let request = self.request(self.transcript.entries(), may_call);
        match serde_json::to_vec(&request) {
            Ok(json) => Ok((request, json)),
            Err(error) => Err(crate::agent::unusable(self.speech, &format!("the request cannot be written: {error}"))),
        }
    }

    /// Bytes of the request if this entry were recorded.
    fn with(&self, entry: Entry, may_call: bool) -> usize {
        let mut entries = self.transcript.entries().to_vec();
        entries.push(entry);
        serde_json::to_vec(&self.request(&entries, may_call)).map_or(usize::MAX, |json| json.len())
    }

    /// Learns from the last answer of an earlier attempt.
    fn measure_again(&mut self, may_call: bool) {
        if self.context.observed.is_some() || self.context.measured {
            return;
        }
        self.context.measured = true;
        let entries = self.transcript.entries();
        let Some(at) = entries.iter().rposition(|entry| matches!(entry, Entry::Answered { .. })) else { return };
        if let Some(Entry::Answered { answer }) = entries.get(at) {
            let request = self.request(entries.get(..at).unwrap_or_default(), may_call);
            let bytes = serde_json::to_vec(&request).map_or(0, |json| json.len());
            let usage = answer.usage;
            self.context.measure.counted(u64::try_from(bytes).unwrap_or(0), &usage);
        }
    }

    /// A first request that cannot fit, however it is counted, is not sent. What images count nobody says beforehand.
    fn refuse_what_cannot_fit(&mut self, bytes: usize) -> Result<(), Ending> {
        let Some(window) = self.context.windows.holds() else { return Ok(()) };
        let least = measure::at_least(u64::try_from(bytes).unwrap_or(u64::MAX));
        let is_first = !self.transcript.entries().iter().any(|entry| matches!(entry, Entry::Answered { .. }));
        if !is_first || least <= window.tokens {
            return Ok(());
        }
        let route = self.context.windows.route().unwrap_or("the model");
        self.speech.say(&format!(
            "the task does not fit: with what belongs to it it has {bytes} bytes, at least {least} tokens, and {route} takes {} ({}); \
             nothing was asked. Make it shorter, or name a route that takes more",
            window.tokens,
            window.source.words()
        ));
        Err(Ending::ModelFailed { failure: ModelFailure::ContextOverflow })
    }

    /// Shortens the conversation until its request has at most so many bytes, as far as that goes.
    fn make_room(&mut self, may_call: bool, most: usize) -> Result<(), Ending> {
        let mut asked = false;
        for (number, stage) in STAGES.into_iter().enumerate() {
            let now = self.built(may_call)?.1.len();
            let enough = if number == 1 { most / 100 * FIRST_ENOUGH } else { most };
            if now <= enough || self.transcript.is_broken() {
                return Ok(());
            }
            match stage {
                Stage::Trim { keep, most: bytes } => self.trim(keep, bytes, now, most, may_call),
                Stage::Replace { keep } => asked |= self.replace(keep, now, most, may_call, !asked)?,
            }
        }
        Ok(())
    }

    fn trim(&mut self, keep: usize, bytes: u64, now: usize, most: usize, may_call: bool) {
        let entries = self.transcript.entries();
        let units = units::of(entries);
        let newest = units.len().saturating_sub(keep);
        let to =
            if keep == 0 { entries.len() } else { units.get(newest).map_or(0, |unit| unit.answered.saturating_sub(1)) };
        let entry = Entry::Trimmed { to: view::number(to), most: bytes };
        let (share, least) = WORTH_A_CUT;
        let worth = (most / 100).saturating_mul(share).max(least);
        let saved = now.saturating_sub(self.with(entry.clone(), may_call));
        if to > 0 && saved >= worth {
            self.speech.say(&format!("older results are shown with head and tail: {saved} bytes less"));
            self.transcript.record(entry, self.line, self.speech);
        }
    }

    /// Puts a text in place of all but the newest rounds. Returns whether a model was asked for it.
    fn replace(&mut self, keep: usize, now: usize, most: usize, may_call: bool, may_ask: bool) -> Result<bool, Ending> {
        let entries = self.transcript.entries();
        let Some(range) = units::prefix(&units::of(entries), view::authored(entries), keep) else { return Ok(false) };
        let empty = compacted(entries, range, String::new(), NoteAuthor::Host, None);
        let saved = now.saturating_sub(self.with(empty, may_call));
        if saved < (most / 100).saturating_mul(WORTH_A_TEXT).max(SLACK) {
            return Ok(false);
        }
        let ask = may_ask && !is_abandoned(entries, range);
        let written = if ask { self.summary(range, most)? } else { None };
        let asked = written.is_some();
        let Written { text, cost } = written.unwrap_or(Written { text: None, cost: None });
        let outline = || (summary::outline(self.transcript.entries(), range), NoteAuthor::Host);
        let summary = text.filter(|text| text.len() < saved).map(|text| (text, NoteAuthor::Summary));
        let (text, author) = summary.unwrap_or_else(outline);
        let entry = compacted(self.transcript.entries(), range, text, author, cost);
        let after = self.with(entry.clone(), may_call);
        if after < now {
            let Range { from, to } = range;
            let what = if author == NoteAuthor::Summary { "a summary" } else { "an outline" };
            let saved = now.saturating_sub(after);
            self.speech.say(&format!("{what} stands in place of the entries {from} to {to}: {saved} bytes less"));
            self.transcript.record(entry, self.line, self.speech);
        }
        Ok(asked)
    }

    /// Asks for a summary; `None` when none was asked for.
    fn summary(&mut self, range: Range, most: usize) -> Result<Option<Written>, Ending> {
        let tokens = self.context.windows.answer_room().unwrap_or(SUMMARY_TOKENS).min(SUMMARY_TOKENS);
        let entries = self.transcript.entries();
        let request = summary::request(&self.job, &self.session, entries, range, most, tokens);
        let Some(request) = request.and_then(|request| serde_json::to_vec(&request).ok()) else { return Ok(None) };
        if let Some(why) = self.line.ended() {
            return Err(why);
        }
        let digest = units::digest(entries, range);
        let (from, to) = (view::number(range.from), view::number(range.to));
        self.transcript.record(Entry::Compacting { from, to, digest }, self.line, self.speech);
        if self.transcript.is_broken() {
            return Ok(None);
        }
        let mut hearing = crate::agent::endless::Hearing::default();
        let (why, end) = self.line.call(request, self.speech, &mut |speech, json| hearing.take(speech, json));
        let failed = Ok(Some(Written { text: None, cost: None }));
        let Some(end) = end else { return why.map_or(failed, Err) };
        match serde_json::from_slice(&end) {
            Ok(ModelEnd::Answer(answer)) => {
                let text = answer.message.text().trim().to_owned();
                let whole = matches!(answer.stop, StopReason::End | StopReason::StopText);
                let usable = whole && !text.is_empty() && steps::calls(&answer.message).is_empty();
                Ok(Some(Written { text: usable.then_some(text), cost: answer.cost }))
            }
            Ok(ModelEnd::Failed { detail, .. }) => {
                if let Some(why) = why {
                    return Err(why);
                }
                self.speech.say(&format!("there is no summary: {detail}"));
                failed
            }
            Ok(ModelEnd::Parked { detail, .. }) => {
                self.transcript.record(Entry::Parked { detail }, self.line, self.speech);
                Err(Ending::Parked)
            }
            Err(_) => failed,
        }
    }
}
