//! Keeps every durable fact of an installation: rows in SQLite, large bodies and output in files.
//!
//! | module | what it is for |
//! |---|---|
//! | [`open()`] | opens or creates a data directory's database, migrates it, loads what is live |
//! | [`writer`] | the one thread that writes: group commit, housekeeping between groups, opening again after a failure |
//! | [`reader`] | bounded reads of committed facts on connections of their own |
//! | [`content`] | bodies stored under their hash |
//! | [`output`] | what attempts wrote, in files of bounded size |
//! | [`space`] | free room on the disk, and the reserve that is given up when there is none |
//! | [`backup`], [`restore()`], [`export`] | copies of the whole |
//! | [`failpoint`] | named faults for tests, in debug builds only |
//!
//! Invariants: one process opens a data directory at a time (its caller holds the lock); only the writer thread writes rows;
//! SQL holds no decisions; a commit that failed is *unknown* and stops the writer until everything was opened and loaded
//! again; no read outlives one second; nothing here runs while there is nothing to do.

pub mod backup;
pub mod content;
pub mod exchanges;
pub mod export;
pub mod failpoint;
pub mod output;
pub mod reader;
pub mod space;
pub mod writer;

mod apply;
mod carried;
mod checkpoint;
mod code;
mod connect;
mod error;
mod layout;
mod load;
mod meta;
mod open;
mod pool;
mod quarantine;
mod restore;
mod rows;
mod schema;
mod shared;
mod spent;

pub use content::{Contents, INLINE_BYTES};
pub use error::{CommitError, CommitErrorKind, OpenError, ReadError};
pub use exchanges::{Exchange, Exchanges};
pub use layout::Layout;
pub use load::LoadedRows;
pub use open::{Opened, Options, Store, open};
pub use output::{Chunk, Extent, Output, OutputReader};
pub use quarantine::SetAside;
pub use reader::Reader;
pub use restore::{Restored, restore, verify};
pub use schema::VERSION;
pub use space::Space;
pub use writer::{Batch, Job, Sink, Swept, Writer, WriterHandle};
