//! Sums over sends. Derived from rows as they change; what is loaded are the sums of rows that are over.

use super::admit::Reservation;
use super::row::SendRow;
use crate::row::TaskRow;
use ouroboros_proto::kind::{AttemptId, LimitScope, Millis, NanoDollars, SendId, SendState, TaskId, UtcMicros};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::RangeInclusive;

/// Minutes that the hour's limit looks back over, besides the one under way.
const HOUR: i64 = 60;
const MINUTE_MICROS: i64 = 60_000_000;

/// Limits on spending; `None` is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// On everything.
    pub total: Option<NanoDollars>,
    /// On any hour.
    pub hour: Option<NanoDollars>,
    /// On a task with everything it started.
    pub tree: Option<NanoDollars>,
    /// On a task, when it has none of its own.
    pub task: Option<NanoDollars>,
    /// Hundredths of a limit from which on its owner is told.
    pub soft_percent: u8,
}

/// A sum. The three are never put together in an answer: what is set aside or not known is not spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Known costs.
    pub settled: NanoDollars,
    /// Bounds of sends under way.
    pub open: NanoDollars,
    /// Bounds of what was sent, and of which the cost is not known.
    pub unresolved: NanoDollars,
}

impl Tally {
    /// What one row counts.
    #[must_use]
    pub fn of(row: &SendRow) -> Self {
        let cost = row.receipt.as_ref().and_then(|receipt| receipt.cost);
        match (row.state, cost) {
            (SendState::Reserved | SendState::Dispatched, _) => Self { open: row.bound, ..Self::default() },
            (SendState::Settled, Some(cost)) => Self { settled: cost.amount, ..Self::default() },
            (SendState::Settled, None) | (SendState::Unresolved, _) => {
                Self { unresolved: row.bound, ..Self::default() }
            }
            (SendState::Released, _) => Self::default(),
        }
    }

    /// What counts against a limit even when everything under way should turn out to cost nothing.
    #[must_use]
    pub fn closed(self) -> NanoDollars {
        self.settled.saturating_add(self.unresolved)
    }

    /// What counts against a limit.
    #[must_use]
    pub fn accounted(self) -> NanoDollars {
        self.closed().saturating_add(self.open)
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self {
            settled: self.settled.saturating_add(more.settled),
            open: self.open.saturating_add(more.open),
            unresolved: self.unresolved.saturating_add(more.unresolved),
        }
    }

    /// This without what `less` counts.
    #[must_use]
    pub fn minus(self, less: Self) -> Self {
        Self {
            settled: self.settled.saturating_sub(less.settled),
            open: self.open.saturating_sub(less.open),
            unresolved: self.unresolved.saturating_sub(less.unresolved),
        }
    }

    fn replace(&mut self, was: Self, is: Self) {
        let each = |sum: NanoDollars, was: NanoDollars, is| sum.saturating_sub(was).saturating_add(is);
        self.settled = each(self.settled, was.settled, is.settled);
        self.open = each(self.open, was.open, is.open);
        self.unresolved = each(self.unresolved, was.unresolved, is.unresolved);
    }
}

/// The sums, as they are loaded and compared.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spent {
    /// Of everything.
    pub total: Tally,
    /// Of the trees of unsettled tasks, by their root.
    pub trees: BTreeMap<TaskId, Tally>,
    /// Of unsettled tasks.
    pub tasks: BTreeMap<TaskId, Tally>,
    /// Of the minutes of the last hour in which something was set aside.
    pub minutes: BTreeMap<i64, NanoDollars>,
}

impl Spent {
    /// The minute that a time lies in.
    #[must_use]
    pub const fn minute(at: UtcMicros) -> i64 {
        at.get().div_euclid(MINUTE_MICROS)
    }

    /// Takes a row's new image into account; `was` is what it counted before, `None` for a new row. `counts` says whether sums of
    /// this task, and of this tree, are kept.
    pub fn take(&mut self, row: &SendRow, was: Option<Tally>, task: bool, tree: bool) {
        let (before, is) = (was.unwrap_or_default(), Tally::of(row));
        self.total.replace(before, is);
        if tree {
            self.trees.entry(row.root).or_default().replace(before, is);
        }
        if task {
            self.tasks.entry(row.task).or_default().replace(before, is);
        }
        self.take_minute(Self::minute(row.reserved_at), was, is);
    }

    /// A new row opens its minute and closes those that are more than an hour away from it, on either side: a clock that was set
    /// back must not leave the limit blind until the old time comes again.
    fn take_minute(&mut self, minute: i64, was: Option<Tally>, is: Tally) {
        if was.is_none() {
            self.minutes.retain(|other, _| other.abs_diff(minute) <= HOUR.unsigned_abs());
            self.minutes.entry(minute).or_default();
        }
        if let Some(sum) = self.minutes.get_mut(&minute) {
            *sum = sum.saturating_sub(was.unwrap_or_default().accounted()).saturating_add(is.accounted());
        }
    }

