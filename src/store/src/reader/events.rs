//! The event log.

use super::Reader;
use crate::error::ReadError;
use crate::meta;
use crate::rows::event;
use ouroboros_domain::row::EventRow;
use ouroboros_proto::kind::{EventSeq, TaskNumber};
use rusqlite::Connection;

/// A page of the event log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventPage {
    /// The events, oldest first.
    pub events: Vec<EventRow>,
    /// Where to go on: the last place that was looked at. The place that was asked for when nothing follows it.
    pub through: EventSeq,
    /// Whether events after the place that was asked for are no longer kept.
    pub expired: bool,
    /// The place of the oldest event that can still be there; those of forgotten tasks are gone all the same.
    pub oldest: EventSeq,
    /// The newest event in the whole log; 0 when there never was one.
    pub newest: EventSeq,
}

impl Reader {
    /// Events after place `after`, oldest first, at most `limit`; of one task, if one is named.
    ///
    /// # Errors
    /// The read failed.
    pub fn events(&self, after: EventSeq, task: Option<TaskNumber>, limit: u32) -> Result<EventPage, ReadError> {
        self.read(|conn| {
            let floor = meta::count(conn, meta::EVENT_FLOOR)?;
            let newest: Option<i64> =
                conn.prepare_cached("SELECT max(seq) FROM events")?.query_row((), |row| row.get(0))?;
            let newest = newest.and_then(|newest| u64::try_from(newest).ok()).unwrap_or(0);
            let newest = newest.max(meta::count(conn, meta::EVENT_HIGH)?);
            let (events, through) = page(conn, after, task, limit)?;
            Ok(EventPage {
                events,
                through,
                expired: after.get() < floor,
                oldest: EventSeq::new(floor).next(),
                newest: EventSeq::new(newest),
            })
        })
    }
}

fn page(
    conn: &Connection,
    after: EventSeq,
    task: Option<TaskNumber>,
    limit: u32,
) -> Result<(Vec<EventRow>, EventSeq), ReadError> {
    let mut through = after;
    let after = i64::try_from(after.get()).unwrap_or(i64::MAX);
    let mut prepared;
    let mut rows = match task {
        None => {
            prepared = conn.prepare_cached(concat!(
                "SELECT ",
                event::columns!(),
                " FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2"
            ))?;
            prepared.query((after, limit))?
        }
        Some(number) => {
            let number = i64::try_from(number.get()).unwrap_or(i64::MAX);
            prepared = conn.prepare_cached(concat!(
                "SELECT ",
                event::columns!(),
                " FROM events INDEXED BY events_task WHERE number = ?3 AND seq > ?1 ORDER BY seq LIMIT ?2"
            ))?;
            prepared.query((after, limit, number))?
        }
    };
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        through = EventSeq::new(u64::try_from(row.get::<_, i64>(0)?).unwrap_or(0));
        match event::read(row, 0) {
            Ok(event) => events.push(event),
            // One unreadable event must not end every stream that passes it.
            Err(bad) => tracing::error!(reason = %bad, "a stored event cannot be read and is left out"),
        }
    }
    Ok((events, through))
}
