//! What an event means for somebody who follows a task: the one list of events that change where it stands.

use ouroboros_proto::kind::{Event, LimitScope, WaitReason};

/// Where a task stands after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It waits for a slot.
    Queued,
    /// It waits for a slot, and for nothing else any more.
    Resumed,
    /// Its attempt ended, and another follows.
    Again,
    /// Its owner holds it.
    Held,
    /// It waits for its owner to let it spend more.
    Paused(LimitScope),
    /// It waits for a model.
    Model(WaitReason),
    /// It is being cancelled.
    Cancelling,
    /// Something of it cannot be ended.
    Wedged,
    /// It asks its owner.
    Asks,
    /// A request of it is answered, or over.
    Heard(u32),
    /// An attempt runs.
    Started,
    /// It is over.
    Settled,
}

impl Step {
    /// Whether the task does nothing after it that could be shown.
    pub fn is_wait(self) -> bool {
        match self {
            Self::Queued
            | Self::Resumed
            | Self::Again
            | Self::Held
            | Self::Paused(_)
            | Self::Model(_)
            | Self::Cancelling
            | Self::Wedged
            | Self::Asks => true,
            Self::Heard(_) | Self::Started | Self::Settled => false,
        }
    }

    /// The step that an event is; `None` when it leaves the task where it was.
    pub fn of(event: &Event) -> Option<Self> {
        Some(match event {
            Event::Submitted { .. } | Event::Released => Self::Queued,
            Event::Resumed => Self::Resumed,
            Event::AttemptEnded { .. } => Self::Again,
            Event::Held { .. } => Self::Held,
            Event::Paused { limit } => Self::Paused(*limit),
            Event::WaitsForModel { reason, .. } => Self::Model(*reason),
            Event::CancelRequested { .. } => Self::Cancelling,
            Event::Wedged { .. } => Self::Wedged,
            Event::Started { .. } => Self::Started,
            Event::Settled { .. } => Self::Settled,
            Event::RequestOpened { .. } => Self::Asks,
            Event::RequestAnswered { request, .. } | Event::RequestClosed { request, .. } => Self::Heard(*request),
            Event::ProcessStarted { .. }
            | Event::Reprioritised { .. }
            | Event::QueueHeld { .. }
            | Event::SlotsChanged { .. }
            | Event::ServerStarted { .. }
            | Event::PoolDegraded { .. }
            | Event::PoolRecovered
            | Event::Sent { .. }
            | Event::LimitNear { .. }
            | Event::Messaged { .. }
            | Event::MessageTaken { .. } => return None,
        })
    }
}
