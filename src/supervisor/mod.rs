//! The supervisor: takes inputs by lane, looks up, steps the core, commits, and only then lets the effects happen.
//!
//! It moves facts and decides nothing.
//!
//! | module | thread | what it is for |
//! |---|---|---|
//! | [`actor`], [`recovery`] | its own | the loop; and what it does when a commit failed |
//! | [`committer`] | the writer's | what decisions owe, released in commit order |
//! | [`effects`], [`work`], [`answers`], [`recent`] | the writer's | making effects happen |
//! | [`inbox`], [`handle`] | any | lanes of inputs, and requests with answers |
//! | [`status`], [`alarms`], [`live`] | any | what is shown |
//! | [`clockwatch`] | its own | notices that the wall clock was set |

pub mod actor;
pub mod alarms;
pub mod answers;
pub mod clockwatch;
pub mod committer;
pub mod effects;
pub mod handle;
pub mod inbox;
pub mod live;
pub mod recent;
pub mod recovery;
pub mod status;
pub mod work;

pub use actor::Supervisor;
pub use handle::Handle;
pub use live::{Heard, LiveRegistry, Progress};
pub use status::{Life, Status};
