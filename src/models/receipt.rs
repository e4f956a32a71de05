//! What a send came to, for the ledger.

use super::book::Candidate;
use ouroboros_domain::{AnswerKind, PriceBasis, Receipt, SendEnd};
use ouroboros_gateway::dialect::Wire;
use ouroboros_gateway::transport::{Exchange, Sent};
use ouroboros_proto::agent::{Cost, CostSource, TokenUsage};
use ouroboros_proto::kind::NanoDollars;

/// The send with its cost filled in, and what is recorded of it.
pub fn of(sent: Sent, exchange: &Exchange, candidate: &Candidate, wire: &Wire) -> (Sent, SendEnd) {
    match sent {
        Sent::Unsent { .. } => (sent, SendEnd::Released),
        Sent::Unknown { .. } => (sent, SendEnd::Unresolved),
        Sent::Rejected(ref rejection) => {
            let usage = rejection.usage.unwrap_or_default();
            let silent = rejection.usage.is_none() && exchange.pieces == 0;
            // An error before anything of an answer came, and without a count, is not charged.
            let nothing = Cost { amount: NanoDollars::default(), source: CostSource::Error };
            let cost = if silent { Some(nothing) } else { price(candidate, &usage, wire) };
            (sent, settled(AnswerKind::Error, cost, usage, "", exchange))
        }
        Sent::Unusable { usage, .. } => {
            let usage = usage.unwrap_or_default();
            let cost = price(candidate, &usage, wire);
            (sent, settled(AnswerKind::Unusable, cost, usage, "", exchange))
        }
        Sent::Answered(mut answer) => {
            answer.cost = answer.cost.or_else(|| price(candidate, &answer.usage, wire));
            let end = settled(AnswerKind::Answer, answer.cost, answer.usage, &answer.model, exchange);
            (Sent::Answered(answer), end)
        }
    }
}

fn settled(answer: AnswerKind, cost: Option<Cost>, usage: TokenUsage, model: &str, exchange: &Exchange) -> SendEnd {
    SendEnd::Settled(Receipt {
        answer,
        cost,
        usage,
        model: model.into(),
        provider_request: exchange.provider_request.as_deref().unwrap_or_default().into(),
    })
}

/// What these tokens cost; `None` when they were not counted, or the route's price is not known.
fn price(candidate: &Candidate, usage: &TokenUsage, wire: &Wire) -> Option<Cost> {
    match candidate.basis {
        PriceBasis::Free => Some(Cost { amount: NanoDollars::default(), source: CostSource::Local }),
        PriceBasis::Assumed => None,
        PriceBasis::Known => {
            let amount = candidate.price.cost(usage, wire.images)?;
            Some(Cost { amount, source: CostSource::Catalogue })
        }
    }
}
