//! What follows after a try: pure, a table of cases. It holds no clock and rolls no dice.
//!
//! | what became of it | what follows |
//! |---|---|
//! | proven unsent | again, a few times with growing pauses; then the task waits for the network |
//! | not known, or broken off after a piece of the answer | never again: it may have been answered and paid |
//! | rate limit, overload | again, not sooner than the provider says; a long wait is another route's, or the task's |
//! | key, quota | another route, or the task waits |
//! | a field is not accepted | again without it, a few fields at most |
//! | wrong, too long, declined, no such model | it fails |
//! | came whole and cannot be used | it fails; what it cost stays |

use crate::dialect::{Hint, RejectionClass};
use crate::transport::{Sent, Unsent};
use ouroboros_proto::kind::{Millis, ModelFailure, WaitReason};

/// How often and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Tries of which nothing leaves, in all.
    pub unsent: u32,
    /// Tries after a rate limit or an overload, besides the first.
    pub retries: u32,
    /// The first pause; each further one is twice as long.
    pub pause: Millis,
    /// No pause of ours is longer.
    pub longest: Millis,
    /// What a provider may ask us to wait while the request keeps its place.
    pub patience: Millis,
    /// Fields that are left out of a request at most.
    pub fields: usize,
    /// Tries while a server here loads its model, two seconds apart.
    pub loading: u32,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            unsent: 4,
            retries: 4,
            pause: Millis::new(500),
            longest: Millis::seconds(30),
            patience: Millis::seconds(60),
            fields: 3,
            loading: 300,
        }
    }
}

/// Between two looks at a model that is being loaded.
const LOADING_PAUSE: Millis = Millis::seconds(2);

/// What a try came to, as far as it decides what follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Class {
    /// [`Sent::Unsent`].
    Unsent(Unsent),
    /// [`Sent::Unknown`].
    Unknown,
    /// [`Sent::Rejected`].
    Rejected {
        /// What it means.
        class: RejectionClass,
        /// How long the provider asks us to wait.
        retry_after: Option<Millis>,
        /// What would help.
        hint: Option<Hint>,
    },
    /// [`Sent::BrokenOff`].
    BrokenOff(RejectionClass),
    /// [`Sent::Unusable`].
    Unusable {
        /// Because it is larger than we keep.
        too_large: bool,
    },
    /// [`Sent::Answered`].
    Answered,
}

impl From<&Sent> for Class {
    fn from(sent: &Sent) -> Self {
        use crate::dialect::StreamFault;
        match sent {
            Sent::Unsent { cause, .. } => Self::Unsent(*cause),
            Sent::Unknown { .. } => Self::Unknown,
            Sent::Rejected(rejection) => Self::Rejected {
                class: rejection.class.clone(),
                retry_after: rejection.retry_after,
                hint: rejection.hint,
            },
            Sent::BrokenOff(rejection) => Self::BrokenOff(rejection.class.clone()),
            Sent::Unusable { fault, .. } => Self::Unusable { too_large: *fault == StreamFault::TooLarge },
            Sent::Answered(_) => Self::Answered,
        }
    }
}

/// What was tried before, on this route.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    /// Tries of which nothing left.
    pub unsent: u32,
    /// Rate limits and overloads.
    pub busy: u32,
    /// Answers that a model is being loaded.
    pub loading: u32,
    /// Fields that are left out.
    pub omitted: Vec<String>,
    /// Whether there is another route that could answer.
    pub other_route: bool,
}

impl History {
    /// Adds a try, after what follows was decided.
    pub fn add(&mut self, class: &Class, step: &Step) {
        match (class, step) {
            (Class::Unsent(_), _) => self.unsent = self.unsent.saturating_add(1),
            (_, Step::Reshape { omit }) => self.omitted.push(omit.clone()),
            (Class::Rejected { hint: Some(Hint::Loading), .. }, _) => self.loading = self.loading.saturating_add(1),
            (Class::Rejected { class: RejectionClass::RateLimited | RejectionClass::Overloaded, .. }, _) => {
                self.busy = self.busy.saturating_add(1);
            }
            (
                Class::Rejected { .. }
                | Class::Unknown
                | Class::BrokenOff(_)
                | Class::Unusable { .. }
                | Class::Answered,
                _,
            ) => {}
        }
    }
}

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The same again, on this route.
    Again {
        /// After this pause.
        after: Millis,
    },
    /// The next route.
    OtherRoute,
    /// Again at once, without this field.
    Reshape {
        /// Its name, for [`Dialect::encode_without`](crate::dialect::Dialect::encode_without).
        omit: String,
    },
    /// The task waits.
    Park {
        /// For what.
        reason: WaitReason,
        /// How long, if the provider says so.
        after: Option<Millis>,
    },
    /// There will be no answer.
    Fail(ModelFailure),
    /// There is one.
    Done,
}

