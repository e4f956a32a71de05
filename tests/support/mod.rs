//! What end-to-end scenarios share: an installation of its own for each, the real programs, a scripted provider of
//! models, and a census of what they leave.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code: it starts the real programs, and a failure must stop it with its place"
)]

pub mod census;
pub mod home;
pub mod provider;
pub mod wait;

pub use census::strays;
pub use home::{Home, Ran, program};
pub use provider::Provider;
pub use wait::{DEADLINE, until};
