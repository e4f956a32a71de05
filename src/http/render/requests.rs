//! What tasks ask their owner, and the owner's rules.

use crate::http::view::RequestRecord;
use ouroboros_domain::RuleRow;
use ouroboros_proto::agent::OwnerRequest;
use ouroboros_proto::api::{ApiError, Code, RequestView, RuleView, TaskStatus, TaskView};
use ouroboros_proto::kind::RequestKind;

/// What a request asks.
///
/// # Errors
/// It is not what we store.
pub fn asked(record: &RequestRecord) -> Result<OwnerRequest, ApiError> {
    serde_json::from_str(&record.content).map_err(unreadable)
}

/// A request.
///
/// # Errors
/// It is not what we store.
pub fn request(record: &RequestRecord) -> Result<RequestView, ApiError> {
    let row = &record.row;
    Ok(RequestView {
        task: row.task,
        number: record.number,
        request: row.number,
        attempt: row.attempt,
        state: row.state,
        asks: asked(record)?,
        asked_at: row.asked_at.into(),
        expires_at: row.expires_at.map(Into::into),
        closed_at: row.closed_at.map(Into::into),
        answer: record.answer.as_deref().map(serde_json::from_str).transpose().map_err(unreadable)?,
    })
}

/// A rule.
///
/// # Errors
/// It is not what we store.
pub fn rule(row: RuleRow) -> Result<RuleView, ApiError> {
    Ok(RuleView {
        id: row.id,
        scope: row.rule.scope,
        tool: row.rule.tool.into_string(),
        pattern: serde_json::from_slice(&row.rule.pattern).map_err(unreadable)?,
        effect: row.rule.effect,
        created_at: row.created_at.into(),
        from_task: row.from.0,
        from_request: row.from.1,
    })
}

/// Says of a task what it asks its owner.
pub fn asks(task: &mut TaskView, request: RequestView) {
    if task.status.is_settled() || task.status == TaskStatus::Cancelling {
        return;
    }
    if task.reason.is_none() {
        let what = match request.asks.kind() {
            RequestKind::Question => "Asks its owner a question",
            RequestKind::Approval => "Asks its owner whether it may do something",
        };
        task.reason = Some(format!("{what}; `ouroboros answer {}` answers.", task.number));
    }
    task.request = Some(Box::new(request));
}

fn unreadable(error: serde_json::Error) -> ApiError {
    ApiError::new(Code::Internal, format!("what is stored of a request cannot be read: {error}"))
}
