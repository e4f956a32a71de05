//! What a task in words changed in its folder.

use crate::http::site::Call;
use crate::http::view::View;
use crate::http::{reference, render, reply};
use ouroboros_domain::TaskState;
use ouroboros_proto::api::{ApiError, Code, UndoRequest};
use ouroboros_proto::kind::{TaskId, WorkKind};
use ouroboros_proto::limits;
use std::sync::Arc;
use warp::http::StatusCode;
use warp::reply::Response;

/// `GET /api/tasks/{id}/changes`
pub async fn changes(call: &mut Call<'_>, name: &str) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let (site, name) = (Arc::clone(call.site), name.to_owned());
    let look = move || -> Result<_, ApiError> {
        let Worked { task, folder, .. } = worked(&*site.view, &name)?;
        let mut changes = site.operations.changes(task, &folder)?;
        for diff in changes.files.iter_mut().filter_map(|file| file.diff.as_mut()) {
            *diff = site.models.hide(diff);
        }
        Ok(changes)
    };
    let changes = call.site.blocking.act(look).await?;
    reply::json(StatusCode::OK, &changes)
}

/// `POST /api/tasks/{id}/undo`
pub async fn undo(call: &mut Call<'_>, name: &str) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let asked: UndoRequest = call.optional().await?;
    match u64::try_from(asked.files.len()) {
        Ok(found) if found <= limits::UNDO_FILES.max => {}
        found => return Err(ApiError::limit(&limits::UNDO_FILES, found.unwrap_or(u64::MAX))),
    }
    let (site, name) = (Arc::clone(call.site), name.to_owned());
    let undo = move || -> Result<_, ApiError> {
        let Worked { task, folder, is_running } = worked(&*site.view, &name)?;
        if is_running && !asked.dry_run {
            return Err(ApiError::new(Code::AlreadyRunning, "The task is running; nothing was changed.")
                .remedy("Wait until it has ended, or cancel it first."));
        }
        site.operations.undo(task, &folder, &asked)
    };
    let done = call.site.blocking.act(undo).await?;
    reply::json(StatusCode::OK, &done)
}

struct Worked {
    task: TaskId,
    folder: String,
    is_running: bool,
}

/// A task in words and where it worked.
fn worked(view: &dyn View, name: &str) -> Result<Worked, ApiError> {
    let (task, _) = reference::require(view, name)?;
    let record = view.task(task)?.ok_or_else(|| reference::unknown(name))?;
    if record.row.kind != WorkKind::Agent {
        return Err(ApiError::new(
            Code::NotInWords,
            "The task is not one in words: what it changed is not known. Nothing was changed.",
        ));
    }
    let folder = render::spec(&record).map(|spec| spec.cwd).ok_or_else(|| {
        ApiError::new(Code::Expired, "What the task was asked for is no longer kept; nothing was changed.")
    })?;
    Ok(Worked { task, folder, is_running: matches!(record.row.state, TaskState::Running { .. }) })
}
