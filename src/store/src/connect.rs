//! Opens connections. Each says what it is for, and is tuned for that.

use crate::layout::Layout;
use ouroboros_proto::kind::{Millis, clock};
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The time that one read may take.
pub const READ_BOUND: Millis = Millis::seconds(1);

const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// Opens the existing database at `path` without any tuning.
pub fn plain(path: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(path, FLAGS)
}

/// Opens the connection that writes.
pub fn writer(layout: &Layout) -> rusqlite::Result<Connection> {
    let conn = plain(&layout.database())?;
    tune_writer(&conn)?;
    Ok(conn)
}

/// Makes `conn` a connection that writes: every commit reaches the disk, and never checkpoints on its own.
pub fn tune_writer(conn: &Connection) -> rusqlite::Result<()> {
    conn.set_prepared_statement_cache_capacity(64);
    conn.execute_batch(
        "PRAGMA busy_timeout = 5000; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -2048;
         PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF; PRAGMA foreign_keys = OFF; PRAGMA cell_size_check = ON;",
    )
}

/// Opens a connection that moves the log into the database.
pub fn checkpointer(layout: &Layout) -> rusqlite::Result<Connection> {
    let conn = plain(&layout.database())?;
    conn.execute_batch(
        "PRAGMA busy_timeout = 0; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -64;",
    )?;
    Ok(conn)
}

/// A connection that only reads, and whose reads end when their time is over.
pub struct Reading {
    /// The connection.
    pub conn: Connection,
    deadline: Arc<AtomicU64>,
}

impl Reading {
    /// Opens one.
    pub fn open(layout: &Layout) -> rusqlite::Result<Self> {
        let mut conn = plain(&layout.database())?;
        conn.set_prepared_statement_cache_capacity(32);
        conn.execute_batch(
            "PRAGMA busy_timeout = 1000; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -512; PRAGMA temp_store = MEMORY;
             PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA query_only = ON;",
        )?;
        let deadline = Arc::new(AtomicU64::new(u64::MAX));
        let watched = Arc::clone(&deadline);
        conn.progress_handler(4_096, Some(move || clock::boot().get() > watched.load(Ordering::Relaxed)))?;
        Ok(Self { conn, deadline })
    }

    /// Starts the time of a read.
    pub fn begin(&self) {
        self.deadline.store(clock::boot().plus(READ_BOUND).get(), Ordering::Relaxed);
    }
}
