//! What of the work the model is shown, so that it fits.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`window`], [`measure`] | how much fits, and who says so; how many tokens a request will have |
//! | [`units`], [`view`], [`cut`] | rounds as units; how entries are shown; long texts by head and tail |
//! | [`room`] | the next request, shortened where it would not fit, and once more after it did not |
//! | [`summary`] | what may stand in place of old rounds |
//! | [`note`], [`recall`], [`kept`] | the agent's own note; reading what is not shown any more; results that are kept in files |
//! | [`prefix`] | whether a request begins with the one before it |
//! | [`pace`] | what is used up, told now and then |
//!
//! Invariants: the transcript is never rewritten, and what is shown follows from it alone; what shortens it are entries, which say
//! what they stand for and the SHA-256 of it. What the owner said, calls of which nobody knows the outcome, and the newest rounds stay as
//! they are; a note of the agent is rewritten by nobody. A request only changes where it begins when that makes it smaller. A
//! summary is claimed before it is asked for, and never asked for again when nobody knows what came of that. What was
//! counted or refused by a provider is believed before any estimate, and an estimate alone ends nothing but a first request that
//! cannot fit.

pub mod cut;
pub mod kept;
pub mod measure;
pub mod note;
pub mod pace;
pub mod prefix;
pub mod recall;
mod room;
pub mod summary;
#[cfg(test)]
mod tests;
pub mod units;
pub mod view;
pub mod window;

use super::Agent;
use super::deliver;
use super::steps::{self, Asked};
use kept::Kept;
use measure::Measure;
use note::Note;
use ouroboros_proto::agent::{CallOutcome, CallResult, Entry, Facts, ModelAnswer, NoteAuthor, ToolSpec};
use ouroboros_proto::kind::{BootMicros, Ending, Millis, NanoDollars, clock};
use ouroboros_proto::wire::AgentWork;
use pace::{Pace, Used};
use prefix::Sent;
use window::Windows;

/// What an attempt knows of its context.
#[derive(Debug)]
pub struct Context {
    windows: Windows,
    measure: Measure,
    kept: Kept,
    /// The last request whose answer came, with the number of entries then.
    observed: Option<(Sent, usize)>,
    /// The request that is under way: what it says, and its bytes.
    sent: Option<(Sent, u64)>,
    /// A note that holds once the results of its round are recorded.
    note: Option<Note>,
    pace: Option<Pace>,
    /// Whether an earlier attempt's last answer was learned from.
    measured: bool,
    began: BootMicros,
    max_time: Option<Millis>,
    max_cost: Option<NanoDollars>,
}

impl Context {
    /// When an attempt begins.
    pub fn new(work: &AgentWork, entries: &[Entry]) -> Self {
        // What cannot be read is not known.
        let facts: Facts = serde_json::from_slice(&work.facts).unwrap_or_default();
        Self {
            windows: Windows::new(&facts, entries),
            measure: Measure::default(),
            kept: Kept::of(&work.versions),
            observed: None,
            sent: None,
            note: None,
            pace: None,
            measured: false,
            began: clock::boot(),
            max_time: work.timeout,
            max_cost: facts.max_cost,
        }
    }

    /// The tools that are about the conversation itself.
    pub fn specs() -> [ToolSpec; 2] {
        [recall::spec(), note::spec()]
    }
}

