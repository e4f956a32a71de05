//! Rows about money, and what a task waits for.

use ouroboros_proto::kind::{
    AttemptId, Cost, Generation, LimitScope, NanoDollars, PauseId, SendId, SendState, TaskId, TaskNumber, TokenUsage,
    UtcMicros, WaitReason,
};

/// One physical send to a provider. It leaves memory when it is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendRow {
    /// Its id.
    pub id: SendId,
    /// The task it is for.
    pub task: TaskId,
    /// That task's number.
    pub number: TaskNumber,
    /// The task at the root of that task's tree.
    pub root: TaskId,
    /// The attempt.
    pub attempt: AttemptId,
    /// The call of the attempt, counted from 1.
    pub call: u32,
    /// Which send of that call it is, counted from 1.
    pub ordinal: u32,
    /// The route it takes.
    pub route: Box<str>,
    /// The server life that sent it.
    pub generation: Generation,
    /// Where it stands.
    pub state: SendState,
    /// What it can cost at most.
    pub bound: NanoDollars,
    /// Where the bound comes from.
    pub basis: PriceBasis,
    /// The limit on everything when it was set aside; `None` when there was none.
    pub limit: Option<NanoDollars>,
    /// When its bound was set aside.
    pub reserved_at: UtcMicros,
    /// When it was over.
    pub ended_at: Option<UtcMicros>,
    /// What the provider said.
    pub receipt: Option<Box<Receipt>>,
    /// Whether the receipt came after the send had been given up as unresolved.
    pub late: bool,
}

impl SendRow {
    /// Whether it is over, may have cost, and nobody has said what.
    #[must_use]
    pub fn is_of_unknown_cost(&self) -> bool {
        match self.state {
            SendState::Reserved | SendState::Dispatched | SendState::Released => false,
            SendState::Unresolved => true,
            SendState::Settled => self.receipt.as_ref().is_none_or(|receipt| receipt.cost.is_none()),
        }
    }

    /// The row with what was learned later; `None` when that changes nothing. What its answer told stays.
    pub(crate) fn corrected(&self, receipt: Receipt) -> Option<Self> {
        match (&self.receipt, receipt.cost) {
            _ if !self.is_of_unknown_cost() => None,
            (None, _) => {
                let receipt = Some(Box::new(receipt));
                Some(Self { state: SendState::Settled, receipt, late: true, ..self.clone() })
            }
            (Some(_), None) => None,
            (Some(told), cost @ Some(_)) => {
                Some(Self { receipt: Some(Box::new(Receipt { cost, ..(**told).clone() })), ..self.clone() })
            }
        }
    }
}

/// Where the bound of a send comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PriceBasis {
    /// The route's own price.
    Known,
    /// No price is known: an assumed one that is high enough.
    Assumed,
    /// The route costs nothing.
    Free,
}

/// What a provider said about a send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// What kind of answer it was.
    pub answer: AnswerKind,
    /// What it cost; `None` when that is not known.
    pub cost: Option<Cost>,
    /// What was counted.
    pub usage: TokenUsage,
    /// The model that answered, in the provider's words; empty when it did not say.
    pub model: Box<str>,
    /// The provider's id of the request; empty when it gave none.
    pub provider_request: Box<str>,
}

/// What kind of answer a send had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AnswerKind {
    /// A whole answer.
    Answer,
    /// A whole answer that cannot be used.
    Unusable,
    /// An error.
    Error,
}

/// What a task waits for before it goes on. A fact beside its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Park {
    /// Nothing of it may be sent any more; its attempt saves itself and leaves.
    Pausing(Pause),
    /// Until its owner resumes it.
    Paused(Pause),
    /// Its owner has resumed it: the first send that fits uses this up.
    Granted(Pause),
    /// Until a time, or an event that wakes it sooner.
    Waiting(Wait),
}

/// A pause for want of money.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// Which. A grant is for one pause only.
    pub id: PauseId,
    /// The limit that was used up.
    pub limit: LimitScope,
    /// Since when.
    pub since: UtcMicros,
}

/// A wait for a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// For what.
    pub reason: WaitReason,
    /// Since when.
    pub since: UtcMicros,
    /// When it looks again.
    pub until: UtcMicros,
    /// Waits for a model in a row.
    pub tries: u32,
    /// The last attempt of the task when it began, counted from 1; 0 when none had started. An attempt that runs under a wait of an
    /// earlier one does not wait: it tries again.
    pub attempt: u32,
    /// The pause that its owner had ended, when nothing has used that up yet.
    pub grant: Option<Pause>,
}

impl Park {
    /// Whether a queued task must not start: it waits, and not for a time that passes by itself.
    pub(crate) const fn is_paused(&self) -> bool {
        match self {
            Self::Pausing(_) | Self::Paused(_) => true,
            Self::Granted(_) | Self::Waiting(_) => false,
        }
    }

    /// When a queued task looks again.
    pub(crate) const fn wakes(&self) -> Option<UtcMicros> {
        match self {
            Self::Waiting(wait) => Some(wait.until),
            Self::Pausing(_) | Self::Paused(_) | Self::Granted(_) => None,
        }
    }
}
