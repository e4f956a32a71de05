//! What a worker is told of its owner: answers to what it asked, and rules.

use super::work::WorkError;
use ouroboros_domain::RuleRow;
use ouroboros_proto::agent::{OwnerAnswer, Rule};
use ouroboros_proto::kind::{RequestState, TaskId};
use ouroboros_proto::wire::Order;
use ouroboros_store::{ReadError, Reader};

/// The order that tells what is recorded of a request, with the rules as they stand.
///
/// # Errors
/// The store cannot be read.
pub fn order(reader: &Reader, task: TaskId, number: u32) -> Result<Order, WorkError> {
    let found = reader.request(task, number)?;
    let answer = match found.as_ref().map(|request| (request.row.state, &request.answer)) {
        Some((RequestState::Answered, Some(answer))) => answer.clone().into_bytes(),
        Some((RequestState::Expired, _)) => serde_json::to_vec(&OwnerAnswer::Expired)?,
        Some((RequestState::Open | RequestState::Answered | RequestState::Withdrawn, _)) | None => {
            serde_json::to_vec(&OwnerAnswer::Withdrawn)?
        }
    };
    Ok(Order::Answered { number, answer, rules: rules(reader, task)? })
}

/// The rules that a task may go by, as JSON.
///
/// # Errors
/// The store cannot be read.
pub fn rules(reader: &Reader, task: TaskId) -> Result<Vec<u8>, WorkError> {
    let rules: Vec<Rule> = reader.rules(Some(task))?.into_iter().map(rule).collect::<Result<_, _>>()?;
    Ok(serde_json::to_vec(&rules)?)
}

fn rule(row: RuleRow) -> Result<Rule, ReadError> {
    let why = |error: serde_json::Error| ReadError::Unreadable { table: "rules", why: error.to_string() };
    let pattern = serde_json::from_slice(&row.rule.pattern).map_err(why)?;
    let (scope, effect, tool) = (row.rule.scope, row.rule.effect, row.rule.tool.into_string());
    Ok(Rule { id: row.id, scope, tool, pattern, effect })
}
