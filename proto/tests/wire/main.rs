//! What the vocabulary promises: bytes on the wire, JSON of the API, the table of limits, ids and codes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the exception for tests reaches only functions that are tests; what they share is in modules of its own"
)]

mod allocation;
mod check;
mod codes;
mod events;
mod frame;
mod fuzz;
mod generator;
mod golden;
mod hostile;
mod json;
mod kinds;
mod limits;
mod requests;
mod round_trip;
mod samples;
mod timestamps;
