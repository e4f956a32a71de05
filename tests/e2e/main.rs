//! Scenarios with the real programs: a launcher, a server, workers, and the command line.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    reason = "test code: it starts the real programs, and a failure must stop it with its place"
)]

mod agent;
mod ask;
mod backup;
mod broken;
mod cancel;
mod chat;
mod context;
mod crash;
mod custody;
mod deliver;
mod every_tool;
mod faults;
mod images;
mod input;
mod lifecycle;
mod llm;
mod models;
mod money;
mod output;
mod paused;
mod programs;
mod queue;
mod refusals;
mod replay;
mod requests;
mod rig;
mod run;
mod safety;
mod scene;
mod secrets;
mod steer;
mod storage;
mod storm;
mod told;
mod workspace;
