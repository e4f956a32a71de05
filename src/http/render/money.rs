//! What was spent, as answers show it.

use crate::supervisor::Status;
use ouroboros_domain::SendRow;
use ouroboros_proto::api::{LimitView, SendView, SpendingView};
use ouroboros_proto::kind::LimitScope;

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
