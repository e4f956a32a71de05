//! `costs`: what models cost, and what is left of the limits.

use super::args::model::Costs;
use super::{Context, Outcome};
use crate::client::query;
use crate::render;
use ouroboros_proto::api::CostBreakdown;

/// Shows costs in groups. With a damaged ledger they are shown all the same, and the exit code is 1.
pub fn costs(context: &Context, costs: &Costs) -> Outcome {
    let target = query(
        "/api/cost-breakdown",
        &[
            ("by", Some(costs.by.clone())),
            ("since", costs.since.map(|since| since.to_string())),
            ("task", costs.task.as_ref().map(ToString::to_string)),
            ("route", costs.route.clone()),
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
