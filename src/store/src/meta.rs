//! Facts about the installation as a whole: one small table of names and values.

use crate::code::Coded;
use ouroboros_proto::kind::{Generation, HoldReason, InstallationId};
use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension as _, ToSql};

/// The installation's id.
pub const INSTALLATION: &str = "installation";
/// Device of the data directory.
pub const DEVICE: &str = "device";
/// Inode of the data directory.
pub const INODE: &str = "inode";
/// The boot in which device and inode were read.
pub const BOOT: &str = "boot";
/// Present while the copy of another installation's directory has not begun a life.
pub const COPIED: &str = "copied";
/// The last server life.
pub const GENERATION: &str = "generation";
/// Why the whole queue is held.
pub const QUEUE_HOLD: &str = "queue_hold";
/// The highest number of a task that is no longer in its table.
pub const NUMBER_FLOOR: &str = "number_floor";
/// The highest event that was dropped because of its age.
pub const EVENT_FLOOR: &str = "event_floor";
/// The highest event that was given when events were removed with their task.
pub const EVENT_HIGH: &str = "event_high";
/// The highest number of a rule that is no longer in its table.
pub const RULE_FLOOR: &str = "rule_floor";
/// Settled tasks that are kept.
pub const SETTLED: &str = "settled";
/// Nano-dollars of all sends whose cost is known.
pub const SPENT_SETTLED: &str = "spent_settled";
/// Nano-dollars that all sends of unknown cost are bounded by.
pub const SPENT_UNRESOLVED: &str = "spent_unresolved";
/// Counts how often the store was opened again after a failed commit.
pub const EPOCH: &str = "epoch";

/// The value of `key`.
pub fn get<T: FromSql>(conn: &Connection, key: &str) -> rusqlite::Result<Option<T>> {
    conn.prepare_cached("SELECT value FROM meta WHERE key = ?1")?.query_row((key,), |row| row.get(0)).optional()
}

/// The value of `key`, zero when there is none or it is negative.
pub fn count(conn: &Connection, key: &str) -> rusqlite::Result<u64> {
    Ok(get::<i64>(conn, key)?.and_then(|value| u64::try_from(value).ok()).unwrap_or(0))
}

/// Sets `key`.
pub fn put(conn: &Connection, key: &str, value: impl ToSql) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT INTO meta VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value")?
        .execute((key, value))
        .map(drop)
}

/// Sets `key` to `value` unless it is higher already.
pub fn raise(conn: &Connection, key: &str, value: i64) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value WHERE excluded.value > value",
    )?
    .execute((key, value))
    .map(drop)
}

/// Adds `delta` to `key`.
pub fn add(conn: &Connection, key: &str, delta: i64) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT INTO meta VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = value + excluded.value")?
        .execute((key, delta))
        .map(drop)
}

/// Removes `key`.
pub fn remove(conn: &Connection, key: &str) -> rusqlite::Result<()> {
    conn.prepare_cached("DELETE FROM meta WHERE key = ?1")?.execute((key,)).map(drop)
}

/// The last server life; life 0 when there was none.
pub fn generation(conn: &Connection) -> rusqlite::Result<Generation> {
    count(conn, GENERATION).map(Generation::new)
}

/// Why the whole queue is held. A number from nowhere holds it too, for its owner to release.
pub fn queue_hold(conn: &Connection) -> rusqlite::Result<Option<HoldReason>> {
    Ok(get::<i64>(conn, QUEUE_HOLD)?.map(|code| HoldReason::decode(code).unwrap_or(HoldReason::Owner)))
}

/// Sets why the whole queue is held.
pub fn set_queue_hold(conn: &Connection, reason: Option<HoldReason>) -> rusqlite::Result<()> {
    match reason {
        Some(reason) => put(conn, QUEUE_HOLD, reason.code()),
        None => remove(conn, QUEUE_HOLD),
    }
}

/// The installation's id.
pub fn installation(conn: &Connection) -> rusqlite::Result<Option<InstallationId>> {
    Ok(get::<[u8; 16]>(conn, INSTALLATION)?.map(InstallationId::from_bytes))
}
