//! The launcher with servers that do what a test tells them: real processes, real signals, a real terminal.
//! Only a debug build takes another server than the one beside it.
#![cfg(debug_assertions)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests: what fails must be seen at once"
)]

mod endings;
mod handing;
mod signals;
mod stops;
mod support;
mod sweeps;
