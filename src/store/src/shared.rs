//! What writer, readers and checkpoints of one open store have in common.

use crate::error::OpenError;
use crate::layout::Layout;
use crate::pool::Pool;
use crate::space::Reserve;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The common part of one open store.
pub struct Shared {
    /// Where things lie.
    pub layout: Layout,
    /// Room that is given up when the disk is full.
    pub reserve: Reserve,
    /// Held around each commit, and by a checkpoint that must catch up with the writer.
    pub gate: Mutex<()>,
    pools: Mutex<Vec<Arc<Pool>>>,
}

impl Shared {
    /// For the store at `layout`.
    pub fn new(layout: Layout, reserve: Reserve) -> Self {
        Self { layout, reserve, gate: Mutex::new(()), pools: Mutex::new(Vec::new()) }
    }

    /// A new pool of at most `size` connections, which takes part in [`Self::pause`].
    pub fn pool(&self, size: usize) -> Arc<Pool> {
        let pool = Arc::new(Pool::new(self.layout.clone(), size));
        let mut pools = lock(&self.pools);
        pools.retain(|known| Arc::strong_count(known) > 1);
        pools.push(Arc::clone(&pool));
        pool
    }

    /// Closes every connection of every pool, and lets none be opened until the guard is dropped.
    ///
    /// # Errors
    /// [`OpenError::Busy`] when a read did not end in time.
    pub fn pause(&self) -> Result<Paused<'_>, OpenError> {
        let pools = lock(&self.pools);
        for (index, pool) in pools.iter().enumerate() {
            if !pool.pause() {
                pools.iter().take(index.saturating_add(1)).for_each(|paused| paused.resume());
                return Err(OpenError::Busy { path: self.layout.database() });
            }
        }
        Ok(Paused { pools })
    }
}

/// While it lives, no pool has a connection.
pub struct Paused<'a> {
    pools: MutexGuard<'a, Vec<Arc<Pool>>>,
}

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        self.pools.iter().for_each(|pool| pool.resume());
    }
}

/// Locks `mutex`; a panic of another holder does not matter, because no holder leaves it half changed.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
