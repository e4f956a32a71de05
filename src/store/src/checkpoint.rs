//! Moves the write-ahead log into the database, on a thread of its own, when commits have made it long. Never by a timer.
//!
//! The usual run does not hold up anybody. Only when the writer is so busy that the log does not get empty beside it, the
//! rest is moved while the writer waits at the gate: little is left by then. The log file is cut when it has grown far.

use crate::connect;
use crate::failpoint;
use crate::layout::Layout;
use crate::shared::{Shared, lock};
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use rusqlite::Connection;
use std::fs;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// Frames in the log from which it is moved.
pub const FRAMES: u64 = 1_024;
/// Frames from which the writer waits for it.
const GATED_FRAMES: u64 = 4 * FRAMES;
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
}

impl Checkpointer {
    /// Starts it. It opens its connection when there is something to do for the first time.
    ///
    /// # Errors
    /// No thread is to be had.
    pub fn start(shared: Arc<Shared>) -> std::io::Result<Self> {
        let (orders, inbox) = bounded(1);
        let thread = thread::Builder::new().name("checkpoint".to_owned()).spawn(move || run(&shared, &inbox))?;
        Ok(Self { orders, thread: Some(thread) })
    }

    /// Tells it that the log has this many frames. Never waits.
    pub fn log_has(&self, frames: u64) {
        if frames >= FRAMES {
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
    let mut progress = checkpoint(conn, "PASSIVE")?;
    if progress.frames >= GATED_FRAMES && progress.moved < progress.frames {
        let _gate = lock(&shared.gate);
        progress = checkpoint(conn, "PASSIVE")?;
    }
    if progress.moved == progress.frames && log_bytes(&shared.layout) > CUT_BYTES {
        let _gate = lock(&shared.gate);
        checkpoint(conn, "TRUNCATE")?;
    }
    let _ = failpoint::hit("store.after_checkpoint");
    Ok(())
}

/// What a checkpoint found and did.
pub struct Progress {
    /// Whether somebody was in its way.
    pub busy: bool,
    /// Frames in the log.
    pub frames: u64,
    /// Frames of it that are in the database.
    pub moved: u64,
}

/// Runs a checkpoint of the given mode.
pub fn checkpoint(conn: &Connection, mode: &str) -> rusqlite::Result<Progress> {
    conn.query_row(&format!("PRAGMA wal_checkpoint({mode})"), (), |row| {
        let frames: i64 = row.get(1)?;
        let moved: i64 = row.get(2)?;
        Ok(Progress {
            busy: row.get::<_, i64>(0)? != 0,
            frames: u64::try_from(frames).unwrap_or(0),
            moved: u64::try_from(moved).unwrap_or(0),
        })
    })
}

fn log_bytes(layout: &Layout) -> u64 {
    fs::metadata(layout.log()).map_or(0, |metadata| metadata.len())
}
