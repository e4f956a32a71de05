//! What was spent: sums over the usage ledger, and its rows.
//!
//! Every answer is a query over rows, in groups. What is settled, set aside and not known is never put together, and a sum of tokens
//! is of those that the provider counted.

mod query;

use super::{Reader, collect};
use crate::error::ReadError;
use crate::rows::{BadRow, usage};
use crate::spent::{self, SpentCheck};
use ouroboros_domain::Tally;
use ouroboros_domain::row::SendRow;
use ouroboros_proto::kind::{SendState, TaskId, TaskNumber, UtcMicros};
use query::Edges;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Which sends to count. All when nothing is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CostFilter<'a> {
    /// Only sends that were set aside at this time or later.
    pub since: Option<UtcMicros>,
    /// Only sends that were set aside before this time.
    pub until: Option<UtcMicros>,
    /// Only sends by this route.
    pub route: Option<&'a str>,
    /// Only sends of these tasks.
    pub of: CostOf,
}

/// Whose sends to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CostOf {
    /// Everybody's.
    #[default]
    All,
    /// Those of this task alone.
    Task(TaskId),
}

/// What makes a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostBy {
    /// Everything is one group.
    Whole,
    /// Each task.
    Task,
    /// Each tree, by its root.
    Tree,
    /// Each route with each model that answered by it.
    Model,
    /// Each day, in UTC, by when the sends were set aside.
    Day,
}

/// Which group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum CostKey {
    /// Everything.
    Whole,
    /// A task, which may be forgotten.
    Task(TaskId, TaskNumber),
    /// The tree with this root, which may be forgotten.
    Tree(TaskId),
    /// A route, with the model that answered in the provider's words; `None` where none did.
    Model(String, Option<String>),
    /// The day that begins at this time.
    Day(UtcMicros),
}

/// What a group comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostGroup {
    /// Which group.
    pub key: CostKey,
    /// What it comes to.
    pub costs: Costs,
}

/// What some sends come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Costs {
    /// Money.
    pub money: Tally,
    /// How the sends stand.
    pub sends: SendCounts,
    /// Tokens.
    pub tokens: TokenSums,
}

impl Costs {
    /// What one send comes to.
    #[must_use]
    pub fn of(row: &SendRow) -> Self {
        let mut sends = SendCounts::default();
        match row.state {
            SendState::Reserved | SendState::Dispatched => sends.open = 1,
            SendState::Settled if row.is_of_unknown_cost() => sends.unknown = 1,
            SendState::Settled => sends.known = 1,
            SendState::Unresolved => sends.unresolved = 1,
            SendState::Released => sends.released = 1,
        }
        let usage = row.receipt.as_ref().map(|receipt| receipt.usage).unwrap_or_default();
        let tokens = TokenSums {
            input: usage.input.unwrap_or(0),
            cached: usage.cached.unwrap_or(0),
            cache_write: usage.cache_write.unwrap_or(0),
            cache_write_long: usage.cache_write_long.unwrap_or(0),
            output: usage.output.unwrap_or(0),
            reasoning: usage.reasoning.unwrap_or(0),
        };
        Self { money: Tally::of(row), sends, tokens }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        let (sends, tokens) = (self.sends, self.tokens);
        Self {
            money: self.money.plus(more.money),
            sends: SendCounts {
                known: sends.known.saturating_add(more.sends.known),
                unknown: sends.unknown.saturating_add(more.sends.unknown),
                open: sends.open.saturating_add(more.sends.open),
                unresolved: sends.unresolved.saturating_add(more.sends.unresolved),
                released: sends.released.saturating_add(more.sends.released),
            },
            tokens: TokenSums {
                input: tokens.input.saturating_add(more.tokens.input),
                cached: tokens.cached.saturating_add(more.tokens.cached),
                cache_write: tokens.cache_write.saturating_add(more.tokens.cache_write),
                cache_write_long: tokens.cache_write_long.saturating_add(more.tokens.cache_write_long),
                output: tokens.output.saturating_add(more.tokens.output),
                reasoning: tokens.reasoning.saturating_add(more.tokens.reasoning),
            },
        }
    }
}

