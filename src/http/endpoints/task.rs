//! One task: shown, and acted on.

use super::listing::standings;
use crate::http::admission::max_cost;
use crate::http::bodies::{CancelRequest, PriorityRequest};
use crate::http::models::Models;
use crate::http::site::Call;
use crate::http::view::View;
use crate::http::{reference, render, reply};
use ouroboros_domain::{Reply, TaskCommand};
use ouroboros_proto::agent::Entry;
use ouroboros_proto::api::{
    ApiError, Code, CostView, ResumeRequest, SubmitAnswer, TaskView, TranscriptView, WindowView,
};
use ouroboros_proto::kind::{Millis, TaskId, clock};
use ouroboros_proto::limits;
use serde_json::Value;
use std::sync::Arc;
use warp::http::StatusCode;
use warp::reply::Response;

/// Sends that are shown of a task: the newest ones.
const SENDS: usize = 1_000;

/// `GET /api/tasks/{id}`
pub async fn show(call: &mut Call<'_>, name: &str) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let (view, name) = (Arc::clone(&call.site.view), name.to_owned());
    let mut task = call
        .site
        .blocking
        .read(move || {
            let (task, _) = reference::require(&*view, &name)?;
            detailed(&*view, task)?.ok_or_else(|| reference::unknown(&name))
        })
        .await?;
    render::hide(&mut task, &*call.site.models);
    reply::json(StatusCode::OK, &task)
}

/// `GET /api/tasks/{id}/transcript`
pub async fn transcript(call: &mut Call<'_>, name: &str) -> Result<Response, ApiError> {
    let from = call.request.query(&["from"])?.value("from")?.unwrap_or(1_u64).max(1);
    let (task, _) = call.task(name).await?;
    let (view, models) = (Arc::clone(&call.site.view), Arc::clone(&call.site.models));
    let read = move || -> Result<Vec<Entry>, ApiError> {
        let unreadable = |error| ApiError::new(Code::Internal, format!("the transcript cannot be read: {error}"));
        let entry = |text: &String| {
            let mut entry: Value = serde_json::from_str(text)?;
            hide_in(&mut entry, &*models);
            serde_json::from_value(entry)
        };
        view.transcript(task, from)?.iter().map(entry).collect::<Result<_, _>>().map_err(unreadable)
    };
    let entries = call.site.blocking.read(read).await?;
    let next = from.saturating_add(u64::try_from(entries.len()).unwrap_or(u64::MAX));
    reply::json(StatusCode::OK, &TranscriptView { entries, next })
}

