//! The real worker binary against a server made of a listener and the wire format.

// The exception for tests reaches only functions that are tests; what they share is in modules of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod custody;
mod endings;
mod handshake;
mod measure;
mod orders;
mod output;
mod support;
mod surroundings;
