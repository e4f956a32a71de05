//! What was spent, as answers show it.

use crate::supervisor::Status;
use ouroboros_domain::{SendRow, Tally};
use ouroboros_proto::api::{CostView, LimitView, SendView, SpendingView};
use ouroboros_proto::kind::{LimitScope, SendState};

/// A send.
#[must_use]
pub fn send(row: &SendRow) -> SendView {
    let receipt = row.receipt.as_deref();
    let said = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    SendView {
        id: row.id,
        call: row.call,
        ordinal: row.ordinal,
        route: row.route.to_string(),
        model: receipt.and_then(|receipt| said(&receipt.model)),
        state: row.state,
        bound_nanos: row.bound,
        cost: receipt.and_then(|receipt| receipt.cost),
        usage: receipt.map(|receipt| receipt.usage).unwrap_or_default(),
        provider_request: receipt.and_then(|receipt| said(&receipt.provider_request)),
        reserved_at: row.reserved_at.into(),
        ended_at: row.ended_at.map(Into::into),
    }
}

/// The sum over some sends. Those of which no byte left count for nothing.
#[must_use]
pub fn sum<'a>(rows: impl IntoIterator<Item = &'a SendRow>) -> CostView {
    let mut sum = CostView { is_final: true, ..CostView::default() };
    for row in rows.into_iter().filter(|row| row.state != SendState::Released) {
        let tally = Tally::of(row);
        let usage = row.receipt.as_ref().map(|receipt| receipt.usage).unwrap_or_default();
        let unpriced =
            row.state == SendState::Settled && row.receipt.as_ref().is_none_or(|receipt| receipt.cost.is_none());
        let add = |to: &mut u64, count: u64| *to = to.saturating_add(count);
        sum.settled_nanos = sum.settled_nanos.saturating_add(tally.settled);
        sum.reserved_nanos = sum.reserved_nanos.saturating_add(tally.open);
        sum.unresolved_nanos = sum.unresolved_nanos.saturating_add(tally.unresolved);
        sum.accounted_nanos = sum.accounted_nanos.saturating_add(tally.accounted());
        sum.is_final &= row.state == SendState::Settled;
        add(&mut sum.sends, 1);
        add(&mut sum.unpriced, u64::from(unpriced));
        add(&mut sum.unresolved, u64::from(row.state == SendState::Unresolved));
        add(&mut sum.input_tokens, usage.input.unwrap_or(0));
        add(&mut sum.cached_tokens, usage.cached.unwrap_or(0));
        add(&mut sum.output_tokens, usage.output.unwrap_or(0));
    }
    sum
}

/// What all tasks together spent, and the limits in force.
#[must_use]
pub fn spending(status: &Status) -> SpendingView {
    let (limits, spent) = (status.settings.limits, status.spent);
    let limit = |scope| LimitView {
        limit: scope,
        nanos: limits.of(scope),
        accounted_nanos: match scope {
            LimitScope::Total => Some(spent.accounted()),
            LimitScope::Hour => Some(status.hour),
            LimitScope::Tree | LimitScope::Task => None,
        },
    };
    SpendingView {
        settled_nanos: spent.settled,
        reserved_nanos: spent.open,
        unresolved_nanos: spent.unresolved,
        accounted_nanos: spent.accounted(),
        limits: LimitScope::ALL.into_iter().map(limit).collect(),
    }
}
