//! The first frame each way.

use super::connection::Connection;
use crate::custody::Table;
use ouroboros_proto::kind::{Generation, InstallationId, WorkerId};
use ouroboros_proto::wire::{PROTOCOL, ServerHello, WorkerHello, decode};
use subtle::ConstantTimeEq as _;

/// Who we are to a worker.
#[derive(Debug, Clone)]
pub struct Ourselves {
    /// Our build.
    pub build: String,
    /// Our life.
    pub generation: Generation,
    /// Our installation.
    pub installation: InstallationId,
}

/// What the first frame of a connection came to.
pub(super) enum Greeting {
    /// It is this worker; `known` when its process is registered already.
    Welcome { worker: WorkerId, known: bool },
    /// It is turned away.
    Refused,
}

/// Judges a hello and answers it.
pub(super) fn greet(connection: &Connection, body: &[u8], table: &Table, ourselves: &Ourselves) -> Greeting {
    let judged = judge(connection, body, table, ourselves);
    let refused = judged.as_ref().err().cloned();
    if let Some(reason) = &refused {
        tracing::warn!(peer = connection.peer, %reason, "a worker connection is refused");
    }
    connection.outbox.send_any(&ServerHello {
        protocol: PROTOCOL,
        build: ourselves.build.clone(),
        generation: ourselves.generation,
        installation: ourselves.installation,
        refused,
    });
    judged.unwrap_or(Greeting::Refused)
}

fn judge(connection: &Connection, body: &[u8], table: &Table, ourselves: &Ourselves) -> Result<Greeting, String> {
    let theirs = body.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes));
    if theirs != Some(PROTOCOL) {
        let theirs = theirs.map_or_else(|| "none".to_owned(), |number| number.to_string());
        return Err(format!("protocol_mismatch: the server speaks protocol {PROTOCOL}, the worker {theirs}"));
    }
    let hello: WorkerHello = decode(body).map_err(|error| format!("bad_hello: {error}"))?;
    if hello.build != ourselves.build {
        return Err(format!("build_mismatch: the server is build {}, the worker {}", ourselves.build, hello.build));
    }
    if hello.generation != ourselves.generation {
        return Err(format!("old_generation: this is generation {}, not {}", ourselves.generation, hello.generation));
    }
    let mut workers = table.lock();
    let entry = workers.get_mut(&hello.worker).filter(|entry| entry.outbox.is_none());
    let Some(entry) = entry else { return Err("unknown_worker: no such worker is awaited".to_owned()) };
    if !bool::from(entry.token.0.ct_eq(&hello.token.0)) {
        return Err("bad_token: the token is not that worker's".to_owned());
    }
    let peer = connection.peer.unwrap_or(0);
    let known = match &entry.child {
        Some(child) if child.pid() != peer => return Err("bad_peer: the process is not that worker".to_owned()),
        child => child.is_some(),
    };
    entry.greeted = Some(peer);
    entry.outbox = Some(std::sync::Arc::clone(&connection.outbox));
    entry.drained = false;
    Ok(Greeting::Welcome { worker: hello.worker, known })
}
