//! Rounds that lead nowhere: the same calls with the same results, again and again, or one tool that fails whatever it is given.

use super::steps::{self, Asked};
use super::transcript::since;
use ouroboros_proto::agent::{CallOutcome, CallResult, Entry};

/// Rounds in a row with the same calls and results, after which that is said.
const WARN_AT: usize = 3;
/// And after which it must deliver.
const STOP_AT: usize = 6;
/// Rounds in a row in which nothing but one tool was called and it failed, after which that is said.
const FAILED_AT: usize = 5;
/// And after which it must deliver.
const FAILED_STOP_AT: usize = 12;

/// What is to be done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Fine,
    /// This is to be said.
    Warn(String),
    /// No further call is done.
    Stop,
}

/// Looks at the last rounds.
pub struct Watch {
    same: usize,
    /// The tool that fails, and for how many rounds.
    failing: Option<(String, usize)>,
}

impl Watch {
    /// Over what happened since anybody said something: that may be another reason to do the same.
    pub fn over(entries: &[Entry]) -> Self {
        let rounds: Vec<Round<'_>> =
            rounds(since(entries, |entry| matches!(entry, Entry::Asked { .. } | Entry::Said { .. }))).collect();
        let Some(last) = rounds.first() else { return Self { same: 0, failing: None } };
        let same = rounds.iter().take_while(|round| *round == last).count();
        let failing = failing(last)
            .map(|tool| (tool.to_owned(), rounds.iter().take_while(|round| failing(round) == Some(tool)).count()));
        Self { same, failing }
    }

    /// What is to be done now, between two rounds.
    pub fn verdict(&self) -> Verdict {
        match (self.same, &self.failing) {
            (same, _) if same >= STOP_AT => Verdict::Stop,
            (_, Some((_, rounds))) if *rounds >= FAILED_STOP_AT => Verdict::Stop,
            (WARN_AT, _) => Verdict::Warn(format!(
                "[ouroboros] You made the same calls with the same results {WARN_AT} times in a row. Try something else, or deliver what you have."
            )),
            (_, Some((tool, FAILED_AT))) => Verdict::Warn(format!(
                "[ouroboros] {tool} failed {FAILED_AT} times in a row, whatever it was given. Read what it says, do it in another way, or \
                 deliver what you have."
            )),
            (_, Some(_) | None) => Verdict::Fine,
        }
    }
}

/// The calls of a round and what they came to.
#[derive(Debug)]
struct Round<'a> {
    calls: Vec<Asked<'a>>,
    results: &'a [CallResult],
}

impl PartialEq for Round<'_> {
    fn eq(&self, other: &Self) -> bool {
        let texts = |round: &Self| {
            round
                .results
                .iter()
                .map(|result| result.text.as_str())
                .eq(other.results.iter().map(|result| result.text.as_str()))
        };
        self.calls == other.calls && texts(self)
    }
}

/// The tool that a round called, when it called no other and nothing but failures came of it. What is not there is no failure: who looks
/// for something misses often.
fn failing<'a>(round: &Round<'a>) -> Option<&'a str> {
    let failed = |result: &CallResult| match result.outcome {
        CallOutcome::Refusal | CallOutcome::ArgumentError | CallOutcome::Failure => true,
        CallOutcome::Ok | CallOutcome::Miss | CallOutcome::Unknown => false,
    };
    let tool = round.results.first()?.name.as_str();
    round.results.iter().all(|result| failed(result) && result.name == tool).then_some(tool)
}

/// Newest round first.
fn rounds(entries: &[Entry]) -> impl Iterator<Item = Round<'_>> {
    let said: Vec<&Entry> =
        entries.iter().filter(|entry| matches!(entry, Entry::Answered { .. } | Entry::Results { .. })).collect();
    let mut rounds = Vec::new();
    for pair in said.windows(2) {
        if let [Entry::Answered { answer }, Entry::Results { results }] = pair {
            rounds.push(Round { calls: steps::calls(&answer.message), results });
        }
    }
    rounds.into_iter().rev()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::{answered, asked, call, results};

    #[test]
    fn the_same_round_again_and_again_is_said_and_then_stopped() {
        let mut entries = vec![asked()];
        let mut verdicts = Vec::new();
        for _ in 0..6 {
            entries.extend([answered("", &[call("a", "{}")]), results(&["a"])]);
            verdicts.push(Watch::over(&entries).verdict());
            entries.push(Entry::Notice { text: String::new() });
        }
        assert!(matches!(verdicts[2], Verdict::Warn(_)) && verdicts[5] == Verdict::Stop, "{verdicts:?}");
        assert!([0, 1, 3, 4].iter().all(|round| verdicts[*round] == Verdict::Fine), "{verdicts:?}");
        let mut told = entries.clone();
        told.push(Entry::Said { number: 1, text: "look again".to_owned() });
        told.extend([answered("", &[call("a", "{}")]), results(&["a"])]);
        assert_eq!(Watch::over(&told).verdict(), Verdict::Fine, "somebody said to");
        entries.extend([answered("", &[call("a", "{\"other\":1}")]), results(&["a"])]);
        assert_eq!(Watch::over(&entries).verdict(), Verdict::Fine);
    }

    #[test]
    fn a_tool_that_fails_whatever_it_is_given_is_said_and_then_stopped() {
        let round = |number: usize, outcome: CallOutcome| {
            let mut result = results(&["a"]);
            if let Entry::Results { results } = &mut result {
                results[0].outcome = outcome;
                results[0].text = format!("no {number}");
            }
            [answered("", &[call("a", &format!("{{\"try\":{number}}}"))]), result]
        };
        let mut entries = vec![asked()];
        let verdicts: Vec<Verdict> = (0..12)
            .map(|number| {
                entries.extend(round(number, CallOutcome::Failure));
                Watch::over(&entries).verdict()
            })
            .collect();
        assert!(matches!(&verdicts[4], Verdict::Warn(words) if words.contains("look failed 5 times")), "{verdicts:?}");
        assert_eq!((&verdicts[5], &verdicts[10], &verdicts[11]), (&Verdict::Fine, &Verdict::Fine, &Verdict::Stop));
        entries.extend(round(12, CallOutcome::Miss));
        assert_eq!(Watch::over(&entries).verdict(), Verdict::Fine, "who misses looks for something");
    }
}