/// Hides keys in every text of a value.
pub fn hide_in(value: &mut Value, models: &dyn Models) {
    match value {
        Value::String(text) => *text = models.hide(text),
        Value::Array(items) => items.iter_mut().for_each(|item| hide_in(item, models)),
        Value::Object(fields) => fields.values_mut().for_each(|field| hide_in(field, models)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// `POST /api/tasks/{id}/hold` and others without a body: does it, then shows the task.
pub async fn act(call: &mut Call<'_>, name: &str, command: TaskCommand) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    call.no_body()?;
    done_to(call, name, command).await
}

/// `POST /api/tasks/{id}/cancel`
pub async fn cancel(call: &mut Call<'_>, name: &str) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let asked: CancelRequest = call.optional().await?;
    if let Some(grace) = asked.grace_ms.filter(|grace| *grace > limits::GRACE_MILLIS.max) {
        return Err(ApiError::limit(&limits::GRACE_MILLIS, grace));
    }
    done_to(call, name, TaskCommand::Cancel { grace: asked.grace_ms.map(Millis::new) }).await
}

/// `POST /api/tasks/{id}/resume`
pub async fn resume(call: &mut Call<'_>, name: &str) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let asked: ResumeRequest = call.optional().await?;
    let max_cost = max_cost(asked.max_cost.as_deref())?;
    let (view, named) = (Arc::clone(&call.site.view), name.to_owned());
    let route = call.site.blocking.read(move || route(&*view, &named)).await?;
    let free = call.site.models.is_free(route.as_deref());
    done_to(call, name, TaskCommand::Resume { pause: asked.pause, max_cost, free }).await
}

/// The route that a question names.
fn route(view: &dyn View, name: &str) -> Result<Option<String>, ApiError> {
    let (task, _) = reference::require(view, name)?;
    let record = view.task(task)?.ok_or_else(|| reference::unknown(name))?;
    Ok(render::spec(&record).and_then(|spec| spec.ask).and_then(|ask| ask.route))
}

/// `POST /api/tasks/{id}/priority`
pub async fn prioritise(call: &mut Call<'_>, name: &str) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let asked: PriorityRequest = call.required().await?;
    done_to(call, name, TaskCommand::Reprioritise(asked.priority)).await
}

/// `POST /api/tasks/{id}/retry`
pub async fn retry(call: &mut Call<'_>, name: &str) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    call.no_body()?;
    let (task, _) = call.task(name).await?;
    match call.site.handle.task(task, TaskCommand::Retry { id: TaskId::mint() }).await? {
        Reply::Accepted(accepted) if accepted.len() == 1 => {
            let mut answers =
                accepted.into_iter().map(|(id, number, duplicate)| SubmitAnswer { id, number, duplicate });
            reply::json(StatusCode::CREATED, &answers.next())
        }
        other => Err(unexpected(&other)),
    }
}

/// `DELETE /api/tasks/{id}`
pub async fn remove(call: &mut Call<'_>, name: &str) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let (task, _) = call.task(name).await?;
    done(call.site.handle.task(task, TaskCommand::Remove).await?)?;
    Ok(reply::nothing())
}

pub(super) async fn done_to(call: &Call<'_>, name: &str, command: TaskCommand) -> Result<Response, ApiError> {
    let (task, _) = call.task(name).await?;
    done(call.site.handle.task(task, command).await?)?;
    let (view, name) = (Arc::clone(&call.site.view), name.to_owned());
    let mut task =
        call.site.blocking.read(move || detailed(&*view, task)?.ok_or_else(|| reference::unknown(&name))).await?;
    render::hide(&mut task, &*call.site.models);
    reply::json(StatusCode::OK, &task)
}

/// A task as it stands, with its command and attempts.
fn detailed(view: &dyn View, task: TaskId) -> Result<Option<TaskView>, ApiError> {
    let Some(record) = view.task(task)? else { return Ok(None) };
    let attempts = view.attempts(task)?;
    let standings = standings(view, std::slice::from_ref(&record))?;
    let mut shown = render::detailed(&record, &attempts, &standings, clock::wall());
    if let Some(oldest) = view.requests(Some(task), true, 1_000)?.last() {
        render::asks(&mut shown, render::request(oldest)?);
    }
    if let Some(agent) = &mut shown.agent {
        agent.messages = view.messages(task)?;
        agent.window = window(view, task);
    }
    if record.row.kind.uses_models() {
        // What cannot be read now is left out: the rest is true all the same.
        match view.spent(task, SENDS) {
            Ok((cost, sends)) => {
                shown.cost = Some(CostView { is_final: cost.is_final && shown.status.is_settled(), ..cost });
                shown.sends = sends.iter().map(render::send).collect();
            }
            Err(error) => tracing::error!(%error, %task, "what a task spent cannot be read"),
        }
    }
    Ok(Some(shown))
}

/// How much fits, as the agent believes. What cannot be read now is left out: the rest is true all the same.
fn window(view: &dyn View, task: TaskId) -> Option<WindowView> {
    let entry = match view.window(task) {
        Ok(entry) => entry?,
        Err(error) => {
            tracing::error!(%error, %task, "how much a task's model takes cannot be read");
            return None;
        }
    };
    match serde_json::from_str(&entry) {
        Ok(Entry::Window { route, tokens, source }) => Some(WindowView { route, tokens, source }),
        Ok(_) | Err(_) => None,
    }
}

fn done(reply: Reply) -> Result<(), ApiError> {
    match reply {
        Reply::Done => Ok(()),
        other => Err(unexpected(&other)),
    }
}

/// The supervisor answered something else than was asked.
pub fn unexpected(reply: &Reply) -> ApiError {
    ApiError::new(Code::Internal, format!("the supervisor gave an answer of another kind: {reply:?}"))
}
