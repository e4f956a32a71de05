//! A bare warp server, and the least that accepts tasks durably: warp, one writer thread, one commit for whatever waits.

use super::socket;
use anyhow::{Context as _, bail};
use bytes::Bytes;
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use tokio::sync::oneshot;
use warp::Filter as _;
use warp::http::{Response, StatusCode};

/// Clients that wait at once.
const WAITING: usize = 1_024;
/// Tasks in one commit.
const GROUP: usize = 256;

type Asked = (Vec<u8>, oneshot::Sender<i64>);

/// Serves until it is killed.
///
/// # Errors
/// It cannot.
pub fn serve(words: &[String]) -> anyhow::Result<()> {
    let [kind, dir] = words else { bail!("serve-peer needs a kind and a directory") };
    let dir = PathBuf::from(dir);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match kind.as_str() {
        "bare" => runtime.block_on(bare(&dir)),
        "commit" => {
            let (ask, asked) = sync_channel(WAITING);
            let conn = database(&dir)?;
            std::thread::Builder::new().name("writer".to_owned()).spawn(move || write(&conn, &asked))?;
            runtime.block_on(commit(&dir, ask))
        }
        other => bail!("there is no peer {other:?}"),
    }
}

async fn bare(dir: &Path) -> anyhow::Result<()> {
    let answer = warp::path!("api" / "tasks").and(warp::post()).and(warp::body::bytes()).map(|_: Bytes| accepted(1));
    let listener = tokio::net::UnixListener::bind(socket(dir))?;
    warp::serve(answer).incoming(listener).run().await;
    Ok(())
}

async fn commit(dir: &Path, ask: SyncSender<Asked>) -> anyhow::Result<()> {
    let accept = move |body: Bytes| {
        let ask = ask.clone();
        async move { Ok::<_, warp::Rejection>(accept(&body, &ask).await.unwrap_or_else(|| refused(&body))) }
    };
    let answer = warp::path!("api" / "tasks").and(warp::post()).and(warp::body::bytes()).and_then(accept);
    let listener = tokio::net::UnixListener::bind(socket(dir))?;
    warp::serve(answer).incoming(listener).run().await;
    Ok(())
}

async fn accept(body: &Bytes, ask: &SyncSender<Asked>) -> Option<Response<String>> {
    let task: Value = serde_json::from_slice(body).ok()?;
    let spec = serde_json::to_vec(&task["command"]).ok()?;
    let (done, number) = oneshot::channel();
    ask.try_send((spec, done)).ok()?;
    Some(accepted(number.await.ok()?))
}

fn accepted(number: i64) -> Response<String> {
    let body = json!({ "id": "0190a000-0000-7000-8000-000000000000", "number": number, "duplicate": false });
    answer(StatusCode::CREATED, body.to_string())
}

fn refused(body: &Bytes) -> Response<String> {
    answer(StatusCode::BAD_REQUEST, format!("not accepted: {} bytes", body.len()))
}

fn answer(status: StatusCode, body: String) -> Response<String> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}

fn database(dir: &Path) -> anyhow::Result<Connection> {
    let conn = Connection::open(dir.join("peer.db"))?;
    conn.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         CREATE TABLE tasks (number INTEGER PRIMARY KEY, state INTEGER NOT NULL, spec BLOB NOT NULL) STRICT;
         CREATE INDEX ready ON tasks (number) WHERE state = 0;",
    )
    .context("make the peer's database")?;
    Ok(conn)
}

fn write(conn: &Connection, asked: &Receiver<Asked>) {
    while let Ok(first) = asked.recv() {
        let mut group = vec![first];
        group.extend(asked.try_iter().take(GROUP - 1));
        match insert(conn, group) {
            Ok(accepted) => {
                for (done, number) in accepted {
                    // A client that left is told nothing.
                    let _ = done.send(number);
                }
            }
            Err(error) => eprintln!("bench: the peer's commit failed: {error}"),
        }
    }
}

fn insert(conn: &Connection, group: Vec<Asked>) -> rusqlite::Result<Vec<(oneshot::Sender<i64>, i64)>> {
    let transaction = conn.unchecked_transaction()?;
    let mut accepted = Vec::with_capacity(group.len());
    for (spec, done) in group {
        transaction.prepare_cached("INSERT INTO tasks (state, spec) VALUES (0, ?1)")?.execute(params![spec])?;
        accepted.push((done, transaction.last_insert_rowid()));
    }
    transaction.commit()?;
    Ok(accepted)
}
