//! Rounds that lead nowhere: the same calls with the same results, again and again.

use super::steps::{self, Asked};
use ouroboros_proto::agent::Entry;

/// Rounds in a row with the same calls and results, after which that is said.
const WARN_AT: usize = 3;
/// And after which it must deliver.
const STOP_AT: usize = 6;

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
}

impl Watch {
    /// Over all that happened.
    pub fn over(entries: &[Entry]) -> Self {
        let mut rounds = rounds(entries);
        let Some(last) = rounds.next() else { return Self { same: 0 } };
        Self { same: rounds.take_while(|round| *round == last).count().saturating_add(1) }
    }

    /// What is to be done now, between two rounds.
    pub fn verdict(&self) -> Verdict {
        match self.same {
            WARN_AT => Verdict::Warn(format!(
                "[ouroboros] You made the same calls with the same results {WARN_AT} times in a row. Try something else, or deliver what you have."
            )),
            same if same >= STOP_AT => Verdict::Stop,
            _ => Verdict::Fine,
        }
    }
}

/// Calls and what they came to, newest round first.
fn rounds(entries: &[Entry]) -> impl Iterator<Item = (Vec<Asked<'_>>, Vec<&str>)> {
    let said: Vec<&Entry> =
        entries.iter().filter(|entry| matches!(entry, Entry::Answered { .. } | Entry::Results { .. })).collect();
    let mut rounds = Vec::new();
    for pair in said.windows(2) {
        if let [Entry::Answered { answer }, Entry::Results { results }] = pair {
            let calls = steps::calls(&answer.message);
            rounds.push((calls, results.iter().map(|result| result.text.as_str()).collect()));
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
        entries.extend([answered("", &[call("a", "{\"other\":1}")]), results(&["a"])]);
        assert_eq!(Watch::over(&entries).verdict(), Verdict::Fine);
    }
}
