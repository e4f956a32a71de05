//! The server: the only owner of every durable fact.
//!
//! | module | what it is for | what it may not know |
//! |---|---|---|
//! | [`supervisor`] | moves facts: input, lookup, step, commit, effects | how HTTP or SQL look |
//! | [`link`] | worker sockets: handshake, frames, deaths | what a task is |
//! | [`custody`] | starting workers, ending what they and earlier lives left | why something is ended |
//! | [`http`] | routes, login, streams, the page | how a decision is made |
//! | [`models`] | calls of models: from a worker's request to a settled answer | how a limit is checked |
//! | [`life`] | one life from arguments to exit code | what is decided in it |
//! | [`changes`] | what a task in words changed in its folder, and taking it back | why |
//! | [`view`], [`spending`], [`operations`] | the store and the server as the HTTP side sees them | – |
//!
//! Below it stand five crates: `domain` decides, `store` keeps, `process` touches processes, `settings` holds the one
//! configuration schema, `proto` the vocabulary.

pub mod changes;
pub mod custody;
pub mod http;
pub mod life;
pub mod link;
pub mod models;
pub mod operations;
pub mod spending;
pub mod supervisor;
pub mod view;
