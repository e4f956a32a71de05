//! What was spent, in groups.

use crate::support::model::{Model, sum};
use crate::support::{Writing, opened, script};
use ouroboros_domain::row::SendRow;
use ouroboros_proto::kind::{SendState, TokenUsage, UtcMicros};
use ouroboros_store::Reader;
use ouroboros_store::reader::{CostBy, CostFilter, CostGroup, CostKey, CostOf, Costs, SendCounts, TokenSums};
use std::collections::BTreeMap;

const MANY: u32 = 1_000;
const DAY: i64 = 86_400_000_000;

/// The same, counted by hand.
fn count<'a>(rows: impl Iterator<Item = &'a SendRow> + Clone) -> Costs {
    let how_many = |is: fn(&SendRow) -> bool| rows.clone().filter(|row| is(row)).count() as u64;
    let has_cost = |row: &SendRow| row.receipt.as_ref().is_some_and(|receipt| receipt.cost.is_some());
    let settled = |row: &&SendRow| row.state == SendState::Settled;
    let known = rows.clone().filter(settled).filter(|row| has_cost(row)).count() as u64;
    let tokens = |pick: fn(&TokenUsage) -> Option<u64>| {
        rows.clone().filter_map(|row| pick(&row.receipt.as_ref()?.usage)).sum::<u64>()
    };
    Costs {
        money: sum(rows.clone()),
        sends: SendCounts {
            known,
            unknown: how_many(|row| row.state == SendState::Settled) - known,
            open: how_many(|row| row.state.is_open()),
            unresolved: how_many(|row| row.state == SendState::Unresolved),
            released: how_many(|row| row.state == SendState::Released),
        },
        tokens: TokenSums {
            input: tokens(|usage| usage.input),
            cached: tokens(|usage| usage.cached),
            cache_write: tokens(|usage| usage.cache_write),
            cache_write_long: tokens(|usage| usage.cache_write_long),
            output: tokens(|usage| usage.output),
            reasoning: tokens(|usage| usage.reasoning),
        },
    }
}

fn key(row: &SendRow, by: CostBy) -> CostKey {
    match by {
        CostBy::Whole => CostKey::Whole,
        CostBy::Task => CostKey::Task(row.task, row.number),
        CostBy::Tree => CostKey::Tree(row.root),
        CostBy::Model => {
            CostKey::Model(row.route.to_string(), row.receipt.as_ref().map(|receipt| receipt.model.to_string()))
        }
        CostBy::Day => CostKey::Day(UtcMicros::new(row.reserved_at.get().div_euclid(DAY) * DAY)),
    }
}

fn passes(row: &SendRow, filter: CostFilter<'_>) -> bool {
    filter.since.is_none_or(|since| row.reserved_at >= since)
        && filter.until.is_none_or(|until| row.reserved_at < until)
        && filter.route.is_none_or(|route| &*row.route == route)
        && match filter.of {
            CostOf::All => true,
            CostOf::Task(task) => row.task == task,
        }
}

fn filled(decisions: u64) -> (tempfile::TempDir, Reader, Model) {
    let dir = tempfile::tempdir().unwrap();
    let opened = opened(dir.path());
    let reader = opened.store.reader();
    let writing = Writing::start(opened.store);
    let mut model = Model::default();
    (1..=decisions).for_each(|decision| writing.send(decision));
    (1..=decisions).for_each(|decision| model.add(&script::decision(decision)));
    while writing.hear() != crate::support::Heard::Committed(decisions) {}
    (dir, reader, model)
}

#[test]
fn every_group_of_every_filter_is_what_counting_by_hand_gives() {
    // Three minutes between two sends: more than two days.
    let (_dir, reader, model) = filled(2_800);
    let filters = [
        CostFilter::default(),
        CostFilter { since: Some(UtcMicros::new(DAY / 2)), ..CostFilter::default() },
        CostFilter { until: Some(UtcMicros::new(DAY)), route: Some("there"), ..CostFilter::default() },
        CostFilter { since: Some(UtcMicros::new(DAY)), until: Some(UtcMicros::new(2 * DAY)), ..CostFilter::default() },
        CostFilter { of: CostOf::Task(script::task_id(8)), ..CostFilter::default() },
        CostFilter { of: CostOf::Task(script::task_id(9)), route: Some("here"), ..CostFilter::default() },
        CostFilter { of: CostOf::Task(script::task_id(8)), until: Some(UtcMicros::new(0)), ..CostFilter::default() },
    ];
    for filter in filters {
        for by in [CostBy::Whole, CostBy::Task, CostBy::Tree, CostBy::Model, CostBy::Day] {
            let mut wanted: BTreeMap<String, (CostKey, Vec<SendRow>)> = BTreeMap::new();
            for row in model.sends().filter(|row| passes(row, filter)) {
                let key = key(row, by);
                wanted.entry(format!("{key:?}")).or_insert((key, Vec::new())).1.push(row.clone());
            }
            let got = reader.costs(filter, by, MANY).unwrap();
            if by == CostBy::Whole && wanted.is_empty() {
                assert_eq!(got, [CostGroup { key: CostKey::Whole, costs: Costs::default() }]);
                continue;
            }
            assert_eq!(got.len(), wanted.len(), "{filter:?} by {by:?}");
            for group in &got {
                let (key, rows) = &wanted[&format!("{:?}", group.key)];
                assert_eq!((&group.key, group.costs), (key, count(rows.iter())), "{filter:?} by {by:?}");
                let summed = rows.iter().map(Costs::of).fold(Costs::default(), Costs::plus);
                assert_eq!(group.costs, summed, "row by row");
            }
        }
    }
}

#[test]
fn days_go_from_new_to_old_and_others_from_dear_to_cheap() {
    let (_dir, reader, _) = filled(2_800);
    let costs = |by, limit| reader.costs(CostFilter::default(), by, limit).unwrap();
    let days: Vec<i64> = costs(CostBy::Day, MANY)
        .into_iter()
        .map(|group| if let CostKey::Day(start) = group.key { start.get() } else { panic!("{:?}", group.key) })
        .collect();
    assert_eq!(days, [2 * DAY, DAY, 0]);
    let dear = costs(CostBy::Task, MANY);
    let price = |group: &CostGroup| group.costs.money.accounted();
    assert!(price(&dear[0]) > price(&dear[dear.len() - 1]));
    assert_eq!(costs(CostBy::Task, 2), dear[..2], "the limit keeps the dearest");
}

#[test]
fn sends_of_a_task_come_newest_first_and_outlive_it() {
    let (_dir, reader, model) = filled(80);
    for n in [1, 2, 3, 999] {
        let task = script::task_id(n);
        let mut wanted: Vec<SendRow> = model.sends().filter(|row| row.task == task).cloned().collect();
        wanted.reverse();
        assert_eq!(reader.sends_of(task, MANY).unwrap(), wanted);
        assert_eq!(reader.sends_of(task, 1).unwrap(), wanted[..wanted.len().min(1)]);
    }
    let removed = (1..=20)
        .map(script::task_id)
        .find(|task| reader.task(*task).unwrap().is_none() && !reader.sends_of(*task, MANY).unwrap().is_empty());
    assert!(removed.is_some(), "a task of the script is forgotten, and its sends are there");
}
