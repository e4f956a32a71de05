//! What a process does to itself before it becomes a foreign command: custody, limits, confinement.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`inherited`] | the descriptors exec mode is started with |
//! | [`custody`] | what every command is: it ends with its worker |
//! | [`confinement`] | what is wanted for one, and its way to exec mode |
//! | [`places`] | what of the machine it gets, as data |
//! | [`view`] | a root of its own with these places and nothing else |
//! | [`files`] | Landlock on the same places; no signals across |
//! | [`calls`], [`filter`] | which system calls are refused, and the program that does |
//! | [`privileges`] | capabilities |
//! | [`environment`] | variables |
//! | [`report`] | what exec mode tells the worker of it |
//! | [`apply`] | all of it in order, and what holds in the end |
//!
//! Invariants:
//! - A command that is to be confined runs confined or not at all. What is missing is named, and missed only where the owner said so.
//! - What is said to hold was read back or tried out by the process that becomes the command.
//! - Whatever is refused to a command is an ordinary errno: nothing is killed, nothing hangs.
//! - It cannot be undone from inside: no mount, no namespace, no look at a process outside, and every child has all of it.

#![allow(unsafe_code)]

pub mod apply;
pub mod confinement;
pub mod custody;
pub mod environment;
pub mod inherited;
pub mod report;

mod calls;
mod files;
mod filter;
mod places;
mod privileges;
mod view;

pub use apply::apply;
pub use confinement::{Confinement, Limits};
pub use custody::{Custody, OOM_SCORE_WORKER};
pub use environment::environment;
pub use inherited::{BARRIER, CONFINEMENT, Inherited, STATUS, take_confinement};
