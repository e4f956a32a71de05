//! The vocabulary that every part of the system shares.
//!
//! | module | holds | knows |
//! |---|---|---|
//! | [`kind`] | ids, money, time, exit codes, process identity, outcomes | nothing |
//! | [`limits`] | the one table of bounds and their refusal codes | `kind` |
//! | [`agent`] | what is said to a model and what comes back, for all providers | `kind` |
//! | [`wire`] | frames between server and worker, and their codec | `kind` |
//! | [`api`] | JSON shapes of the HTTP API, for server, CLI and tests | `kind`, `limits` |
//!
//! Nothing here does I/O except reading the clock.

pub mod agent;
pub mod api;
pub mod kind;
pub mod limits;
pub mod wire;
