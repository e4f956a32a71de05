//! Listing tasks.

use crate::http::query::bad;
use crate::http::render::{self, Standings};
use crate::http::reply;
use crate::http::site::Call;
use crate::http::view::{PageQuery, Phases, TaskRecord, View, ViewError};
use ouroboros_proto::api::{ApiError, TaskPage, TaskStatus, TaskView};
use ouroboros_proto::kind::{TaskId, TaskNumber, UtcMicros, clock};
use ouroboros_proto::limits;
use std::collections::BTreeSet;
use std::sync::Arc;
use warp::http::StatusCode;
use warp::reply::Response;

/// Tasks in a page that does not say.
const DEFAULT_ROWS: u64 = 100;
/// Rows looked at for one page; a filter that finds little gives a short page instead of a long wait.
const LOOKED_AT: usize = 10_000;

struct Filter {
    before: Option<TaskNumber>,
    limit: usize,
    statuses: Vec<TaskStatus>,
    name: Option<String>,
}

/// `GET /api/tasks`
pub async fn list(call: &mut Call<'_>) -> Result<Response, ApiError> {
    let filter = read(call)?;
    let view = Arc::clone(&call.site.view);
    let now = clock::wall();
    let read = move || {
        let mut page = page(&*view, &filter, now)?;
        add_requests(&*view, &mut page.tasks)?;
        Ok::<_, ApiError>(page)
    };
    let mut page = call.site.blocking.read(read).await?;
    page.tasks.iter_mut().for_each(|task| render::hide(task, &*call.site.models));
    reply::json(StatusCode::OK, &page)
}

/// Says of each task what it asks its owner: the oldest of what is open.
fn add_requests(view: &dyn View, tasks: &mut [TaskView]) -> Result<(), ApiError> {
    let most = u32::try_from(limits::PAGE_ROWS.max).unwrap_or(u32::MAX);
    if tasks.iter().all(|task| task.status.is_settled()) {
        return Ok(());
    }
    for record in view.requests(None, true, most)? {
        if let Some(task) = tasks.iter_mut().find(|task| task.id == record.row.task) {
            task.request = None;
            render::asks(task, render::request(&record)?);
        }
    }
    Ok(())
}

fn read(call: &Call<'_>) -> Result<Filter, ApiError> {
    let query = call.request.query(&["cursor", "limit", "status", "name"])?;
    let limit: u64 = query.value("limit")?.unwrap_or(DEFAULT_ROWS);
    if limit == 0 {
        return Err(bad("limit", "A page has at least one row."));
    }
    if limit > limits::PAGE_ROWS.max {
        return Err(ApiError::limit(&limits::PAGE_ROWS, limit));
    }
    let mut statuses = Vec::new();
    for word in query.text("status").unwrap_or("").split(',').filter(|word| !word.is_empty()) {
        let status = TaskStatus::ALL.into_iter().find(|status| status.as_str() == word).ok_or_else(|| {
            let all = TaskStatus::ALL.map(TaskStatus::as_str).join(", ");
            bad("status", &format!("Unknown status {word:?}; it is one of {all}."))
        })?;
        statuses.push(status);
    }
    Ok(Filter {
        before: query.value("cursor")?,
        limit: usize::try_from(limit).unwrap_or(usize::MAX),
        statuses,
        name: query.text("name").filter(|name| !name.is_empty()).map(str::to_lowercase),
    })
}

fn page(view: &dyn View, filter: &Filter, now: UtcMicros) -> Result<TaskPage, ViewError> {
    let phases = phases(&filter.statuses);
    let filters = !filter.statuses.is_empty() || filter.name.is_some();
    let mut tasks = Vec::new();
    let (mut before, mut looked_at) = (filter.before, 0);
    loop {
        let missing = filter.limit - tasks.len();
        // One row more than is missing says whether there is another page.
        let limit = if filters { 1_000 } else { missing + 1 };
        let records = view.page(&PageQuery { before, phases, limit })?;
        let standings = standings(view, &records)?;
        let exhausted = records.len() < limit;
        looked_at += records.len();
        for record in &records {
            if tasks.len() == filter.limit {
                return Ok(TaskPage { next: before.map(|number| number.to_string()), tasks });
            }
            before = Some(record.row.number);
            let task = render::task(record, &standings, now);
            if wanted(filter, &task) {
                tasks.push(task);
            }
        }
        if exhausted {
            return Ok(TaskPage { tasks, next: None });
        }
        if looked_at >= LOOKED_AT {
            return Ok(TaskPage { tasks, next: before.map(|number| number.to_string()) });
        }
    }
}

fn wanted(filter: &Filter, task: &TaskView) -> bool {
    (filter.statuses.is_empty() || filter.statuses.contains(&task.status))
        && filter.name.as_ref().is_none_or(|name| task.name.to_lowercase().contains(name))
}

fn phases(statuses: &[TaskStatus]) -> Phases {
    if statuses.is_empty() {
        return Phases::ALL;
    }
    let mut phases = Phases::NONE;
    for status in statuses {
        match status {
            TaskStatus::Queued | TaskStatus::Waiting | TaskStatus::Held | TaskStatus::Paused => phases.queued = true,
            TaskStatus::Running => phases.running = true,
            TaskStatus::Cancelling => {
                phases.queued = true;
                phases.running = true;
            }
            TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled => phases.settled = true,
        }
    }
    phases
}

/// Where the tasks stand that these come after.
pub fn standings(view: &dyn View, records: &[TaskRecord]) -> Result<Standings, ViewError> {
    let needed: BTreeSet<TaskId> = records.iter().flat_map(|record| render::depends_on(&record.row)).collect();
    if needed.is_empty() {
        return Ok(Standings::new());
    }
    let needed: Vec<TaskId> = needed.into_iter().collect();
    Ok(view.standing(&needed)?.into_iter().map(|standing| (standing.task, standing)).collect())
}