    /// The minutes that count at `now`: those of the hour before, and as many after, for a clock that was set back.
    fn hour_around(now: UtcMicros) -> RangeInclusive<i64> {
        let now = Self::minute(now);
        now.saturating_sub(HOUR)..=now.saturating_add(HOUR)
    }

    /// Without sums of nothing.
    #[must_use]
    pub fn nonzero(&self) -> Self {
        let some = |sums: &BTreeMap<TaskId, Tally>| {
            sums.iter().filter(|(_, sum)| **sum != Tally::default()).map(|(task, sum)| (*task, *sum)).collect()
        };
        Self { trees: some(&self.trees), tasks: some(&self.tasks), ..self.clone() }
    }

    /// What was set aside in the hour before `now`.
    #[must_use]
    pub fn in_hour(&self, now: UtcMicros) -> NanoDollars {
        let sums = self.minutes.range(Self::hour_around(now)).map(|(_, sum)| *sum);
        sums.fold(NanoDollars::default(), NanoDollars::saturating_add)
    }

    /// When the hour before that moment has room for `bound` under `limit`, if nothing else is spent.
    fn hour_has_room(&self, now: UtcMicros, limit: NanoDollars, bound: NanoDollars) -> UtcMicros {
        let mut left = self.in_hour(now);
        for (minute, sum) in self.minutes.range(Self::hour_around(now)) {
            if left.saturating_add(bound) <= limit {
                break;
            }
            left = left.saturating_sub(*sum);
            if left.saturating_add(bound) <= limit {
                let over = minute.saturating_add(HOUR).saturating_add(1).saturating_mul(MINUTE_MICROS);
                return UtcMicros::new(over);
            }
        }
        now.plus(Millis::seconds(60))
    }
}

/// Whether something may be set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It may.
    Fits,
    /// It may once some of what is under way turns out cheaper than its bound.
    Later(LimitScope),
    /// It may when the hour has moved on.
    HourFull(UtcMicros),
    /// It may not.
    Exhausted(LimitScope),
}

/// Sums, sends under way, and what waits to be set aside.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger {
    pub spent: Spent,
    pub open: BTreeMap<SendId, SendRow>,
    /// Over, or corrected, in this life and not yet known to be durable: the store cannot be asked for them yet.
    pub fresh: BTreeMap<SendId, SendRow>,
    /// Unsettled tasks of a tree besides its root.
    pub branches: BTreeMap<TaskId, u32>,
    /// Attempts that have not ended and sent something of which it is not known what came of it.
    pub unknown: BTreeSet<AttemptId>,
    /// In the order of asking. Not stored: who waits goes with its worker.
    pub waiting: VecDeque<Reservation>,
}

impl Ledger {
    /// A send's new image.
    pub fn apply(&mut self, row: &SendRow, task: bool, tree: bool) {
        let was = self.open.get(&row.id).map(Tally::of);
        self.spent.take(row, was, task, tree);
        if row.state.is_open() {
            self.open.insert(row.id, row.clone());
        } else {
            self.open.remove(&row.id);
            self.fresh.insert(row.id, row.clone());
        }
    }

    /// A late receipt replaces what was given up.
    pub fn correct(&mut self, row: &SendRow, was: &SendRow, task: bool, tree: bool) {
        self.spent.take(row, Some(Tally::of(was)), task, tree);
        self.fresh.insert(row.id, row.clone());
    }

    /// A send's row is committed.
    pub fn durable(&mut self, row: &SendRow) {
        if self.fresh.get(&row.id) == Some(row) {
            self.fresh.remove(&row.id);
        }
    }

    /// A task is unsettled.
    pub fn joined(&mut self, task: &TaskRow) {
        if task.root != task.id {
            let branches = self.branches.entry(task.root).or_default();
            *branches = branches.saturating_add(1);
        }
    }

    /// A task has settled; its sums are kept as long as its tree needs them. `root_lives` says whether the root is unsettled.
    pub fn left(&mut self, task: &TaskRow, root_lives: bool) {
        self.spent.tasks.remove(&task.id);
        if task.root != task.id {
            let rest = self.branches.get(&task.root).map_or(0, |count| count.saturating_sub(1));
            if rest == 0 {
                self.branches.remove(&task.root);
            } else {
                self.branches.insert(task.root, rest);
            }
        }
        if !root_lives && !self.branches.contains_key(&task.root) {
            self.spent.trees.remove(&task.root);
        }
    }

