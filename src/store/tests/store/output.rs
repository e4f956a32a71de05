//! Output files: written here as a worker writes them, read through the reader.

use crate::support::opened;
use ouroboros_domain::change::Change;
use ouroboros_proto::kind::{AttemptId, Captured, Stream};
use ouroboros_store::output::{head_capacity, head_file, tail_capacity, tail_file};
use ouroboros_store::{Chunk, Extent, OutputReader};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// Byte `offset` of the stream that is written.
const fn byte(offset: u64) -> u8 {
    (offset % 251) as u8
}

/// Writes bytes `from..to` of the stream.
fn write(base: &Path, limit: u64, from: u64, to: u64) {
    let open = |path| OpenOptions::new().write(true).create(true).truncate(false).open(path).unwrap();
    for offset in from..to {
        let head = head_capacity(limit);
        if offset < head {
            open(head_file(base, Stream::Stdout)).write_all_at(&[byte(offset)], offset).unwrap();
        } else if tail_capacity(limit) > 0 {
            let place = (offset - head) % tail_capacity(limit);
            open(tail_file(base, Stream::Stdout)).write_all_at(&[byte(offset)], place).unwrap();
        }
    }
}

fn captured(limit: u64, written: u64) -> Captured {
    let head = written.min(head_capacity(limit));
    Captured { written, head, tail: (written - head).min(tail_capacity(limit)) }
}

/// All chunks from `offset` on.
fn chunks(reader: &OutputReader, extent: Extent<'_>, mut offset: u64, max: usize) -> Vec<Chunk> {
    let mut all = Vec::new();
    loop {
        let chunk = reader.read(Stream::Stdout, extent, offset, max).unwrap();
        if chunk.bytes.is_empty() {
            all.extend((chunk.gap > 0).then_some(chunk));
            return all;
        }
        for (index, got) in chunk.bytes.iter().enumerate() {
            assert_eq!(*got, byte(chunk.offset + index as u64), "byte {} of the stream", chunk.offset + index as u64);
        }
        assert_eq!(chunk.offset, offset + chunk.gap);
        offset = chunk.offset + chunk.bytes.len() as u64;
        all.push(chunk);
    }
}

#[test]
fn every_length_is_read_back_from_every_place() {
    let dir = tempfile::tempdir().unwrap();
    for limit in [0, 1, 2, 10, 11] {
        for written in 0..=35 {
            let base = dir.path().join(format!("{limit}-{written}"));
            std::fs::write(head_file(&base, Stream::Stdout), b"").unwrap();
            std::fs::write(tail_file(&base, Stream::Stdout), b"").unwrap();
            write(&base, limit, 0, written);
            let kept = captured(limit, written);
            let reader = OutputReader::new(base, limit);
            let live = || written;
            for extent in [Extent::Final(kept), Extent::Live { written: &live, slack: 0 }] {
                for offset in 0..=written {
                    let all = chunks(&reader, extent, offset, 4);
                    let bytes: u64 = all.iter().map(|chunk| chunk.bytes.len() as u64).sum();
                    let gap: u64 = all.iter().map(|chunk| chunk.gap).sum();
                    assert_eq!(bytes + gap, written - offset, "limit {limit}, {written} written, from {offset}");
                    let from_head = kept.head.saturating_sub(offset);
                    assert_eq!(bytes, from_head + kept.tail.min(written - offset), "limit {limit}, from {offset}");
                }
            }
        }
    }
}

#[test]
fn a_report_is_read_with_the_limit_it_was_written_under() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().join("a");
    write(&base, 10, 0, 33);
    let reader = OutputReader::new(base, 4_000);
    let all = chunks(&reader, Extent::Final(captured(10, 33)), 0, 100);
    assert_eq!(
        all.iter().map(|chunk| (chunk.offset, chunk.gap, chunk.bytes.len())).collect::<Vec<_>>(),
        [(0, 0, 5), (28, 23, 5)]
    );
}

#[test]
fn a_ring_that_comes_around_while_it_is_read_gives_a_gap_and_no_wrong_byte() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().join("a");
    let limit = 20;
    write(&base, limit, 0, 30);
    let reader = OutputReader::new(base.clone(), limit);
    // Asked for the second time, after the read, the worker has gone on: bytes 20 to 25 were overwritten meanwhile.
    let asked = std::cell::Cell::new(0);
    let written = || {
        asked.set(asked.get() + 1);
        if asked.get() == 1 {
            write(&base, limit, 30, 36);
            30
        } else {
            36
        }
    };
    let chunk = reader.read(Stream::Stdout, Extent::Live { written: &written, slack: 0 }, 20, 100).unwrap();
    assert_eq!((chunk.offset, chunk.gap), (26, 6));
    assert_eq!(chunk.bytes, (26..30).map(byte).collect::<Vec<_>>());
}

#[test]
fn without_a_report_the_files_tell_as_much_as_they_can() {
    let dir = tempfile::tempdir().unwrap();
    let sum = |written: u64| {
        let base = dir.path().join(written.to_string());
        write(&base, 20, 0, written);
        let all = chunks(&OutputReader::new(base, 20), Extent::Unknown, 0, 100);
        all.iter().map(|chunk| chunk.bytes.len()).sum::<usize>()
    };
    assert_eq!((sum(7), sum(15), sum(19)), (7, 15, 19));
    assert_eq!(sum(45), 10, "where a full ring begins is not known");
    let missing = OutputReader::new(dir.path().join("missing"), 20);
    let error = missing.read(Stream::Stdout, Extent::Unknown, 0, 1).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn files_are_counted_removed_and_found_when_their_row_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let opened = opened(dir.path());
    let (reader, output) = (opened.store.reader(), opened.store.output());
    let writing = crate::support::Writing::start(opened.store);
    (1..=8).for_each(|decision| writing.commit(decision));
    let known = crate::support::script::attempt_id(1);
    let stray = AttemptId::mint();
    assert_eq!(output.usage().unwrap(), 0);
    for attempt in [known, stray] {
        let base = output.prepare(&attempt).unwrap();
        std::fs::write(head_file(&base, Stream::Stderr), vec![1; 100_000]).unwrap();
        std::fs::write(ouroboros_store::output::ending_file(&base), b"x").unwrap();
        assert!(output.is_kept(&attempt));
    }
    assert!(output.usage().unwrap() >= 200_000);
    let left_over = reader.without_row(output.attempts().unwrap()).unwrap();
    assert_eq!(left_over.into_iter().collect::<Vec<_>>(), [stray]);
    assert!(output.remove(&stray).unwrap() >= 100_000);
    assert_eq!(output.remove(&stray).unwrap(), 0);
    assert!(!output.is_kept(&stray) && output.is_kept(&known));
    writing.put(9, vec![Change::TaskRemoved(crate::support::script::task_id(1))]);
    writing.hear();
    assert_eq!(reader.without_row(output.attempts().unwrap()).unwrap().len(), 1);
}
