//! Accepting connections, serving them, and stopping in order.

use super::bind::{Listener, SocketFile};
use super::io::Impatient;
use super::request::Channel;
use super::service;
use super::site::Site;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use ouroboros_proto::api::ApiError;
use ouroboros_proto::limits::{self, Limit};
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use warp::http::Request;

/// How long a peer may take to read before its connection is given up.
const WRITE_BOUND: Duration = Duration::from_secs(30);
/// Bytes of request line and headers that are parsed at all. Between the limit and this the refusal says why.
const PARSED_HEADERS: usize = 128 << 10;
/// Pause after the kernel has no more descriptors for us.
const EXHAUSTED: Duration = Duration::from_millis(100);
/// Peers that are told that there is no room, at once.
const TURNED_AWAY: usize = 32;

/// Bounds that tests make small.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Connections of each listener.
    pub connections: Limit,
    /// Event streams.
    pub streams: Limit,
    /// Time that a peer may take to send its headers.
    pub header: Limit,
    /// Time that a peer may take to send its body.
    pub body: Limit,
    /// Time that a peer may take to read.
    pub write: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: limits::HTTP_CONNECTIONS,
            streams: limits::EVENT_STREAMS,
            header: limits::HEADER_MILLIS,
            body: limits::BODY_MILLIS,
            write: WRITE_BOUND,
        }
    }
}

/// What runs while the server serves. Dropping it stops nothing; [`Running::stop`] does.
#[derive(Debug)]
pub struct Running {
    pub(super) stop: CancellationToken,
    pub(super) cut: CancellationToken,
    pub(super) tasks: TaskTracker,
    pub(super) files: Vec<SocketFile>,
    pub(super) clients: watch::Receiver<u64>,
    /// Addresses that are served over TCP.
    pub addresses: Vec<std::net::SocketAddr>,
    /// Address of the page.
    pub url: Option<String>,
}

impl Running {
    /// How many connections are open, and a way to wait for a change.
    #[must_use]
    pub fn clients(&self) -> watch::Receiver<u64> {
        self.clients.clone()
    }

    /// Accepts nothing more, ends event streams, lets requests under way have `bound` to be answered, then cuts what is left.
    /// Socket files are removed. When it returns no task of this part is left.
    pub async fn stop(self, bound: Duration) {
        self.stop.cancel();
        self.tasks.close();
        if tokio::time::timeout(bound, self.tasks.wait()).await.is_err() {
            tracing::warn!("connections were cut because their requests did not end");
            self.cut.cancel();
            self.tasks.wait().await;
        }
        drop(self.files);
    }
}

/// What accept loops and connections share.
#[derive(Clone)]
pub(super) struct Loop {
    pub site: Arc<Site>,
    pub bounds: Bounds,
    pub stop: CancellationToken,
    pub cut: CancellationToken,
    pub tasks: TaskTracker,
    pub clients: Arc<watch::Sender<u64>>,
}

/// An open connection's place. Gives it back when it is dropped.
struct Place {
    _permit: OwnedSemaphorePermit,
    counts: Loop,
}

impl Loop {
    /// Serves a listener until the stop.
    ///
    /// # Errors
    /// The listener cannot be driven by the runtime.
    pub fn listen(&self, listener: Listener) -> io::Result<Option<SocketFile>> {
        let permits = usize::try_from(self.bounds.connections.max).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        let permits = Arc::new(Semaphore::new(permits));
        match listener {
            Listener::Unix { socket, file } => {
                socket.set_nonblocking(true)?;
                let socket = UnixListener::from_std(socket)?;
                self.tasks.spawn(accept_unix(self.clone(), socket, permits));
                Ok(file)
            }
            Listener::Tcp(socket) => {
                socket.set_nonblocking(true)?;
                let socket = TcpListener::from_std(socket)?;
                self.tasks.spawn(accept_tcp(self.clone(), socket, permits));
                Ok(None)
            }
        }
    }

