//! `status`: the system at a glance.

use super::{Context, Failure, Outcome};
use crate::client::ClientError;
use crate::render;
use ouroboros_proto::api::StateView;
use ouroboros_proto::kind::clock;
use serde_json::{Value, json};

/// Exit code when nothing runs, as the Linux Standard Base has it for init scripts.
const NOT_RUNNING: u8 = 3;

/// Shows the state of the server.
pub fn status(context: &Context) -> Outcome {
    let answer = match context.client().get("/api/state") {
        Err(error @ ClientError::NotRunning { .. }) => return not_running(context, error),
        answer => answer?,
    };
    let mut value = answer.value()?;
    if let Some(build) = value.get("build").and_then(Value::as_str) {
        context.client().saw_build(build);
    }
    if context.json() {
        if let Some(object) = value.as_object_mut() {
            object.insert("running".to_owned(), true.into());
        }
        context.print_json(&value)?;
    } else {
        let state: StateView = answer.read()?;
        context.print(&render::state::state(&state, clock::wall(), context.out()))?;
    }
    Ok(0)
}

fn not_running(context: &Context, error: ClientError) -> Outcome {
    if context.json() {
        let held = context.paths().panic_marker().exists();
        let data = context.paths().data_dir().display().to_string();
        context.print_json(&json!({ "running": false, "data_dir": data, "after_panic": held }))?;
        return Ok(NOT_RUNNING);
    }
    Err(Failure::from(error).exit(NOT_RUNNING))
}
