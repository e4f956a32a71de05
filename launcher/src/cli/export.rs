//! `export`: every task as JSON lines. A projection for reading elsewhere; it cannot be put back.

use super::args::look::{Export, Tasks};
use super::tasks::Pages;
use super::{Context, Failure, Outcome};
use crate::client::segment;
use ouroboros_proto::api::Code;
use serde_json::Value;

/// Prints every task, newest first. One that is removed while this runs is left out.
pub fn export(context: &Context, export: &Export) -> Outcome {
    let mut pages = Pages::new(context, &Tasks { status: Vec::new(), name: None, limit: 0, all: true });
    while let Some(page) = pages.next_page()? {
        let mut lines = String::new();
        for task in page {
            let whole = if export.brief { Some(task) } else { whole(context, &task)? };
            if let Some(task) = whole {
                lines.push_str(&super::context::line(&task)?);
            }
        }
        context.print(&lines)?;
    }
    Ok(0)
}

fn whole(context: &Context, task: &Value) -> Result<Option<Value>, Failure> {
    let id = task.get("id").and_then(Value::as_str).unwrap_or_default();
    match context.client().get(&format!("/api/tasks/{}", segment(id))) {
        Ok(answer) => Ok(Some(answer.value()?)),
        Err(error) if error.is(Code::UnknownTask) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
