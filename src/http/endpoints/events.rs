//! Streams of events.

use crate::http::follow::feed::{Feed, Start, Step};
use crate::http::follow::output::{Offsets, Wanted};
use crate::http::follow::stream::{CAUGHT_UP, Gone, Sink, error_message, event_message, task_messages};
use crate::http::follow::task::TaskFollower;
use crate::http::query::{Query, bad};
use crate::http::render::{EVENT_TYPES, event_type};
use crate::http::site::Call;
use bytes::Bytes;
use ouroboros_proto::api::ApiError;
use ouroboros_proto::kind::EventSeq;
use std::sync::Arc;
use warp::reply::Response;

const MEDIA: &str = "text/event-stream";

/// `GET /api/tasks/{id}/events`
pub async fn of_task(call: &mut Call<'_>, name: &str) -> Result<Response, ApiError> {
    let query = call.request.query(&["after", "output", "from_stdout", "from_stderr", "entries", "from_entry"])?;
    let after = after(call, &query)?;
    let from =
        Offsets { stdout: query.value("from_stdout")?.unwrap_or(0), stderr: query.value("from_stderr")?.unwrap_or(0) };
    let wanted = query.flag("output", false)?.then_some(Wanted { ordinal: None, stream: None, from });
    let (task, _) = call.task(name).await?;
    let site = call.site;
    let place = site.streams.place()?;
    let follower =
        TaskFollower::open(Arc::clone(&site.view), site.blocking.clone(), site.handle.clone(), task, after, wanted)
            .await?;
    let follower = if query.flag("entries", false)? {
        follower.with_words(query.value("from_entry")?.unwrap_or(0)).await?
    } else {
        follower
    };
    let models = Arc::clone(&site.models);
    Ok(site.streams.start(place, MEDIA, |sink| task_messages(follower, models, sink)))
}

/// `GET /api/events`
pub async fn of_all(call: &mut Call<'_>) -> Result<Response, ApiError> {
    let query = call.request.query(&["after", "tail", "task", "type", "follow"])?;
    let follow = query.flag("follow", true)?;
    let start = match (after(call, &query)?, query.value::<u64>("tail")?) {
        (Some(after), None) => Start::After(after),
        (None, Some(tail)) => Start::Newest(tail),
        (None, None) if follow => Start::Newest(0),
        (None, None) => Start::Oldest,
        (Some(_), Some(_)) => return Err(bad("tail", "Give either `after` or `tail`, not both.")),
    };
    let types = types(query.text("type").unwrap_or(""))?;
    let task = match query.text("task") {
        None => None,
        Some(name) => Some(call.task(name).await?.0),
    };
    let site = call.site;
    let place = site.streams.place()?;
    let feed = Feed::open(Arc::clone(&site.view), site.blocking.clone(), &site.handle, task, start).await?;
    Ok(site.streams.start(place, MEDIA, move |sink| messages(feed, types, follow, sink)))
}

async fn messages(mut feed: Feed, types: Vec<&'static str>, follow: bool, sink: Sink) {
    loop {
        let message = match sink.wait(feed.next(), true).await {
            Ok(Ok(Step::Event(row))) if types.is_empty() || types.contains(&event_type(&row.event)) => {
                event_message(&row)
            }
            Ok(Ok(Step::Event(_))) => continue,
            Ok(Ok(Step::CaughtUp)) if follow => Bytes::from_static(CAUGHT_UP),
            Ok(Ok(Step::CaughtUp | Step::Closed)) | Err(Gone) => return,
            Ok(Err(error)) => {
                let _ = sink.send(error_message(&error)).await;
                return;
            }
        };
        if sink.send(message).await.is_err() {
            return;
        }
    }
}

/// The event after which a reader goes on: the header that browsers send, or the parameter.
fn after(call: &Call<'_>, query: &Query) -> Result<Option<EventSeq>, ApiError> {
    match call.request.header("last-event-id") {
        None => Ok(query.value("after")?.map(EventSeq::new)),
        Some(text) => text.trim().parse().map(|seq| Some(EventSeq::new(seq))).map_err(|_| {
            bad("Last-Event-ID", &format!("The header Last-Event-ID is the number of an event, not {text:?}."))
        }),
    }
}

fn types(list: &str) -> Result<Vec<&'static str>, ApiError> {
    list.split(',')
        .filter(|word| !word.is_empty())
        .map(|word| {
            EVENT_TYPES.iter().copied().find(|known| *known == word).ok_or_else(|| {
                bad("type", &format!("Unknown event type {word:?}; it is one of {}.", EVENT_TYPES.join(", ")))
            })
        })
        .collect()
}
