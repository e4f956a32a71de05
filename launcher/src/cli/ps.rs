//! `ps`: every process of ours.

use super::{Context, Failure, Outcome};
use crate::client::ClientError;
use crate::render;
use ouroboros_proto::api::ProcessView;
use serde_json::{Value, json};

/// Shows our processes as a tree.
pub fn ps(context: &Context) -> Outcome {
    let processes = processes(context)?;
    if context.json() {
        context.print_json(&json!({ "processes": processes }))?;
        return Ok(0);
    }
    let views: Vec<ProcessView> = serde_json::from_value(processes).map_err(malformed)?;
    context.print(&render::tree::tree(&views, context.out()))?;
    if views.iter().any(|process| !process.recorded) {
        context.note("* found by looking, not recorded: descendants of a task's command");
    }
    Ok(0)
}

/// The list, whether it comes bare or below its name.
fn processes(context: &Context) -> Result<Value, Failure> {
    let mut answer = context.client().get("/api/processes")?.value()?;
    Ok(answer.get_mut("processes").map(Value::take).unwrap_or(answer))
}

fn malformed(error: serde_json::Error) -> Failure {
    ClientError::Malformed(error.to_string()).into()
}
