//! Accepting work.

use crate::http::admission::{Admission, Admitted, Stop};
use crate::http::body::Whole;
use crate::http::reply;
use crate::http::site::{Call, Site};
use ouroboros_proto::api::{ApiError, Code, SubmitAnswer, SubmitManyAnswer};
use std::sync::Arc;
use warp::http::StatusCode;
use warp::reply::Response;

/// Bodies up to this size are read where they arrive; parsing a larger one would hold up other connections.
const AT_ONCE: usize = 64 << 10;

/// `POST /api/tasks`
pub async fn submit(call: &mut Call<'_>) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let body = call.body().await?;
    let key =
        call.request.headers.get("idempotency-key").map(|key| String::from_utf8_lossy(key.as_bytes()).into_owned());
    let Admitted { tasks, many } = admit(call.site, body, key).await?;
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

async fn admit(site: &Arc<Site>, body: Whole, key: Option<String>) -> Result<Admitted, ApiError> {
    let body = Arc::new(body);
    match admit_now(site, &body, key.clone()).await {
        // Early in a life nobody has looked for routes yet.
        Err(error) if error.code == Code::NoModelRoute => {
            site.models.settled().await;
            admit_now(site, &body, key).await
        }
        result => result,
    }
}

async fn admit_now(site: &Arc<Site>, body: &Arc<Whole>, key: Option<String>) -> Result<Admitted, ApiError> {
    if body.bytes.len() <= AT_ONCE {
        match admission(site, false).admit(&body.bytes, key.as_deref()) {
            Ok(admitted) => return Ok(admitted),
            Err(Stop::Refused(error)) => return Err(error),
            Err(Stop::WouldBlock) => {}
        }
    }
    let (shared, body) = (Arc::clone(site), Arc::clone(body));
    site.blocking.read(move || admission(&shared, true).admit(&body.bytes, key.as_deref())).await
}

fn admission(site: &Site, may_block: bool) -> Admission<'_> {
    Admission {
        view: &*site.view,
        operations: &*site.operations,
        models: &*site.models,
        surroundings: &site.surroundings,
        may_block,
    }
}
