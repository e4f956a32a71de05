//! `show`: everything about one task.

use super::args::look::Show;
use super::{Context, Outcome};
use crate::client::segment;
use crate::render;
use ouroboros_proto::kind::clock;

/// Shows a task.
pub fn show(context: &Context, show: &Show) -> Outcome {
    let answer = context.client().get(&format!("/api/tasks/{}", segment(show.task.as_str())))?;
    if context.json() {
        context.print_json(&answer.value()?)?;
    } else {
        context.print(&render::task::detail(&answer.read()?, clock::wall(), context.out()))?;
    }
    Ok(0)
}
