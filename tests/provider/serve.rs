//! Connections. Each is a task of its own; a request is answered by [`Provider`](crate::reply::Provider).

use crate::reply::Provider;
use crate::socket::Socket;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// Connections at once. More wait to be accepted.
const CONNECTIONS: usize = 4_096;

/// Serves until it is killed.
///
/// # Errors
/// The listener is broken.
pub async fn serve(listener: TcpListener, provider: Arc<Provider>) -> anyhow::Result<()> {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let permit = Arc::clone(&room).acquire_owned().await?;
        // A connection that broke before it was accepted is not the listener's end.
        let Ok((stream, _)) = listener.accept().await else { continue };
        let provider = Arc::clone(&provider);
        tokio::spawn(async move {
            connection(stream, provider).await;
            drop(permit);
        });
    }
}

/// A connection ends as the script or the other side will; neither is an error here.
async fn connection(stream: TcpStream, provider: Arc<Provider>) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let reset = Arc::new(AtomicBool::new(false));
    let io = TokioIo::new(Socket::new(stream, Arc::clone(&reset)));
    let answer = service_fn(move |request| {
        let (provider, reset) = (Arc::clone(&provider), Arc::clone(&reset));
        async move { provider.answer(request, reset).await }
    });
    let _ = http1::Builder::new().serve_connection(io, answer).await;
}
