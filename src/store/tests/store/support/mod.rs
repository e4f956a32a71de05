//! What the tests share: a script of decisions, a model of what they add up to, and a way to hear of commits.

pub mod children;
pub mod model;
pub mod script;
pub mod sends;

use crossbeam_channel::{Receiver, Sender, unbounded};
use ouroboros_store::{Batch, CommitError, LoadedRows, Opened, Options, Sink, Store, Writer, WriterHandle, open};
use std::path::Path;
use std::time::Duration;

/// Longer than anything here takes by far.
pub const LONG: Duration = Duration::from_secs(60);

/// What a sink hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    Committed(u64),
    Failed(u64, CommitError),
}

pub struct Channel(Sender<Heard>);

impl Sink for Channel {
    fn committed(&mut self, up_to: u64) {
        let _ = self.0.send(Heard::Committed(up_to));
    }

    fn failed(&mut self, from: u64, error: CommitError) {
        let _ = self.0.send(Heard::Failed(from, error));
    }
}

#[allow(clippy::disallowed_methods, reason = "a test hears at most what it sends")]
fn ear() -> (Sender<Heard>, Receiver<Heard>) {
    unbounded()
}

/// A writer and what it says.
pub struct Writing {
    pub handle: WriterHandle,
    pub heard: Receiver<Heard>,
}

impl Writing {
    pub fn start(store: Store) -> Self {
        let (say, heard) = ear();
        Self { handle: Writer::start(store, Box::new(Channel(say))).unwrap(), heard }
    }

    pub fn hear(&self) -> Heard {
        self.heard.recv_timeout(LONG).expect("the writer says something")
    }

    /// Sends a decision of the script and waits for what comes of it.
    pub fn decide(&self, decision: u64) -> Heard {
        self.send(decision);
        self.hear()
    }

    pub fn send(&self, decision: u64) {
        self.put(decision, script::decision(decision));
    }

    pub fn put(&self, decision: u64, changes: Vec<ouroboros_domain::change::Change>) {
        let sync = changes.iter().any(ouroboros_domain::change::Change::needs_sync);
        self.handle.send(Batch { decision, changes, sync }).unwrap();
    }

    pub fn commit(&self, decision: u64) {
        assert_eq!(self.decide(decision), Heard::Committed(decision));
    }
}

/// A directory in memory where there is one: what a kill or a failing call leaves behind is the same there, without waiting
/// for a disk thousands of times.
pub fn memory_dir() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

/// Small pages make many frames.
pub fn options(dir: &Path) -> Options {
    Options { page_bytes: 512, reserve_bytes: 0, low_water_bytes: 0, ..Options::new(dir) }
}

pub fn opened(dir: &Path) -> Opened {
    open(&options(dir)).unwrap()
}

/// Opens, loads and closes.
pub fn loaded(dir: &Path) -> LoadedRows {
    opened(dir).loaded
}

/// Copies what the store has in `from` to the new directory `to`, as it is on the disk now.
pub fn copy_store(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for name in ["store.db", "store.db-wal"] {
        if from.join(name).exists() {
            std::fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
}

/// Reports a test that cannot run here.
pub fn skip(reason: &str) {
    eprintln!("SKIP {reason}");
    assert!(std::env::var_os("OUROBOROS_TEST_STRICT").is_none(), "SKIP {reason}");
}
