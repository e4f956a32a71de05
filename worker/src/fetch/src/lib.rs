//! One page from the network, as text. It runs in a process of its own, which a worker starts for one page and which leaves then:
//! what comes from the network is never parsed in a process that holds an attempt.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`message`] | what is asked for, and what comes of it, as JSON on standard input and output |
//! | [`child`] | the process: reads a request, writes an answer, leaves in time |
//! | [`origin`], [`address`] | which addresses may be spoken to |
//! | [`hops`] | from one address to the next, each checked after its name was resolved, and connected to as it was checked |
//! | [`body`], [`page`] | bytes within bounds; bytes as text |
//!
//! Invariants:
//! - A connection goes to an address that was checked, and to no other: a name is resolved once a hop, and what it may stand for
//!   later does not matter.
//! - An address of this machine or a private network is reached only by an origin that the host allowed, never one the model named.
//! - Everything is bounded: time, bytes before and after they are unpacked, hops, the text that leaves.
//! - No variable of the environment changes where a request goes; no cookie, credential or cache outlives a page.
//!
//! Left out: scripts of pages are not run; forms, logins and files that are no text.

pub mod address;
pub mod body;
pub mod child;
pub mod hops;
pub mod message;
pub mod origin;
pub mod page;

pub use child::main;
pub use hops::{Fetcher, Limits, Resolve, SystemResolver};
pub use message::{Answer, Page, Refusal, Request, Why};
pub use origin::Origin;
pub use reqwest::Url;

#[cfg(test)]
mod tests;
