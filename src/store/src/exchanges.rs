//! What was sent to providers and what came back, byte for byte: for finding out later what happened, and for playing it again.
//!
//! Evidence, not facts: the files are not synced and no decision reads them. A directory a day holds a manifest for each send and the
//! bodies under their SHA-256, so that what is sent again that day is kept once; retention drops whole days. Keys are hidden before
//! anything comes here.

use crate::content::digest;
use crate::layout::{Layout, hex, unhex};
use ouroboros_proto::kind::{SendId, UtcMicros};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

const DAY_MILLIS: u64 = 86_400_000;

/// The handle.
#[derive(Debug, Clone)]
pub struct Exchanges {
    root: PathBuf,
}

/// Both sides of a send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// What was sent.
    pub request: Vec<u8>,
    /// What came back.
    pub response: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct Manifest {
    request: String,
    response: String,
}

impl Exchanges {
    /// Those of a data directory.
    #[must_use]
    pub fn new(layout: &Layout) -> Self {
        Self { root: layout.root().join("exchanges") }
    }

    /// Keeps both sides of a send. Not durable.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn put(&self, send: SendId, exchange: &Exchange) -> io::Result<()> {
        let day = self.day(send);
        DirBuilder::new().recursive(true).mode(0o700).create(&day)?;
        let manifest = Manifest { request: body(&day, &exchange.request)?, response: body(&day, &exchange.response)? };
        write(&day.join(format!("{send}.json")), &serde_json::to_vec(&manifest)?)
    }

    /// Both sides of a send; `None` when they are not kept, or not as they were.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn get(&self, send: SendId) -> io::Result<Option<Exchange>> {
        let day = self.day(send);
        let manifest = match fs::read(day.join(format!("{send}.json"))) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let Ok(manifest) = serde_json::from_slice::<Manifest>(&manifest) else { return Ok(None) };
        let read = |name: &str| -> Option<Vec<u8>> {
            let hash = unhex(name)?;
            let bytes = fs::read(day.join(hex(&hash))).ok()?;
            (digest(&bytes) == hash).then_some(bytes)
        };
        let both = read(&manifest.request).zip(read(&manifest.response));
        Ok(both.map(|(request, response)| Exchange { request, response }))
    }

    /// Drops days that ended before `before`, and the oldest ones while all together have more than `most` bytes; the bytes freed. The
    /// newest day stays.
    ///
    /// # Errors
    /// The directories cannot be read.
    pub fn sweep(&self, before: UtcMicros, most: u64) -> io::Result<u64> {
        let mut days = Vec::new();
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(error),
        };
        for entry in entries {
            let path = entry?.path();
            let number = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse::<u64>().ok());
            if let Some(number) = number {
                days.push((number, size(&path), path));
            }
        }
        days.sort_unstable();
        let oldest = u64::try_from(before.get() / 1_000).unwrap_or(0) / DAY_MILLIS;
        let mut total: u64 = days.iter().map(|(_, bytes, _)| bytes).sum();
        let mut freed = 0;
        let newest = days.pop().filter(|(day, ..)| *day < oldest);
        for (day, bytes, path) in days.into_iter().chain(newest) {
            if (day < oldest || total > most) && fs::remove_dir_all(&path).is_ok() {
                total = total.saturating_sub(bytes);
                freed += bytes;
            }
        }
        Ok(freed)
    }

    /// The directory of the day in which a send's id was made.
    fn day(&self, send: SendId) -> PathBuf {
        let millis = send.as_bytes().iter().take(6).fold(0_u64, |millis, byte| (millis << 8) | u64::from(*byte));
        self.root.join((millis / DAY_MILLIS).to_string())
    }
}

/// Keeps a body under its hash; the hash.
fn body(day: &Path, bytes: &[u8]) -> io::Result<String> {
    let name = hex(&digest(bytes));
    let path = day.join(&name);
    if !path.exists() {
        write(&path, bytes)?;
    }
    Ok(name)
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?.write_all(bytes)
}

fn size(day: &Path) -> u64 {
    let sizes = fs::read_dir(day).into_iter().flatten().flatten().filter_map(|entry| entry.metadata().ok());
    sizes.map(|meta| meta.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send(day: u64, last: u8) -> SendId {
        let mut bytes = [last; 16];
        for (to, from) in bytes.iter_mut().zip((day * DAY_MILLIS).to_be_bytes().into_iter().skip(2)) {
            *to = from;
        }
        SendId::from_bytes(bytes)
    }

    fn exchange(text: &str) -> Exchange {
        Exchange { request: text.into(), response: b"answer".to_vec() }
    }

    #[test]
    fn what_is_kept_comes_back_and_what_is_damaged_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let exchanges = Exchanges::new(&Layout::new(dir.path()));
        let one = send(20_000, 1);
        exchanges.put(one, &exchange("question")).unwrap();
        assert_eq!(exchanges.get(one).unwrap(), Some(exchange("question")));
        assert_eq!(exchanges.get(send(20_000, 2)).unwrap(), None);
        let path = exchanges.day(one).join(hex(&digest(b"question")));
        fs::write(path, b"another").unwrap();
        assert_eq!(exchanges.get(one).unwrap(), None);
    }

    #[test]
    fn old_days_go_then_the_oldest_that_are_too_many_and_the_newest_stays() {
        let dir = tempfile::tempdir().unwrap();
        let exchanges = Exchanges::new(&Layout::new(dir.path()));
        let days = [20_000, 20_001, 20_002, 20_003].map(|day| send(day, 1));
        for day in days {
            exchanges.put(day, &exchange("question")).unwrap();
        }
        let before = UtcMicros::new(20_001 * 86_400_000_000);
        assert!(exchanges.sweep(before, u64::MAX).unwrap() > 0);
        let kept = |exchanges: &Exchanges| days.map(|day| exchanges.get(day).unwrap().is_some());
        assert_eq!(kept(&exchanges), [false, true, true, true]);
        exchanges.sweep(before, 0).unwrap();
        assert_eq!(kept(&exchanges), [false, false, false, true]);
    }
}
