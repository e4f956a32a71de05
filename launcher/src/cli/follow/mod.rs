//! Following a task: its events and output as they come, over restarts of the server, until it has ended.
//!
//! Output is written byte for byte to the stream it was written to; only what a model wrote is kept from steering a
//! terminal. After a lost connection the stream is taken up where it was left, by event number and byte offset, so that
//! nothing is shown twice and nothing is left out unsaid.

mod ask;
mod kept;
mod machine;
mod outlet;
mod parking;
pub mod position;
mod progress;
mod prompt;
mod session;
mod signals;
mod steer;
mod step;
mod take;
pub mod telling;
pub mod watch;

pub use parking::Leave;
pub use position::Position;
pub use session::{Ended, Session, View};
pub use signals::{Notice, Signals};
pub use step::Step;

use super::args::work::Attach;
use super::{Context, Failure, Outcome};
use crate::client::segment;
use ouroboros_proto::api::TaskView;
use ouroboros_proto::kind::{Millis, TaskId, TaskNumber, WorkKind};

/// What is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Followed {
    /// The task.
    pub task: TaskId,
    /// Its number.
    pub number: TaskNumber,
    /// Whether it is one in words.
    pub in_words: bool,
}

impl Followed {
    /// This task.
    pub fn of(task: &TaskView) -> Self {
        Self { task: task.id, number: task.number, in_words: task.kind == WorkKind::Agent.as_str() }
    }
}

/// Follows a task from its beginning, with its exit code. A question or a task in words is left when it is paused: that
/// may be for ever.
pub fn attach(context: &Context, attach: &Attach) -> Outcome {
    let task = look_up(context, attach.task.as_str())?;
    let signals = Signals::watching()?;
    let (of, reconnect) = (Followed::of(&task), attach.patience.reconnect);
    if of.in_words || task.kind == WorkKind::Ask.as_str() {
        super::ask::follow(context, of, reconnect, Leave::Paused, &signals)
    } else {
        follow(context, of, reconnect, &signals)
    }
}

/// The task with this number, id or `last`. What is followed is followed by id, whatever `last` becomes.
pub fn look_up(context: &Context, task: &str) -> Result<TaskView, Failure> {
    Ok(context.client().get(&format!("/api/tasks/{}", segment(task)))?.read()?)
}

/// Follows a task and tells how it ended where its exit code alone would not.
pub fn follow(context: &Context, of: Followed, reconnect: Millis, signals: &Signals) -> Outcome {
    match Session::new(context, of, View::Output, reconnect, Some(signals)).run()? {
        Ended::Settled(task) => {
            if !context.json() && is_ours(&task) {
                let reason = task.reason.as_deref().unwrap_or_else(|| task.status.as_str());
                context.note(&format!("task {}: {}", task.number, crate::render::clean(reason)));
            }
            Ok(task.exit_code.unwrap_or(super::OURS))
        }
        // Whoever attaches follows to the end.
        Ended::Parked(_) | Ended::Detached => Ok(0),
    }
}

/// Whether its exit code is not one that its command gave.
fn is_ours(task: &TaskView) -> bool {
    use ouroboros_proto::kind::{Ending, Failure, Outcome};
    !matches!(task.outcome, Some(Outcome::Completed | Outcome::Failed(Failure::Ended(Ending::Exited { .. }))))
}
