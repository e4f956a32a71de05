//! What the store says was spent, as the HTTP side shows it.

use crate::http::view::{CostBy, CostQuery, Costs};
use ouroboros_domain::SendRow;
use ouroboros_proto::api::{CostGroup, CostView};
use ouroboros_proto::kind::{TaskId, TaskNumber};
use ouroboros_store::reader::{self, CostFilter, CostKey, CostOf};
use ouroboros_store::{ReadError, Reader};
use std::collections::BTreeMap;

/// What a task spent, and its newest sends, oldest first.
///
/// # Errors
/// The store cannot be read.
pub fn of_task(reader: &Reader, task: TaskId, limit: usize) -> Result<(CostView, Vec<SendRow>), ReadError> {
    let filter = CostFilter { of: CostOf::Task(task), ..CostFilter::default() };
    let whole = reader.costs(filter, reader::CostBy::Whole, 1)?;
    let mut rows = reader.sends_of(task, u32::try_from(limit).unwrap_or(u32::MAX))?;
    rows.reverse();
    Ok((view(&whole.first().map(|group| group.costs).unwrap_or_default()), rows))
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
    let mut whole = reader::Costs::default();
    let mut merged: BTreeMap<CostKey, reader::Costs> = BTreeMap::new();
    for group in reader.costs(filter, by, u32::MAX)? {
        whole = whole.plus(group.costs);
        let sum = merged.entry(shown_as(group.key, query.by)).or_default();
        *sum = sum.plus(group.costs);
    }
    let mut groups: Vec<(CostKey, reader::Costs)> = merged.into_iter().collect();
    if query.by == CostBy::Day {
        groups.reverse();
    } else {
        groups.sort_by_key(|(_, costs)| std::cmp::Reverse(costs.money.accounted()));
    }
    groups.truncate(query.limit);
    Ok(Costs {
        whole: view(&whole),
        groups: named(reader, groups)?,
        warning: if query.check { warning(reader)? } else { None },
    })
}

/// Whether the sum that limits go by is the one of the rows. Reads the whole ledger.
fn warning(reader: &Reader) -> Result<Option<String>, ReadError> {
    Ok(reader.spent_check()?.filter(|check| check.rows != check.kept).map(|check| {
        format!(
            "The ledger was changed by another hand: its rows come to {}, and limits count {}.",
            check.rows.accounted(),
            check.kept.accounted()
        )
    }))
}

/// What is one group in an answer: a route whatever model answered by it, a model by whatever route.
fn shown_as(key: CostKey, by: CostBy) -> CostKey {
    match (key, by) {
        (CostKey::Model(route, _), CostBy::Route) => CostKey::Model(route, None),
        (CostKey::Model(route, None), _) => CostKey::Model(format!("{route} (no answer)"), None),
        (CostKey::Model(_, Some(model)), _) => CostKey::Model(model, None),
        (key @ (CostKey::Whole | CostKey::Task(..) | CostKey::Tree(_) | CostKey::Day(_)), _) => key,
    }
}

fn named(reader: &Reader, groups: Vec<(CostKey, reader::Costs)>) -> Result<Vec<CostGroup>, ReadError> {
    let roots: Vec<TaskId> = groups
        .iter()
        .filter_map(|(key, _)| match key {
            CostKey::Tree(root) => Some(*root),
            CostKey::Whole | CostKey::Task(..) | CostKey::Model(..) | CostKey::Day(_) => None,
        })
        .collect();
    let rows = if roots.is_empty() { Vec::new() } else { reader.tasks_by_id(&roots)? };
    let numbers: BTreeMap<TaskId, TaskNumber> = rows.into_iter().map(|row| (row.id, row.number)).collect();
    let name = |key: CostKey| match key {
        CostKey::Whole => String::new(),
        CostKey::Task(_, number) => number.to_string(),
        // A root that is forgotten has no number any more.
        CostKey::Tree(root) => numbers.get(&root).map_or_else(|| root.to_string(), ToString::to_string),
        CostKey::Model(name, _) => name,
        CostKey::Day(begin) => {
            let text = ouroboros_proto::api::Timestamp(begin).to_string();
            text.split('T').next().unwrap_or_default().to_owned()
        }
    };
    Ok(groups.into_iter().map(|(key, costs)| CostGroup { key: name(key), cost: view(&costs) }).collect())
}

/// What some sends come to, as it is shown. What never left is no send.
pub(crate) fn view(costs: &reader::Costs) -> CostView {
    let sends = costs.sends;
    CostView {
        settled_nanos: costs.money.settled,
        reserved_nanos: costs.money.open,
        unresolved_nanos: costs.money.unresolved,
        accounted_nanos: costs.money.accounted(),
        is_final: sends.open == 0 && sends.unknown == 0 && sends.unresolved == 0,
        sends: sends.known.saturating_add(sends.unknown).saturating_add(sends.open).saturating_add(sends.unresolved),
        unpriced: sends.unknown,
        unresolved: sends.unresolved,
        input_tokens: costs.tokens.input,
        cached_tokens: costs.tokens.cached,
        output_tokens: costs.tokens.output,
    }
}
