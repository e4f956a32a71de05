//! Rounds as units: an answer of the model with the results of its calls.

use crate::agent::steps;
use ouroboros_proto::agent::{CallOutcome, Entry, StopReason};
use ouroboros_proto::kind::hex::hex;
use sha2::{Digest as _, Sha256};

/// With this begin notices that only tell how much is used up: the next one replaces the last.
pub const SO_FAR: &str = "[ouroboros] So far: ";

/// A round. Places are counted from 1, as the store counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// The model's turn.
    pub answered: usize,
    /// Its last entry: the results of its calls, or the turn itself when it calls nothing.
    pub last: usize,
    /// Whether a text may stand in its place.
    pub kind: Kind,
}

/// What may happen to a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It is whole: a text may stand in its place.
    Whole,
    /// Nobody knows what came of a call of it: it stays as it is.
    Unsure,
    /// It is not finished: a call without its result, or a turn that its provider paused. Nothing from here on is replaced.
    Open,
}

/// All units, oldest first.
pub fn of(entries: &[Entry]) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let place = index.saturating_add(1);
        match entry {
            Entry::Answered { answer } => {
                let open = answer.stop == StopReason::Paused || !steps::calls(&answer.message).is_empty();
                let kind = if open { Kind::Open } else { Kind::Whole };
                units.push(Unit { answered: place, last: place, kind });
            }
            Entry::Results { results } => {
                let Some(unit) = units.last_mut().filter(|unit| unit.kind == Kind::Open) else { continue };
                let Some(Entry::Answered { answer }) = entries.get(unit.answered.saturating_sub(1)) else { continue };
                let ids = steps::calls(&answer.message);
                let ids = ids.iter().map(steps::Asked::id);
                if answer.stop == StopReason::Paused || !ids.eq(results.iter().map(|result| result.call.as_str())) {
                    continue;
                }
                unit.last = place;
                let unsure = results.iter().any(|result| result.outcome == CallOutcome::Unknown);
                unit.kind = if unsure { Kind::Unsure } else { Kind::Whole };
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
    units
}

/// A stretch of entries, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The first.
    pub from: usize,
    /// The last.
    pub to: usize,
}

impl Range {
    /// Whether a place is in it.
    pub fn has(self, place: usize) -> bool {
        self.from <= place && place <= self.to
    }

    /// Whether it lies within another.
    pub fn is_within(self, other: Self) -> bool {
        other.from <= self.from && self.to <= other.to
    }
}

/// The oldest units that may be replaced together when the newest `keep` stay: from the place after `after` on, up to the first that is
/// not finished. `None` when there is none.
pub fn prefix(units: &[Unit], after: usize, keep: usize) -> Option<Range> {
    let old = units.get(..units.len().saturating_sub(keep))?;
    let old: Vec<&Unit> =
        old.iter().filter(|unit| unit.answered > after).take_while(|unit| unit.kind != Kind::Open).collect();
    let whole = |unit: &&&Unit| unit.kind == Kind::Whole;
    let (first, last) = (old.iter().find(whole)?, old.iter().rfind(whole)?);
    Some(Range { from: first.answered, to: last.last })
}

/// Whether a text in place of a stretch leaves this entry out.
pub fn is_replaced(units: &[Unit], entries: &[Entry], place: usize) -> bool {
    match entries.get(place.saturating_sub(1)) {
        Some(Entry::Answered { .. } | Entry::Results { .. }) => {
            let at = units.partition_point(|unit| unit.last < place);
            units
                .get(at)
                .is_some_and(|unit| unit.kind == Kind::Whole && Range { from: unit.answered, to: unit.last }.has(place))
        }
        Some(Entry::Notice { text }) => text.starts_with(SO_FAR),
        Some(
            Entry::Asked { .. }
            | Entry::Said { .. }
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
            | Entry::Judged { .. },
        )
        | None => false,
    }
}

/// SHA-256 of entries as they are recorded, a line each.
pub fn digest(entries: &[Entry], range: Range) -> String {
    let mut hash = Sha256::new();
    for entry in entries.get(range.from.saturating_sub(1)..range.to).unwrap_or_default() {
        hash.update(serde_json::to_vec(entry).unwrap_or_default());
        hash.update(b"\n");
    }
    let hash: [u8; 32] = hash.finalize().into();
    hex(&hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::{answered, asked, call, results};

    #[test]
    fn a_unit_is_whole_when_every_call_has_its_result() {
        let mut unsure = results(&["c"]);
        if let Entry::Results { results } = &mut unsure {
            results[0].outcome = CallOutcome::Unknown;
        }
        let entries = [
            asked(),
            answered("", &[call("a", "{}"), call("b", "{}")]),
            results(&["a", "b"]),
            answered("", &[call("c", "{}")]),
            unsure,
            answered("words", &[]),
            answered("", &[call("d", "{}")]),
            results(&["other"]),
        ];
        let units = of(&entries);
        let shown: Vec<_> = units.iter().map(|unit| (unit.answered, unit.last, unit.kind)).collect();
        assert_eq!(shown, [(2, 3, Kind::Whole), (4, 5, Kind::Unsure), (6, 6, Kind::Whole), (7, 7, Kind::Open)]);
        assert_eq!(prefix(&units, 0, 0), Some(Range { from: 2, to: 6 }));
        assert_eq!(prefix(&units, 3, 1), Some(Range { from: 6, to: 6 }));
        assert_eq!(prefix(&units, 6, 0), None);
        let replaced: Vec<usize> = (1..=8).filter(|place| is_replaced(&units, &entries, *place)).collect();
        assert_eq!(replaced, [2, 3, 6]);
    }
}
