//! Routes to models and what they cost.

use crate::http::reply;
use crate::http::site::Call;
use ouroboros_proto::api::{ApiError, ModelTest, PriceSet};
use std::sync::Arc;
use warp::http::StatusCode;
use warp::reply::Response;

/// `GET /api/models`
pub async fn list(call: &mut Call<'_>) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    call.site.models.settled().await;
    reply::json(StatusCode::OK, &call.site.models.routes())
}

/// `POST /api/models/refresh`
pub async fn refresh(call: &mut Call<'_>) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    call.no_body()?;
    reply::json(StatusCode::OK, &call.site.models.refresh().await)
}

/// `POST /api/models/test`
pub async fn test(call: &mut Call<'_>) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let asked: ModelTest = call.required().await?;
    reply::json(StatusCode::OK, &call.site.models.test(asked.route).await?)
}

/// `GET /api/model-catalog`
pub fn catalog(call: &mut Call<'_>) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    reply::json(StatusCode::OK, &call.site.models.catalog())
}

/// `POST /api/model-catalog`
pub async fn set_price(call: &mut Call<'_>) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let price: PriceSet = call.required().await?;
    let models = Arc::clone(&call.site.models);
    let known = call.site.blocking.act(move || models.set_price(price)).await?;
    reply::json(StatusCode::OK, &known)
}
