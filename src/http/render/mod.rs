//! From rows to what answers show.

mod money;
mod requests;
mod words;

pub use money::{send, spending};
pub use requests::{asked, asks, request, rule};
pub use words::{EVENT_TYPES, ending, event_type};

use super::models::Models;
use super::view::{AttemptRecord, Standing, TaskRecord};
use ouroboros_domain::{AttemptRow, EventRow, Park, TaskRow, TaskState};
use ouroboros_proto::agent::{Objective, OwnerRequest};
use ouroboros_proto::api::{
    AgentView, AskView, AttemptView, CommandSpec, EventView, StoredSpec, TaskStatus, TaskView, UsageView,
};
use ouroboros_proto::kind::{Failure, Isolation, Outcome, TaskId, UtcMicros};
use serde_json::Value;
use std::collections::BTreeMap;

/// Characters of a command line that serves as a name.
const NAME_CHARS: usize = 80;

/// Where the tasks stand that others come after.
pub type Standings = BTreeMap<TaskId, Standing>;

/// The tasks whose standing a row's view depends on.
pub fn depends_on(row: &TaskRow) -> impl Iterator<Item = TaskId> + '_ {
    let failed = match &row.state {
        TaskState::Settled { outcome: Outcome::Failed(Failure::Dependency { task }), .. } => Some(*task),
        _ => None,
    };
    row.after.iter().copied().chain(failed)
}

/// The one word for where a task stands.
#[must_use]
pub fn status(record: &TaskRecord, standings: &Standings, now: UtcMicros) -> TaskStatus {
    let row = &record.row;
    match &row.state {
        TaskState::Settled { outcome: Outcome::Completed, .. } => TaskStatus::Completed,
        TaskState::Settled { outcome: Outcome::Failed(_), .. } => TaskStatus::Failed,
        TaskState::Settled { outcome: Outcome::Cancelled(_), .. } => TaskStatus::Cancelled,
        TaskState::Running { .. } | TaskState::Queued if row.cancel.is_some() => TaskStatus::Cancelling,
        TaskState::Running { .. } => TaskStatus::Running,
        TaskState::Queued if row.hold.is_some() => TaskStatus::Held,
        TaskState::Queued if matches!(row.park.as_deref(), Some(Park::Paused(_) | Park::Pausing(_))) => {
            TaskStatus::Paused
        }
        TaskState::Queued if matches!(row.park.as_deref(), Some(Park::Waiting(wait)) if wait.until > now) => {
            TaskStatus::Waiting
        }
        TaskState::Queued if row.not_before.is_some_and(|due| due > now) => TaskStatus::Waiting,
        TaskState::Queued if row.after.iter().any(|task| open(standings, *task)) => TaskStatus::Waiting,
        TaskState::Queued if record.behind.is_some() => TaskStatus::Waiting,
        TaskState::Queued => TaskStatus::Queued,
    }
}

/// A task as a row of a list.
#[must_use]
pub fn task(record: &TaskRecord, standings: &Standings, now: UtcMicros) -> TaskView {
    let row = &record.row;
    let status = status(record, standings, now);
    let (settled_at, outcome) = match &row.state {
        TaskState::Settled { outcome, at } => (Some((*at).into()), Some(outcome.clone())),
        _ => (None, None),
    };
    let spec = spec(record);
    TaskView {
        id: row.id,
        number: row.number,
        kind: row.kind.as_str().to_owned(),
        name: spec.as_ref().map_or_else(|| "(no longer kept)".to_owned(), name),
        status,
        reason: words::reason(record, status, standings),
        priority: row.priority.to_string(),
        submitted_at: row.submitted_at.into(),
        not_before: row.not_before.map(Into::into),
        started_at: record.started_at.map(Into::into),
        settled_at,
        after: row
            .after
            .iter()
            .filter_map(|task| standings.get(task))
            .filter(|one| !one.completed)
            .map(|one| one.number)
            .collect(),
        attempts: row.attempts,
        cancel_requested: row.cancel.is_some(),
        request: None,
        exit_code: outcome.as_ref().map(|outcome| exit_code(outcome, record.objective)),
        outcome,
        objective: record.objective,
        retry_of: row.retry_of,
        from: spec.and_then(|spec| spec.from),
        command: None,
        ask: None,
        agent: None,
        pause: words::pause(row),
        wait: words::wait(row),
        waiting_workspace: record.behind.filter(|_| status == TaskStatus::Waiting),
        max_cost_nanos: row.policy.max_cost,
        cost: None,
        sends: Vec::new(),
        attempt_list: Vec::new(),
    }
}

/// What `run` gives: a task that ended well is no success for who waits for it when the agent itself says so.
fn exit_code(outcome: &Outcome, objective: Option<Objective>) -> u8 {
    match (outcome.exit_code(), objective) {
        (0, Some(Objective::NotMet)) => 1,
        (code, Some(Objective::Met | Objective::Partly | Objective::NotMet) | None) => code,
    }
}

