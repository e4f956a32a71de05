//! The raw output of an attempt.

use crate::http::follow::output::{Offsets, PIECE, Wanted};
use crate::http::follow::stream::{Gone, Sink};
use crate::http::follow::task::{Item, TaskFollower};
use crate::http::query::{Query, bad};
use crate::http::range::{Kept, Span};
use crate::http::reply;
use crate::http::site::{Call, Site};
use crate::http::view::{AttemptRecord, Chunk, ViewError};
use ouroboros_proto::api::{ApiError, Code, StreamView};
use ouroboros_proto::kind::{AttemptId, Event, Stream, TaskId};
use std::sync::Arc;
use warp::http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE};
use warp::http::{HeaderValue, StatusCode};
use warp::reply::Response;

const MEDIA: &str = "application/octet-stream";

/// `GET /api/tasks/{id}/logs/{stream}`
pub async fn logs(call: &mut Call<'_>, name: &str, stream: &str) -> Result<Response, ApiError> {
    let stream = Stream::ALL.into_iter().find(|known| known.as_str() == stream).ok_or_else(|| {
        ApiError::new(Code::UnknownPath, format!("There is no stream {stream:?}; there are stdout and stderr."))
    })?;
    let query = call.request.query(&["attempt", "follow", "from", "tail"])?;
    let range = call.request.header("range").map(str::to_owned);
    let follow = query.flag("follow", false)?;
    let from = from(&query, follow, range.is_some())?;
    let tail: Option<u64> = query.value("tail")?;
    if tail.is_some() && (follow || range.is_some()) {
        return Err(bad("tail", "`tail` goes with neither `follow` nor a range."));
    }
    let (task, _) = call.task(name).await?;
    let view = Arc::clone(&call.site.view);
    let attempts = call.site.blocking.read(move || view.attempts(task)).await?;
    let attempt = choose(&attempts, query.value("attempt")?)?;
    match attempt {
        Some(attempt) if attempt.row.ended_at.is_some() || !follow => {
            let part = match (range, tail) {
                (Some(range), _) => Part::Range(range),
                (None, Some(tail)) => Part::Tail(tail),
                (None, None) if from > 0 => Part::Range(format!("bytes={from}-")),
                (None, None) => Part::Whole,
            };
            kept(call.site, attempt, stream, &part).await
        }
        Some(attempt) => followed(call.site, task, attempt.row.ordinal, stream, from).await,
        None if follow => followed(call.site, task, 1, stream, from).await,
        None => Ok(reply::body(StatusCode::OK, MEDIA, "")),
    }
}

/// What is asked of a stream.
enum Part {
    /// Everything that is kept.
    Whole,
    /// This `Range` header.
    Range(String),
    /// This many bytes of its end, or fewer when fewer are kept.
    Tail(u64),
}

fn from(query: &Query, follow: bool, ranged: bool) -> Result<u64, ApiError> {
    if follow && ranged {
        return Err(bad("follow", "A range ends; give `from` instead to follow from an offset."));
    }
    match query.value("from")? {
        Some(_) if !follow => Err(bad("from", "`from` goes with `follow`; give a Range header instead.")),
        other => Ok(other.unwrap_or(0)),
    }
}

fn choose(attempts: &[AttemptRecord], ordinal: Option<u32>) -> Result<Option<&AttemptRecord>, ApiError> {
    let Some(ordinal) = ordinal else { return Ok(attempts.last()) };
    let found = attempts.iter().find(|attempt| attempt.row.ordinal == ordinal);
    found.map(Some).ok_or_else(|| bad("attempt", &format!("There is no attempt {ordinal} of this task.")))
}