    /// Sends that memory knows better than the store.
    pub fn in_memory(&self) -> Vec<SendId> {
        self.open.keys().chain(self.fresh.keys()).copied().collect()
    }

    /// What those of a tree count.
    pub fn in_memory_of(&self, root: TaskId) -> Tally {
        let rows = self.open.values().chain(self.fresh.values());
        rows.filter(|row| row.root == root).map(Tally::of).fold(Tally::default(), Tally::plus)
    }

    /// Whether something that an attempt sent may have been answered and paid, and nobody knows.
    pub fn is_unknown(&self, attempt: AttemptId) -> bool {
        self.unknown.contains(&attempt) || self.open.values().any(|row| row.attempt == attempt)
    }

    /// Somebody is not interested in a reservation any more.
    pub fn withdraw(&mut self, send: SendId) {
        self.waiting.retain(|waiting| waiting.send != send);
    }

    /// What is accounted for a limit, and what of it is under way.
    fn tally(&self, scope: LimitScope, task: TaskId, root: TaskId, now: UtcMicros) -> Tally {
        match scope {
            LimitScope::Total => self.spent.total,
            LimitScope::Hour => Tally { settled: self.spent.in_hour(now), ..Tally::default() },
            LimitScope::Tree => self.spent.trees.get(&root).copied().unwrap_or_default(),
            LimitScope::Task => self.spent.tasks.get(&task).copied().unwrap_or_default(),
        }
    }

    /// Whether `bound` fits all limits. What costs nothing does, however much of them is used up.
    pub fn fit(&self, limits: Limits, task: TaskId, root: TaskId, bound: NanoDollars, now: UtcMicros) -> Fit {
        if bound == NanoDollars::default() {
            return Fit::Fits;
        }
        let mut fit = Fit::Fits;
        for scope in LimitScope::ALL {
            let Some(limit) = limits.of(scope) else { continue };
            let tally = self.tally(scope, task, root, now);
            if bound > limit {
                return Fit::Exhausted(scope);
            }
            if tally.accounted().saturating_add(bound) <= limit {
                continue;
            }
            if scope == LimitScope::Hour {
                fit = Fit::HourFull(self.spent.hour_has_room(now, limit, bound));
            } else if tally.closed().saturating_add(bound) > limit {
                return Fit::Exhausted(scope);
            } else if fit == Fit::Fits {
                fit = Fit::Later(scope);
            }
        }
        fit
    }

    /// The first limit that leaves nothing, however little is asked for.
    pub fn nothing_left(&self, limits: Limits, task: TaskId, root: TaskId, now: UtcMicros) -> Fit {
        match self.fit(limits, task, root, NanoDollars::new(1), now) {
            Fit::Later(_) => Fit::Fits,
            fit @ (Fit::Fits | Fit::HourFull(_) | Fit::Exhausted(_)) => fit,
        }
    }

    /// Limits whose soft threshold lies between what was accounted before and what is now.
    pub fn crossed(
        &self,
        before: &Standing,
        limits: Limits,
        task: TaskId,
        root: TaskId,
        now: UtcMicros,
    ) -> Vec<(LimitScope, NanoDollars, NanoDollars)> {
        LimitScope::ALL
            .into_iter()
            .filter_map(|scope| {
                let limit = limits.of(scope)?;
                let threshold = limits.soft(limit);
                let is = self.tally(scope, task, root, now).accounted();
                let was = before.0.get(&scope).copied().unwrap_or_default();
                (was < threshold && is >= threshold).then_some((scope, is, limit))
            })
            .collect()
    }

    /// What is accounted for every limit, to be compared later.
    pub fn standing(&self, task: TaskId, root: TaskId, now: UtcMicros) -> Standing {
        Standing(
            LimitScope::ALL.into_iter().map(|scope| (scope, self.tally(scope, task, root, now).accounted())).collect(),
        )
    }
}

/// What was accounted for every limit at some moment.
#[derive(Debug)]
pub(crate) struct Standing(BTreeMap<LimitScope, NanoDollars>);

impl Limits {
    /// The limit of this scope.
    #[must_use]
    pub const fn of(self, scope: LimitScope) -> Option<NanoDollars> {
        match scope {
            LimitScope::Total => self.total,
            LimitScope::Hour => self.hour,
            LimitScope::Tree => self.tree,
            LimitScope::Task => self.task,
        }
    }

    fn soft(self, limit: NanoDollars) -> NanoDollars {
        let hundredths = u128::from(limit.get()).saturating_mul(u128::from(self.soft_percent));
        NanoDollars::new(u64::try_from(hundredths / 100).unwrap_or(u64::MAX))
    }
}
