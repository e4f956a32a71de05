//! What goes with a copy of the database: large bodies inside it, and kept output in a directory beside it.
//!
//! A copy is one file, and every task in it can run from that file alone: bodies that have files of their own in a data directory
//! are rows of a copy. When the copy is put back they are files again before a row says so. Output is much and is no input of
//! anything, so it goes along only when it is asked for, in a directory that is named after the copy.

use crate::content::{self, Contents, INLINE_BYTES};
use crate::layout::Layout;
use crate::output::{head_file, tail_file};
use ouroboros_proto::kind::{AttemptId, Stream};
use rusqlite::Connection;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Something could not be carried.
#[derive(Debug, thiserror::Error)]
pub enum CarryError {
    /// A file.
    #[error("{path}: {source}")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A row.
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
}

impl CarryError {
    fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

/// Where the output that goes with the copy at this path lies.
#[must_use]
pub fn beside(copy: &Path) -> PathBuf {
    let mut name = copy.as_os_str().to_owned();
    name.push(".output");
    PathBuf::from(name)
}

/// Marks every body's file as wanted, so that none is removed while a copy is made: what a copy names is there for it.
pub fn want_bodies(layout: &Layout) -> Result<(), CarryError> {
    let root = layout.contents();
    let shards = match fs::read_dir(&root) {
        Ok(shards) => shards,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(CarryError::at(&root)(error)),
    };
    for shard in shards {
        let shard = shard.map_err(CarryError::at(&root))?.path();
        for body in fs::read_dir(&shard).map_err(CarryError::at(&shard))? {
            let body = body.map_err(CarryError::at(&shard))?.path();
            match content::touch(&body) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(CarryError::at(&body)(error)),
                Ok(()) | Err(_) => {}
            }
        }
    }
    Ok(())
}

/// Puts every body that `copy` names and that has a file into `copy`. Gives how many have no file, or a damaged one.
pub fn bodies_in(copy: &Connection, layout: &Layout) -> Result<u64, CarryError> {
    let mut missing = 0_u64;
    let transaction = copy.unchecked_transaction()?;
    for hash in hashes(copy, "bytes IS NULL")? {
        let path = layout.content(&hash);
        let bytes = match fs::read(&path) {
            Ok(bytes) if content::digest(&bytes) == hash => bytes,
            Ok(_) => {
                missing = missing.saturating_add(1);
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                missing = missing.saturating_add(1);
                continue;
            }
            Err(error) => return Err(CarryError::at(&path)(error)),
        };
        copy.execute("UPDATE contents SET bytes = ?2 WHERE hash = ?1", (hash, bytes))?;
    }
    transaction.commit()?;
    Ok(missing)
}

/// How bodies came out of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unpacked {
    /// Bodies that are files now, durably.
    pub filed: u64,
    /// Bodies that are neither in the copy nor in the data directory.
    pub missing: u64,
}

/// Makes files of the large bodies in `copy`.
pub fn bodies_out(copy: &Connection, layout: &Layout) -> Result<Unpacked, CarryError> {
    let (mut filed, mut missing) = (0_u64, 0_u64);
    for hash in hashes(copy, "bytes IS NULL")? {
        missing = missing.saturating_add(u64::from(!layout.content(&hash).exists()));
    }
    let contents = Contents::new(layout.clone());
    let transaction = copy.unchecked_transaction()?;
    for hash in hashes(copy, &format!("length(bytes) > {INLINE_BYTES}"))? {
        let bytes: Vec<u8> = copy.query_row("SELECT bytes FROM contents WHERE hash = ?1", (hash,), |row| row.get(0))?;
        let stored = contents.put(&bytes).map_err(CarryError::at(&layout.content(&hash)))?;
        // One that is damaged stays as it is: whoever reads it is told.
        if stored.hash == hash {
            copy.execute("UPDATE contents SET bytes = NULL WHERE hash = ?1", (hash,))?;
            filed = filed.saturating_add(1);
        }
    }
    transaction.commit()?;
    Ok(Unpacked { filed, missing })
}

fn hashes(copy: &Connection, which: &str) -> Result<Vec<[u8; 32]>, CarryError> {
    let mut prepared = copy.prepare(&format!("SELECT hash FROM contents WHERE {which}"))?;
    let found = prepared.query_map((), |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(found)
}

/// Copies the streams of every attempt in `copy` from the output directory `from` to the output directory `to`, as far as they are
/// there; durable when it returns. What is at `to` already and no shorter stays. Gives the bytes that were copied.
pub fn output(copy: &Connection, from: &Path, to: &Path) -> Result<u64, CarryError> {
    let mut bytes = 0_u64;
    let mut prepared = copy.prepare("SELECT id FROM attempts")?;
    let mut rows = prepared.query(())?;
    while let Some(row) = rows.next()? {
        let place = place(&AttemptId::from_bytes(row.get(0)?));
        let (source, target) = (from.join(&place), to.join(&place));
        for stream in Stream::ALL {
            for file in [head_file, tail_file] {
                bytes = bytes.saturating_add(copy_file(&file(&source, stream), &file(&target, stream))?);
            }
        }
    }
    if to.exists() {
        // Many small files: one sync for all of them.
        File::open(to).and_then(|dir| Ok(rustix::fs::syncfs(dir)?)).map_err(CarryError::at(to))?;
    }
    Ok(bytes)
}

/// Where an attempt's files lie in an output directory.
fn place(attempt: &AttemptId) -> PathBuf {
    let any = Layout::new("");
    let base = any.output_base(attempt);
    base.strip_prefix(any.output()).map_or_else(|_| base.clone(), Path::to_owned)
}

/// Copies a file that is there; gives its bytes.
fn copy_file(from: &Path, to: &Path) -> Result<u64, CarryError> {
    let mut source = match File::open(from) {
        Ok(source) => source,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(CarryError::at(from)(error)),
    };
    let length = source.metadata().map_err(CarryError::at(from))?.len();
    if fs::metadata(to).is_ok_and(|there| there.len() >= length) {
        return Ok(0);
    }
    if let Some(dir) = to.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(CarryError::at(dir))?;
    }
    let target = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(to);
    target.and_then(|mut target| io::copy(&mut source, &mut target)).map_err(CarryError::at(to))
}