async fn kept(site: &Arc<Site>, attempt: &AttemptRecord, stream: Stream, part: &Part) -> Result<Response, ApiError> {
    let (view, id) = (shown(attempt, stream), attempt.row.id);
    if view.expired {
        return Err(ViewError::Expired.into());
    }
    let kept = Kept::from(view);
    let (range, spans) = match part {
        Part::Range(range) => {
            let span = kept.select(range)?;
            (Some(span), vec![span])
        }
        Part::Whole => (None, vec![kept.head, kept.tail]),
        Part::Tail(bytes) => (None, vec![kept.last(*bytes)]),
    };
    let status = if range.is_some() { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
    let length: u64 = spans.iter().map(|span| span.bytes()).sum();
    // Of a running attempt what is kept moves on while it is read: no length is promised, and only a range, which names its
    // bytes, must not skip any.
    let exact = attempt.row.ended_at.is_some();
    let strict = exact || range.is_some();
    let mut response = if length <= u64::try_from(PIECE).unwrap_or(0) {
        let source = Arc::clone(&site.view);
        let read = move || {
            let mut bytes = Vec::new();
            for span in spans {
                let mut at = span.start;
                while at < span.end {
                    let chunk = source.output(id, stream, at, usize::try_from(span.end - at).unwrap_or(PIECE))?;
                    if strict && (chunk.bytes.is_empty() || chunk.offset != at) {
                        // What a running attempt drops was never meant to stay; what a past one loses was.
                        return if exact { Err(ViewError::Expired) } else { Ok(None) };
                    }
                    if chunk.bytes.is_empty() {
                        break;
                    }
                    at = after(&chunk);
                    bytes.extend_from_slice(&chunk.bytes);
                }
            }
            Ok::<_, ViewError>(Some(bytes))
        };
        let bytes = site.blocking.read(read).await?.ok_or_else(|| kept.dropped())?;
        reply::body(status, MEDIA, bytes)
    } else {
        let place = site.streams.place()?;
        let producer = Arc::clone(site);
        let mut response =
            site.streams.start(place, MEDIA, move |sink| pour(producer, id, stream, spans, strict, sink));
        *response.status_mut() = status;
        if exact {
            response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        response
    };
    describe(&mut response, &kept, range);
    Ok(response)
}

fn describe(response: &mut Response, kept: &Kept, span: Option<Span>) {
    let headers = response.headers_mut();
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert("ouroboros-written", HeaderValue::from(kept.written));
    let text = |text: String| HeaderValue::try_from(text).ok();
    if let Some(gap) = kept.gap().and_then(|gap| text(format!("{}-{}", gap.start, gap.end.saturating_sub(1)))) {
        headers.insert("ouroboros-gap", gap);
    }
    if let Some(range) =
        span.and_then(|span| text(format!("bytes {}-{}/{}", span.start, span.end.saturating_sub(1), kept.written)))
    {
        headers.insert(CONTENT_RANGE, range);
    }
}

async fn pour(site: Arc<Site>, attempt: AttemptId, stream: Stream, spans: Vec<Span>, strict: bool, sink: Sink) {
    for span in spans {
        let mut at = span.start;
        while at < span.end {
            let view = Arc::clone(&site.view);
            let max = usize::try_from(span.end - at).unwrap_or(PIECE).min(PIECE);
            let read = site.blocking.read(move || view.output(attempt, stream, at, max));
            match sink.wait(read, false).await {
                Err(Gone) => return,
                Ok(Ok(chunk)) if !chunk.bytes.is_empty() && (chunk.offset == at || !strict) => {
                    at = after(&chunk);
                    if sink.send(chunk.bytes).await.is_err() {
                        return;
                    }
                }
                // Gone from under us: the reader must not take what it has for the whole.
                Ok(_) => return sink.break_off().await,
            }
        }
    }
}

async fn followed(
    site: &Arc<Site>,
    task: TaskId,
    ordinal: u32,
    stream: Stream,
    from: u64,
) -> Result<Response, ApiError> {
    let place = site.streams.place()?;
    let mut offsets = Offsets::default();
    offsets.set(stream, from);
    let wanted = Wanted { ordinal: Some(ordinal), stream: Some(stream), from: offsets };
    let follower = TaskFollower::open(
        Arc::clone(&site.view),
        site.blocking.clone(),
        site.handle.clone(),
        task,
        None,
        Some(wanted),
    )
    .await?;
    Ok(site.streams.start(place, MEDIA, move |sink| follow(follower, ordinal, sink)))
}

async fn follow(mut follower: TaskFollower, ordinal: u32, sink: Sink) {
    let mut mine = None;
    loop {
        match sink.wait(follower.next(), false).await {
            Err(Gone) => return,
            Ok(Ok(Some(Item::Output(piece)))) => {
                if piece.gap > 0 {
                    let said = format!("\n[ouroboros: {} bytes are not kept]\n", piece.gap);
                    if sink.send(said).await.is_err() {
                        return;
                    }
                }
                if sink.send(piece.bytes).await.is_err() {
                    return;
                }
            }
            Ok(Ok(Some(Item::Event(row)))) => match row.event {
                Event::Started { attempt, ordinal: started } if started == ordinal => mine = Some(attempt),
                Event::AttemptEnded { attempt, .. } if mine == Some(attempt) => return,
                _ => {}
            },
            // Nobody asked for words.
            Ok(Ok(Some(Item::CaughtUp | Item::Entry(..) | Item::Heard(_)))) => {}
            Ok(Ok(None)) if follower.ended() => return,
            Ok(Ok(None) | Err(_)) => return sink.break_off().await,
        }
    }
}

fn shown(attempt: &AttemptRecord, stream: Stream) -> &StreamView {
    match stream {
        Stream::Stdout => &attempt.stdout,
        Stream::Stderr => &attempt.stderr,
    }
}

fn after(chunk: &Chunk) -> u64 {
    chunk.offset.saturating_add(u64::try_from(chunk.bytes.len()).unwrap_or(u64::MAX))
}
