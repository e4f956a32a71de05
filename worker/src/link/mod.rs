//! The connection to the server.
//!
//! One thread reads it for the worker's whole life: it puts orders into the [`Mailbox`] and, when the stream ends, ends
//! everything below us (the lifeline). Only the main thread writes, through [`Reporter`], and never blocks in it: a server that
//! does not read must not stop a child.

mod frame;
mod hello;
mod lifeline;
mod mailbox;
mod outbox;
mod reporter;

pub use hello::{HelloError, greet};
pub use lifeline::hold;
pub use mailbox::{Assignment, Mailbox, Orders, Work};
pub use reporter::Reporter;
