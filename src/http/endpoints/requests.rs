//! What tasks ask their owner: listed, shown, answered; and the rules that answers leave behind.

use super::task::{hide_in, unexpected};
use crate::http::answers;
use crate::http::models::Models;
use crate::http::query::bad;
use crate::http::site::Call;
use crate::http::view::{RequestRecord, View};
use crate::http::{reference, render, reply};
use ouroboros_domain::{NewRule, Reply, RequestInput};
use ouroboros_proto::agent::OwnerAnswer;
use ouroboros_proto::api::{AnswerRequest, ApiError, Code, RequestView, RequestsView, RulesView};
use ouroboros_proto::kind::{RequestState, RuleId};
use ouroboros_proto::limits;
use std::sync::Arc;
use warp::http::StatusCode;
use warp::reply::Response;

/// Requests in one answer.
fn most() -> u32 {
    u32::try_from(limits::PAGE_ROWS.max).unwrap_or(u32::MAX)
}

/// `GET /api/requests`
pub async fn list(call: &mut Call<'_>) -> Result<Response, ApiError> {
    let query = call.request.query(&["state", "task"])?;
    let open = match query.text("state").unwrap_or("all") {
        "open" => true,
        "all" => false,
        other => return Err(bad("state", &format!("Unknown state {other:?}; it is open or all."))),
    };
    let task = query.text("task").map(str::to_owned);
    let (view, models) = (Arc::clone(&call.site.view), Arc::clone(&call.site.models));
    let read = move || {
        let task = task.map(|name| reference::require(&*view, &name)).transpose()?;
        let found = view.requests(task.map(|(id, _)| id), open, most())?;
        found.iter().map(|record| shown(record, &*models)).collect::<Result<Vec<_>, ApiError>>()
    };
    let requests = call.site.blocking.read(read).await?;
    reply::json(StatusCode::OK, &RequestsView { requests })
}

/// `GET /api/requests/{id}/{number}`
pub async fn show(call: &mut Call<'_>, task: &str, number: &str) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let (view, models) = (Arc::clone(&call.site.view), Arc::clone(&call.site.models));
    let (task, number) = (task.to_owned(), number.to_owned());
    let read = move || shown(&find(&*view, &task, &number)?, &*models);
    let request = call.site.blocking.read(read).await?;
    reply::json(StatusCode::OK, &request)
}

/// `POST /api/requests/{id}/{number}/answer`
pub async fn answer(call: &mut Call<'_>, task: &str, number: &str) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let given: AnswerRequest = call.required().await?;
    let view = Arc::clone(&call.site.view);
    let (task, number) = (task.to_owned(), number.to_owned());
    let (record, answer, rule) = call.site.blocking.read(move || weighed(&*view, &task, &number, given)).await?;
    let answer = serde_json::to_vec(&answer)
        .map_err(|error| ApiError::new(Code::Internal, format!("the answer cannot be written: {error}")))?;
    let (task, number) = (record.row.task, record.row.number);
    let digest = record.row.digest;
    let input = |request| RequestInput::Answer { request, task, number, digest, answer: answer.into(), rule };
    match call.site.handle.requests(input).await? {
        Reply::Done => {}
        other => return Err(unexpected(&other)),
    }
    let (view, models) = (Arc::clone(&call.site.view), Arc::clone(&call.site.models));
    let read = move || match view.request(task, number)? {
        Some(record) => shown(&record, &*models),
        None => Err(unknown(number)),
    };
    let request = call.site.blocking.read(read).await?;
    reply::json(StatusCode::OK, &request)
}

/// `GET /api/rules`
pub async fn rules(call: &mut Call<'_>) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let (view, models) = (Arc::clone(&call.site.view), Arc::clone(&call.site.models));
    let read = move || {
        let mut rules = view.rules()?.into_iter().map(render::rule).collect::<Result<Vec<_>, ApiError>>()?;
        rules.iter_mut().for_each(|rule| hide_in(&mut rule.pattern, &*models));
        Ok::<_, ApiError>(rules)
    };
    let rules = call.site.blocking.read(read).await?;
    reply::json(StatusCode::OK, &RulesView { rules })
}

/// `DELETE /api/rules/{rule}`
pub async fn remove_rule(call: &mut Call<'_>, rule: &str) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let rule: RuleId = rule.parse().map_err(|_| no_rule(rule))?;
    match call.site.handle.requests(|request| RequestInput::RemoveRule { request, rule }).await? {
        Reply::Done => Ok(reply::nothing()),
        other => Err(unexpected(&other)),
    }
}

/// The request, with what is answered to it.
fn weighed(
    view: &dyn View,
    task: &str,
    number: &str,
    given: AnswerRequest,
) -> Result<(RequestRecord, OwnerAnswer, Option<NewRule>), ApiError> {
    let record = find(view, task, number)?;
    if record.row.state != RequestState::Open {
        return Err(closed(&record));
    }
    let asked = render::asked(&record)?;
    let spec = view.task(record.row.task)?.and_then(|task| render::spec(&task));
    let folder = spec.map(|spec| spec.cwd).unwrap_or_default();
    let (answer, rule) = answers::judge(&asked, given, &folder)?;
    Ok((record, answer, rule))
}

fn find(view: &dyn View, task: &str, number: &str) -> Result<RequestRecord, ApiError> {
    let (id, _) = reference::require(view, task)?;
    let number = number.parse().map_err(|_| bad("number", "A request is named by its number."))?;
    view.request(id, number)?.ok_or_else(|| unknown(number))
}

/// A request with keys hidden in what is asked and answered.
pub fn shown(record: &RequestRecord, models: &dyn Models) -> Result<RequestView, ApiError> {
    let unreadable =
        |error: serde_json::Error| ApiError::new(Code::Internal, format!("a request is unreadable: {error}"));
    let view = render::request(record)?;
    let mut asks = serde_json::to_value(&view.asks).map_err(unreadable)?;
    hide_in(&mut asks, models);
    let mut answer = serde_json::to_value(&view.answer).map_err(unreadable)?;
    hide_in(&mut answer, models);
    let asks = serde_json::from_value(asks).map_err(unreadable)?;
    Ok(RequestView { asks, answer: serde_json::from_value(answer).map_err(unreadable)?, ..view })
}

fn closed(record: &RequestRecord) -> ApiError {
    let state = record.row.state.as_str();
    ApiError::new(Code::RequestClosed, format!("The request is {state}; nothing was changed."))
        .detail(serde_json::json!({ "state": state }))
}

fn unknown(number: u32) -> ApiError {
    ApiError::new(Code::UnknownRequest, format!("The task has no request {number}."))
        .remedy("`ouroboros requests` lists what waits for an answer.")
}

fn no_rule(name: &str) -> ApiError {
    ApiError::new(Code::UnknownRule, format!("There is no rule {name:?}.")).remedy("`ouroboros rules` lists them.")
}
