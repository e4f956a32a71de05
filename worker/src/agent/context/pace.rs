//! What is used up of rounds, room, money and time: facts for the agent, now and then.

use super::units::SO_FAR;
use ouroboros_proto::agent::{Entry, Window};
use ouroboros_proto::kind::{Millis, NanoDollars};
use std::fmt::Write as _;

/// Rounds after which the facts are told again.
const EVERY: u32 = 10;
/// With fewer rounds in all, that they run out is told at the last one only.
const MANY: u32 = 8;
/// Hundredths of a means from which on it is told.
const STAGES: [u64; 2] = [75, 90];

/// What is used up.
#[derive(Debug, Default, Clone, Copy)]
pub struct Used {
    /// Rounds.
    pub rounds: u32,
    /// Of so many.
    pub max_rounds: u32,
    /// Tokens of the last request, as far as that is known.
    pub tokens: Option<u64>,
    /// What they have to fit into.
    pub window: Option<Window>,
    /// What is known to be spent.
    pub spent: NanoDollars,
    /// Answers whose cost nobody knows.
    pub unknown: u32,
    /// What may be spent.
    pub max_cost: Option<NanoDollars>,
    /// How long this attempt works.
    pub time: Millis,
    /// Of so long.
    pub max_time: Option<Millis>,
}

/// What a transcript says of what was spent: what is known, and the answers of which it is not.
pub fn spent(entries: &[Entry]) -> (NanoDollars, u32) {
    let costs = entries.iter().filter_map(|entry| match entry {
        Entry::Answered { answer } => Some(answer.cost),
        Entry::Compacted { cost, .. } => cost.map(Some),
        // Where no route answered there was nothing to pay.
        Entry::Judged { route, cost, .. } => route.as_ref().map(|_| *cost),
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
        | Entry::PrefixBroken { .. }
        | Entry::Begins { .. }
        | Entry::Judging { .. } => None,
    });
    costs.fold((NanoDollars::default(), 0_u32), |(sum, unknown), cost| match cost {
        Some(cost) => (NanoDollars::new(sum.get().saturating_add(cost.amount.get())), unknown),
        None => (sum, unknown.saturating_add(1)),
    })
}

/// What was told already.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    rounds: usize,
    money: usize,
    time: usize,
}

impl Pace {
    /// When so much was used up at the begin of an attempt: what was told then is not told again.
    pub fn since(used: &Used) -> Self {
        Self::of(used)
    }

    fn of(used: &Used) -> Self {
        let rounds = if used.max_rounds < MANY { 0 } else { stage(used.rounds.into(), Some(used.max_rounds.into())) };
        let money = stage(used.spent.get(), used.max_cost.map(NanoDollars::get));
        Self { rounds, money, time: stage(used.time.get(), used.max_time.map(Millis::get)) }
    }

    /// What is to be told now, between two rounds.
    pub fn due(&mut self, used: &Used, entries: &[Entry]) -> Option<String> {
        let now = Self::of(used);
        let more = now.rounds > self.rounds || now.money > self.money || now.time > self.time;
        let every = used.rounds > 0 && used.rounds.is_multiple_of(EVERY) && !told(entries);
        *self = now;
        (more || every).then(|| words(used))
    }
}

/// Whether they were told since the last answer.
fn told(entries: &[Entry]) -> bool {
    let since = entries.iter().rev().take_while(|entry| !matches!(entry, Entry::Answered { .. }));
    since.into_iter().any(|entry| matches!(entry, Entry::Notice { text } if text.starts_with(SO_FAR)))
}

/// How many stages are passed.
fn stage(used: u64, of: Option<u64>) -> usize {
    let Some(of) = of.filter(|of| *of > 0) else { return 0 };
    let hundredths = u128::from(used).saturating_mul(100) / u128::from(of);
    STAGES.iter().filter(|stage| hundredths >= u128::from(**stage)).count()
}

fn words(used: &Used) -> String {
    let mut text = format!("{SO_FAR}{} of {} rounds are used", used.rounds, used.max_rounds);
    // Writing to a string does not fail.
    let _ = match (used.tokens, used.window) {
        (Some(tokens), Some(window)) => {
            write!(text, "; the conversation has about {tokens} tokens of {} that fit", window.tokens)
        }
        (Some(tokens), None) => write!(text, "; the conversation has about {tokens} tokens"),
        (None, _) => Ok(()),
    };
    let _ = write!(text, "; {} spent", dollars(used.spent));
    if let Some(most) = used.max_cost {
        let _ = write!(text, " of {}", dollars(most));
    }
    let _ = match used.unknown {
        0 => Ok(()),
        1 => write!(text, ", not counting an answer whose cost is not known"),
        more => write!(text, ", not counting {more} answers whose cost is not known"),
    };
    if let Some(most) = used.max_time {
        let _ = write!(text, "; {} of {} seconds have passed", used.time.get() / 1_000, most.get() / 1_000);
    }
    text.push('.');
    text
}

fn dollars(amount: NanoDollars) -> String {
    // Rounded up: who spent a little did not spend nothing.
    let parts = amount.get().div_ceil(100_000);
    format!("${}.{:04}", parts / 10_000, parts % 10_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::{answered, asked};

    #[test]
    fn facts_are_told_when_a_stage_is_passed_and_every_so_often() {
        let mut pace = Pace::default();
        let used = |rounds| Used { rounds, max_rounds: 40, ..Used::default() };
        let told: Vec<u32> = (0..40).filter(|rounds| pace.due(&used(*rounds), &[]).is_some()).collect();
        assert_eq!(told, [10, 20, 30, 36]);
        assert_eq!(Pace::since(&used(31)).due(&used(32), &[]), None, "it was told before");
        let so_far = Entry::Notice { text: format!("{SO_FAR}x") };
        assert_eq!(Pace::default().due(&used(10), &[asked(), answered("", &[]), so_far]), None);
        let few = Used { rounds: 6, max_rounds: 7, ..Used::default() };
        assert_eq!(Pace::default().due(&few, &[]), None);
        let money = |spent| Used {
            max_rounds: 100,
            spent: NanoDollars::new(spent),
            max_cost: Some(NanoDollars::new(2_000_000_000)),
            unknown: 1,
            ..Used::default()
        };
        let words = Pace::default().due(&money(1_600_000_001), &[]).expect("most is spent");
        assert!(words.contains("$1.6001 spent of $2.0000, not counting an answer"), "{words}");
        assert_eq!(Pace::default().due(&money(1), &[]), None);
    }
}
