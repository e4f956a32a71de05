//! Worker sockets: accepting, the handshake, frames, and the deaths of workers, all on one thread that sleeps until something
//! happens.
//!
//! The order that the rest relies on: a worker's frames reach the core in the order they were sent, and `Gone` comes after the
//! last of them. What a task is, this module does not know.

mod connection;
mod entry;
mod handshake;
mod outbox;
mod poller;
mod reports;
mod wake;

pub use handshake::Ourselves;
pub use outbox::Outbox;
pub use poller::{Link, Options, bind};
