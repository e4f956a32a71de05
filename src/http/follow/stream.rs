//! Response bodies that grow: a producer writes to a short queue, the connection takes from it.
//!
//! A reader that stops reading fills the queue; then its connection fails on its write bound, the queue closes, and the
//! producer ends. While a stream is open it holds one of a bounded number of places.

use super::output::Piece;
use super::task::{HeardPiece, Item, TaskFollower};
use crate::http::endpoints::task::hide_in;
use crate::http::models::Models;
use crate::http::render;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::stream;
use ouroboros_domain::EventRow;
use ouroboros_proto::api::{ApiError, LiveOutput, LivePiece};
use ouroboros_proto::limits::{self, Limit};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use warp::Reply as _;
use warp::reply::Response;

/// Messages that wait for the connection.
const QUEUE: usize = 16;
/// Silence after which a comment is sent, so that a peer that is gone is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Opens streams.
#[derive(Debug, Clone)]
pub struct Streams {
    places: Arc<Semaphore>,
    limit: Limit,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// Where a producer writes.
#[derive(Debug)]
pub struct Sink {
    queue: mpsc::Sender<Result<Bytes, Broken>>,
    stop: CancellationToken,
    _place: OwnedSemaphorePermit,
}

/// The reader is gone, or the server stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone;

/// The body ended before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the body was broken off")]
pub struct Broken;

/// A place for a stream, taken before anything is read for it.
#[derive(Debug)]
pub struct Place(OwnedSemaphorePermit);

impl Streams {
    /// At most `limit` at once, all ended by `stop`.
    #[must_use]
    pub fn new(limit: Limit, tasks: TaskTracker, stop: CancellationToken) -> Self {
        let places = usize::try_from(limit.max).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        Self { places: Arc::new(Semaphore::new(places)), limit, tasks, stop }
    }

    /// How many are open.
    #[must_use]
    pub fn open(&self) -> u64 {
        self.limit.max.saturating_sub(u64::try_from(self.places.available_permits()).unwrap_or(0))
    }

    /// Takes a place.
    ///
    /// # Errors
    /// `too_many_streams`.
    pub fn place(&self) -> Result<Place, ApiError> {
        Arc::clone(&self.places).try_acquire_owned().map(Place).map_err(|_| {
            ApiError::limit(&Limit { name: limits::EVENT_STREAMS.name, ..self.limit }, self.limit.max.saturating_add(1))
                .remedy("Close some that are open, such as `ouroboros events -f`.")
        })
    }

    /// Starts a producer; its body is the answer.
    pub fn start<F: Future<Output = ()> + Send + 'static>(
        &self,
        place: Place,
        media: &'static str,
        produce: impl FnOnce(Sink) -> F,
    ) -> Response {
        let (queue, taken) = mpsc::channel(QUEUE);
        let sink = Sink { queue, stop: self.stop.clone(), _place: place.0 };
        self.tasks.spawn(produce(sink));
        let body = stream::unfold(taken, |mut taken| async {
            let next: Result<Bytes, Broken> = taken.recv().await?;
            Some((next, taken))
        });
        let mut response = warp::reply::stream(body).into_response();
        response.headers_mut().insert("content-type", warp::http::HeaderValue::from_static(media));
        response.headers_mut().insert("x-accel-buffering", warp::http::HeaderValue::from_static("no"));
        response
    }
}

impl Sink {
    /// Hands bytes to the connection; waits while it is behind.
    ///
    /// # Errors
    /// Nobody takes them any more.
    pub async fn send(&self, bytes: impl Into<Bytes>) -> Result<(), Gone> {
        tokio::select! {
            sent = self.queue.send(Ok(bytes.into())) => sent.map_err(|_| Gone),
            () = self.stop.cancelled() => Err(Gone),
        }
    }

    /// Cuts the connection, so that what was sent so far is not taken for the whole.
    pub async fn break_off(self) {
        // When nobody takes it any more there is nothing to cut.
        let _ = self.queue.send(Err(Broken)).await;
    }

    /// Waits for `next`, keeping a silent event stream alive.
    ///
    /// # Errors
    /// Nobody waits with us any more.
    pub async fn wait<T>(&self, next: impl Future<Output = T>, keep_alive: bool) -> Result<T, Gone> {
        tokio::pin!(next);
        loop {
            tokio::select! {
                value = &mut next => return Ok(value),
                () = self.queue.closed() => return Err(Gone),
                () = self.stop.cancelled() => return Err(Gone),
                () = tokio::time::sleep(KEEP_ALIVE), if keep_alive => self.send(Bytes::from_static(b":\n\n")).await?,
            }
        }
    }
}

/// A recorded event as a message.
#[must_use]
pub fn event_message(row: &EventRow) -> Bytes {
    let data = serde_json::to_string(&render::event(row)).unwrap_or_default();
    format!("id: {}\nevent: event\ndata: {data}\n\n", row.seq.get()).into()
}

/// Output as a message.
#[must_use]
pub fn output_message(piece: &Piece) -> Bytes {
    let live = LiveOutput {
        attempt: piece.ordinal,
        stream: piece.stream,
        offset: piece.offset,
        data: STANDARD.encode(&piece.bytes),
        gap: piece.gap,
    };
    let data = serde_json::to_string(&live).unwrap_or_default();
    format!("event: output\ndata: {data}\n\n").into()
}

/// An entry of a transcript as a message, without keys.
fn entry_message(place: u64, entry: &str, models: &dyn Models) -> Bytes {
    let mut entry = serde_json::from_str(entry).unwrap_or_default();
    hide_in(&mut entry, models);
    let data = serde_json::json!({ "place": place, "entry": entry });
    format!("event: entry\ndata: {data}\n\n").into()
}

/// A piece of a text that is being written as a message, without keys.
fn piece_message(piece: &HeardPiece, models: &dyn Models) -> Bytes {
    let piece = LivePiece {
        attempt: piece.ordinal,
        call: piece.call,
        offset: u64::try_from(piece.offset).unwrap_or(u64::MAX),
        text: models.hide(&piece.text),
    };
    let data = serde_json::to_string(&piece).unwrap_or_default();
    format!("event: piece\ndata: {data}\n\n").into()
}

/// The failure of a stream that has begun, as a message.
#[must_use]
pub fn error_message(error: &ApiError) -> Bytes {
    let data = serde_json::to_string(error).unwrap_or_default();
    format!("event: error\ndata: {data}\n\n").into()
}

/// The last message of a task's stream.
pub const END: &[u8] = b"event: end\ndata: {}\n\n";
/// Sent when everything recorded so far was sent.
pub const CAUGHT_UP: &[u8] = b"event: caught_up\ndata: {}\n\n";

/// Sends what a follower gives as messages, and `end` when the task has settled.
pub async fn task_messages(mut follower: TaskFollower, models: Arc<dyn Models>, sink: Sink) {
    loop {
        let message = match sink.wait(follower.next(), true).await {
            Err(Gone) => return,
            Ok(Ok(Some(Item::Event(row)))) => event_message(&row),
            Ok(Ok(Some(Item::Output(piece)))) => output_message(&piece),
            Ok(Ok(Some(Item::Entry(place, entry)))) => entry_message(place, &entry, &*models),
            Ok(Ok(Some(Item::Heard(piece)))) => piece_message(&piece, &*models),
            Ok(Ok(Some(Item::CaughtUp))) => Bytes::from_static(CAUGHT_UP),
            Ok(Ok(None)) if follower.ended() => {
                let _ = sink.send(Bytes::from_static(END)).await;
                return;
            }
            Ok(Ok(None)) => return,
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
