//! Tests over real sockets, against a supervisor that answers from a script and a store in memory.

pub(crate) mod fake;
pub(crate) mod harness;

mod access;
mod document;
mod hostile;
mod limits;
mod logs;
mod money;
mod requests;
mod sockets;
mod steer;
mod streams;
mod tasks;
