//! Money: what may be set aside, what comes of a send, and what a task waits for.
//!
//! Amounts in these tables are nano-dollars; a limit of 100 keeps them readable.

mod fits;
mod lives;
mod near;
mod order;
mod pauses;
mod queued;
mod sends;
pub mod till;
mod trees;
mod unknown;
mod waits;
