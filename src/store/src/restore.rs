//! Puts a copy in the place of the database, and checks databases.

use crate::backup;
use crate::carried::{self, CarryError, Unpacked};
use crate::error::OpenError;
use crate::layout::Layout;
use crate::open::remove_if_there;
use crate::{connect, meta, schema};
use ouroboros_process::durable;
use ouroboros_proto::kind::{HoldReason, clock};
use rusqlite::{Connection, OpenFlags};
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Where the database that was there before is kept.
    pub replaced: Option<PathBuf>,
    /// Bodies that tasks need and that are neither in the copy nor in the data directory.
    pub missing_bodies: u64,
    /// Bytes of output that were put back, when output lay beside the copy.
    pub output_bytes: Option<u64>,
}

/// Puts the copy at `source` in the place of the database of the data directory `dir`, makes files of the large bodies in it, and
/// puts back the output that lies beside it; what the directory has of either already stays. The caller holds the directory's
/// lock. The queue is held at the next start. The old database is kept in `backups`; until the last step it is also still
/// in its place, and that step is one transaction.
///
/// # Errors
/// The copy is damaged, another program's, or from a newer version; the data directory cannot be written. The database is
/// the old one then.
pub fn restore(source: &Path, dir: &Path) -> Result<Restored, OpenError> {
    let layout = Layout::new(dir);
    check(source)?;
    let io = |path: &Path, error| OpenError::from_io(path, error);
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|error| io(dir, error))?;
    let draft = layout.root().join("store.db.restore");
    remove_if_there(&draft).map_err(|error| io(&draft, error))?;
    let result = fill(source, &draft, &layout);
    let _ = fs::remove_file(&draft);
    result
}

/// Files first, rows second: then no row names what is not there.
fn fill(source: &Path, draft: &Path, layout: &Layout) -> Result<Restored, OpenError> {
    prepare(source, draft)?;
    let missing_bodies = unpack(draft, layout)?;
    let beside = carried::beside(source);
    let output_bytes = if beside.is_dir() {
        let conn = read_only(draft)?;
        Some(carried::output(&conn, &beside, &layout.output()).map_err(|error| carrying(draft, error))?)
    } else {
        None
    };
    let replaced = put_in_place(draft, layout)?;
    Ok(Restored { replaced, missing_bodies, output_bytes })
}

/// Makes files of the draft's large bodies, and the draft as small as it was before they came into it. Gives how many are nowhere.
fn unpack(draft: &Path, layout: &Layout) -> Result<u64, OpenError> {
    let sql = |error| OpenError::from_sql(draft, error);
    let conn = connect::plain(draft).map_err(sql)?;
    let Unpacked { filed, missing } = carried::bodies_out(&conn, layout).map_err(|error| carrying(draft, error))?;
    if filed > 0 {
        let small = draft.with_extension("small");
        remove_if_there(&small).map_err(|error| OpenError::from_io(&small, error))?;
        // Into a file of the data directory: elsewhere there may not be room.
        let shrunk = conn.execute("VACUUM INTO ?1", [small.to_string_lossy()]).map_err(sql);
        drop(conn);
        let placed =
            shrunk.and_then(|_| durable::rename(&small, draft).map_err(|error| OpenError::from_io(draft, error)));
        if placed.is_err() {
            let _ = fs::remove_file(&small);
        }
        placed?;
    }
    Ok(missing)
}

fn carrying(draft: &Path, error: CarryError) -> OpenError {
    match error {
        CarryError::Io { path, source } => OpenError::from_io(path, source),
        CarryError::Sql(error) => OpenError::from_sql(draft, error),
    }
}

/// The copy with the queue held: what is put in place later, as a whole.
fn prepare(source: &Path, draft: &Path) -> Result<(), OpenError> {
    let from = read_only(source)?;
    backup::copy(&from, draft).map_err(|error| error.into_open(draft))?;
    let conn = connect::plain(draft).map_err(|error| OpenError::from_sql(draft, error))?;
    conn.execute_batch("PRAGMA journal_mode = DELETE;")
        .and_then(|()| meta::set_queue_hold(&conn, Some(HoldReason::Restore)))
        .map_err(|error| OpenError::from_sql(draft, error))
}

