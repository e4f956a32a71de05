//! What a process does to itself before it becomes a foreign command. The only place of this crate with unsafe code.

#![allow(unsafe_code)]

mod confine;
mod inherited;

pub use confine::{Confinement, OOM_SCORE_WORKER, confine};
pub use inherited::{BARRIER, Inherited, STATUS};
