//! Numbers that stand for words in the database. A number is never given to another word.

use ouroboros_domain::row::{AnswerKind, PriceBasis};
use ouroboros_proto::kind::{
    CostSource, HoldReason, Isolation, Priority, RequestKind, RequestState, Role, RuleEffect, SendState, WorkKind,
};

/// A word with a number.
pub trait Coded: Sized {
    /// Its number.
    fn code(self) -> i64;
    /// The word with this number.
    fn decode(code: i64) -> Option<Self>;
}

macro_rules! coded {
    ($type:ty { $($variant:ident = $code:literal),* $(,)? }) => {
        impl Coded for $type {
            fn code(self) -> i64 {
                match self { $(Self::$variant => $code),* }
            }

            fn decode(code: i64) -> Option<Self> {
                match code {
                    $($code => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

coded!(WorkKind { Command = 0, Ask = 1, Model = 2, Agent = 3 });
coded!(Priority { Low = 0, Normal = 1, High = 2, Urgent = 3 });
coded!(Isolation { Namespace = 0, Host = 1 });
coded!(HoldReason { Owner = 0, Panic = 1, Restore = 2, Copied = 3 });
coded!(SendState { Reserved = 0, Dispatched = 1, Settled = 2, Unresolved = 3, Released = 4 });
coded!(PriceBasis { Known = 0, Assumed = 1, Free = 2 });
coded!(AnswerKind { Answer = 0, Unusable = 1, Error = 2 });
coded!(CostSource { Provider = 0, Catalogue = 1, Local = 2, Error = 3, Owner = 4 });
coded!(RequestKind { Question = 0, Approval = 1 });
coded!(RequestState { Open = 0, Answered = 1, Expired = 2, Withdrawn = 3 });
coded!(RuleEffect { Allow = 0, Deny = 1 });
coded!(Role { Launcher = 0, Server = 1, Worker = 2, Tool = 3 });

/// A task's state as stored: the first two are live, the others settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// No attempt is under way.
    Queued,
    /// One is.
    Running,
    /// Exit code 0.
    Completed,
    /// Anything else.
    Failed,
    /// Cancelled.
    Cancelled,
}

coded!(State { Queued = 0, Running = 1, Completed = 2, Failed = 3, Cancelled = 4 });
