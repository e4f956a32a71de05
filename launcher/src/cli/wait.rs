//! `wait`: until tasks have ended.

use super::args::work::Wait;
use super::follow::{self, Ended, Followed, Session, View};
use super::{Context, OURS, Outcome};
use crate::render::clean;

/// Waits for each task in turn and prints how it ended. The exit code is that of the first one that did not complete.
pub fn wait(context: &Context, wait: &Wait) -> Outcome {
    let mut code = 0;
    for task in &wait.tasks {
        let mut task = follow::look_up(context, task.as_str())?;
        if !task.status.is_settled() {
            let session = Session::new(context, Followed::of(&task), View::End, wait.patience.reconnect, None);
            match session.run()? {
                Ended::Settled(ended) | Ended::Parked(ended) => task = *ended,
                Ended::Detached => {}
            }
        }
        let exit = task.exit_code.unwrap_or(OURS);
        if context.json() {
            context.print_json(&task)?;
        } else {
            let reason = task.reason.as_deref().map(|reason| format!(": {}", clean(reason))).unwrap_or_default();
            context.print(&format!("{} {} {exit}{reason}\n", task.number, task.status.as_str()))?;
        }
        if code == 0 {
            code = exit;
        }
    }
    Ok(code)
}
