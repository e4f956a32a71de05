//! The store against real SQLite files, real full disks, and real kills.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test that meets what it did not expect ends there"
)]

mod support;

mod backups;
mod child;
mod costs;
mod faults;
mod kills;
mod log_cut;
mod migration;
mod output;
mod quarantine;
mod reading;
mod refusals;
mod requests;
mod round_trip;
mod sweeping;
mod transcripts;
mod usage;
mod workspaces;
