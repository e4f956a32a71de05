//! One schema of settings, used by server, launcher and command line alike.
//!
//! | module | holds | knows |
//! |---|---|---|
//! | [`value`] | the shapes a setting can have, and how their text is read and shown | `proto::kind` |
//! | [`schema`] | the one table of settings: key, shape, default, effect, description | `value` |
//! | [`source`] | `config.toml` and `OUROBOROS_*` variables, read into raw entries; edits that keep comments | `schema` |
//! | [`resolve`] | layering into a typed [`Settings`] snapshot, and reload | `source` |
//! | [`view`], [`docs`] | the JSON rows of `config list`, the Markdown reference | `resolve` |
//! | [`paths`] | where every file we keep is | nothing |
//!
//! Invariants: a setting exists only as a row of [`schema::ALL`]; no value is ever clamped or guessed, a bad one is a
//! [`Problem`] that names where it stands, what was found and what is allowed; an unknown name is a [`Warning`], so that
//! a file written for a newer version still starts an older one.
//!
//! Nothing here reads the process environment, the disk or a clock: the caller passes text in and writes text out.

pub mod docs;
pub mod paths;
pub mod problem;
pub mod resolve;
pub mod schema;
pub mod source;
pub mod value;
pub mod view;

pub use paths::{Paths, PathsError};
pub use problem::{Place, Problem, UnknownKey, Warning};
pub use resolve::{Checked, Loaded, Origin, Reload, Revision, Sources, check, reload};
pub use schema::{Effect, Key, Setting, Settings};
pub use source::{Document, Variable};
pub use value::{Allowance, ByteSize, Kind, LogLevel, Value};

#[cfg(test)]
mod tests;
