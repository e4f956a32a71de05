//! The sends of the script: three a cycle, in every way that a send can go.

use super::script::{attempt_id, bytes, task_id};
use ouroboros_domain::change::Change;
use ouroboros_domain::row::{AnswerKind, PriceBasis, Receipt, SendRow};
use ouroboros_proto::kind::{
    Cost, CostSource, Generation, NanoDollars, SendId, SendState, TaskNumber, TokenUsage, UtcMicros,
};

const MINUTE: i64 = 60_000_000;

pub fn send_id(n: u64) -> SendId {
    SendId::from_bytes(bytes(8, n))
}

/// A send that is set aside, of the task with this number.
pub fn reserved(n: u64, task: u64) -> SendRow {
    let bases = [PriceBasis::Known, PriceBasis::Assumed, PriceBasis::Free];
    SendRow {
        id: send_id(n),
        task: task_id(task),
        number: TaskNumber::new(task),
        root: super::script::task(task).root,
        attempt: attempt_id(task),
        call: 1 + (n % 3) as u32,
        ordinal: 1 + (n % 2) as u32,
        route: ["here", "there"][(n % 2) as usize].into(),
        generation: Generation::new(n),
        state: SendState::Reserved,
        bound: NanoDollars::new(1_000 + n),
        basis: bases[(n % 3) as usize],
        limit: n.is_multiple_of(2).then(|| NanoDollars::new(10_000 + n)),
        reserved_at: UtcMicros::new(i64::try_from(n).unwrap() * 3 * MINUTE),
        ended_at: None,
        receipt: None,
        late: false,
    }
}

/// The same, over in this way.
pub fn over(row: &SendRow, state: SendState, receipt: Option<Receipt>) -> SendRow {
    let ended_at = Some(UtcMicros::new(row.reserved_at.get() + 1));
    SendRow { state, ended_at, receipt: receipt.map(Box::new), ..row.clone() }
}

/// What a provider said about send `n`; about every fourth it did not say what it cost.
pub fn receipt(n: u64) -> Receipt {
    let sources =
        [CostSource::Provider, CostSource::Catalogue, CostSource::Local, CostSource::Error, CostSource::Owner];
    let answers = [AnswerKind::Answer, AnswerKind::Unusable, AnswerKind::Error];
    let count = |every: u64| (!n.is_multiple_of(every)).then_some(n * every);
    Receipt {
        answer: answers[(n % 3) as usize],
        cost: (n % 4 != 1).then(|| Cost { amount: NanoDollars::new(n), source: sources[(n % 5) as usize] }),
        usage: TokenUsage {
            input: count(2),
            cached: count(3),
            cache_write: count(5),
            cache_write_long: count(7),
            output: count(11),
            reasoning: count(13),
        },
        model: ["", "größer"][(n % 2) as usize].into(),
        provider_request: if n.is_multiple_of(3) { "request".into() } else { "".into() },
    }
}

fn put(row: SendRow) -> Change {
    Change::Send(Box::new(row))
}

/// What decision `k` says about sends.
pub fn of_decision(k: u64) -> Vec<Change> {
    let cycle = (k - 1) / 8;
    let (one, two) = (2 * cycle + 1, 2 * cycle + 2);
    let (first, second, third) = (3 * cycle + 1, 3 * cycle + 2, 3 * cycle + 3);
    let sent = reserved(first, one);
    let given_up = over(&sent, SendState::Unresolved, None);
    match ((k - 1) % 8, cycle % 4) {
        (3, _) => [sent, reserved(second, one), reserved(third, two)].map(put).to_vec(),
        (4, _) => vec![
            put(SendRow { state: SendState::Dispatched, ..sent }),
            put(over(&reserved(second, one), SendState::Released, None)),
        ],
        (5, 2) => vec![put(given_up)],
        (5, _) => vec![put(over(&sent, SendState::Settled, Some(receipt(first))))],
        (6, 2) if cycle.is_multiple_of(8) => Vec::new(),
        (6, 2) => {
            let row = over(&sent, SendState::Settled, Some(receipt(first)));
            vec![Change::SendCorrected { row: Box::new(SendRow { late: true, ..row }), was: Box::new(given_up) }]
        }
        (7, 1) => vec![put(over(&reserved(third, two), SendState::Unresolved, None))],
        (7, 3) => vec![put(over(&reserved(third, two), SendState::Settled, Some(receipt(third))))],
        // Those of the other cycles stay open.
        _ => Vec::new(),
    }
}
