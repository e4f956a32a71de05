//! What attempts wrote: for each stream a file with its beginning and, when it grew past half of its limit, a second file
//! that is a ring of its end.
//!
//! | file | holds |
//! |---|---|
//! | `<attempt>.stdout`, `.stderr` | the head: bytes `0 ..` of the stream, at most half of the limit |
//! | `<attempt>.stdout.tail`, `.stderr.tail` | the ring: byte `o` of the stream lies at `(o - head) % capacity` |
//! | `<attempt>.ending` | the report of a worker that could not deliver it |

mod files;
mod read;

pub use files::Output;
pub use read::{Chunk, Extent, OutputReader};

use ouroboros_proto::kind::Stream;
use std::path::{Path, PathBuf};

/// The bytes of a stream's head file when the stream may keep `limit` bytes.
#[must_use]
pub const fn head_capacity(limit: u64) -> u64 {
    limit / 2
}

/// The bytes of a stream's ring when the stream may keep `limit` bytes.
#[must_use]
pub const fn tail_capacity(limit: u64) -> u64 {
    limit - limit / 2
}

/// The head file of a stream, given an attempt's [`Layout::output_base`](crate::Layout::output_base).
#[must_use]
pub fn head_file(base: &Path, stream: Stream) -> PathBuf {
    append(base, &format!(".{}", stream.as_str()))
}

/// Standard input of an attempt, where it has no content file.
#[must_use]
pub fn stdin_file(base: &Path) -> PathBuf {
    append(base, ".stdin")
}

/// What earlier attempts of the task recorded, for the worker to read.
#[must_use]
pub fn transcript_file(base: &Path) -> PathBuf {
    append(base, ".transcript")
}

/// The ring of a stream.
#[must_use]
pub fn tail_file(base: &Path, stream: Stream) -> PathBuf {
    append(base, &format!(".{}.tail", stream.as_str()))
}

/// The report of a worker that could not deliver it.
#[must_use]
pub fn ending_file(base: &Path) -> PathBuf {
    append(base, ".ending")
}

fn append(base: &Path, suffix: &str) -> PathBuf {
    let mut name = base.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
