//! Opens a data directory: makes what is missing, refuses what cannot be used, loads what is live.

use crate::content::{Contents, ensure_directory};
use crate::error::OpenError;
use crate::failpoint;
use crate::layout::Layout;
use crate::load::{self, LoadedRows};
use crate::output::Output;
use crate::reader::Reader;
use crate::shared::Shared;
use crate::space::{Reserve, Space};
use crate::{connect, meta, restore, schema};
use ouroboros_process::durable;
use ouroboros_proto::kind::{InstallationId, clock};
use rusqlite::Connection;
use rustix::fs::{Access, FlockOperation};
use std::fs::{self, DirBuilder, File, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What to open, and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// The data directory.
    pub dir: PathBuf,
    /// Size of the reserve that is given up when the disk is full; 0 for none.
    pub reserve_bytes: u64,
    /// Free bytes below which [`Space::low`] is told.
    pub low_water_bytes: u64,
    /// Page size of a database that is created here: a power of two from 512 to 65,536.
    pub page_bytes: u32,
}

impl Options {
    /// The usual way to open `dir`: 8 MiB of reserve, low water at 64 MiB.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), reserve_bytes: 8 << 20, low_water_bytes: 64 << 20, page_bytes: 4_096 }
    }
}

/// An opened data directory.
pub struct Opened {
    /// The store.
    pub store: Store,
    /// What is live in it.
    pub loaded: LoadedRows,
    /// The installation.
    pub installation: InstallationId,
    /// Whether the directory is a copy of another installation's, and no life of this one has begun yet.
    pub copied: bool,
    /// Whether the database was made just now.
    pub created: bool,
    /// The format before, when it was brought forward.
    pub migrated_from: Option<i64>,
}

/// An open store; what writes goes into [`Writer::start`](crate::Writer::start).
pub struct Store {
    pub(crate) conn: Connection,
    pub(crate) shared: Arc<Shared>,
}

impl Store {
    /// A reader with two connections, opened when first needed.
    #[must_use]
    pub fn reader(&self) -> Reader {
        Reader::new(Arc::clone(&self.shared), 2)
    }

    /// Bodies stored under their hash.
    #[must_use]
    pub fn contents(&self) -> Contents {
        Contents::new(self.shared.layout.clone())
    }

    /// What attempts wrote.
    #[must_use]
    pub fn output(&self) -> Output {
        Output::new(self.shared.layout.clone())
    }

    /// Where things lie.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.shared.layout
    }

    /// Room on the disk.
    ///
    /// # Errors
    /// The file system does not say.
    pub fn space(&self) -> io::Result<Space> {
        self.shared.reserve.space()
    }
}

/// Opens a data directory, making it and its database if needed. The caller holds the directory's lock.
///
/// # Errors
/// Why it cannot be used; nothing is changed then, except that a copy may have been made in `backups`.
pub fn open(options: &Options) -> Result<Opened, OpenError> {
    let layout = Layout::new(&options.dir);
    let place = prepare_directory(&options.dir)?;
    let created = !present(&layout)?;
    if created {
        create(&layout, &place, options.page_bytes)?;
    }
    probe_locks(&layout)?;
    let database = layout.database();
    let opening = || -> Result<Opened, OpenError> {
        let sql = |error| OpenError::from_sql(&database, error);
        let conn = connect::writer(&layout).map_err(sql)?;
        let migrated_from = accept(&conn, &layout)?;
        let (installation, copied) = settle_in(&conn, &place).map_err(sql)?;
        let loaded = load::load(&conn, &layout)?;
        let reserve = Reserve::new(layout.reserve(), options.reserve_bytes, options.low_water_bytes);
        reserve.ensure();
        let store = Store { conn, shared: Arc::new(Shared::new(layout.clone(), reserve)) };
        Ok(Opened { store, loaded, installation, copied, created, migrated_from })
    };
    opening().map_err(|error| match error {
        OpenError::Corrupt { path, detail } => {
            let detail = restore::first_problem(&path).unwrap_or(detail);
            OpenError::Corrupt { path, detail }
        }
        other => other,
    })
}

/// The data directory as the file system knows it.
struct Place {
    device: i64,
    inode: i64,
    boot: String,
}

fn prepare_directory(dir: &Path) -> Result<Place, OpenError> {
    let metadata = match fs::metadata(dir) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(dir)
                .map_err(|error| OpenError::from_io(dir, error))?;
            fs::metadata(dir).map_err(|error| OpenError::from_io(dir, error))?
        }
        Err(error) => return Err(OpenError::from_io(dir, error)),
    };
    if !metadata.is_dir() {
        return Err(OpenError::NotADirectory { path: dir.to_owned() });
    }
    usable(dir, &metadata, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK)?;
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned();
    Ok(Place { device: metadata.dev().cast_signed(), inode: metadata.ino().cast_signed(), boot })
}

/// Checks that `path` is ours and allows what `access` says.
fn usable(path: &Path, metadata: &Metadata, access: Access) -> Result<(), OpenError> {
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(OpenError::Foreign { path: path.to_owned(), uid: metadata.uid() });
    }
    rustix::fs::access(path, access).map_err(|error| OpenError::from_io(path, error.into()))
}

