//! Keys of providers: set, forgotten and tried, never given back.

use crate::http::reply;
use crate::http::site::Call;
use ouroboros_proto::api::{ApiError, Code, KeySet};
use std::sync::Arc;
use warp::http::StatusCode;
use warp::reply::Response;

/// `GET /api/keys`
pub async fn list(call: &mut Call<'_>) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let models = Arc::clone(&call.site.models);
    let keys = call.site.blocking.read(move || models.keys()).await?;
    reply::json(StatusCode::OK, &keys)
}

/// `POST /api/keys`
pub async fn set(call: &mut Call<'_>) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let key: KeySet = call.required().await.map_err(without_content)?;
    let models = Arc::clone(&call.site.models);
    let kept = call.site.blocking.act(move || models.set_key(key)).await?;
    reply::json(StatusCode::OK, &kept)
}

/// `DELETE /api/keys/{provider}`
pub async fn remove(call: &mut Call<'_>, provider: &str) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let (models, provider) = (Arc::clone(&call.site.models), provider.to_owned());
    call.site.blocking.act(move || models.remove_key(&provider)).await?;
    Ok(reply::nothing())
}

/// `POST /api/keys/{provider}/test`
pub async fn test(call: &mut Call<'_>, provider: &str) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    call.no_body()?;
    reply::json(StatusCode::OK, &call.site.models.test_key(provider.to_owned()).await?)
}

/// What is wrong with a body quotes it, and this one may be a key in the wrong place.
fn without_content(error: ApiError) -> ApiError {
    match error.code {
        Code::BadJson | Code::BadField => {
            ApiError { message: "The body is not a provider and a key; nothing was accepted.".to_owned(), ..error }
                .remedy("Send {\"provider\": …, \"key\": …}, both as text.")
        }
        _ => error,
    }
}
