//! The process that stands in for a worker.

use super::heard::{Heard, Round};
use crate::sample::micros;
use anyhow::{Context as _, bail, ensure};
use ouroboros_process::exec::set_parent_death_kill;
use ouroboros_proto::agent::ModelEnd;
use ouroboros_proto::kind::{AttemptId, Generation};
use ouroboros_proto::wire::codec::{PREFIX, body_length};
use ouroboros_proto::wire::{
    Credit, FromWorker, Order, PROTOCOL, Report, ServerHello, ToWorker, Token, WorkerHello, decode, encode,
};
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::str::FromStr;

/// Serves until the bench or the server is gone.
pub fn serve(control: &Path) -> ExitCode {
    match work(control) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: a caller ends: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn work(control: &Path) -> anyhow::Result<()> {
    if rustix::process::getpid() == rustix::process::Pid::INIT {
        // As the init of a namespace it must not outlive its server; elsewhere the end of the control socket ends it.
        set_parent_death_kill(0)?;
    }
    let mut server = Server::greet()?;
    let mut calls = server.question()?;
    let control = UnixStream::connect(control)?;
    for order in BufReader::new(&control).lines() {
        let heard = calls.make(&mut server, serde_json::from_str(&order?)?)?;
        writeln!(&control, "{}", serde_json::to_string(&heard)?)?;
    }
    Ok(())
}

fn variable<T: FromStr>(name: &str) -> anyhow::Result<T> {
    std::env::var(name)?.parse().ok().with_context(|| format!("{name} is not valid"))
}

/// The server's socket.
struct Server {
    stream: BufReader<UnixStream>,
    generation: Generation,
}

impl Server {
    fn greet() -> anyhow::Result<Self> {
        let socket: String = variable("OUROBOROS_WORKER_SOCKET")?;
        let generation = variable("OUROBOROS_WORKER_GENERATION")?;
        let secret: String = variable("OUROBOROS_WORKER_TOKEN")?;
        let mut token = [0; 32];
        for (place, byte) in token.iter_mut().enumerate() {
            let digits = secret.get(2 * place..2 * place + 2).context("the token is short")?;
            *byte = u8::from_str_radix(digits, 16)?;
        }
        let version = env!("CARGO_PKG_VERSION");
        let hello = WorkerHello {
            protocol: PROTOCOL,
            build: option_env!("OUROBOROS_BUILD")
                .map_or_else(|| version.to_owned(), |build| format!("{version}+{build}")),
            worker: variable("OUROBOROS_WORKER_ID")?,
            token: Token(token),
            generation,
            namespace: std::fs::metadata("/proc/self/ns/pid")?.ino(),
        };
        let stream = UnixStream::connect(socket)?;
        (&stream).write_all(&encode(&hello)?)?;
        let mut server = Self { stream: BufReader::with_capacity(64 << 10, stream), generation };
        let answer: ServerHello = server.read()?;
        ensure!(answer.refused.is_none(), "the server turns it away: {:?}", answer.refused);
        Ok(server)
    }

    /// Waits for a question.
    fn question(&mut self) -> anyhow::Result<Calls> {
        loop {
            let frame: ToWorker = self.read()?;
            match frame.order {
                Order::Ask { work, .. } => {
                    return Ok(Calls { attempt: frame.attempt, request: work.request, last: 0 });
                }
                Order::Run { .. } => bail!("it was given a command"),
                _ => {}
            }
        }
    }

    fn read<T: DeserializeOwned>(&mut self) -> anyhow::Result<T> {
        let mut prefix = [0; PREFIX];
        self.stream.read_exact(&mut prefix)?;
        let mut body = vec![0; body_length(prefix)?];
        self.stream.read_exact(&mut body)?;
        Ok(decode(&body)?)
    }

    fn report(&mut self, attempt: AttemptId, report: Report) -> anyhow::Result<()> {
        let frame = FromWorker { attempt, generation: self.generation, sequence: 0, report };
        Ok(self.stream.get_mut().write_all(&encode(&frame)?)?)
    }
}

/// The calls of one attempt.
struct Calls {
    attempt: AttemptId,
    request: Vec<u8>,
    last: u32,
}

impl Calls {
    fn make(&mut self, server: &mut Server, round: Round) -> anyhow::Result<Heard> {
        let mut heard = Heard { begin: micros(), ..Heard::default() };
        let (mut open, mut credits) = (BTreeMap::new(), BTreeMap::<u32, Credit>::new());
        let mut begun = BTreeSet::new();
        let mut left = round.calls;
        loop {
            while left > 0 && open.len() < round.at_once.max(1) {
                left -= 1;
                self.last += 1;
                open.insert(self.last, micros());
                server.report(self.attempt, Report::Call { call: self.last, request: self.request.clone() })?;
            }
            if open.is_empty() {
                heard.end = micros();
                return Ok(heard);
            }
            match server.read::<ToWorker>()?.order {
                Order::Piece { call, piece } => {
                    let asked = open.get(&call).filter(|_| begun.insert(call)).copied();
                    heard.piece(&piece, asked);
                    if let Some(bytes) = credits.entry(call).or_default().take(piece.len()) {
                        server.report(self.attempt, Report::Taken { call, bytes })?;
                    }
                }
                Order::CallOver { call, end } => {
                    let start: Option<u64> = open.remove(&call);
                    heard.calls.extend(start.map(|start| micros().saturating_sub(start)));
                    credits.remove(&call);
                    match serde_json::from_slice(&end)? {
                        ModelEnd::Answer(_) => heard.answers += 1,
                        other => heard.other = Some(format!("{other:?}")),
                    }
                }
                _ => {}
            }
        }
    }
}