/// Gives where the database that was there is kept.
fn put_in_place(draft: &Path, layout: &Layout) -> Result<Option<PathBuf>, OpenError> {
    let database = layout.database();
    let kept = layout.backups().join(format!("replaced-{}.db", clock::wall().get()));
    let present = fs::metadata(&database).is_ok_and(|metadata| metadata.len() > 0);
    if !present {
        over(draft, layout)?;
        return Ok(None);
    }
    match through_sqlite(draft, layout, &kept) {
        Ok(()) => {}
        // The old database cannot be written through SQLite: its files are kept as they are, and replaced.
        Err(OpenError::Corrupt { .. } | OpenError::NotOurs { .. }) => {
            keep_files(layout, &kept).map_err(|error| OpenError::from_io(&kept, error))?;
            over(draft, layout)?;
        }
        Err(other) => return Err(other),
    }
    Ok(Some(kept))
}

/// Keeps a copy of the old database, then replaces all its pages in one transaction.
fn through_sqlite(draft: &Path, layout: &Layout, kept: &Path) -> Result<(), OpenError> {
    let database = layout.database();
    let sql = |error| OpenError::from_sql(&database, error);
    let mut old = connect::writer(layout).map_err(sql)?;
    if !schema::inspect(&old).map_err(sql)?.1 {
        return Err(OpenError::NotOurs { path: database });
    }
    let new = read_only(draft)?;
    if page_bytes(&new).map_err(sql)? != page_bytes(&old).map_err(sql)? {
        return Err(OpenError::NotOurs { path: database });
    }
    backup::copy(&old, kept).map_err(|error| error.into_open(&database))?;
    backup::whole(&new, &mut old).map_err(|error| error.into_open(&database))?;
    old.execute_batch("PRAGMA wal_checkpoint(TRUNCATE);").map_err(sql)
}

fn keep_files(layout: &Layout, kept: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(layout.backups())?;
    fs::copy(layout.database(), kept)?;
    if layout.log().exists() {
        let mut log = kept.as_os_str().to_owned();
        log.push("-wal");
        fs::copy(layout.log(), PathBuf::from(log))?;
    }
    Ok(())
}

/// Replaces the database file. Its old log must not be taken for the new one's.
fn over(draft: &Path, layout: &Layout) -> Result<(), OpenError> {
    let database = layout.database();
    let io = |error| OpenError::from_io(&database, error);
    remove_if_there(&layout.log()).map_err(io)?;
    remove_if_there(&layout.log_index()).map_err(io)?;
    File::open(draft).and_then(|draft| draft.sync_all()).map_err(io)?;
    durable::rename(draft, &database).map_err(io)
}

/// Refuses what is not a whole database of ours.
fn check(path: &Path) -> Result<(), OpenError> {
    fs::metadata(path).map_err(|error| OpenError::from_io(path, error))?;
    let conn = read_only(path)?;
    let sql = |error| OpenError::from_sql(path, error);
    let (found, ours) = schema::inspect(&conn).map_err(sql)?;
    if !ours {
        return Err(OpenError::NotOurs { path: path.to_owned() });
    }
    if found > schema::VERSION {
        return Err(OpenError::Newer { path: path.to_owned(), found, known: schema::VERSION });
    }
    match problems(&conn, "integrity_check").map_err(sql)?.into_iter().next() {
        None => Ok(()),
        Some(detail) => Err(OpenError::Corrupt { path: path.to_owned(), detail }),
    }
}

/// Looks for damage in the database of the data directory `dir`; returns what it finds, at most ten problems. Reads the whole
/// database: not for a start, and only while no server has it open.
///
/// # Errors
/// The database cannot be read at all.
pub fn verify(dir: &Path) -> Result<Vec<String>, OpenError> {
    let path = Layout::new(dir).database();
    let conn = connect::plain(&path).map_err(|error| OpenError::from_sql(&path, error))?;
    problems(&conn, "quick_check").map_err(|error| OpenError::from_sql(&path, error))
}

/// The first problem that a quick look finds in the database at `path`, if it can be looked at.
pub fn first_problem(path: &Path) -> Option<String> {
    let conn = connect::plain(path).ok()?;
    problems(&conn, "quick_check").ok()?.into_iter().next()
}

fn problems(conn: &Connection, pragma: &str) -> rusqlite::Result<Vec<String>> {
    let mut prepared = conn.prepare(&format!("PRAGMA {pragma}(10)"))?;
    let found = prepared.query_map((), |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    Ok(found.into_iter().filter(|line| line != "ok").collect())
}

fn page_bytes(conn: &Connection) -> rusqlite::Result<i64> {
    conn.pragma_query_value(None, "page_size", |row| row.get(0))
}

fn read_only(path: &Path) -> Result<Connection, OpenError> {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|error| OpenError::from_sql(path, error))
}
