//! A replay: what a model answered in another task, gone through again with the tools of today. No model is asked.
//!
//! The other task's transcript stands before this one's own. Nobody is asked either: what the owner decided then is decided, and what
//! is about the conversation itself comes to what it came to. Whoever compares the two finds both in this task's transcript.

use super::context::{note, recall};
use super::deliver::Delivery;
use super::{Agent, deliver, owner, steps, transcript};
use ouroboros_proto::agent::{Author, CallResult, Entry, ModelAnswer, OwnerAnswer};
use ouroboros_proto::kind::{Cost, CostSource, Ending, ModelFailure, NanoDollars, TokenUsage};

/// Tools whose results are those that were recorded.
const TOLD: [&str; 4] = [owner::NAME, recall::NAME, note::NAME, deliver::NAME];

/// An answer, and what its calls came to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Turn {
    answer: Box<ModelAnswer>,
    results: Vec<CallResult>,
}

impl Agent<'_, '_> {
    /// Goes through the recorded answers, from where an attempt before ended.
    pub(super) fn replay(mut self) -> Ending {
        self.line.heard(self.transcript.last_said());
        if let Some(ending) = self.ended_before() {
            return ending;
        }
        let turns = turns(self.transcript.inherited());
        let done = usize::try_from(self.transcript.rounds()).unwrap_or(usize::MAX);
        self.close_last(turns.get(done.saturating_sub(1)));
        for turn in turns.iter().skip(done) {
            if let Err(ending) = self.turn(turn) {
                return ending;
            }
        }
        let calls = turns.iter().map(|turn| steps::calls(&turn.answer.message).len()).sum::<usize>();
        let text = format!("{} answers were gone through again, with {calls} calls.", turns.len());
        loop {
            if let Some(why) = self.line.ended() {
                return why;
            }
            if self.waited() {
                continue;
            }
            self.hear();
            if let Some(ending) = self.deliver(Delivery { text: text.clone(), objective: None }, Author::Model) {
                return ending;
            }
        }
    }

    /// A turn once more.
    fn turn(&mut self, turn: &Turn) -> Result<(), Ending> {
        if let Some(why) = self.line.ended() {
            return Err(why);
        }
        let mut answer = turn.answer.clone();
        // It was paid for then.
        let nothing = Cost { amount: NanoDollars::default(), source: CostSource::Local };
        (answer.usage, answer.cost, answer.anomalies) = (TokenUsage::default(), Some(nothing), Vec::new());
        let calls = steps::calls(&turn.answer.message);
        self.transcript.record(Entry::Answered { answer }, self.line, self.speech);
        if !calls.is_empty() && !self.transcript.is_broken() {
            let recorded = |call: &steps::Asked<'_>| turn.results.iter().find(|result| result.call == call.id());
            let answers = (self.transcript.first_number()..).zip(&calls);
            let answers = answers.filter_map(|(number, call)| Some((number, decided(recorded(call)?)?)));
            self.line.answer_as(answers.collect());
            let told: Vec<CallResult> = turn.results.iter().filter(|result| is_told(result)).cloned().collect();
            let results = self.take_after(Vec::new(), &calls, &told)?;
            self.transcript.record(Entry::Results { results }, self.line, self.speech);
        }
        if self.transcript.is_broken() { Err(Ending::ModelFailed { failure: ModelFailure::TooLarge }) } else { Ok(()) }
    }

    /// Gives the calls of the last turn results where an attempt before ended before that.
    fn close_last(&mut self, turn: Option<&Turn>) {
        let (Some(turn), Some(Entry::Answered { answer })) = (turn, self.transcript.entries().last()) else { return };
        if !steps::calls(&answer.message).is_empty() {
            self.transcript.record(Entry::Results { results: turn.results.clone() }, self.line, self.speech);
        }
    }
}

/// Whether it comes to what was recorded: what is about the conversation, what was not to be done for its sake, and what another
/// model did not let pass.
fn is_told(result: &CallResult) -> bool {
    let code = result.code.as_deref().unwrap_or_default();
    TOLD.contains(&result.name.as_str()) || code == "must_deliver" || code.starts_with("safety_")
}

/// What the owner is taken to answer, where what was recorded was decided.
fn decided(result: &CallResult) -> Option<OwnerAnswer> {
    let decided = result.decided.as_ref()?;
    Some(if decided.allowed { OwnerAnswer::Once } else { OwnerAnswer::Deny { reason: None } })
}

/// The turns of the task itself whose transcript this is: not those that it took over.
fn turns(entries: &[Entry]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for entry in transcript::since(entries, |entry| matches!(entry, Entry::Asked { .. })) {
        match entry {
            Entry::Answered { answer } => turns.push(Turn { answer: answer.clone(), results: Vec::new() }),
            Entry::Results { results } => {
                if let Some(turn) = turns.last_mut().filter(|turn| turn.results.is_empty()) {
                    turn.results.clone_from(results);
                }
            }
            Entry::Asked { .. }
            | Entry::Said { .. }
            | Entry::Notice { .. }
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
            | Entry::Judged { .. } => {}
        }
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::{answered, asked, call, results};
    use ouroboros_proto::agent::{Decided, Decider};

    #[test]
    fn only_what_the_task_itself_heard_is_gone_through() {
        let entries = [
            asked(),
            answered("older", &[]),
            asked(),
            answered("", &[call("a", "{}")]),
            results(&["a"]),
            Entry::Notice { text: "x".to_owned() },
            answered("done", &[]),
        ];
        let turns = turns(&entries);
        let shown: Vec<_> = turns.iter().map(|turn| (turn.answer.message.text(), turn.results.len())).collect();
        assert_eq!(shown, [(String::new(), 1), ("done".to_owned(), 0)]);
    }

    #[test]
    fn what_was_allowed_then_is_allowed_again() {
        let Entry::Results { mut results } = results(&["a"]) else { panic!("results") };
        assert_eq!(decided(&results[0]), None);
        for (allowed, answer) in [(true, OwnerAnswer::Once), (false, OwnerAnswer::Deny { reason: None })] {
            results[0].decided = Some(Decided { allowed, by: Decider::Owner, rule: String::new(), judged: None });
            assert_eq!(decided(&results[0]), Some(answer));
        }
    }
}
