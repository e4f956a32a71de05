//! Decisions by table: each case is one situation and what must follow from it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test says what is wrong by panicking"
)]

mod admit;
mod assign;
mod boot;
mod cancel;
mod cascade;
mod crash;
mod durability;
mod money;
mod order;
mod reload;
mod rig;
mod settle;
mod stop;