/// A task with its command and its attempts.
#[must_use]
pub fn detailed(record: &TaskRecord, attempts: &[AttemptRecord], standings: &Standings, now: UtcMicros) -> TaskView {
    let mut view = task(record, standings, now);
    let spec = spec(record);
    view.ask = spec
        .as_ref()
        .and_then(|spec| spec.ask.as_ref())
        .map(|ask| AskView { head: ask.head.clone(), route: ask.route.clone() });
    view.agent = spec.as_ref().and_then(|spec| {
        let job = spec.agent.as_ref()?;
        Some(AgentView {
            head: job.head.clone(),
            route: job.route.clone(),
            folder: spec.cwd.clone(),
            window: None,
            messages: Vec::new(),
            inherited: record.row.inherited,
        })
    });
    view.command = spec.filter(|spec| spec.ask.is_none() && spec.agent.is_none()).map(|spec| CommandSpec {
        argv: spec.argv,
        cwd: Some(spec.cwd),
        umask: spec.umask,
        pty: spec.pty,
        ..CommandSpec::default()
    });
    view.attempt_list = attempts.iter().map(attempt).collect();
    view
}

/// Hides keys in what people wrote: a task's name, its question, its arguments.
pub fn hide(task: &mut TaskView, models: &dyn Models) {
    task.name = models.hide(&task.name);
    if let Some(ask) = &mut task.ask {
        ask.head = models.hide(&ask.head);
    }
    if let Some(agent) = &mut task.agent {
        agent.head = models.hide(&agent.head);
        for message in &mut agent.messages {
            message.text = models.hide(&message.text);
        }
    }
    if let Some(request) = &mut task.request {
        hide_request(&mut request.asks, models);
    }
    for argument in task.command.iter_mut().flat_map(|command| &mut command.argv) {
        *argument = models.hide(argument);
    }
}

fn hide_request(asks: &mut OwnerRequest, models: &dyn Models) {
    let hide = |text: &mut String| *text = models.hide(text);
    match asks {
        OwnerRequest::Question { text, options } => options.iter_mut().chain([text]).for_each(hide),
        OwnerRequest::Approval { summary, why, rule, .. } => {
            [summary, why].into_iter().for_each(hide);
            rule.iter_mut().for_each(|rule| hide_value(rule, models));
        }
    }
}

fn hide_value(value: &mut Value, models: &dyn Models) {
    match value {
        Value::String(text) => *text = models.hide(text),
        Value::Array(items) => items.iter_mut().for_each(|item| hide_value(item, models)),
        Value::Object(fields) => fields.values_mut().for_each(|field| hide_value(field, models)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// An event.
#[must_use]
pub fn event(row: &EventRow) -> EventView {
    EventView {
        seq: row.seq,
        at: row.at.into(),
        task: row.task.map(|(id, _)| id),
        number: row.task.map(|(_, number)| number),
        event: row.event.clone(),
    }
}

fn attempt(record: &AttemptRecord) -> AttemptView {
    let AttemptRow { id, ordinal, generation, started_at, isolation, released, report, ended_at, .. } = record.row;
    AttemptView {
        id,
        ordinal,
        generation,
        started_at: started_at.into(),
        ended_at: ended_at.map(Into::into),
        released,
        isolation: match isolation {
            Isolation::Namespace => "namespace".to_owned(),
            Isolation::Host => "host".to_owned(),
        },
        ending: report.map(|report| ending(&report.ending)),
        usage: report.map(|report| UsageView {
            user_micros: report.usage.user_micros,
            system_micros: report.usage.system_micros,
            max_resident_bytes: report.usage.max_resident_bytes,
            elapsed_ms: report.usage.elapsed.get(),
        }),
        stdout: record.stdout,
        stderr: record.stderr,
    }
}

/// What a task was asked to do; `None` when that is not kept any more.
#[must_use]
pub fn spec(record: &TaskRecord) -> Option<StoredSpec> {
    record.spec.as_ref().and_then(|bytes| serde_json::from_slice(bytes).ok())
}

fn name(spec: &StoredSpec) -> String {
    if let Some(name) = &spec.name {
        return name.clone();
    }
    let line = spec.ask.as_ref().or(spec.agent.as_ref());
    let line = line.map_or_else(|| spec.argv.join(" "), |asked| asked.head.clone());
    let mut name: String = line.chars().take(NAME_CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.chars().nth(NAME_CHARS).is_some() {
        name.pop();
        name.push('…');
    }
    name
}

fn open(standings: &Standings, task: TaskId) -> bool {
    standings.get(&task).is_some_and(|standing| !standing.completed)
}
