//! What the store says was spent, as the HTTP side shows it.

use crate::http::view::{CostBy, CostQuery, Costs};
use ouroboros_domain::SendRow;
use ouroboros_proto::api::{CostGroup, CostView};
use ouroboros_proto::kind::{NanoDollars, TaskId};
use ouroboros_store::reader::{self, CostFilter, CostKey, CostOf};
use ouroboros_store::{ReadError, Reader};
use std::collections::BTreeMap;

/// Groups that are read before they are put together.
const MOST: u32 = 100_000;

/// What a task spent, and its newest sends, oldest first.
///
/// # Errors
/// The store cannot be read.
pub fn of_task(reader: &Reader, task: TaskId, limit: usize) -> Result<(CostView, Vec<SendRow>), ReadError> {
    let filter = CostFilter { of: CostOf::Task(task), ..CostFilter::default() };
    let whole = reader.costs(filter, reader::CostBy::Whole, 1)?;
    let mut rows = reader.sends_of(task, u32::try_from(limit).unwrap_or(u32::MAX))?;
    rows.reverse();
    Ok((whole.first().map_or_else(nothing, |group| view(&group.costs)), rows))
}

/// What sends cost, in groups.
///
/// # Errors
/// The store cannot be read.
pub fn costs(reader: &Reader, query: &CostQuery) -> Result<Costs, ReadError> {
    let filter = CostFilter {
        since: query.since,
        until: query.until,
        route: query.route.as_deref(),
        of: query.task.map_or(CostOf::All, CostOf::Task),
    };
    let by = match query.by {
        CostBy::Task => reader::CostBy::Task,
        CostBy::Tree => reader::CostBy::Tree,
        CostBy::Route | CostBy::Model => reader::CostBy::Model,
        CostBy::Day => reader::CostBy::Day,
    };
    let whole = reader.costs(filter, reader::CostBy::Whole, 1)?;
    let found = reader.costs(filter, by, MOST)?;
    let mut groups: Vec<CostGroup> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for group in &found {
        let key = key(reader, &group.key, query.by)?;
        let cost = view(&group.costs);
        match places.get(&key).and_then(|place| groups.get_mut(*place)) {
            Some(known) => known.cost = sum(known.cost, cost),
            None => {
                places.insert(key.clone(), groups.len());
                groups.push(CostGroup { key, cost });
            }
        }
    }
    if query.by != CostBy::Day {
        groups.sort_by_key(|group| std::cmp::Reverse(group.cost.accounted_nanos));
    }
    groups.truncate(query.limit);
    Ok(Costs {
        whole: whole.first().map_or_else(nothing, |group| view(&group.costs)),
        groups,
        warning: warning(reader, query)?,
    })
}

/// Whether the sum that limits go by is the one of the rows. Looked at only where everything is asked for: it reads the whole ledger.
fn warning(reader: &Reader, query: &CostQuery) -> Result<Option<String>, ReadError> {
    let everything = query.since.is_none() && query.until.is_none() && query.task.is_none() && query.route.is_none();
    let check = if everything { reader.spent_check()? } else { None };
    Ok(check.filter(|check| check.rows != check.kept).map(|check| {
        format!(
            "The ledger was changed by another hand: its rows come to {}, and limits count {}.",
            check.rows.accounted(),
            check.kept.accounted()
        )
    }))
}

fn key(reader: &Reader, key: &CostKey, by: CostBy) -> Result<String, ReadError> {
    Ok(match key {
        CostKey::Whole => String::new(),
        CostKey::Task(_, number) => number.to_string(),
        // A root that is forgotten has no number any more.
        CostKey::Tree(root) => {
            let row = reader.tasks_by_id(&[*root])?.into_iter().next();
            row.map_or_else(|| root.to_string(), |row| row.number.to_string())
        }
        CostKey::Model(route, _) if by == CostBy::Route => route.clone(),
        CostKey::Model(route, model) => model.clone().unwrap_or_else(|| format!("{route} (no answer)")),
        CostKey::Day(begin) => {
            let text = ouroboros_proto::api::Timestamp(*begin).to_string();
            text.split('T').next().unwrap_or_default().to_owned()
        }
    })
}

fn view(costs: &reader::Costs) -> CostView {
    let sends = costs.sends;
    CostView {
        settled_nanos: costs.money.settled,
        reserved_nanos: costs.money.open,
        unresolved_nanos: costs.money.unresolved,
        accounted_nanos: costs.money.accounted(),
        is_final: sends.open == 0 && sends.unknown == 0 && sends.unresolved == 0,
        sends: sends.known + sends.unknown + sends.open + sends.unresolved + sends.released,
        unpriced: sends.unknown,
        unresolved: sends.unresolved,
        input_tokens: costs.tokens.input,
        cached_tokens: costs.tokens.cached,
        output_tokens: costs.tokens.output,
    }
}

fn nothing() -> CostView {
    CostView { is_final: true, ..CostView::default() }
}

fn sum(one: CostView, other: CostView) -> CostView {
    let add = NanoDollars::saturating_add;
    CostView {
        settled_nanos: add(one.settled_nanos, other.settled_nanos),
        reserved_nanos: add(one.reserved_nanos, other.reserved_nanos),
        unresolved_nanos: add(one.unresolved_nanos, other.unresolved_nanos),
        accounted_nanos: add(one.accounted_nanos, other.accounted_nanos),
        is_final: one.is_final && other.is_final,
        sends: one.sends.saturating_add(other.sends),
        unpriced: one.unpriced.saturating_add(other.unpriced),
        unresolved: one.unresolved.saturating_add(other.unresolved),
        input_tokens: one.input_tokens.saturating_add(other.input_tokens),
        cached_tokens: one.cached_tokens.saturating_add(other.cached_tokens),
        output_tokens: one.output_tokens.saturating_add(other.output_tokens),
    }
}
