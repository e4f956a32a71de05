//! Speaks to the providers of models. Knows nothing of tasks, limits or the database.
//!
//! | module | what it is for |
//! |---|---|
//! | [`route`] | what a route is: a model at a provider, how it is reached, what it can do and what it costs |
//! | [`price`] | prices, what an answer costs, and what a request can cost at most |
//! | [`dialect`] | the providers' wire formats, and the translation from and to the one form of `proto::agent` |
//!
//! Invariants: a request leaves at most once per call of the transport; what is not proven unsent counts as sent; a number that the
//! provider did not give is `None`; no key stands in an error, a log line or a kept body.

pub mod dialect;
pub mod price;
pub mod route;
