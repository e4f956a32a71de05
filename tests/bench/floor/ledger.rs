//! Durable commits: one thread that commits whatever waits.

use anyhow::Context as _;
use ouroboros_proto::kind::TaskId;
use rusqlite::{Connection, params};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

type Asked = (TaskId, u8, SyncSender<()>);

/// A way to the thread; it ends with the last of these.
pub struct Ledger(SyncSender<Asked>);

impl Ledger {
    /// Makes the database and starts the thread.
    ///
    /// # Errors
    /// There is no room for either.
    pub fn start(path: &Path) -> anyhow::Result<Self> {
        let conn = Connection::open(path)?;
        conn.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE tasks (id BLOB PRIMARY KEY, state INTEGER NOT NULL, spec BLOB) STRICT, WITHOUT ROWID;
             CREATE TABLE events (seq INTEGER PRIMARY KEY, task BLOB NOT NULL, body TEXT NOT NULL) STRICT;",
        )?;
        let (ask, asked) = sync_channel(256);
        std::thread::Builder::new().name("ledger".to_owned()).spawn(move || serve(&conn, &asked))?;
        Ok(Self(ask))
    }

    /// Records that a task has come this far; it is on the disk when this returns.
    ///
    /// # Errors
    /// The thread has ended because a commit failed.
    pub fn commit(&self, task: TaskId, state: u8) -> anyhow::Result<()> {
        let (done, answer) = sync_channel(1);
        self.0.send((task, state, done)).context("the ledger has ended")?;
        answer.recv().context("the commit failed")
    }
}

fn serve(conn: &Connection, asked: &Receiver<Asked>) {
    while let Ok(first) = asked.recv() {
        let mut group = vec![first];
        group.extend(asked.try_iter().take(255));
        if let Err(error) = write(conn, &group) {
            eprintln!("bench: the floor's commit failed: {error}");
            return;
        }
        for (_, _, done) in group {
            // Whoever asked waits for it.
            let _ = done.send(());
        }
    }
}

fn write(conn: &Connection, group: &[Asked]) -> rusqlite::Result<()> {
    let transaction = conn.unchecked_transaction()?;
    for (task, state, _) in group {
        let id = task.as_bytes().as_slice();
        match state {
            0 => transaction
                .prepare_cached("INSERT INTO tasks (id, state, spec) VALUES (?1, 0, zeroblob(200))")?
                .execute(params![id])?,
            _ => {
                transaction.prepare_cached("UPDATE tasks SET state = ?2 WHERE id = ?1")?.execute(params![id, state])?
            }
        };
        let body = format!("{{\"type\":\"floor\",\"state\":{state},\"rest\":\"{:80}\"}}", "");
        transaction.prepare_cached("INSERT INTO events (task, body) VALUES (?1, ?2)")?.execute(params![id, body])?;
    }
    transaction.commit()
}
