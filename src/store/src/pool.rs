//! A few connections for reading, opened when first needed.

use crate::connect::Reading;
use crate::error::ReadError;
use crate::layout::Layout;
use crate::shared::lock;
use ouroboros_proto::kind::Millis;
use rusqlite::{Connection, TransactionBehavior};
use std::sync::{Condvar, Mutex, PoisonError};

/// How long a read waits for a connection.
const WAIT: Millis = Millis::seconds(5);
/// How long closing waits for reads: they end by themselves after a second.
const DRAIN: Millis = Millis::seconds(3);

struct State {
    idle: Vec<Reading>,
    out: usize,
    paused: bool,
}

/// The connections of one kind of reader.
pub struct Pool {
    layout: Layout,
    size: usize,
    state: Mutex<State>,
    changed: Condvar,
}

impl Pool {
    /// At most `size` connections.
    pub fn new(layout: Layout, size: usize) -> Self {
        Self {
            layout,
            size,
            state: Mutex::new(State { idle: Vec::new(), out: 0, paused: false }),
            changed: Condvar::new(),
        }
    }

    /// Runs `read` in one read transaction.
    ///
    /// # Errors
    /// Its error, [`ReadError::TooLong`] after a second, or [`ReadError::Busy`] when no connection became free.
    pub fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T, ReadError>) -> Result<T, ReadError> {
        let mut lent = self.take()?;
        let reading = match lent.reading.take() {
            Some(reading) => reading,
            None => Reading::open(&self.layout)?,
        };
        reading.begin();
        let result = in_transaction(&reading.conn, read);
        // A connection whose transaction did not end is closed instead of lent again.
        if reading.conn.is_autocommit() {
            lent.reading = Some(reading);
        }
        result
    }

    /// Closes all connections and lends none until [`Self::resume`]; false when a read did not end in time.
    pub fn pause(&self) -> bool {
        let mut state = lock(&self.state);
        state.paused = true;
        let (mut state, waited) = self
            .changed
            .wait_timeout_while(state, DRAIN.duration(), |state| state.out > 0)
            .unwrap_or_else(PoisonError::into_inner);
        state.idle.clear();
        !waited.timed_out()
    }

    /// Lends again.
    pub fn resume(&self) {
        lock(&self.state).paused = false;
        self.changed.notify_all();
    }

    fn take(&self) -> Result<Lent<'_>, ReadError> {
        let state = lock(&self.state);
        let (mut state, waited) = self
            .changed
            .wait_timeout_while(state, WAIT.duration(), |state| state.paused || state.out >= self.size)
            .unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return Err(ReadError::Busy);
        }
        state.out = state.out.saturating_add(1);
        Ok(Lent { pool: self, reading: state.idle.pop() })
    }
}

/// A place in the pool, given back when dropped, with its connection if it still has one.
struct Lent<'a> {
    pool: &'a Pool,
    reading: Option<Reading>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.pool.state);
        state.out = state.out.saturating_sub(1);
        if let Some(reading) = self.reading.take().filter(|_| !state.paused) {
            state.idle.push(reading);
        }
        self.pool.changed.notify_all();
    }
}

fn in_transaction<T>(
    conn: &Connection,
    read: impl FnOnce(&Connection) -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    let transaction = rusqlite::Transaction::new_unchecked(conn, TransactionBehavior::Deferred)?;
    let result = read(&transaction);
    drop(transaction);
    result
}
