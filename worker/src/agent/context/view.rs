//! How the entries of a transcript are shown to the model.
//!
//! The transcript is never rewritten: what shortens it are entries of its own, and this follows from the entries alone. Each
//! shortening holds from its own place on, so that what was sent before it was recorded is what is computed for that time again.

use super::units::{self, Range};
use ouroboros_proto::agent::{Entry, NoteAuthor};

/// How one entry is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown<'a> {
    /// As it is; results that are longer than this with head and tail.
    Entry {
        /// The entry.
        entry: &'a Entry,
        /// Its place, counted from 1.
        place: usize,
        /// Bytes that are shown of a result.
        most: Option<usize>,
    },
    /// A text in place of entries.
    Note {
        /// Which.
        range: Range,
        /// The text.
        text: &'a str,
        /// Whose words it is.
        author: NoteAuthor,
    },
}

/// What stands in place of entries.
#[derive(Debug, Clone, Copy)]
struct Note<'a> {
    range: Range,
    text: &'a str,
    author: NoteAuthor,
}

/// Everything that is shown, in order.
pub fn of(entries: &[Entry]) -> Vec<Shown<'_>> {
    let (notes, trims) = (notes(entries), trims(entries));
    let units = if notes.is_empty() { Vec::new() } else { units::of(entries) };
    let mut shown = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let place = index.saturating_add(1);
        let within = notes.iter().find(|note| note.range.has(place));
        if within.is_none() || !units::is_replaced(&units, entries, place) {
            // The least that any shortening says.
            let least = || trims.iter().filter(|trim| place <= trim.to).map(|trim| trim.most).min();
            let most = if matches!(entry, Entry::Results { .. }) { least() } else { None };
            shown.push(Shown::Entry { entry, place, most });
        }
        if let Some(note) = within.filter(|note| note.range.to == place) {
            shown.push(Shown::Note { range: note.range, text: note.text, author: note.author });
        }
    }
    shown
}

/// The texts that hold: a later one replaces those that it takes in.
fn notes(entries: &[Entry]) -> Vec<Note<'_>> {
    let mut notes: Vec<Note<'_>> = Vec::new();
    for entry in entries.iter().rev() {
        let Entry::Compacted { from, to, text, author, .. } = entry else { continue };
        let range = Range { from: index(*from), to: index(*to) };
        if notes.iter().all(|note| !range.is_within(note.range)) {
            notes.push(Note { range, text, author: *author });
        }
    }
    notes
}

/// A shortening of results: those up to the place `to` are shown with `most` bytes.
#[derive(Debug, Clone, Copy)]
struct Trim {
    to: usize,
    most: usize,
}

fn trims(entries: &[Entry]) -> Vec<Trim> {
    let trim = |(at, entry): (usize, &Entry)| match entry {
        Entry::Trimmed { to, most } => Some(Trim { to: index(*to).min(at), most: index(*most) }),
        Entry::Asked { .. }
        | Entry::Said { .. }
        | Entry::Notice { .. }
        | Entry::Answered { .. }
        | Entry::Results { .. }
        | Entry::Parked { .. }
        | Entry::Delivered { .. }
        | Entry::Window { .. }
        | Entry::Overflowed { .. }
        | Entry::Compacting { .. }
        | Entry::Compacted { .. }
        | Entry::PrefixBroken { .. }
        | Entry::Begins { .. }
        | Entry::Judging { .. }
        | Entry::Judged { .. } => None,
    };
    entries.iter().enumerate().filter_map(trim).collect()
}

/// The last place that a note of the agent itself takes in: nobody else rewrites it.
pub fn authored(entries: &[Entry]) -> usize {
    let of_agent = notes(entries).into_iter().filter(|note| note.author == NoteAuthor::Agent);
    of_agent.map(|note| note.range.to).max().unwrap_or(0)
}

/// A recorded place.
pub fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// A place as it is recorded.
pub fn number(place: usize) -> u64 {
    u64::try_from(place).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::{answered, asked, call, compacted, results};

    fn places(entries: &[Entry]) -> Vec<String> {
        let word = |shown: &Shown<'_>| match shown {
            Shown::Entry { place, most, .. } => {
                format!("{place}{}", most.map(|most| format!("<{most}")).unwrap_or_default())
            }
            Shown::Note { range, text, .. } => format!("{text}({}-{})", range.from, range.to),
        };
        of(entries).iter().map(word).collect()
    }

    #[test]
    fn a_later_text_takes_in_an_earlier_one_and_the_rest_stays() {
        let round = |id: &str| [answered("", &[call(id, "{}")]), results(&[id])];
        let mut entries = vec![asked()];
        entries.extend(round("a"));
        entries.push(asked());
        entries.extend(round("b"));
        entries.push(compacted(2, 3, "one"));
        entries.extend(round("c"));
        assert_eq!(places(&entries), ["1", "one(2-3)", "4", "5", "6", "7", "8", "9"]);
        entries.push(Entry::Trimmed { to: 6, most: 10 });
        entries.push(compacted(2, 6, "two"));
        assert_eq!(places(&entries)[..3], ["1", "4", "two(2-6)"], "what the owner said stays");
        assert_eq!(places(&entries[..10])[4], "6<10", "{:?}", places(&entries[..10]));
        assert_eq!(authored(&entries), 0);
    }
}
