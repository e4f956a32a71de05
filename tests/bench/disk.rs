//! `S`: what one durable append costs on the file system that data directories are on.

use crate::sample::{Samples, micros};
use std::fs::File;
use std::io::{self, Write as _};

/// Appends 4 KiB and syncs the data, `count` times, in a file beside the data directories.
pub fn append_and_sync(count: usize) -> io::Result<Samples> {
    let file = tempfile::NamedTempFile::new()?;
    let mut handle: &File = file.as_file();
    let block = [0x5a; 4096];
    let mut samples = Samples::default();
    for _ in 0..count {
        let start = micros();
        handle.write_all(&block)?;
        handle.sync_data()?;
        samples.since(start);
    }
    Ok(samples)
}
