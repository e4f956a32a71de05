//! What was sent to providers and what came back, byte for byte: for finding out later what happened, and for playing it again.
//!
//! Evidence, not facts: the files are not synced and no decision reads them. A directory a day holds a manifest for each send and the
//! bodies under their SHA-256, so that what is sent again that day is kept once. What is too old goes by whole days; what is too much goes
//! oldest first, down to single sends, as soon as it is too much. Keys are hidden before anything comes here.

use crate::content::digest;
use crate::layout::{Layout, hex, unhex};
use ouroboros_proto::kind::{SendId, UtcMicros};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const DAY_MILLIS: u64 = 86_400_000;

/// The handle. Clones share what they know of the size, and keep out of each other's way.
#[derive(Debug, Clone)]
pub struct Exchanges {
    root: PathBuf,
    /// Bytes kept in all, once somebody has counted them. Held while files come and go: a body is not removed that is just named anew.
    kept: Arc<Mutex<Option<u64>>>,
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
        Self { root: layout.root().join("exchanges"), kept: Arc::default() }
    }

    /// Keeps both sides of a send; the oldest go when all together have more than `most` bytes. Not durable.
    ///
    /// # Errors
    /// They cannot be written, or what is too much cannot be found.
    pub fn put(&self, send: SendId, exchange: &Exchange, most: u64) -> io::Result<()> {
        let mut kept = self.kept();
        let before = match *kept {
            Some(bytes) => bytes,
            None => self.days()?.iter().map(|(_, bytes, _)| bytes).sum(),
        };
        // What is written in part is counted anew the next time.
        *kept = None;
        let day = self.day(send);
        DirBuilder::new().recursive(true).mode(0o700).create(&day)?;
        let (request, sent) = body(&day, &exchange.request)?;
        let (response, came) = body(&day, &exchange.response)?;
        let manifest = serde_json::to_vec(&Manifest { request, response })?;
        write(&day.join(format!("{send}.json")), &manifest)?;
        let after = before.saturating_add(sent).saturating_add(came).saturating_add(length(&manifest));
        *kept = Some(if after > most {
            // Some room is made at once, so that not every send has to look for what goes.
            self.drop_oldest(UtcMicros::default(), most, most - most / 8)?.1
        } else {
            after
        });
        Ok(())
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

    /// Whether nothing is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        fs::read_dir(&self.root).map_or(true, |mut entries| entries.next().is_none())
    }

    /// Drops days that ended before `before`, and the oldest of what is left while all together have more than `most` bytes; the bytes
    /// freed.
    ///
    /// # Errors
    /// The directories cannot be read.
    pub fn sweep(&self, before: UtcMicros, most: u64) -> io::Result<u64> {
        let mut kept = self.kept();
        let (freed, left) = self.drop_oldest(before, most, most)?;
        *kept = Some(left);
        Ok(freed)
    }

    /// The same, down to `target` bytes when there are more than `most`; the bytes freed, and those that are left.
    fn drop_oldest(&self, before: UtcMicros, most: u64, target: u64) -> io::Result<(u64, u64)> {
        let days = self.days()?;
        let all: u64 = days.iter().map(|(_, bytes, _)| bytes).sum();
        let oldest = u64::try_from(before.get() / 1_000).unwrap_or(0) / DAY_MILLIS;
        let old: u64 = days.iter().filter(|(day, ..)| *day < oldest).map(|(_, bytes, _)| bytes).sum();
        let left = all.saturating_sub(old);
        let mut surplus = if left > most { left.saturating_sub(target) } else { 0 };
        let mut freed = 0;
        for (day, bytes, path) in days {
            let too_many = day >= oldest;
            if too_many && surplus == 0 {
                continue;
            }
            let gone = if too_many && bytes > surplus { trim(&path, surplus)? } else { remove(&path, bytes) };
            surplus = surplus.saturating_sub(if too_many { gone } else { 0 });
            freed += gone;
        }
        Ok((freed, all.saturating_sub(freed)))
    }

    /// The days with their bytes, oldest first.
    fn days(&self) -> io::Result<Vec<(u64, u64, PathBuf)>> {
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut days = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let number = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse::<u64>().ok());
            if let Some(number) = number {
                days.push((number, size(&path), path));
            }
        }
        days.sort_unstable();
        Ok(days)
    }

    fn kept(&self) -> MutexGuard<'_, Option<u64>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The directory of the day in which a send's id was made.
    fn day(&self, send: SendId) -> PathBuf {
        let millis = send.as_bytes().iter().take(6).fold(0_u64, |millis, byte| (millis << 8) | u64::from(*byte));
        self.root.join((millis / DAY_MILLIS).to_string())
    }
}

/// Keeps a body under its hash; the hash, and the bytes that are new.
fn body(day: &Path, bytes: &[u8]) -> io::Result<(String, u64)> {
    let name = hex(&digest(bytes));
    let path = day.join(&name);
    if path.exists() {
        return Ok((name, 0));
    }
    write(&path, bytes)?;
    Ok((name, length(bytes)))
}

