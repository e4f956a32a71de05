//! Bodies that were just accepted or used: a task that starts at once is not read back from the store.

use ouroboros_domain::{Change, Content, Spec};
use ouroboros_proto::kind::TaskId;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Specifications kept between acceptance and start.
const SPECS: usize = 1_024;
/// Small bodies kept: most tasks share a few environments.
const BODIES: usize = 32;

/// Specifications by task, small bodies by hash.
#[derive(Debug)]
pub struct Recent {
    pub(super) specs: Lately<TaskId>,
    pub(super) bodies: Lately<[u8; 32]>,
}

impl Default for Recent {
    fn default() -> Self {
        Self { specs: Lately::new(SPECS), bodies: Lately::new(BODIES) }
    }
}

impl Recent {
    /// Remembers what a decision adds.
    pub fn remember(&self, change: &Change) {
        let Change::TaskAdded { row, spec: Spec::New(bytes), contents, .. } = change else { return };
        self.specs.put(row.id, bytes);
        for Content { hash, bytes, in_file } in contents {
            if !in_file {
                self.bodies.put(*hash, bytes);
            }
        }
    }
}

type Entries<K> = VecDeque<(K, Arc<[u8]>)>;

/// The last few of something. The oldest makes room.
#[derive(Debug)]
pub(super) struct Lately<K> {
    entries: Mutex<Entries<K>>,
    most: usize,
}

impl<K: PartialEq> Lately<K> {
    fn new(most: usize) -> Self {
        Self { entries: Mutex::default(), most }
    }

    /// Keeps a body under its key.
    pub fn put(&self, key: K, bytes: &Arc<[u8]>) {
        let mut entries = self.lock();
        if entries.iter().rev().any(|(known, _)| *known == key) {
            return;
        }
        if entries.len() >= self.most {
            entries.pop_front();
        }
        entries.push_back((key, Arc::clone(bytes)));
    }

    /// The body, which stays.
    pub fn get(&self, key: &K) -> Option<Arc<[u8]>> {
        self.lock().iter().find(|(known, _)| known == key).map(|(_, bytes)| Arc::clone(bytes))
    }

    /// The body, which goes.
    pub fn take(&self, key: &K) -> Option<Arc<[u8]>> {
        let mut entries = self.lock();
        let index = entries.iter().position(|(known, _)| known == key)?;
        entries.remove(index).map(|(_, bytes)| bytes)
    }

    fn lock(&self) -> MutexGuard<'_, Entries<K>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
