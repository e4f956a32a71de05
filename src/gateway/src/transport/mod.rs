//! One request to a provider: it leaves at most once, and what is known of it afterwards is said exactly.
//!
//! | module | what it is for |
//! |---|---|
//! | `address` | the URL of a path at a provider, which is never another host |
//! | `client` | connections: one pool a provider, proxies, certificates |
//! | `request` | a request as it is handed to the network |
//! | `send` | one request, from the moment it may leave until it is over |
//! | `answer`, `frames`, `pieces`, `deadlines` | its answer: read to the end, cut into events, put into pieces, in time |
//! | `outcome` | what is known afterwards |
//! | `fetch` | small questions that cost nothing: catalogues, probes |
//!
//! Invariants: a request is written to a connection at most once; [`Sent::Unsent`] is said only with proof that no byte of it left, and
//! no deadline is proof but that of the connection; nothing follows a redirect; a key goes to its provider's base URL and nowhere else.
//! Dropping the future of a send closes its connection (HTTP/2: resets its stream), and is to be treated as [`Sent::Unknown`].
//!
//! Left out: when a request is sent again (see [`retry`](crate::retry)), and what it costs.

mod address;
mod answer;
mod client;
mod deadlines;
mod fetch;
mod frames;
mod outcome;
mod pieces;
mod read;
mod request;
mod send;
#[cfg(test)]
mod tests;

pub use address::is_in_the_clear;
pub(crate) use address::without_password;
pub use client::{Proxies, TransportOptions};
pub use fetch::{Fetch, FetchError};
pub use outcome::{Exchange, Sent, Unsent};

use crate::dialect::Wire;
use crate::route::Route;
use client::Clients;
use futures_util::future::BoxFuture;
use ouroboros_proto::agent::Piece;
use ouroboros_proto::kind::Millis;

/// Connections to providers. One for the whole process; it opens nothing before it is needed.
#[derive(Debug)]
pub struct Transport {
    clients: Clients,
}

impl Transport {
    /// With these options.
    #[must_use]
    pub fn new(options: TransportOptions) -> Self {
        Self { clients: Clients::new(options) }
    }

    /// Sends one request, once, and reads its answer to the end. The exchange holds what was seen on the wire, whatever came of it.
    ///
    /// Dropping the future closes the connection; what became of the request is then not known.
    pub async fn send(&self, sending: &Sending<'_>, listener: &mut dyn Listener) -> (Sent, Exchange) {
        send::send(&self.clients, sending, listener).await
    }

    /// Asks a provider something that costs nothing.
    ///
    /// # Errors
    /// When there is no whole answer within its bounds, or its status is not 2xx.
    pub async fn fetch(&self, fetch: &Fetch<'_>) -> Result<Vec<u8>, FetchError> {
        fetch::fetch(&self.clients, fetch).await
    }
}

/// A request that is ready to be sent.
#[derive(Debug, Clone, Copy)]
pub struct Sending<'a> {
    /// Where to.
    pub route: &'a Route,
    /// What.
    pub wire: &'a Wire,
    /// The key, where the provider needs one.
    pub key: Option<&'a str>,
    /// How long it may take.
    pub timing: Timing,
}

/// Hears of a request while it is on its way. Futures that are slow hold the stream back; the time in them counts for [`Timing::whole`]
/// only.
pub trait Listener: Send {
    /// The request is about to leave: once this returns, bytes of it can be on the wire. The place to make durable that it may have.
    /// When it says [`Leave::Stay`], nothing is sent.
    fn leaving(&mut self) -> BoxFuture<'_, Leave>;

    /// A piece of the answer.
    fn piece(&mut self, piece: Piece) -> BoxFuture<'_, ()>;
}

/// Whether a request may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// It may.
    Go,
    /// It may not: it is proven unsent.
    Stay,
}

/// How long a request may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Until there is a connection: name, TCP and TLS.
    pub connect: Millis,
    /// From then until the first event of the answer. Comments that only keep the connection alive are none.
    pub first_byte: Millis,
    /// Between two bytes after the first event; any byte counts, also of a comment.
    pub between_bytes: Millis,
    /// For everything.
    pub whole: Millis,
}

impl Timing {
    /// For a provider elsewhere.
    pub const REMOTE: Self = Self {
        connect: Millis::seconds(10),
        first_byte: Millis::seconds(120),
        between_bytes: Millis::seconds(60),
        whole: Millis::seconds(3_600),
    };

    /// For a server on this machine, which may load the model first.
    pub const LOCAL: Self =
        Self { first_byte: Millis::seconds(600), between_bytes: Millis::seconds(120), ..Self::REMOTE };

    /// The usual for this route.
    #[must_use]
    pub const fn of(route: &Route) -> Self {
        if route.provider.local { Self::LOCAL } else { Self::REMOTE }
    }
}
