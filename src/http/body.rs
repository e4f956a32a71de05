//! Request bodies: read whole, within bounds of size, time and memory.

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _};
use ouroboros_proto::api::{ApiError, Code};
use ouroboros_proto::limits::{self, Limit};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bodies up to this size are read without asking for room.
const SMALL: usize = 64 << 10;
/// Larger bodies that are held in memory at once; more wait.
const LARGE_AT_ONCE: usize = 8;
/// What is read and thrown away of a body that was refused, so that its sender gets to read the answer.
const DISCARD: usize = 64 << 20;

/// Pieces as they arrive.
pub type Pieces = Pin<Box<dyn Stream<Item = Result<Bytes, warp::Error>> + Send + Sync>>;

/// Room for large bodies, and the time that any body may take.
#[derive(Debug, Clone)]
pub struct Room {
    large: Arc<Semaphore>,
    time: Limit,
}

impl Room {
    /// With this bound of time, in milliseconds.
    #[must_use]
    pub fn new(time: Limit) -> Self {
        Self { large: Arc::new(Semaphore::new(LARGE_AT_ONCE)), time }
    }
}

/// A body that is not read yet.
pub struct Body {
    pieces: Option<Pieces>,
    declared: Option<u64>,
    waits_for_permission: bool,
}

/// A body that is. Holding it holds its room.
#[derive(Debug)]
pub struct Whole {
    /// Its bytes.
    pub bytes: Bytes,
    _room: Option<OwnedSemaphorePermit>,
}

impl Body {
    /// A body that arrives in `pieces`, of which the headers say what they say.
    #[must_use]
    pub fn new(pieces: Pieces, headers: &warp::http::HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let declared = text("content-length").and_then(|length| length.parse().ok());
        let empty = declared.unwrap_or(0) == 0 && text("transfer-encoding").is_none();
        Self {
            pieces: (!empty).then_some(pieces),
            declared,
            waits_for_permission: text("expect").is_some_and(|expect| expect.eq_ignore_ascii_case("100-continue")),
        }
    }

    /// Whether there is nothing to read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_none()
    }

    /// Reads everything.
    ///
    /// # Errors
    /// Too large, too slow, or cut short.
    pub async fn read(&mut self, room: &Room) -> Result<Whole, ApiError> {
        let max = limits::REQUEST_BODY.max;
        if let Some(declared) = self.declared.filter(|declared| *declared > max) {
            return Err(too_large(declared));
        }
        let Some(mut pieces) = self.pieces.take() else {
            return Ok(Whole { bytes: Bytes::new(), _room: None });
        };
        let bound = Duration::from_millis(room.time.max);
        match tokio::time::timeout(bound, collect(&mut pieces, room)).await {
            Ok(Ok(whole)) => Ok(whole),
            Ok(Err(error)) => {
                self.pieces = Some(pieces);
                Err(error)
            }
            Err(_) => Err(ApiError::limit(&room.time, room.time.max.saturating_add(1))),
        }
    }

    /// Reads on and throws away, within bounds, so that the answer is not lost in a reset of the connection. A sender that
    /// waits to be told to go on is not.
    pub async fn discard(&mut self, bound: Duration) {
        let Some(mut pieces) = self.pieces.take() else { return };
        if self.waits_for_permission {
            return;
        }
        let drain = async {
            let mut seen = 0_usize;
            while let Some(Ok(piece)) = pieces.next().await {
                seen = seen.saturating_add(piece.len());
                if seen > DISCARD {
                    return;
                }
            }
        };
        // Past the bound the connection is simply closed.
        let _ = tokio::time::timeout(bound, drain).await;
    }
}

async fn collect(pieces: &mut Pieces, room: &Room) -> Result<Whole, ApiError> {
    let mut bytes = BytesMut::new();
    let mut permit = None;
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| {
            ApiError::new(Code::BadJson, format!("The body was cut short: {error}; nothing was accepted."))
        })?;
        let total = bytes.len().saturating_add(piece.len());
        if u64::try_from(total).unwrap_or(u64::MAX) > limits::REQUEST_BODY.max {
            return Err(too_large(u64::try_from(total).unwrap_or(u64::MAX)));
        }
        if total > SMALL && permit.is_none() {
            permit = Some(
                Arc::clone(&room.large)
                    .acquire_owned()
                    .await
                    .map_err(|_| ApiError::new(Code::Stopping, "The server is stopping; nothing was accepted."))?,
            );
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(Whole { bytes: bytes.freeze(), _room: permit })
}

fn too_large(found: u64) -> ApiError {
    ApiError::limit(&limits::REQUEST_BODY, found).remedy("Send fewer tasks in one request, or smaller ones.")
}
