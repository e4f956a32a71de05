//! What an agent's tool calls do to files: reading, listing, searching, looking at, writing, editing, patching, and taking it back;
//! and those few that do nothing to files.
//!
//! | module | what it is for | it does not know |
//! | --- | --- | --- |
//! | [`folder`] | the one resolver: a path becomes a descriptor, once | what is done with it |
//! | [`text`] | a file's bytes as masked text, in windows | who asked |
//! | [`change`] | changes of several files as one: prepared, kept, put in place, or rolled back | which tool made them |
//! | [`seen`] | how files were when the agent last read or wrote them | what is done about it |
//! | [`versions`] | what files were before, and going back there | tools |
//! | [`outcome`], [`limits`] | how a call ended, in types; every bound | files |
//! | [`registry`], [`arguments`] | the one authority over names; reading what a model wrote | what a tool does |
//! | [`programs`] | the tools that run programs; who runs them is given | how a program is confined |
//! | `read_file`, `list_files`, `search`, `view_image`, `write_file`, `edit_text`, `edit_batch`, `patch` | the tools on files | each other |
//! | `web_fetch`, `note`, `list_tools` | the others | each other |
//!
//! Invariants:
//! - A path is resolved once. Every check and every use goes through the descriptor that came of it.
//! - What leaves as text was masked as a whole before it was cut; a line has the same bytes whether it was read or found.
//! - Before a file is replaced or deleted, its bytes are in the store of versions, durably.
//! - A file is either as it was or as it should be, never half written. Several files change together or not at all; where that
//!   could not be kept, the outcome is *unknown* and names the files.
//! - Nothing here panics, blocks on a pipe, or runs on after it was cancelled.
//! - A file that somebody else changed since the agent saw it is not overwritten.
//!
//! Left out: speaking to the network, for which a call brings a way or none. Extended attributes and access lists of a replaced file are not
//! carried over; its mode and, where allowed, its owner are.

pub mod arguments;
pub mod change;
pub mod folder;
pub mod limits;
pub mod outcome;
pub mod programs;
pub mod registry;
pub mod seen;
pub mod text;
pub mod versions;
pub mod view_image;

mod edit_batch;
mod edit_text;
mod list_files;
mod list_tools;
mod note;
mod patch;
mod read_file;
mod replace;
mod search;
mod web_fetch;
mod write_file;

#[cfg(test)]
mod testing;

pub use folder::{Fence, Folder};
pub use limits::Limits;
pub use outcome::{Code, Image, Outcome};
pub use registry::{Access, Call, Fetch, Registry, Tool};
pub use seen::Seen;
pub use versions::Versions;
