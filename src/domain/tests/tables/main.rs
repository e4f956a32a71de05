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
mod continued;
mod crash;
mod durability;
mod messages;
mod money;
mod order;
mod reload;
mod request;
mod rig;
mod settle;
mod stop;
mod workspace;
