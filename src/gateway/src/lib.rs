//! Speaks to the providers of models. Knows nothing of tasks, limits or the database.
//!
//! | module | what it is for |
//! |---|---|
//! | [`route`] | what a route is: a model at a provider, how it is reached, what it can do and what it costs |
//! | [`price`] | prices, what an answer costs, and what a request can cost at most |
//! | [`dialect`] | the providers' wire formats, and the translation from and to the one form of `proto::agent` |
//! | [`transport`] | sends a request once and reads its answer; says exactly what is known of it afterwards |
//! | [`retry`] | what follows after a try |
//! | [`gate`] | how many requests a route carries at a time, and when it rests |
//! | [`providers`] | the known providers, where they are and what they are called |
//! | [`discover`] | finds the routes of this machine: keys, local servers, settings |
//! | [`catalogue`] | what is known of all routes, with prices, their sources and dates |
//!
//! Invariants: a request leaves at most once per call of the transport; what is not proven unsent counts as sent; a number that the
//! provider did not give is `None`; no key stands in an error, a log line or a kept body.

pub mod catalogue;
pub mod dialect;
pub mod discover;
pub mod gate;
pub mod price;
pub mod providers;
pub mod retry;
pub mod route;
#[cfg(test)]
mod testing;
pub mod transport;
