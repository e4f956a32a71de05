//! What models cost.

use crate::http::query::bad;
use crate::http::site::Call;
use crate::http::view::{CostBy, CostQuery};
use crate::http::{render, reply};
use ouroboros_proto::api::{ApiError, CostBreakdown, Timestamp};
use ouroboros_proto::limits;
use std::sync::Arc;
use warp::http::StatusCode;
use warp::reply::Response;

/// `GET /api/cost-breakdown`
pub async fn breakdown(call: &mut Call<'_>) -> Result<Response, ApiError> {
    let query = read(call).await?;
    let (by, view) = (query.by, Arc::clone(&call.site.view));
    let costs = call.site.blocking.read(move || view.costs(&query)).await?;
    let status = Arc::clone(&call.site.handle.status().borrow());
    let breakdown = CostBreakdown {
        whole: costs.whole,
        limits: render::spending(&status).limits,
        by: by.as_str().to_owned(),
        groups: costs.groups,
        warning: costs.warning,
    };
    reply::json(StatusCode::OK, &breakdown)
}

async fn read(call: &Call<'_>) -> Result<CostQuery, ApiError> {
    let query = call.request.query(&["by", "since", "until", "task", "route", "check"])?;
    let word = query.text("by").unwrap_or(CostBy::Task.as_str());
    let by = CostBy::ALL.into_iter().find(|by| by.as_str() == word).ok_or_else(|| {
        let all = CostBy::ALL.map(CostBy::as_str).join(", ");
        bad("by", &format!("Costs cannot be grouped by {word:?}, only by one of {all}."))
    })?;
    let time = |name| query.value::<Timestamp>(name).map(|time| time.map(|time| time.0));
    let (since, until) = (time("since")?, time("until")?);
    let task = match query.text("task") {
        Some(name) => Some(call.task(name).await?.0),
        None => None,
    };
    let check = query.flag("check", false)?;
    let limit = usize::try_from(limits::PAGE_ROWS.max).unwrap_or(usize::MAX);
    Ok(CostQuery { by, since, until, task, route: query.text("route").map(str::to_owned), limit, check })
}
