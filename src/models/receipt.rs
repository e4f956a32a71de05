//! What a send came to, for the ledger.

use super::book::Candidate;
use ouroboros_domain::{AnswerKind, PriceBasis, Receipt, SendEnd};
use ouroboros_gateway::dialect::Wire;
use ouroboros_gateway::transport::{Exchange, Sent};
use ouroboros_proto::agent::{Cost, CostSource, TokenUsage};
use ouroboros_proto::kind::NanoDollars;
use ouroboros_secrets::SharedMasker;

/// The send with its cost filled in, and what is recorded of it, without keys: what a provider names may repeat one.
pub fn of(
    sent: Sent,
    exchange: &Exchange,
    candidate: &Candidate,
    wire: &Wire,
    masker: &SharedMasker,
) -> (Sent, SendEnd) {
    let settled = |answer, cost: Option<Cost>, usage, model: &str| {
        let receipt = Receipt {
            answer,
            cost,
            usage,
            model: masker.mask_str(model).as_ref().into(),
            provider_request: masker.mask_str(exchange.provider_request.as_deref().unwrap_or_default()).as_ref().into(),
        };
        match most(candidate, &usage, wire).filter(|_| cost.is_none()) {
            Some(most) => SendEnd::Within(receipt, most),
            None => SendEnd::Settled(receipt),
        }
    };
    match sent {
        Sent::Unsent { .. } => (sent, SendEnd::Released),
        Sent::Unknown { .. } => (sent, SendEnd::Unresolved),
        Sent::Rejected(ref rejection) => {
            // An error before anything of an answer came, and without a count, is not charged.
            let nothing = Cost { amount: NanoDollars::default(), source: CostSource::Error };
            let (cost, usage) = match rejection.usage {
                None => (Some(nothing), TokenUsage::default()),
                Some(usage) => (price(candidate, &usage, wire), usage),
            };
            (sent, settled(AnswerKind::Error, cost, usage, ""))
        }
        Sent::BrokenOff(ref rejection) => {
            let usage = rejection.usage.unwrap_or_default();
            let cost = price(candidate, &usage, wire);
            (sent, settled(AnswerKind::Error, cost, usage, ""))
        }
        Sent::Unusable { usage, .. } => {
            let usage = usage.unwrap_or_default();
            let cost = price(candidate, &usage, wire);
            (sent, settled(AnswerKind::Unusable, cost, usage, ""))
        }
        Sent::Answered(mut answer) => {
            answer.cost = answer.cost.or_else(|| price(candidate, &answer.usage, wire));
            let end = settled(AnswerKind::Answer, answer.cost, answer.usage, &answer.model);
            (Sent::Answered(answer), end)
        }
    }
}

/// What these tokens cost at most, where it is not known what they cost; `None` when they were not counted.
fn most(candidate: &Candidate, usage: &TokenUsage, wire: &Wire) -> Option<NanoDollars> {
    Some(candidate.price.bound(usage.input?, usage.output?, wire.images))
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