/// Drops the oldest sends of a day, with the bodies that no other names, until `surplus` bytes are freed; the bytes freed.
fn trim(day: &Path, surplus: u64) -> io::Result<u64> {
    let mut sends = Vec::new();
    let mut named: HashMap<String, usize> = HashMap::new();
    for entry in fs::read_dir(day)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let bytes = fs::read(&path)?;
            let bodies = match serde_json::from_slice::<Manifest>(&bytes) {
                Ok(manifest) => vec![manifest.request, manifest.response],
                Err(_) => Vec::new(),
            };
            for body in &bodies {
                *named.entry(body.clone()).or_default() += 1;
            }
            sends.push((path, length(&bytes), bodies));
        }
    }
    // Their ids begin with the time.
    sends.sort_unstable();
    let mut freed = 0;
    for (path, bytes, bodies) in sends {
        if freed >= surplus {
            return Ok(freed);
        }
        fs::remove_file(&path)?;
        freed += bytes;
        for body in bodies {
            let others = named.entry(body.clone()).or_default();
            *others = others.saturating_sub(1);
            if *others == 0 && unhex::<32>(&body).is_some() {
                freed += remove_body(&day.join(&body));
            }
        }
    }
    // What is left is named by nobody.
    Ok(freed + if freed < surplus { remove(day, size(day)) } else { 0 })
}

fn remove_body(path: &Path) -> u64 {
    let bytes = fs::metadata(path).map_or(0, |meta| meta.len());
    if fs::remove_file(path).is_ok() { bytes } else { 0 }
}

/// Drops a whole day; its bytes when it is gone.
fn remove(day: &Path, bytes: u64) -> u64 {
    if fs::remove_dir_all(day).is_ok() { bytes } else { 0 }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
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
        exchanges.put(one, &exchange("question"), u64::MAX).unwrap();
        assert_eq!(exchanges.get(one).unwrap(), Some(exchange("question")));
        assert_eq!(exchanges.get(send(20_000, 2)).unwrap(), None);
        let path = exchanges.day(one).join(hex(&digest(b"question")));
        fs::write(path, b"another").unwrap();
        assert_eq!(exchanges.get(one).unwrap(), None);
    }

    #[test]
    fn old_days_go_then_the_oldest_of_what_is_too_much() {
        let dir = tempfile::tempdir().unwrap();
        let exchanges = Exchanges::new(&Layout::new(dir.path()));
        let days = [20_000, 20_001, 20_002, 20_003].map(|day| send(day, 1));
        for day in days {
            exchanges.put(day, &exchange("question"), u64::MAX).unwrap();
        }
        let before = UtcMicros::new(20_001 * 86_400_000_000);
        assert!(exchanges.sweep(before, u64::MAX).unwrap() > 0);
        let kept = |exchanges: &Exchanges| days.map(|day| exchanges.get(day).unwrap().is_some());
        assert_eq!(kept(&exchanges), [false, true, true, true]);
        let day = exchanges.days().unwrap()[0].1;
        exchanges.sweep(before, 2 * day).unwrap();
        assert_eq!(kept(&exchanges), [false, false, true, true]);
        assert!(!exchanges.is_empty());
        assert_eq!(exchanges.sweep(before, 0).unwrap(), 2 * day);
        assert!(kept(&exchanges).iter().all(|kept| !kept) && exchanges.is_empty());
    }

    #[test]
    fn within_a_day_the_oldest_sends_go_and_a_body_stays_that_another_names() {
        let dir = tempfile::tempdir().unwrap();
        let exchanges = Exchanges::new(&Layout::new(dir.path()));
        for last in 1..=3 {
            exchanges
                .put(send(20_000, last), &exchange(if last == 2 { "other" } else { "question" }), u64::MAX)
                .unwrap();
        }
        let all = exchanges.days().unwrap()[0].1;
        assert!(exchanges.sweep(UtcMicros::default(), all - 1).unwrap() > 0);
        let kept = [1, 2, 3].map(|last| exchanges.get(send(20_000, last)).unwrap());
        assert_eq!(kept, [None, Some(exchange("other")), Some(exchange("question"))]);
    }

    #[test]
    fn what_is_kept_never_grows_beyond_its_bound() {
        let dir = tempfile::tempdir().unwrap();
        let most = 20_000;
        let written = Exchanges::new(&Layout::new(dir.path()));
        for round in 0..300_u64 {
            // In the middle a life ends, and the next one does not know what is there.
            let exchanges = if round < 150 { written.clone() } else { Exchanges::new(&Layout::new(dir.path())) };
            let id = send(20_000 + round / 100, u8::try_from(round % 100).unwrap());
            let body = Exchange { request: vec![b'x'; 500 + usize::try_from(round).unwrap()], response: vec![1; 100] };
            exchanges.put(id, &body, most).unwrap();
            let bytes: u64 = exchanges.days().unwrap().iter().map(|(_, bytes, _)| bytes).sum();
            assert!(bytes <= most, "{bytes} after {round}");
            assert_eq!(*exchanges.kept(), Some(bytes), "{round}");
            assert_eq!(exchanges.get(id).unwrap(), Some(body), "the newest stays");
        }
    }
}
