//! Following what happens: recorded events first, then committed ones as they come, no gap and no event twice.
//!
//! [`feed::Feed`] joins the log and the broadcast of the supervisor. [`task::TaskFollower`] adds the output of one task, in the
//! order in which a reader must see it. [`stream`] turns either into a response body.

pub mod feed;
pub mod output;
pub mod stream;
pub mod task;
