//! The processes of this life: starting workers, knowing when they and everything below them are gone, and ending what earlier
//! lives left.
//!
//! | module | thread | what it is for |
//! |---|---|---|
//! | [`table`] | – | which workers there are; sends to them and kills them from any thread |
//! | [`hatchery`] | its own | starts workers, so that nobody else waits for a spawn |
//! | [`reaper`] | its own | ends orphans of dead workers and processes of dead generations |
//! | [`groups`] | – | a control group for each attempt, where there are any |
//! | [`worker_log`] | its own | what workers say beside their reports |
//! | [`panic`] | its own | the emergency stop; needs nobody |
//!
//! Invariant: `Gone` is told of a worker only when its process is reaped, nothing of it is left, and its socket is drained.

pub mod groups;
pub mod hatchery;
pub mod panic;
pub mod reaper;
pub mod table;
pub mod worker_log;

pub use groups::Groups;
pub use hatchery::Hatchery;
pub use reaper::Reaper;
pub use table::{Assigned, Table};
