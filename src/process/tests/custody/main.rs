//! Custody against real process trees: every shape of the zoo against every layer on its own, and identity against reuse.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests: what fails must be seen at once"
)]

mod edges;
mod identity;
mod layers;
mod spawning;
mod support;
