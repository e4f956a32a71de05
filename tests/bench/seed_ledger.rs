//! A usage ledger of years, written by the store itself.

use crate::seed::{Maker, write};
use ouroboros_domain::change::Change;
use ouroboros_domain::row::{AnswerKind, PriceBasis, Receipt, SendRow};
use ouroboros_proto::kind::{
    AttemptId, Cost, CostSource, Generation, NanoDollars, SendId, SendState, TaskId, TaskNumber, TokenUsage, UtcMicros,
    clock,
};
use std::path::Path;

/// Sends of one tree.
pub const OF_TREE: u64 = 1_000;
/// Tasks of one tree.
pub const TASKS: u64 = 10;
/// Days that the ledger covers.
pub const DAYS: i64 = 30;
/// Trees that grow at the same time: their sends lie between one another.
const TOGETHER: u64 = 50;
/// Sends in one decision.
const PER_DECISION: u64 = 1_000;
/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// Where to look in it.
pub struct Ledger {
    /// The root of a tree in its middle.
    pub tree: TaskId,
    /// Its number.
    pub number: u64,
    /// The beginning of a day in its middle.
    pub since: UtcMicros,
    /// The end of that day.
    pub until: UtcMicros,
}

/// Writes a ledger of so many sends into the store of `dir`, of settled tasks.
///
/// # Errors
/// The store cannot be made or written.
pub fn fill(dir: &Path, sends: u64) -> anyhow::Result<Ledger> {
    let mut maker = Maker::new();
    let mut tasks = Vec::new();
    let roots: Vec<TaskId> =
        (1..=(sends / OF_TREE).max(1)).map(|number| maker.task(number, true, &mut tasks)).collect();
    let number = (roots.len() / 2).max(1);
    let (now, span) = (clock::wall().get(), DAY * DAYS);
    let day = (now - span / 2) / DAY * DAY;
    let ledger = Ledger {
        tree: roots[number - 1],
        number: number as u64,
        since: UtcMicros::new(day),
        until: UtcMicros::new(day + DAY),
    };
    let below: Vec<TaskId> = (0..roots.len() as u64 * TASKS).map(|_| TaskId::mint()).collect();
    let mut last = 0;
    let send = move |place: u64| {
        let (block, within) = (place / (OF_TREE * TOGETHER), place % (OF_TREE * TOGETHER));
        let tree = ((block * TOGETHER + within % TOGETHER) % roots.len() as u64) as usize;
        let turn = (within / TOGETHER) % TASKS;
        last += 1;
        let task = if turn == 0 { roots[tree] } else { below[tree * TASKS as usize + turn as usize] };
        let number = TaskNumber::new(if turn == 0 { tree as u64 + 1 } else { 1_000_000 + tree as u64 * TASKS + turn });
        let at = UtcMicros::new(now - span + (i128::from(span) * i128::from(place) / i128::from(sends)) as i64);
        both(task, number, roots[tree], last as u32, at)
    };
    let sends = (0..sends).step_by(PER_DECISION as usize).map({
        let mut send = send;
        move |first| (first..sends.min(first + PER_DECISION)).flat_map(&mut send).collect()
    });
    write(dir, std::iter::once(tasks).chain(sends))?;
    Ok(ledger)
}

/// A send as it is set aside, and as it is settled.
fn both(task: TaskId, number: TaskNumber, root: TaskId, call: u32, at: UtcMicros) -> [Change; 2] {
    let amount = NanoDollars::new(1_000_000 + u64::from(call % 977) * 1_013);
    let reserved = SendRow {
        id: SendId::mint(),
        task,
        number,
        root,
        attempt: AttemptId::mint(),
        call,
        ordinal: 1,
        route: "openai/m".into(),
        generation: Generation::new(1),
        state: SendState::Reserved,
        bound: NanoDollars::new(5_000_000),
        basis: PriceBasis::Known,
        limit: None,
        reserved_at: at,
        ended_at: None,
        receipt: None,
        late: false,
    };
    let receipt = Receipt {
        answer: AnswerKind::Answer,
        cost: Some(Cost { amount, source: CostSource::Catalogue }),
        usage: TokenUsage { input: Some(1_200), cached: Some(800), output: Some(300), ..TokenUsage::default() },
        model: "m-2026-01-01".into(),
        provider_request: format!("req_{:032x}", u128::from(call) * 0x9E37_79B9_7F4A_7C15).into(),
    };
    let settled =
        SendRow { state: SendState::Settled, ended_at: Some(at), receipt: Some(Box::new(receipt)), ..reserved.clone() };
    [Change::Send(Box::new(reserved)), Change::Send(Box::new(settled))]
}
