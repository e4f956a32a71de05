//! Single sends to providers: what went over the wire, and what one cost that was given up.

use crate::http::site::Call;
use crate::http::{render, reply};
use ouroboros_domain::SendRow;
use ouroboros_proto::api::{ApiError, Code, SendReceipt};
use ouroboros_proto::kind::{NanoDollars, SendId};
use std::sync::Arc;
use warp::http::StatusCode;
use warp::reply::Response;

/// `GET /api/sends/{id}/exchange/{part}`
pub async fn exchange(call: &mut Call<'_>, id: &str, part: &str) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let send = parse(id)?;
    if !["request", "response"].contains(&part) {
        return Err(ApiError::new(Code::UnknownPath, "A send has a `request` and a `response`."));
    }
    let view = Arc::clone(&call.site.view);
    let kept = call.site.blocking.read(move || view.exchange(send)).await?;
    let (request, response) = kept.ok_or_else(|| {
        ApiError::new(Code::Expired, "What was sent and what came back is not kept of this send.")
            .remedy("`models.record` and `retention.exchanges` say what is kept.")
    })?;
    let bytes = if part == "request" { request } else { response };
    Ok(reply::body(StatusCode::OK, "application/octet-stream", bytes))
}

/// `POST /api/sends/{id}/receipt`
pub async fn receipt(call: &mut Call<'_>, id: &str) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let send = parse(id)?;
    let asked: SendReceipt = call.required().await?;
    let amount = amount(&asked.cost)?;
    let row = stored(call, send).await?;
    if !row.is_of_unknown_cost() {
        let standing = match row.receipt.as_ref().and_then(|receipt| receipt.cost) {
            Some(cost) => format!("The send is {}, and its cost is known: {}", row.state.as_str(), cost.amount),
            None => format!("The send is {}", row.state.as_str()),
        };
        return Err(ApiError::new(Code::NotUnresolved, format!("{standing}; nothing was changed.")).remedy(
            "Only what a send cost that is unresolved, or whose answer did not say, can be told, and only once.",
        ));
    }
    call.site.models.receipt(send, amount).await?;
    let row = stored(call, send).await?;
    let recorded = row.receipt.as_ref().and_then(|receipt| receipt.cost).map(|cost| cost.amount);
    if recorded != Some(amount) {
        let known = recorded.map_or_else(|| row.state.as_str().to_owned(), |known| format!("settled at {known}"));
        return Err(ApiError::new(Code::NotUnresolved, format!("The send is {known} meanwhile; nothing was changed.")));
    }
    reply::json(StatusCode::OK, &render::send(&row))
}

async fn stored(call: &Call<'_>, send: SendId) -> Result<SendRow, ApiError> {
    let view = Arc::clone(&call.site.view);
    let row = call.site.blocking.read(move || view.send(send)).await?;
    row.ok_or_else(|| unknown(&send.to_string()))
}

fn amount(text: &str) -> Result<NanoDollars, ApiError> {
    NanoDollars::read(text)
        .map_err(|why| ApiError::new(Code::BadField, format!("The cost {text:?} is {why}; nothing was changed.")))
}

fn parse(id: &str) -> Result<SendId, ApiError> {
    id.parse().map_err(|_| unknown(id))
}

fn unknown(id: &str) -> ApiError {
    ApiError::new(Code::UnknownSend, format!("There is no send {id:?}."))
        .remedy("`ouroboros show TASK` lists those of a task.")
}