impl Agent<'_, '_> {
    /// Does calls: those about the conversation here, the others with the tools.
    pub(super) fn take(&mut self, calls: &[Asked<'_>]) -> Result<Vec<CallResult>, Ending> {
        self.take_after(Vec::with_capacity(calls.len()), calls, &[])
    }

    /// The same for the calls of a turn that come after those with these results. Some results may be known.
    pub(super) fn take_after(
        &mut self,
        mut results: Vec<CallResult>,
        calls: &[Asked<'_>],
        known: &[CallResult],
    ) -> Result<Vec<CallResult>, Ending> {
        if self.steps.may_change(calls) {
            self.line.until_durable(self.speech);
        }
        let before = u32::try_from(results.len()).unwrap_or(u32::MAX);
        let mut number = self.transcript.first_number().saturating_add(before);
        let known = |call: &Asked<'_>| known.iter().find(|result| result.call == call.id());
        let ours = |call: &Asked<'_>| {
            known(call).is_some() || [recall::NAME, note::NAME, deliver::NAME].contains(&call.name())
        };
        for run in calls.chunk_by(|one, next| ours(one) == ours(next)) {
            if run.first().is_some_and(ours) {
                results.extend(run.iter().map(|call| known(call).cloned().unwrap_or_else(|| self.own(call))));
            } else {
                match self.steps.take(run, number, &mut self.transcript, self.line, self.speech) {
                    Ok(more) => results.extend(more),
                    Err((done, ending)) => {
                        results.extend(done);
                        return Err(self.left_in_order(results, ending));
                    }
                }
            }
            number = number.saturating_add(u32::try_from(run.len()).unwrap_or(u32::MAX));
        }
        let place = self.transcript.entries().len().saturating_add(1);
        if let Err(error) = self.context.kept.take(&mut results, place) {
            self.speech.say(&format!("a long result could not be kept beside the transcript: {error}"));
        }
        Ok(results)
    }

    /// The attempt ends within a turn. Who leaves in order says what the calls came to so far; what waits for the owner is left open, so
    /// that it is gone on with.
    fn left_in_order(&mut self, done: Vec<CallResult>, ending: Ending) -> Ending {
        if ending == Ending::Parked
            && let Some(results) = self.transcript.left(done)
        {
            self.transcript.record(Entry::Results { results }, self.line, self.speech);
        }
        ending
    }

    fn own(&mut self, call: &Asked<'_>) -> CallResult {
        if call.name() == deliver::NAME {
            let result = steps::not_done(call, CallOutcome::Refusal, "not_alone", deliver::NOT_ALONE);
            self.speech.say(&steps::told(call, &result));
            return result;
        }
        let since = clock::boot();
        let entries = self.transcript.entries();
        let outcome = if call.name() == recall::NAME {
            recall::run(call, entries, &self.context.kept)
        } else {
            match note::read(call, entries) {
                Ok((note, outcome)) => {
                    self.context.note = Some(note);
                    outcome
                }
                Err(outcome) => outcome,
            }
        };
        let result = recall::recorded(call, outcome, clock::boot().since(since).get());
        self.speech.say(&steps::told(call, &result));
        result
    }

    /// To be called when the results of a round are recorded: a note of the agent holds from here on.
    pub(super) fn publish(&mut self) {
        if let Some(Note { range, text }) = self.context.note.take() {
            let entry = room::compacted(self.transcript.entries(), range, text, NoteAuthor::Agent, None);
            self.transcript.record(entry, self.line, self.speech);
        }
    }

    /// An answer came: what can be learned of it, and whether its request began with the one before. To be called before it is
    /// recorded.
    pub(super) fn heard(&mut self, answer: &ModelAnswer) {
        self.context.windows.answered(&answer.route, answer.window);
        let Some((sent, bytes)) = self.context.sent.take() else { return };
        self.context.measure.counted(bytes, &answer.usage);
        let entries = self.transcript.entries();
        if let Some((before, at)) = &self.context.observed
            && let Some(kind) = before.break_in(&sent)
        {
            let since = entries.get(*at..).unwrap_or_default();
            let shortened = since.iter().any(|entry| matches!(entry, Entry::Compacted { .. } | Entry::Trimmed { .. }));
            let overflowed = since.iter().any(|entry| matches!(entry, Entry::Overflowed { .. }));
            let entry = Entry::PrefixBroken { kind, sanctioned: shortened && !overflowed };
            self.transcript.record(entry, self.line, self.speech);
        }
        self.context.observed = Some((sent, self.transcript.entries().len()));
    }

    /// Tells what is used up, when that is due.
    pub(super) fn pace(&mut self) {
        let entries = self.transcript.entries();
        if super::must_deliver(entries) || room::overflows(entries) > 0 {
            return;
        }
        let (spent, unknown) = pace::spent(entries);
        let used = Used {
            rounds: self.transcript.rounds(),
            max_rounds: self.job.max_rounds,
            tokens: self.context.observed.as_ref().and_then(|_| last_tokens(entries)),
            window: self.context.windows.holds(),
            spent,
            unknown,
            max_cost: self.context.max_cost,
            time: clock::boot().since(self.context.began),
            max_time: self.context.max_time,
        };
        let mut pace = self.context.pace.unwrap_or_else(|| Pace::since(&used));
        let due = pace.due(&used, entries);
        self.context.pace = Some(pace);
        if let Some(text) = due {
            self.note(text);
        }
    }
}

/// Tokens of the last request that was answered.
fn last_tokens(entries: &[Entry]) -> Option<u64> {
    entries.iter().rev().find_map(|entry| match entry {
        Entry::Answered { answer } => Some(answer.usage.input),
        Entry::Asked { .. }
        | Entry::Said { .. }
        | Entry::Notice { .. }
        | Entry::Results { .. }
        | Entry::Parked { .. }
        | Entry::Delivered { .. }
        | Entry::Window { .. }
        | Entry::Overflowed { .. }
        | Entry::Trimmed { .. }
        | Entry::Compacting { .. }
        | Entry::Compacted { .. }
        | Entry::PrefixBroken { .. }
        | Entry::Begins { .. }
        | Entry::Judging { .. }
        | Entry::Judged { .. } => None,
    })?
}
