//! Money: what is spent and set aside, and who may spend more.
//!
//! One row a physical send to a provider: its bound is set aside in the commit that checks every limit, and only then may a byte
//! leave. Sums are derived from the rows; that over everything is kept beside them in the store. A limit counts what is settled, what is
//! set aside, and what is not known at its bound, so it cannot be passed by many at once.
//!
//! | module | what it is for |
//! |---|---|
//! | [`row`] | a send, what came of it, and what a task waits for |
//! | [`ledger`] | the sums over the rows, and whether something fits |
//! | [`admit`] | setting aside, in order of asking |
//! | [`account`] | what came of a send |
//! | [`park`] | tasks that wait for money or for a model, and how they go on |

mod account;
mod admit;
mod ledger;
mod park;
pub mod row;

pub use admit::Reservation;
pub(crate) use ledger::{Fit, Ledger};
pub use ledger::{Limits, Spent, Tally};
pub(crate) use park::at_rest;

use crate::draft::Draft;
use ouroboros_proto::kind::{AttemptId, LimitScope, Millis, NanoDollars, SendId, UtcMicros, WaitReason, WorkerId};
use row::Receipt;

/// What the gateway tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MoneyInput {
    /// A send wants its bound set aside. Answered when it fits, or never will.
    Reserve(Reservation),
    /// The one that asked for it is not interested any more: what waits is taken back, and what is set aside already is set free, since
    /// nothing is sent without the answer.
    Withdraw {
        /// Which.
        send: SendId,
    },
    /// It was handed to the network. Not answered.
    Dispatched {
        /// Which.
        send: SendId,
    },
    /// It is over.
    Over {
        /// Which.
        send: SendId,
        /// How.
        end: SendEnd,
    },
    /// What an unresolved send cost is known after all. The row comes with the lookup.
    Late {
        /// Which.
        send: SendId,
        /// What is known now.
        receipt: Receipt,
    },
    /// A call cannot go on for now: its task is to wait, with its slot free.
    Blocked {
        /// Correlates the answer.
        send: SendId,
        /// The worker that asked.
        worker: WorkerId,
        /// Its attempt.
        attempt: AttemptId,
        /// What is missing.
        reason: WaitReason,
        /// When the provider says that asking again makes sense.
        after: Option<Millis>,
    },
    /// Routes or keys changed: what waits for them looks again.
    RoutesChanged,
}

/// How a send ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendEnd {
    /// The provider answered, well or badly.
    Settled(Receipt),
    /// The same, and though nobody knows what it cost, it was this at most: its tokens were counted.
    Within(Receipt, NanoDollars),
    /// It may have reached the provider.
    Unresolved,
    /// Proven: no byte was sent.
    Released,
}

/// What the gateway is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendAnswer {
    /// Its bound is set aside, durably: it may be sent, once.
    Admitted,
    /// It may not be sent; its task is to wait for money.
    Paused(LimitScope),
    /// It may not be sent; its task waits and wakes by itself.
    Waiting {
        /// For what.
        reason: WaitReason,
        /// Until when.
        until: UtcMicros,
    },
    /// It may not be sent: its attempt is over or is to end.
    Ending,
    /// What was told is recorded.
    Recorded,
}

impl Draft<'_> {
    /// Something about money or models.
    pub fn money(&mut self, input: MoneyInput, lookup: &crate::input::Lookup) {
        match input {
            MoneyInput::Reserve(reservation) => self.reserve(reservation),
            MoneyInput::Withdraw { send } => self.withdraw(send),
            MoneyInput::Dispatched { send } => self.dispatched(send),
            MoneyInput::Over { send, end } => self.send_over(send, end),
            MoneyInput::Late { send, receipt } => self.late(send, receipt, lookup.sends.get(&send)),
            MoneyInput::Blocked { send, worker, attempt, reason, after } => {
                self.blocked(send, worker, attempt, reason, after);
            }
            MoneyInput::RoutesChanged => self.wake_waiting(&[WaitReason::NoRoute, WaitReason::Auth]),
        }
    }
}