/// Whether there is a database, and if so that it is ours to write.
fn present(layout: &Layout) -> Result<bool, OpenError> {
    let path = layout.database();
    match fs::metadata(&path) {
        Ok(metadata) if metadata.is_file() && metadata.len() == 0 => Ok(false),
        Ok(metadata) if metadata.is_file() => {
            usable(&path, &metadata, Access::READ_OK | Access::WRITE_OK)?;
            Ok(true)
        }
        Ok(_) => Err(OpenError::NotOurs { path }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(OpenError::from_io(path, error)),
    }
}

/// Makes the database: built beside its place without a sync, then put there in one durable step.
fn create(layout: &Layout, place: &Place, page_bytes: u32) -> Result<(), OpenError> {
    let database = layout.database();
    drop_orphaned_log(layout).map_err(|error| OpenError::from_io(layout.log(), error))?;
    let draft = layout.root().join("store.db.new");
    let io = |error| OpenError::from_io(&database, error);
    remove_if_there(&draft).map_err(io)?;
    let built = build(&draft, place, page_bytes).map_err(|error| OpenError::from_sql(&database, error));
    let result = built.and_then(|()| {
        let bytes = fs::read(&draft).map_err(io)?;
        durable::replace(&database, &bytes).map_err(io)
    });
    let _ = fs::remove_file(&draft);
    result
}

fn build(draft: &Path, place: &Place, page_bytes: u32) -> rusqlite::Result<()> {
    let conn = Connection::open(draft)?;
    conn.pragma_update(None, "page_size", page_bytes)?;
    conn.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")?;
    schema::create(&conn)?;
    meta::put(&conn, meta::INSTALLATION, InstallationId::mint().as_bytes())?;
    remember(&conn, place)?;
    // Written into the file, so that the first open of it finds its log mode.
    conn.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    conn.close().map_err(|(_, error)| error)
}

/// A log without its database would be taken for the new one's: it is moved to the copies.
fn drop_orphaned_log(layout: &Layout) -> io::Result<()> {
    if layout.log().exists() {
        ensure_directory(&layout.backups())?;
        fs::copy(layout.log(), layout.backups().join(format!("orphaned-{}.db-wal", clock::wall().get())))?;
        fs::remove_file(layout.log())?;
    }
    remove_if_there(&layout.log_index())
}

pub fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Asks for a file lock before SQLite does: SQLite would take "not supported" for "held by somebody".
fn probe_locks(layout: &Layout) -> Result<(), OpenError> {
    let path = layout.database();
    let file = File::open(&path).map_err(|error| OpenError::from_io(&path, error))?;
    if failpoint::hit("store.lock_probe").is_some() {
        return Err(OpenError::NoLocks { path });
    }
    match rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => Ok(()),
        Err(
            rustix::io::Errno::NOLCK | rustix::io::Errno::NOTSUP | rustix::io::Errno::NOSYS | rustix::io::Errno::INVAL,
        ) => Err(OpenError::NoLocks { path }),
        Err(error) => Err(OpenError::from_io(path, error.into())),
    }
}

/// Checks that the database is ours and not from a newer version, and brings an older one forward.
fn accept(conn: &Connection, layout: &Layout) -> Result<Option<i64>, OpenError> {
    let path = layout.database();
    let (found, ours) = schema::inspect(conn).map_err(|error| OpenError::from_sql(&path, error))?;
    if !ours {
        return Err(OpenError::NotOurs { path });
    }
    if found > schema::VERSION {
        return Err(OpenError::Newer { path, found, known: schema::VERSION });
    }
    let mode: String = conn
        .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
        .map_err(|error| OpenError::from_sql(&path, error))?;
    if mode != "wal" {
        return Err(OpenError::NoLocks { path });
    }
    schema::migrate(conn, layout, found, schema::MIGRATIONS)
}

/// Finds out whether the directory is still the one that the database was made in; a copy becomes an installation of its own.
///
/// Device numbers may change from boot to boot, so another device tells a copy only within the boot that recorded it.
fn settle_in(conn: &Connection, place: &Place) -> rusqlite::Result<(InstallationId, bool)> {
    let device: Option<i64> = meta::get(conn, meta::DEVICE)?;
    let inode: Option<i64> = meta::get(conn, meta::INODE)?;
    let boot: Option<String> = meta::get(conn, meta::BOOT)?;
    let known = meta::installation(conn)?;
    let same_boot = boot.as_deref() == Some(&place.boot);
    let same_place = inode == Some(place.inode) && (device == Some(place.device) || !same_boot);
    match known {
        Some(installation) if same_place => {
            if device != Some(place.device) || !same_boot {
                let transaction = conn.unchecked_transaction()?;
                remember(conn, place)?;
                transaction.commit()?;
            }
            Ok((installation, meta::get::<i64>(conn, meta::COPIED)?.is_some()))
        }
        _ => {
            let installation = InstallationId::mint();
            let transaction = conn.unchecked_transaction()?;
            meta::put(conn, meta::INSTALLATION, installation.as_bytes())?;
            meta::put(conn, meta::COPIED, 1)?;
            remember(conn, place)?;
            transaction.commit()?;
            Ok((installation, true))
        }
    }
}

fn remember(conn: &Connection, place: &Place) -> rusqlite::Result<()> {
    meta::put(conn, meta::DEVICE, place.device)?;
    meta::put(conn, meta::INODE, place.inode)?;
    meta::put(conn, meta::BOOT, &place.boot)
}
