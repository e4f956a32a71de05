//! One request, from the moment it may leave until it is over.

use super::answer::Answer;
use super::client::Clients;
use super::deadlines::{Deadlines, seconds};
use super::outcome::{Exchange, Sent, Unsent};
use super::pieces::Pieces;
use super::read::{chain, header};
use super::{Leave, Listener, Sending, request};
use crate::dialect::Rejection;
use reqwest::Response;
use tokio::time::timeout_at;

/// At most this much is read of an error.
const MAX_ERROR_BYTES: usize = 1 << 20;

pub(super) async fn send(clients: &Clients, sending: &Sending<'_>, listener: &mut dyn Listener) -> (Sent, Exchange) {
    let mut exchange = Exchange::default();
    let sent = once(clients, sending, listener, &mut exchange).await;
    match &sent {
        Sent::Answered(answer) => exchange.provider_request.clone_from(&answer.provider_request),
        Sent::Rejected(rejection) | Sent::BrokenOff(rejection) if exchange.provider_request.is_none() => {
            exchange.provider_request.clone_from(&rejection.request_id);
        }
        Sent::Rejected(_) | Sent::BrokenOff(_) | Sent::Unsent { .. } | Sent::Unknown { .. } | Sent::Unusable { .. } => {
        }
    }
    (sent, exchange)
}

async fn once(clients: &Clients, sending: &Sending<'_>, listener: &mut dyn Listener, exchange: &mut Exchange) -> Sent {
    let (client, request) = match request::prepare(clients, sending) {
        Ok(prepared) => prepared,
        Err(error) => return unsent(Unsent::Invalid, error.to_string()),
    };
    match listener.leaving().await {
        Leave::Go => {}
        Leave::Stay => return unsent(Unsent::Held, "it was held back".to_owned()),
    }
    let deadlines = Deadlines::start(sending.timing);
    let response = match timeout_at(deadlines.head(), client.execute(request)).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return failed(error),
        Err(_) => return unknown(format!("no answer within {}", seconds(sending.timing.first_byte))),
    };
    if response.status().is_success() {
        let assembler = sending.route.provider.dialect.assembler(sending.route);
        let framing = sending.wire.framing;
        let pieces = Pieces::default();
        Answer { response, assembler, deadlines, exchange, begun: false, pieces, rest: None }
            .read(framing, listener)
            .await
    } else {
        rejected(sending, response, &deadlines, exchange).await
    }
}

fn unknown(reason: String) -> Sent {
    Sent::Unknown { reason }
}

fn unsent(cause: Unsent, reason: String) -> Sent {
    Sent::Unsent { cause, reason }
}

/// There is no response. The only proof that nothing left is that there was no connection: hyper says so for the name, TCP, TLS and the
/// proxy's tunnel, with their deadline, and for nothing that happens once a request has a connection.
fn failed(error: reqwest::Error) -> Sent {
    let error = error.without_url();
    let reason = chain(&error);
    if error.is_connect() {
        unsent(Unsent::Network, reason)
    } else if error.is_builder() {
        unsent(Unsent::Invalid, reason)
    } else {
        unknown(reason)
    }
}

/// An error is whole with its body: a status alone can come from something between us and the provider that lost it halfway.
async fn rejected(
    sending: &Sending<'_>,
    mut response: Response,
    deadlines: &Deadlines,
    exchange: &mut Exchange,
) -> Sent {
    let status = response.status();
    let mut body = Vec::new();
    while body.len() < MAX_ERROR_BYTES {
        match timeout_at(deadlines.next(), response.chunk()).await {
            Ok(Ok(Some(bytes))) => {
                exchange.record(&bytes);
                body.extend_from_slice(&bytes);
            }
            Ok(Ok(None)) => break,
            Ok(Err(error)) => return broken_error(status.as_u16(), &chain(&error.without_url())),
            Err(_) => return broken_error(status.as_u16(), "it stopped"),
        }
    }
    let headers = response.headers().clone();
    let read = |name: &str| header(&headers, name);
    let mut rejection: Rejection = sending.route.provider.dialect.rejection(status.as_u16(), &read, &body);
    if status.is_redirection() {
        "the server redirects elsewhere, and redirects are not followed: the base URL is not that of an API"
            .clone_into(&mut rejection.message);
    }
    Sent::Rejected(Box::new(rejection))
}

fn broken_error(status: u16, reason: &str) -> Sent {
    unknown(format!("an error with status {status} broke off: {reason}"))
}
