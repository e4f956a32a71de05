//! Asking the server without waiting for longer than is useful.

use crate::client::Client;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

/// The server's answer, if there is one within `bound`. The exchange has a thread of its own, which ends by itself later.
pub fn ask(socket: PathBuf, target: &'static str, bound: Duration) -> Option<Value> {
    let (reply, answer) = sync_channel(1);
    let asking = std::thread::Builder::new().name("ask".to_owned()).spawn(move || {
        let found = Client::new(socket).get(target).and_then(|answer| answer.value());
        // Nobody waits for it any more.
        let _ = reply.send(found.ok());
    });
    asking.ok().and_then(|_| answer.recv_timeout(bound).ok()).flatten()
}
