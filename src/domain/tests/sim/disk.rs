//! A disk: what is queued, what is written (survives the death of the server), what is synced (survives a power loss).

use crate::image::Image;
use crate::worker::Key;
use ouroboros_domain::{Change, Effect};
use std::collections::VecDeque;
use std::rc::Rc;

/// A decision on its way to the disk.
pub struct Pending {
    pub changes: Rc<[Change]>,
    pub effects: Vec<Effect>,
    /// The worker whose death this decision records.
    pub gone: Option<Key>,
}

pub struct Disk {
    pub queue: VecDeque<Pending>,
    /// What memory believes: everything decided.
    pub staged: Image,
    pub written: Image,
    pub synced: Image,
    /// Groups written since the last sync.
    unsynced: Vec<Vec<Rc<[Change]>>>,
    pub commit_scheduled: bool,
}

impl Disk {
    pub fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            staged: Image::new(),
            written: Image::new(),
            synced: Image::new(),
            unsynced: Vec::new(),
            commit_scheduled: false,
        }
    }

    /// Writes the first `count` queued decisions as one transaction.
    pub fn write(&mut self, count: usize) -> Result<Vec<Pending>, String> {
        let group: Vec<Pending> = self.queue.drain(..count.min(self.queue.len())).collect();
        for change in group.iter().flat_map(|pending| pending.changes.iter()) {
            self.written.apply(change)?;
        }
        let sync = group.iter().any(|pending| pending.changes.iter().any(Change::needs_sync));
        self.unsynced.push(group.iter().map(|pending| Rc::clone(&pending.changes)).collect());
        if sync {
            self.sync()?;
        }
        Ok(group)
    }

    pub fn sync(&mut self) -> Result<(), String> {
        for change in self.unsynced.drain(..).flatten().flat_map(|changes| changes.to_vec()) {
            self.synced.apply(&change)?;
        }
        Ok(())
    }

    /// Everything queued is lost.
    pub fn drop_queue(&mut self) {
        self.queue.clear();
        self.commit_scheduled = false;
        self.staged = self.written.clone();
    }

    /// The power fails: of what was not synced, only the first `kept` groups reach the disk.
    pub fn power_loss(&mut self, kept: usize) -> Result<(), String> {
        self.unsynced.truncate(kept);
        self.sync()?;
        self.written = self.synced.clone();
        self.drop_queue();
        Ok(())
    }

    pub fn unsynced(&self) -> usize {
        self.unsynced.len()
    }
}
