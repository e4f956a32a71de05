//! The HTTP API and the page.
//!
//! | module | what it is for |
//! |---|---|
//! | [`serve`](mod@serve), [`bind`], `io` | sockets, connections, stopping |
//! | [`service`], [`router`], [`routes`] | one catch-all in front of a table of routes |
//! | [`auth`] | who is speaking |
//! | [`admission`] | from a request body to tasks |
//! | `endpoints`, [`render`] | answers |
//! | [`follow`] | streams of events and output |
//! | [`models`] | what is asked about routes, keys and prices |
//! | [`openapi`] | the same table, as a document |
//!
//! It decides nothing and holds no SQL: acts go to the supervisor's [`Handle`], reads to [`View`], the rest to [`Operations`] and [`Models`].
//! Invariants: every answer that is not a success is an [`ApiError`]; every read from a peer has a bound of size and time, every
//! write a bound of time; nothing blocks on a thread that drives connections; only committed facts are shown, and live output,
//! marked as such.

pub mod admission;
pub mod answers;
pub mod auth;
pub mod bind;
pub mod blocking;
pub mod bodies;
pub mod body;
pub mod follow;
pub mod metrics;
pub mod models;
pub mod openapi;
pub mod operations;
pub mod query;
pub mod range;
pub mod reference;
pub mod render;
pub mod reply;
pub mod request;
pub mod router;
pub mod routes;
pub mod serve;
pub mod service;
pub mod site;
pub mod view;

mod endpoints;
mod io;
mod json;
#[cfg(test)]
mod tests;

pub use admission::Surroundings;
pub use auth::token::{Token, TokenError};
pub use bind::{BindError, Listener, SocketFile, bind_tcp, bind_unix, inherit};
pub use models::Models;
pub use operations::Operations;
pub use serve::{Bounds, Running};
pub use view::View;

use crate::supervisor::Handle;
use auth::Auth;
use auth::origin::Origins;
use follow::stream::Streams;
use router::Routing;
use serve::Loop;
use site::{About, Site};
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What is needed to serve.
pub struct Options {
    /// Sockets that are bound, in any number; the first on TCP is the address of the page.
    pub listeners: Vec<Listener>,
    /// The supervisor.
    pub handle: Handle,
    /// The store.
    pub view: Arc<dyn View>,
    /// The server as a whole.
    pub operations: Arc<dyn Operations>,
    /// Routes, keys and prices.
    pub models: Arc<dyn Models>,
    /// The token of programs.
    pub token: Token,
    /// Version of the server.
    pub version: String,
    /// The data directory, for people.
    pub data_dir: String,
    /// What tasks get that name no environment or directory.
    pub surroundings: Surroundings,
    /// Bounds; the default is the table of limits.
    pub bounds: Bounds,
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A listener cannot be used.
    #[error("a listener cannot be used: {0}")]
    Listener(#[from] std::io::Error),
    /// The table of routes contradicts itself.
    #[error("the table of routes contradicts itself: {0}")]
    Routes(#[from] matchit::InsertError),
}

/// Begins to serve, on the runtime that this is called on. Connections are accepted when it returns.
///
/// # Errors
/// A listener cannot be used.
pub fn serve(options: Options) -> Result<Running, ServeError> {
    let mut addresses = Vec::new();
    for listener in &options.listeners {
        if let Listener::Tcp(socket) = listener {
            addresses.push(socket.local_addr()?);
        }
    }
    let url = addresses.first().map(|address| format!("http://{address}"));
    let (stop, cut, tasks) = (CancellationToken::new(), CancellationToken::new(), TaskTracker::new());
    let (clients, watched) = watch::channel(0);
    let site = Site {
        auth: Auth::new(options.handle.life().installation, options.token, Origins::new(&addresses)),
        handle: options.handle,
        view: options.view,
        operations: options.operations,
        models: options.models,
        surroundings: options.surroundings,
        blocking: blocking::Blocking::default(),
        room: body::Room::new(options.bounds.body),
        streams: Streams::new(options.bounds.streams, tasks.clone(), stop.clone()),
        counters: metrics::Counters::default(),
        about: About { version: options.version, data_dir: options.data_dir, url: url.clone() },
        routing: Routing::new()?,
    };
    let shared = Loop {
        site: Arc::new(site),
        bounds: options.bounds,
        stop: stop.clone(),
        cut: cut.clone(),
        tasks: tasks.clone(),
        clients: Arc::new(clients),
    };
    let mut files = Vec::new();
    for listener in options.listeners {
        files.extend(shared.listen(listener)?);
    }
    Ok(Running { stop, cut, tasks, files, clients: watched, addresses, url })
}
