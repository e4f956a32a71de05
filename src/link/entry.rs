//! Entries of transcripts on their way to the core, which does not read them.

use ouroboros_domain::WorkerReport;
use ouroboros_proto::agent::{Author, Entry};
use std::sync::Arc;

/// What the core is to know of an entry.
///
/// # Errors
/// It is no entry.
pub fn entry_report(entry: Vec<u8>) -> serde_json::Result<WorkerReport> {
    let read = serde_json::from_slice(&entry)?;
    let entry = Arc::from(entry);
    Ok(match read {
        Entry::Said { number, .. } => WorkerReport::Took { number, entry },
        Entry::Delivered { author: Author::Model | Author::ModelAtLimit | Author::ModelInCircles, .. } => {
            WorkerReport::Delivered(entry)
        }
        // Last words that were no answer are followed by a failure, which may be tried again.
        Entry::Delivered { author: Author::Host, .. }
        | Entry::Asked { .. }
        | Entry::Notice { .. }
        | Entry::Answered { .. }
        | Entry::Results { .. }
        | Entry::Parked { .. }
        | Entry::Window { .. }
        | Entry::Overflowed { .. }
        | Entry::Trimmed { .. }
        | Entry::Compacting { .. }
        | Entry::Compacted { .. }
        | Entry::PrefixBroken { .. }
        | Entry::Begins { .. }
        | Entry::Judging { .. }
        | Entry::Judged { .. } => WorkerReport::Entry(entry),
    })
}
