//! The command line as a user meets it: the real program, a scripted server on a real socket, a home of its own.
#![allow(clippy::disallowed_methods, reason = "the program is run as a user's shell runs it")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "these are tests")]

mod answers;
mod ask;
mod chat;
mod config;
mod ends;
mod follow;
mod help;
mod kept;
mod manual;
mod money;
mod program;
mod refusals;
mod replay;
mod requests;
mod run;
mod sample;
mod server;
mod service;
mod start;
mod steer;
mod stopped;
mod system;
mod terminal;
mod told;
mod words;