impl Policy {
    /// What follows. `dice` are random bits: they spread the tries of those who were turned away at the same time.
    #[must_use]
    pub fn next(&self, history: &History, class: &Class, dice: u64) -> Step {
        match class {
            Class::Answered => Step::Done,
            Class::Unknown => Step::Fail(ModelFailure::Unknown),
            Class::BrokenOff(class) => Step::Fail(match class {
                RejectionClass::Refused => ModelFailure::Refused,
                RejectionClass::ContextOverflow { .. } => ModelFailure::ContextOverflow,
                RejectionClass::Auth
                | RejectionClass::Quota
                | RejectionClass::RateLimited
                | RejectionClass::Overloaded
                | RejectionClass::UnknownModel
                | RejectionClass::UnsupportedField(_)
                | RejectionClass::BadRequest => ModelFailure::Unknown,
            }),
            Class::Unusable { too_large: true } => Step::Fail(ModelFailure::TooLarge),
            Class::Unusable { too_large: false } => Step::Fail(ModelFailure::Malformed),
            Class::Unsent(Unsent::Invalid) => Step::Fail(ModelFailure::Invalid),
            Class::Unsent(Unsent::Held) => Step::Fail(ModelFailure::Cancelled),
            Class::Unsent(Unsent::Network) if history.unsent.saturating_add(1) < self.unsent => {
                Step::Again { after: self.pause(history.unsent, dice) }
            }
            Class::Unsent(Unsent::Network) => Step::Park { reason: WaitReason::Network, after: None },
            Class::Rejected { class, retry_after, hint } => self.rejected(history, class, *retry_after, *hint, dice),
        }
    }

    fn rejected(
        &self,
        history: &History,
        class: &RejectionClass,
        retry_after: Option<Millis>,
        hint: Option<Hint>,
        dice: u64,
    ) -> Step {
        match class {
            RejectionClass::Auth => elsewhere(history, WaitReason::Auth, None),
            RejectionClass::Quota => elsewhere(history, WaitReason::Quota, retry_after),
            RejectionClass::Overloaded if hint == Some(Hint::Loading) => {
                if history.loading < self.loading {
                    Step::Again { after: LOADING_PAUSE.max(retry_after.unwrap_or_default().min(self.patience)) }
                } else {
                    Step::Park { reason: WaitReason::Unavailable, after: None }
                }
            }
            RejectionClass::RateLimited => self.busy(history, WaitReason::RateLimit, retry_after, hint, dice),
            RejectionClass::Overloaded => self.busy(history, WaitReason::Unavailable, retry_after, hint, dice),
            RejectionClass::UnsupportedField(field) => {
                if history.omitted.contains(field) || history.omitted.len() >= self.fields {
                    Step::Fail(ModelFailure::BadRequest)
                } else {
                    Step::Reshape { omit: field.clone() }
                }
            }
            RejectionClass::ContextOverflow { .. } => Step::Fail(ModelFailure::ContextOverflow),
            RejectionClass::Refused => Step::Fail(ModelFailure::Refused),
            RejectionClass::UnknownModel => Step::Fail(ModelFailure::NoRoute),
            RejectionClass::BadRequest => Step::Fail(ModelFailure::BadRequest),
        }
    }

    /// The provider has too much to do.
    fn busy(
        &self,
        history: &History,
        reason: WaitReason,
        retry_after: Option<Millis>,
        hint: Option<Hint>,
        dice: u64,
    ) -> Step {
        let asked = retry_after.unwrap_or_default();
        if asked > self.patience {
            return elsewhere(history, reason, Some(asked));
        }
        if history.busy >= self.retries || hint == Some(Hint::NoRetry) {
            return elsewhere(history, reason, retry_after);
        }
        // What the provider asks for is the least; the spread comes on top, or all would come back in the same instant.
        let pause = self.pause(history.busy, dice);
        Step::Again {
            after: if asked > pause { Millis::new(asked.get().saturating_add(pause.get() / 2)) } else { pause },
        }
    }

    /// The pause after `before` tries: doubled each time, then between half of it and all of it.
    fn pause(&self, before: u32, dice: u64) -> Millis {
        let doubled = self.pause.get().saturating_mul(1_u64.checked_shl(before.min(32)).unwrap_or(u64::MAX));
        let most = doubled.min(self.longest.get());
        let spread = most.div_ceil(2).saturating_add(1);
        Millis::new((most / 2).saturating_add(dice.checked_rem(spread).unwrap_or(0)))
    }
}

/// Another route, or the task waits.
fn elsewhere(history: &History, reason: WaitReason, after: Option<Millis>) -> Step {
    if history.other_route { Step::OtherRoute } else { Step::Park { reason, after } }
}

#[cfg(test)]
mod tests;
