//! `costs`: what models cost, and what is left of the limits.

use super::args::model::{CostVerb, Costs};
use super::{Context, Outcome};
use crate::client::query;
use crate::render;
use ouroboros_proto::api::{CostBreakdown, SendReceipt, SendView};
use ouroboros_proto::kind::SendId;

/// Shows costs in groups. With a damaged ledger they are shown all the same, and the exit code is 1.
pub fn costs(context: &Context, costs: &Costs) -> Outcome {
    if let Some(CostVerb::Settle { send, dollars }) = &costs.verb {
        return settle(context, *send, dollars);
    }
    // Somebody who asks for everything hears whether it adds up.
    let everything = costs.since.is_none() && costs.task.is_none() && costs.route.is_none();
    let target = query(
        "/api/cost-breakdown",
        &[
            ("by", Some(costs.by.clone())),
            ("since", costs.since.map(|since| since.to_string())),
            ("task", costs.task.as_ref().map(ToString::to_string)),
            ("route", costs.route.clone()),
            ("check", everything.then(|| "true".to_owned())),
        ],
    );
    let answer = context.client().get(&target)?;
    let shown: CostBreakdown = answer.read()?;
    if context.json() {
        context.print_json(&answer.value()?)?;
    } else {
        context.print(&render::money::breakdown(&shown, context.out()))?;
    }
    Ok(u8::from(shown.warning.is_some()))
}

fn settle(context: &Context, send: SendId, dollars: &str) -> Outcome {
    let receipt = SendReceipt { cost: dollars.to_owned() };
    let answer = context.acting(|client| client.post(&format!("/api/sends/{send}/receipt"), &receipt))?;
    if context.json() {
        context.print_json(&answer.value()?)?;
    } else {
        let settled: SendView = answer.read()?;
        let amount = settled.cost.map_or_else(|| "?".to_owned(), |cost| cost.amount.to_string());
        context.note(&format!("the call is settled at {amount}"));
    }
    Ok(0)
}