    fn begin<S>(&self, stream: S, channel: Channel, permits: &Arc<Semaphore>, turned_away: &Arc<Semaphore>)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        if let Ok(permit) = Arc::clone(permits).try_acquire_owned() {
            let open = self.site.counters.connections.fetch_add(1, Ordering::Relaxed) + 1;
            self.clients.send_replace(open);
            let place = Place { _permit: permit, counts: self.clone() };
            self.tasks.spawn(serve(self.clone(), stream, channel, place));
            return;
        }
        self.site.counters.turned_away.fetch_add(1, Ordering::Relaxed);
        // Beyond this many the connection is dropped without a word.
        if let Ok(permit) = Arc::clone(turned_away).try_acquire_owned() {
            self.tasks.spawn(turn_away(stream, self.bounds.connections, permit));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let before = self.counts.site.counters.connections.fetch_sub(1, Ordering::Relaxed);
        self.counts.clients.send_replace(before.saturating_sub(1));
    }
}

async fn accept_tcp(shared: Loop, listener: TcpListener, permits: Arc<Semaphore>) {
    let turned_away = Arc::new(Semaphore::new(TURNED_AWAY));
    while let Some(stream) = next(&shared.stop, || listener.accept()).await {
        // Small answers must not wait for an acknowledgement; without the option they only take longer.
        let _ = stream.set_nodelay(true);
        shared.begin(stream, Channel::Network, &permits, &turned_away);
    }
}

async fn accept_unix(shared: Loop, listener: UnixListener, permits: Arc<Semaphore>) {
    let turned_away = Arc::new(Semaphore::new(TURNED_AWAY));
    let us = rustix::process::geteuid().as_raw();
    while let Some(stream) = next(&shared.stop, || listener.accept()).await {
        match stream.peer_cred() {
            Ok(peer) if peer.uid() == us || peer.uid() == 0 => {
                shared.begin(stream, Channel::Owner, &permits, &turned_away);
            }
            Ok(peer) => tracing::warn!(uid = peer.uid(), "a process of another user was refused"),
            Err(error) => tracing::warn!(%error, "a peer without credentials was refused"),
        }
    }
}

async fn next<S, A, F: Future<Output = io::Result<(S, A)>>>(
    stop: &CancellationToken,
    accept: impl Fn() -> F,
) -> Option<S> {
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => return None,
            accepted = accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => return Some(stream),
            // The peer left before it was accepted: the next one is not affected.
            Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) => {
            }
            Err(error) => {
                tracing::warn!(%error, "no connection could be accepted");
                tokio::time::sleep(EXHAUSTED).await;
            }
        }
    }
}

async fn serve<S>(shared: Loop, stream: S, channel: Channel, place: Place)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let filter = warp::Filter::recover(service::catch_all(Arc::clone(&shared.site)), service::recover);
    let inner = TowerToHyperService::new(warp::service(filter));
    let service = hyper::service::service_fn(move |mut request: Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(channel);
        hyper::service::Service::call(&inner, request)
    });
    let io = TokioIo::new(Impatient::new(stream, shared.bounds.write));
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(shared.bounds.header.max))
        .max_buf_size(PARSED_HEADERS)
        .half_close(true);
    let mut connection = pin!(builder.serve_connection(io, service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = shared.stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection.as_mut() => ended,
                () = shared.cut.cancelled() => Ok(()),
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
    drop(place);
}

/// Says that there is no room, and takes what the peer has sent so that it gets to read that.
async fn turn_away<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, limit: Limit, _permit: OwnedSemaphorePermit) {
    let error = ApiError::limit(&limit, limit.max.saturating_add(1)).remedy("Close some connections, or try again.");
    let body = serde_json::to_string(&error).unwrap_or_default();
    let text = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close\r\nretry-after: 1\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let told = async {
        stream.write_all(text.as_bytes()).await?;
        stream.shutdown().await?;
        let mut rest = [0_u8; 1_024];
        while stream.read(&mut rest).await? > 0 {}
        io::Result::Ok(())
    };
    // A peer that takes longer is simply dropped.
    let _ = tokio::time::timeout(Duration::from_secs(1), told).await;
}
