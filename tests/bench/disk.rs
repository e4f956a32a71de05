//! `S`: what one durable append costs on the file system that data directories are on; and what an overwrite costs, which is what a
//! database's log does once it has its size.

use crate::sample::{Samples, micros};
use std::fs::File;
use std::io::{self, Seek as _, Write as _};

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

/// The same over 4 MiB that were written and synced before.
pub fn overwrite_and_sync(count: usize) -> io::Result<Samples> {
    const BLOCKS: usize = 1_024;
    let file = tempfile::NamedTempFile::new()?;
    let mut handle: &File = file.as_file();
    handle.write_all(&vec![0x5a; BLOCKS * 4096])?;
    handle.sync_all()?;
    let mut samples = Samples::default();
    for turn in 0..count {
        if turn % BLOCKS == 0 {
            handle.rewind()?;
        }
        let start = micros();
        handle.write_all(&[0xa5; 4096])?;
        handle.sync_data()?;
        samples.since(start);
    }
    Ok(samples)
}
