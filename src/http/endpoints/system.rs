//! The system as a whole, read.

use crate::http::site::Call;
use crate::http::view::{CostBy, CostQuery};
use crate::http::{metrics, openapi, render, reply};
use ouroboros_proto::api::{API_VERSION, ApiError, CostGroup, DiskView, Health, StateView};
use ouroboros_proto::limits;
use std::sync::Arc;
use warp::http::StatusCode;
use warp::reply::Response;

/// `GET /api/health`
pub fn health(call: &mut Call<'_>) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let status = Arc::clone(&call.site.handle.status().borrow());
    let health = Health {
        api: API_VERSION,
        version: call.site.about.version.clone(),
        ready: status.ready,
        degraded: status.alarms.clone(),
    };
    reply::json(StatusCode::OK, &health)
}

/// `GET /api/state`
pub async fn state(call: &mut Call<'_>) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let disk = disk(call).await?;
    let site = call.site;
    let status = Arc::clone(&site.handle.status().borrow());
    let life = site.handle.life();
    let view = StateView {
        api: API_VERSION,
        version: site.about.version.clone(),
        build: life.build.clone(),
        installation: life.installation,
        generation: life.generation,
        pid: std::process::id(),
        launcher_pid: life.launcher_pid,
        started_at: life.started_at.into(),
        url: site.about.url.clone(),
        data_dir: site.about.data_dir.clone(),
        ready: status.ready,
        stopping: status.stopping,
        alarms: status.alarms.clone(),
        queue: status.queue,
        slots: status.slots,
        spending: status.booted.then(|| render::spending(&status)),
        disk,
    };
    reply::json(StatusCode::OK, &view)
}

/// `GET /api/processes`
pub async fn processes(call: &mut Call<'_>) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let operations = Arc::clone(&call.site.operations);
    let processes = call.site.blocking.read(move || operations.processes()).await?;
    reply::json(StatusCode::OK, &processes)
}

/// `GET /api/config`
pub async fn config(call: &mut Call<'_>) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let operations = Arc::clone(&call.site.operations);
    let config = call.site.blocking.read(move || Ok::<_, ApiError>(operations.config())).await?;
    reply::json(StatusCode::OK, &config)
}

/// `GET /metrics`
pub async fn metrics(call: &mut Call<'_>) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let disk = disk(call).await?;
    let site = call.site;
    let status = Arc::clone(&site.handle.status().borrow());
    let routes = routes(call).await;
    let text = metrics::text(&status, site.handle.life(), &disk, &routes, &site.counters, site.streams.open());
    Ok(reply::body(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text))
}

/// `GET /api/openapi.json`
pub fn openapi(call: &mut Call<'_>) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    reply::json(StatusCode::OK, &openapi::document())
}

/// What each route was used for; nothing when that cannot be read now.
async fn routes(call: &Call<'_>) -> Vec<CostGroup> {
    let view = Arc::clone(&call.site.view);
    let limit = usize::try_from(limits::PAGE_ROWS.max).unwrap_or(usize::MAX);
    let by = CostBy::Route;
    let query = CostQuery { by, since: None, until: None, task: None, route: None, limit, check: false };
    call.site.blocking.read(move || view.costs(&query)).await.map(|costs| costs.groups).unwrap_or_default()
}

async fn disk(call: &Call<'_>) -> Result<DiskView, ApiError> {
    let operations = Arc::clone(&call.site.operations);
    call.site.blocking.read(move || Ok::<_, ApiError>(operations.disk())).await
}
