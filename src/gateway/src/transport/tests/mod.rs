//! Sends against a server that does what it is told. Where a deadline decides, the clock is tokio's and stands still but for what is
//! waited for.

mod answers;
mod proof;

use super::*;
use crate::dialect::{Dialect, Framing};
use crate::route::{ModelFacts, Provider, RouteId};
use crate::testing::{Act, chunk, stream_end, stream_head};
use std::time::Duration;

/// A route to a server of the tests.
fn route(url: &str) -> Route {
    let provider =
        Provider { name: "test".to_owned(), dialect: Dialect::OpenaiChat, base_url: format!("{url}/v1"), local: false };
    let facts = ModelFacts { model: "m".to_owned(), ..ModelFacts::default() };
    Route { id: RouteId::new("test", "m"), provider, model: "m".to_owned(), facts }
}

fn wire() -> Wire {
    Wire {
        path: "/chat/completions".to_owned(),
        headers: vec![("content-type", "application/json".to_owned())],
        body: br#"{"model":"m"}"#.to_vec(),
        framing: Framing::Sse,
        bound_input: 1,
        bound_output: 1,
        images: 0,
    }
}

fn transport() -> Transport {
    Transport::new(TransportOptions { user_agent: "ouroboros-test".to_owned(), ..TransportOptions::default() })
}

/// Hears what comes.
struct Ear {
    left: usize,
    pieces: Vec<Piece>,
    leave: Leave,
    slow: Duration,
}

impl Default for Ear {
    fn default() -> Self {
        Self { left: 0, pieces: Vec::new(), leave: Leave::Go, slow: Duration::ZERO }
    }
}

impl Ear {
    /// All text that was heard.
    fn text(&self) -> String {
        let text = |piece: &Piece| if let Piece::Text(text) = piece { Some(text.clone()) } else { None };
        self.pieces.iter().filter_map(text).collect()
    }
}

impl Listener for Ear {
    fn leaving(&mut self) -> BoxFuture<'_, Leave> {
        self.left += 1;
        Box::pin(std::future::ready(self.leave))
    }

    fn piece(&mut self, piece: Piece) -> BoxFuture<'_, ()> {
        self.pieces.push(piece);
        let slow = self.slow;
        Box::pin(async move {
            if !slow.is_zero() {
                tokio::time::sleep(slow).await;
            }
        })
    }
}

/// Sends once with the usual times.
async fn send(transport: &Transport, url: &str, ear: &mut Ear) -> (Sent, Exchange) {
    let (route, wire) = (route(url), wire());
    let sending = Sending { route: &route, wire: &wire, key: Some("sk-secret"), timing: Timing::of(&route) };
    transport.send(&sending, ear).await
}

fn said(text: &str) -> String {
    format!("data: {{\"id\":\"c\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

const STOP: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const COUNTS: &str = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\n";
const DONE: &str = "data: [DONE]\n\n";

/// A whole answer that says hello.
fn hello() -> Vec<Act> {
    vec![stream_head(), chunk(&said("hello")), chunk(STOP), chunk(COUNTS), chunk(DONE), stream_end()]
}

fn is_unknown(sent: &Sent) -> bool {
    matches!(sent, Sent::Unknown { .. })
}