/// How many sends stand how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SendCounts {
    /// Answered, with a known cost.
    pub known: u64,
    /// Answered, of unknown cost.
    pub unknown: u64,
    /// Under way.
    pub open: u64,
    /// Nobody knows what came of them.
    pub unresolved: u64,
    /// Never sent.
    pub released: u64,
}

/// Tokens that providers counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenSums {
    /// Of prompts, with what came from or went to a cache.
    pub input: u64,
    /// Of those, read from a cache.
    pub cached: u64,
    /// Of those, written to a cache.
    pub cache_write: u64,
    /// Of those written, how many for an hour instead of minutes.
    pub cache_write_long: u64,
    /// Of answers, with thinking.
    pub output: u64,
    /// Of those, thinking.
    pub reasoning: u64,
}

impl Reader {
    /// The groups of the sends that `filter` lets through, at most `limit`: days from new to old, others from dear to cheap. No group is
    /// empty but the whole. A long time is read in slices, one after the other: what changes meanwhile is counted before or after.
    ///
    /// # Errors
    /// The read failed.
    pub fn costs(&self, filter: CostFilter<'_>, by: CostBy, limit: u32) -> Result<Vec<CostGroup>, ReadError> {
        let mut groups = BTreeMap::new();
        let mut edges = Edges::of(filter);
        match filter.of {
            CostOf::All => {
                while let Some(rest) = self.read(|conn| query::slice(conn, filter, by, (edges, SLICE), &mut groups))? {
                    edges = rest;
                }
            }
            CostOf::Task(_) => self.read(|conn| query::add(conn, filter, by, edges, &mut groups))?,
        }
        if by == CostBy::Whole {
            groups.entry(CostKey::Whole).or_default();
        }
        let mut groups: Vec<_> = groups.into_iter().map(|(key, costs)| CostGroup { key, costs }).collect();
        match by {
            CostBy::Day => groups.reverse(),
            CostBy::Whole | CostBy::Task | CostBy::Tree | CostBy::Model => {
                groups.sort_by_key(|group| Reverse(group.costs.money.accounted()));
            }
        }
        groups.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(groups)
    }

    /// The sends of a task, newest first, at most `limit`. They stay when the task is forgotten.
    ///
    /// # Errors
    /// The read failed, or a row cannot be understood.
    pub fn sends_of(&self, task: TaskId, limit: u32) -> Result<Vec<SendRow>, ReadError> {
        self.read(|conn| {
            collect::<_, BadRow>(conn, query::OF_TASK, (task.as_bytes(), limit), |row| usage::read(row, 0))
        })
    }

    /// Counts the whole ledger anew, to compare it with the sum that is kept beside it. `None` when it is written to so often that
    /// the two cannot be had at one moment.
    ///
    /// # Errors
    /// The read failed.
    pub fn spent_check(&self) -> Result<Option<SpentCheck>, ReadError> {
        for _ in 0..TRIES {
            let before = self.read(|conn| Ok(spent::kept(conn)?))?;
            let mut rows = Tally::default();
            let mut from = None;
            loop {
                let (counted, last) = self.read(|conn| Ok(spent::count_after(conn, from, SLICE)?))?;
                rows = rows.plus(counted);
                from = last;
                if last.is_none() {
                    break;
                }
            }
            // What is open is not kept: it is the same in both.
            let kept = Tally { open: rows.open, ..self.read(|conn| Ok(spent::kept(conn)?))? };
            if (Tally { open: rows.open, ..before }) == kept {
                return Ok(Some(SpentCheck { rows, kept }));
            }
        }
        Ok(None)
    }
}

/// Rows in one read of many.
const SLICE: u32 = 50_000;
/// Attempts at a moment in which nothing is written.
const TRIES: u32 = 3;
