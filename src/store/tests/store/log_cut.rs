//! The write-ahead log cut anywhere: what is left is a prefix of what was committed.

use crate::support::model;
use crate::support::{Writing, loaded, memory_dir, opened};
use std::fs;
use std::path::Path;

/// Small enough for thousands of cuts, long enough for several commits in the log.
const LAST: u64 = 24;

fn cut(from: &Path, to: &Path, length: u64) {
    fs::create_dir_all(to).unwrap();
    fs::copy(from.join("store.db"), to.join("store.db")).unwrap();
    fs::copy(from.join("store.db-wal"), to.join("store.db-wal")).unwrap();
    fs::OpenOptions::new().write(true).open(to.join("store.db-wal")).unwrap().set_len(length).unwrap();
}

#[test]
fn a_log_cut_anywhere_gives_a_prefix_of_what_was_committed() {
    let dir = memory_dir();
    let home = dir.path().join("home");
    let writing = Writing::start(opened(&home).store);
    // Where the log ended when each decision was acknowledged.
    let log = home.join("store.db-wal");
    let mut ends = Vec::new();
    for decision in 1..=LAST {
        writing.commit(decision);
        ends.push((fs::metadata(&log).unwrap().len(), decision));
    }
    let image = dir.path().join("image");
    crate::support::copy_store(&home, &image);
    writing.handle.close();

    let whole = fs::metadata(image.join("store.db-wal")).unwrap().len();
    let frame = 24 + 512;
    assert_eq!((whole - 32) % frame, 0, "the log is whole frames");
    let boundaries = (0..=(whole - 32) / frame).map(|frames| 32 + frames * frame);
    let bytes = (whole - 3 * frame)..whole;
    for length in [0, 1, 31].into_iter().chain(boundaries).chain(bytes) {
        let place = dir.path().join("cut");
        cut(&image, &place, length);
        let expected = ends.iter().rev().find(|(end, _)| *end <= length).map_or(0, |(_, decision)| *decision);
        let rows = loaded(&place);
        assert_eq!(model::prefix_of(&rows, 0, LAST), Some(expected), "log cut to {length} of {whole} bytes");
        fs::remove_dir_all(&place).unwrap();
    }
}

#[test]
fn a_damaged_frame_ends_the_log_there() {
    let dir = memory_dir();
    let home = dir.path().join("home");
    let writing = Writing::start(opened(&home).store);
    (1..=LAST).for_each(|decision| writing.commit(decision));
    let image = dir.path().join("image");
    crate::support::copy_store(&home, &image);
    writing.handle.close();
    let whole = fs::read(image.join("store.db-wal")).unwrap();
    let frame = 24 + 512;
    for frames in 0..(whole.len() - 32) / frame {
        let place = dir.path().join("damaged");
        crate::support::copy_store(&image, &place);
        let mut log = whole.clone();
        log[32 + frames * frame + 24 + 100] ^= 0x40;
        fs::write(place.join("store.db-wal"), log).unwrap();
        let rows = loaded(&place);
        assert!(model::prefix_of(&rows, 0, LAST).is_some_and(|stored| stored < LAST), "frame {frames} damaged");
        fs::remove_dir_all(&place).unwrap();
    }
}
