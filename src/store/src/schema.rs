//! The tables, and the steps that bring an older database to them.
//!
//! Few indexes on purpose: accepting a task writes one page each of `tasks`, its index, `task_specs`, `events` and its index.
//! Live tasks and look-ups by id share one index. Keys have none: the core holds them all in memory.

use crate::backup;
use crate::error::OpenError;
use crate::layout::Layout;
use ouroboros_proto::kind::clock;
use rusqlite::Connection;

/// Marks the file as ours (`PRAGMA application_id`).
pub const APPLICATION: i64 = 0x4f55_524f;

/// The format that this version writes.
pub const VERSION: i64 = 5;

/// One step: from the format before to `to`.
pub struct Migration {
    /// The format after it.
    pub to: i64,
    /// What it does.
    pub sql: &'static str,
}

/// Every step, oldest first. Steps are never changed once released; the first makes the tables.
pub const MIGRATIONS: &[Migration] = &[
    Migration { to: 1, sql: include_str!("schema.sql") },
    Migration { to: 2, sql: include_str!("schema-2.sql") },
    Migration { to: 3, sql: include_str!("schema-3.sql") },
    Migration { to: 4, sql: include_str!("schema-4.sql") },
    Migration { to: 5, sql: include_str!("schema-5.sql") },
];

/// Brings the database from format `from` to the newest of `steps`, each step in a transaction of its own, after a copy to
/// `backups/`. Returns the format it had when anything was done.
///
/// # Errors
/// The copy or a step failed; the database has the format of the last step that succeeded.
pub fn migrate(conn: &Connection, layout: &Layout, from: i64, steps: &[Migration]) -> Result<Option<i64>, OpenError> {
    let pending: Vec<&Migration> = steps.iter().filter(|step| step.to > from).collect();
    if pending.is_empty() {
        return Ok(None);
    }
    let copy = layout.backups().join(format!("format-{from}-{}.db", clock::wall().get()));
    backup::copy(conn, &copy).map_err(|error| error.into_open(&copy))?;
    for step in pending {
        apply(conn, step).map_err(|error| OpenError::from_sql(layout.database(), error))?;
    }
    Ok(Some(from))
}

/// Makes the tables in an empty database.
pub fn create(conn: &Connection) -> rusqlite::Result<()> {
    conn.pragma_update(None, "application_id", APPLICATION)?;
    MIGRATIONS.iter().try_for_each(|step| apply(conn, step))
}

fn apply(conn: &Connection, step: &Migration) -> rusqlite::Result<()> {
    let transaction = conn.unchecked_transaction()?;
    transaction.execute_batch(step.sql)?;
    transaction.pragma_update(None, "user_version", step.to)?;
    transaction.commit()
}

/// The format of a database, and whether it is one of ours.
pub fn inspect(conn: &Connection) -> rusqlite::Result<(i64, bool)> {
    let version = conn.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let application: i64 = conn.pragma_query_value(None, "application_id", |row| row.get(0))?;
    Ok((version, application == APPLICATION))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect;

    /// A database of the first format.
    fn create_first(conn: &Connection) {
        conn.pragma_update(None, "application_id", APPLICATION).unwrap();
        apply(conn, &MIGRATIONS[0]).unwrap();
    }

    #[test]
    fn an_older_database_is_copied_and_then_brought_forward_step_by_step() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        let conn = Connection::open(layout.database()).unwrap();
        create_first(&conn);
        connect::tune_writer(&conn).unwrap();
        conn.execute("INSERT INTO meta VALUES ('settled', 7)", ()).unwrap();
        let steps = [
            Migration { to: 1, sql: "broken, and not run again" },
            Migration { to: 2, sql: "CREATE TABLE two (x INTEGER) STRICT; INSERT INTO two VALUES (1);" },
            Migration { to: 3, sql: "INSERT INTO two VALUES (2);" },
        ];
        assert_eq!(migrate(&conn, &layout, 1, &steps).unwrap(), Some(1));
        assert_eq!(migrate(&conn, &layout, 3, &steps).unwrap(), None);
        assert_eq!(inspect(&conn).unwrap(), (3, true));
        let sum: i64 = conn.query_row("SELECT sum(x) FROM two", (), |row| row.get(0)).unwrap();
        assert_eq!(sum, 3);
        let copies: Vec<_> = std::fs::read_dir(layout.backups()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(copies.len(), 1);
        let old = Connection::open(&copies[0]).unwrap();
        assert_eq!(inspect(&old).unwrap(), (1, true));
        let kept: i64 = old.query_row("SELECT value FROM meta WHERE key = 'settled'", (), |row| row.get(0)).unwrap();
        assert_eq!(kept, 7);
    }

    #[test]
    fn a_step_that_fails_leaves_the_format_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        let conn = Connection::open(layout.database()).unwrap();
        create_first(&conn);
        let steps = [
            Migration { to: 2, sql: "CREATE TABLE two (x INTEGER) STRICT;" },
            Migration { to: 3, sql: "CREATE TABLE three (x INTEGER) STRICT; nonsense;" },
        ];
        assert!(migrate(&conn, &layout, 1, &steps).is_err());
        assert_eq!(inspect(&conn).unwrap(), (2, true));
        assert!(conn.prepare("SELECT * FROM three").is_err());
    }
}
