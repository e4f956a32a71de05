//! Everything that was received, and what became of it. The journal has each record twice: before the first byte of the response, and
//! at its end, so that it survives the death of this process.

use crate::money::{Price, Tokens};
use crate::wire::{Dialect, Endpoint};
use ouroboros_proto::kind::hex::hex;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::Write as _;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Records that are kept; older ones are only in the journal.
const KEPT: usize = 100_000;

/// What is known of a request before it is answered.
#[derive(Debug, Serialize)]
pub struct Facts {
    /// Counted from 1.
    pub number: u64,
    /// The id in the body of the answer.
    pub id: String,
    /// The id in the header.
    pub request_id: Option<String>,
    /// The wire format.
    pub dialect: Dialect,
    /// What is asked for.
    pub endpoint: Endpoint,
    /// The model that was asked.
    pub model: String,
    /// `GET` or `POST`.
    pub method: String,
    /// The address, without a key.
    pub route: String,
    /// Headers, without keys.
    pub headers: BTreeMap<String, String>,
    /// The key.
    pub key: Option<Key>,
    /// The body; text when it is not JSON.
    pub body: Value,
    /// Status of the response; `None` when there is none.
    pub status: Option<u16>,
    /// What is billed.
    #[serde(skip)]
    pub billed: Tokens,
    /// At this price.
    #[serde(skip)]
    pub price: Price,
    /// Or this, in nano-dollars, whatever the price.
    #[serde(skip)]
    pub cost: Option<u64>,
    /// A token of the answer for each of the pieces that are repeated for ever; 0 when nothing is.
    #[serde(skip)]
    pub endless: u64,
}

/// A key, as far as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Key {
    /// Its last four characters.
    pub last4: String,
    /// Its SHA-256.
    pub sha256: String,
}

impl Key {
    /// Of a key.
    pub fn of(key: &str) -> Self {
        let skip = key.chars().count().saturating_sub(4);
        Self { last4: key.chars().skip(skip).collect(), sha256: hex(&Sha256::digest(key)) }
    }
}

/// What became of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum End {
    /// It is not at its end.
    Open = 0,
    /// All of it was handed to the connection.
    Finished = 1,
    /// The script broke it off.
    Cut = 2,
    /// The other side left.
    ClientGone = 3,
}

impl End {
    const ALL: [Self; 4] = [Self::Open, Self::Finished, Self::Cut, Self::ClientGone];

    const fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Finished => "finished",
            Self::Cut => "cut",
            Self::ClientGone => "client_gone",
        }
    }
}

struct Record {
    facts: Facts,
    sent: AtomicU64,
    repeated: AtomicU64,
    end: AtomicU8,
}

impl Record {
    fn end(&self) -> End {
        let code = self.end.load(Relaxed);
        End::ALL.into_iter().find(|end| *end as u8 == code).unwrap_or(End::Open)
    }

    fn shown(&self) -> Shown<'_> {
        let mut usage = self.facts.billed;
        let repeated = self.repeated.load(Relaxed).saturating_mul(self.facts.endless);
        usage.output = usage.output.saturating_add(repeated);
        let end = self.end();
        Shown {
            facts: &self.facts,
            usage,
            cost_nanos: self.facts.cost.unwrap_or_else(|| self.facts.price.of(&usage)),
            bytes_sent: self.sent.load(Relaxed),
            ended: end.word(),
            finished: end == End::Finished,
        }
    }

    fn json(&self) -> Value {
        serde_json::to_value(self.shown()).unwrap_or_default()
    }
}

/// A record as it is at the moment.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    facts: &'a Facts,
    usage: Tokens,
    cost_nanos: u64,
    bytes_sent: u64,
    ended: &'static str,
    finished: bool,
}

/// All records.
#[derive(Default)]
pub struct Ledger {
    kept: Mutex<Kept>,
    journal: Mutex<Option<File>>,
}

#[derive(Default)]
struct Kept {
    records: VecDeque<Arc<Record>>,
    dropped: u64,
}

impl Ledger {
    /// One that also writes to a journal.
    pub fn new(journal: Option<File>) -> Self {
        Self { kept: Mutex::default(), journal: Mutex::new(journal) }
    }

    /// Records a request. When it returns, the record is in the journal.
    pub fn open(self: &Arc<Self>, facts: Facts) -> Entry {
        let record = Arc::new(Record {
            facts,
            sent: AtomicU64::new(0),
            repeated: AtomicU64::new(0),
            end: AtomicU8::new(End::Open as u8),
        });
        self.write(&record);
        let mut kept = lock(&self.kept);
        if kept.records.len() >= KEPT {
            kept.records.pop_front();
            kept.dropped = kept.dropped.saturating_add(1);
        }
        kept.records.push_back(Arc::clone(&record));
        drop(kept);
        Entry { ledger: Arc::clone(self), record }
    }

    /// Everything, as JSON.
    pub fn json(&self) -> Value {
        let (records, dropped) = {
            let kept = lock(&self.kept);
            (kept.records.iter().cloned().collect::<Vec<_>>(), kept.dropped)
        };
        json!({ "requests": records.iter().map(|record| record.json()).collect::<Vec<_>>(), "dropped": dropped })
    }

    /// The record whose answer has this id.
    pub fn find(&self, id: &str) -> Option<Value> {
        let found = lock(&self.kept).records.iter().rev().find(|record| record.facts.id == id).cloned();
        found.map(|record| record.json())
    }

    /// Forgets everything but the journal.
    pub fn clear(&self) {
        *lock(&self.kept) = Kept::default();
    }

    /// A write to a file is in the kernel's hands when it returns: it outlives this process.
    fn write(&self, record: &Record) {
        let mut journal = lock(&self.journal);
        let Some(file) = journal.as_mut() else { return };
        let line = serde_json::to_string(&record.shown()).unwrap_or_default();
        if let Err(error) = file.write_all(format!("{line}\n").as_bytes()) {
            eprintln!("provider: the journal cannot be written: {error}");
        }
    }
}

/// A request that is being answered. Dropped without an end, the other side has left.
pub struct Entry {
    ledger: Arc<Ledger>,
    record: Arc<Record>,
}

impl Entry {
    /// So many bytes more were handed to the connection.
    pub fn sent(&self, bytes: usize) {
        self.record.sent.fetch_add(u64::try_from(bytes).unwrap_or(0), Relaxed);
    }

    /// The piece was sent once more.
    pub fn repeated(&self) {
        self.record.repeated.fetch_add(1, Relaxed);
    }

    /// It ended; only the first end counts.
    pub fn end(&self, end: End) {
        if self.record.end.compare_exchange(End::Open as u8, end as u8, Relaxed, Relaxed).is_ok() {
            self.ledger.write(&self.record);
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.end(End::ClientGone);
    }
}

/// What a panic left is still good: everything here is written whole.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
