//! Accepting work.

use crate::http::admission::{Admission, Admitted};
use crate::http::reply;
use crate::http::site::Call;
use ouroboros_proto::api::{ApiError, SubmitAnswer, SubmitManyAnswer};
use std::sync::Arc;
use warp::http::StatusCode;
use warp::reply::Response;

/// `POST /api/tasks`
pub async fn submit(call: &mut Call<'_>) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let body = call.body().await?;
    let key =
        call.request.headers.get("idempotency-key").map(|key| String::from_utf8_lossy(key.as_bytes()).into_owned());
    let site = Arc::clone(call.site);
    let Admitted { tasks, many } = call
        .site
        .blocking
        .read(move || {
            let admission =
                Admission { view: &*site.view, operations: &*site.operations, surroundings: &site.surroundings };
            admission.admit(&body.bytes, key.as_deref())
        })
        .await?;
    let accepted = call.site.handle.submit(tasks).await?;
    let mut answers: Vec<SubmitAnswer> =
        accepted.into_iter().map(|(id, number, duplicate)| SubmitAnswer { id, number, duplicate }).collect();
    let fresh = answers.iter().any(|answer| !answer.duplicate);
    let status = if fresh { StatusCode::CREATED } else { StatusCode::OK };
    match answers.pop() {
        Some(only) if !many => reply::json(status, &only),
        last => {
            answers.extend(last);
            reply::json(status, &SubmitManyAnswer { tasks: answers })
        }
    }
}
