//! What secrets look like, and hiding what looks like one.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`table`] | the shapes, as data: one list for all who hide secrets |
//! | [`judge`], [`swallow`] | whether what stands at an anchor is a secret, and where it ends |
//! | [`unknown`] | replacing what looks like a secret, in one pass |
//! | [`source`] | the same for files that people work on, whole and with as many lines as before |
//! | [`class`], [`output`] | sets of bytes; a text with parts replaced |
//!
//! A crate of its own because server and worker both use it, and a worker has nothing of what keeps keys.

pub mod class;
pub mod judge;
pub mod output;
pub mod source;
pub mod swallow;
pub mod table;
pub mod unknown;

pub use source::Source;
pub use unknown::Unknown;

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError, MatchKind, StartKind};

/// Most bytes of the name in a mark that stands for a secret.
pub const MAX_NAME_BYTES: usize = 64;

/// Most bytes of patterns for which the automaton is the fast kind, at half a KiB each.
const FAST_BYTES: usize = 16 << 10;

/// The automaton that finds these patterns, of two that begin at one place the longer one.
///
/// # Errors
/// They are too many or too long.
pub fn automaton<'a, P: AsRef<[u8]> + 'a>(
    patterns: impl Iterator<Item = &'a P> + Clone,
) -> Result<AhoCorasick, BuildError> {
    let bytes: usize = patterns.clone().map(|pattern| pattern.as_ref().len()).sum();
    let kind = if bytes <= FAST_BYTES { AhoCorasickKind::DFA } else { AhoCorasickKind::ContiguousNFA };
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .start_kind(StartKind::Unanchored)
        .kind(Some(kind))
        .build(patterns)
}
