//! Moves the write-ahead log into the database, on a thread of its own, when commits have made it long. Never by a timer.
//!
//! The bulk is moved beside the writer. What was committed meanwhile is moved while the writer waits at the gate, so that the
//! log is empty at that moment and is written from its start again: that is little, and costs one sync in hundreds of
//! commits. The log file is cut when it has grown far.

use crate::connect;
use crate::failpoint;
use crate::layout::Layout;
use crate::shared::{Shared, lock};
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use rusqlite::Connection;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

/// Frames in the log after which it is moved.
const FRAMES: u64 = 2_048;
/// Size from which the log file is cut.
const CUT_BYTES: u64 = 64 << 20;

enum Order {
    Run,
    Close(Sender<()>),
}

/// The thread that checkpoints.
pub struct Checkpointer {
    orders: Sender<Order>,
    thread: Option<JoinHandle<()>>,
    /// Frames that the log had after the last commit.
    frames: AtomicU64,
    /// Frames at which to checkpoint next.
    next: AtomicU64,
}

impl Checkpointer {
    /// Starts it. It opens its connection when there is something to do for the first time.
    ///
    /// # Errors
    /// No thread is to be had.
    pub fn start(shared: Arc<Shared>) -> std::io::Result<Self> {
        let (orders, inbox) = bounded(1);
        let thread = thread::Builder::new().name("checkpoint".to_owned()).spawn(move || run(&shared, &inbox))?;
        Ok(Self { orders, thread: Some(thread), frames: AtomicU64::new(0), next: AtomicU64::new(FRAMES) })
    }

    /// Tells it that the log has this many frames after a commit. Never waits. While a reader keeps the log from being
    /// written from its start, one checkpoint is made for each so many frames, not one for each commit.
    pub fn log_has(&self, frames: u64) {
        if frames < self.frames.swap(frames, Ordering::Relaxed) {
            self.next.store(FRAMES, Ordering::Relaxed);
        }
        if frames >= self.next.load(Ordering::Relaxed) {
            self.next.store(frames.saturating_add(FRAMES), Ordering::Relaxed);
            match self.orders.try_send(Order::Run) {
                Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
            }
        }
    }

    /// Closes its connection; returns when that is done.
    pub fn close(&self) {
        let (done, wait) = bounded(1);
        if self.orders.send(Order::Close(done)).is_ok() {
            let _ = wait.recv();
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        let (orders, _) = bounded(1);
        // Its inbox ends when the last sender is gone.
        drop(std::mem::replace(&mut self.orders, orders));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(shared: &Shared, inbox: &Receiver<Order>) {
    let mut conn = None;
    for order in inbox {
        match order {
            Order::Close(done) => {
                drop(conn.take());
                let _ = done.send(());
            }
            Order::Run => {
                let result = match conn.take() {
                    Some(conn) => Ok(conn),
                    None => connect::checkpointer(&shared.layout),
                }
                .and_then(|open| {
                    run_once(&open, shared)?;
                    Ok(open)
                });
                match result {
                    Ok(open) => conn = Some(open),
                    // Nothing is lost: the log only stays longer. The next commit asks again.
                    Err(error) => tracing::warn!(%error, "checkpoint failed"),
                }
            }
        }
    }
}

fn run_once(conn: &Connection, shared: &Shared) -> rusqlite::Result<()> {
    if failpoint::hit("store.before_checkpoint").is_some() {
        return Err(rusqlite::Error::InvalidQuery);
    }
    checkpoint(conn, "PASSIVE")?;
    let _gate = lock(&shared.gate);
    checkpoint(conn, if log_bytes(&shared.layout) > CUT_BYTES { "TRUNCATE" } else { "PASSIVE" })?;
    let _ = failpoint::hit("store.after_checkpoint");
    Ok(())
}

/// Runs a checkpoint of the given mode; tells whether somebody was in its way.
pub fn checkpoint(conn: &Connection, mode: &str) -> rusqlite::Result<bool> {
    conn.query_row(&format!("PRAGMA wal_checkpoint({mode})"), (), |row| Ok(row.get::<_, i64>(0)? != 0))
}

fn log_bytes(layout: &Layout) -> u64 {
    fs::metadata(layout.log()).map_or(0, |metadata| metadata.len())
}
