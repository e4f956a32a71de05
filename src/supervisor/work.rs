//! Turns a stored specification into what a worker is sent.

use super::answers;
use super::recent::Recent;
use ouroboros_proto::agent::{Facts, Job};
use ouroboros_proto::api::StoredSpec;
use ouroboros_proto::kind::hex::unhex;
use ouroboros_proto::kind::{Allowance, AttemptId, Millis, TaskId};
use ouroboros_proto::wire::{AgentWork, AskWork, CommandWork, Order, PtySize, Stdin};
use ouroboros_store::output::{stdin_file, transcript_file};
use ouroboros_store::{Layout, Output, ReadError, Reader};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of a transcript that are read at once.
const PAGE: usize = 1 << 20;

/// Settings that attempts are started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptSettings {
    /// Bytes kept of each output stream.
    pub output_limit: u64,
    /// Whether `no_new_privs` is set.
    pub no_new_privs: bool,
    /// Whether programs of agents run only where this machine can confine them as they should be.
    pub require_confinement: bool,
    /// Origins at private addresses that agents may fetch pages from.
    pub private_origins: Vec<String>,
}

/// Why a specification cannot be turned into work.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// It is not stored.
    #[error("its specification is not stored")]
    NoSpec,
    /// It is not what we store.
    #[error("its specification is not readable: {0}")]
    Malformed(#[from] serde_json::Error),
    /// A body that it names is not stored.
    #[error("its {0} is not stored")]
    NoContent(&'static str),
    /// The store cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Standard input cannot be given a file.
    #[error("what its worker is to read cannot be written: {0}")]
    File(#[from] std::io::Error),
}

/// Makes work.
pub struct WorkFactory {
    /// Reads what is not in memory.
    pub reader: Reader,
    /// Where files lie.
    pub layout: Layout,
    /// Where attempts write.
    pub output: Output,
    /// What is in memory.
    pub recent: Arc<Recent>,
    /// Settings in force for attempts that start now.
    pub settings: Arc<Mutex<AttemptSettings>>,
    /// Places that no tool of an agent may look into.
    pub fenced: Vec<String>,
    /// The file with what the owner says to every agent.
    pub instructions: String,
    /// Directories with the owner's skills.
    pub skills: Vec<String>,
    /// What is known of a route, and of the money of tasks without a limit of their own.
    pub facts: FactsOf,
}

/// Says what an agent is told beforehand when it names this route.
pub type FactsOf = Arc<dyn Fn(Option<&str>) -> Facts + Send + Sync>;

impl WorkFactory {
    /// The order that begins a task's attempt. What goes before it are entries of another task, and requests that nobody heard the end of.
    ///
    /// # Errors
    /// When the specification or what it names is not there or not readable.
    pub fn order(
        &self,
        task: TaskId,
        attempt: AttemptId,
        timeout: Option<Millis>,
        (inherited, unheard): (u32, Vec<u32>),
    ) -> Result<Order, WorkError> {
        let spec = match self.recent.specs.take(&task) {
            Some(spec) => spec,
            None => self.reader.spec(task)?.ok_or(WorkError::NoSpec)?.into(),
        };
        let spec: StoredSpec = serde_json::from_slice(&spec)?;
        let settings = self.settings.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let output_base = self.layout.output_base(&attempt).display().to_string();
        if let Some(ask) = &spec.ask {
            let request = self.body(&ask.request, "question")?.to_vec();
            let work = AskWork { request, timeout, output_limit: settings.output_limit, output_base };
            return Ok(Order::Ask { task, work: Box::new(work) });
        }
        if let Some(job) = &spec.agent {
            let transcript = self.transcript(task, &attempt)?;
            let job = self.body(&job.request, "words")?.to_vec();
            let work = AgentWork {
                facts: self.facts(task, &job)?,
                job,
                session: task.to_string(),
                folder: spec.cwd,
                transcript: transcript.map(|path| path.display().to_string()).unwrap_or_default(),
                versions: self.layout.versions(&task).display().to_string(),
                fenced: self.fenced.clone(),
                timeout,
                output_limit: settings.output_limit,
                output_base,
                scratch: self.layout.scratch(&task).display().to_string(),
                instructions: self.instructions.clone(),
                may_lack_confinement: !settings.require_confinement,
                private_origins: settings.private_origins,
                skills: self.skills.clone(),
                rules: answers::rules(&self.reader, task)?,
                inherited: u64::from(inherited),
                messages: self.messages(task)?,
                unheard,
            };
            return Ok(Order::Agent { task, work: Box::new(work) });
        }
        let env = self.environment(&spec.env)?;
        let stdin = match &spec.stdin {
            None => Stdin::Null,
            Some(hash) => Stdin::File { path: self.stdin_file(hash, &attempt)?.display().to_string() },
        };
        let work = CommandWork {
            argv: spec.argv,
            env: env.into_iter().collect(),
            cwd: spec.cwd,
            umask: spec.umask,
            stdin,
            pty: spec.pty.map(|pty| PtySize { columns: pty.columns, rows: pty.rows }),
            timeout,
            no_new_privs: settings.no_new_privs,
            output_limit: settings.output_limit,
            output_base,
        };
        Ok(Order::Run { task, work: Box::new(work) })
    }

    /// What was said to a task and is not in its transcript, by number.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn messages(&self, task: TaskId) -> Result<Vec<(u32, String)>, ReadError> {
        Ok(self.reader.messages(task, true)?.into_iter().map(|message| (message.number, message.text)).collect())
    }

    /// What the agent is told beforehand. A job that cannot be read is the worker's to complain of.
    fn facts(&self, task: TaskId, job: &[u8]) -> Result<Vec<u8>, WorkError> {
        let route = serde_json::from_slice::<Job>(job).ok().and_then(|job| job.route);
        let mut facts = (self.facts)(route.as_deref());
        let row = self.reader.tasks_by_id(&[task])?.pop();
        if let Some(Allowance(own)) = row.and_then(|row| row.policy.max_cost) {
            facts.max_cost = own;
        }
        Ok(serde_json::to_vec(&facts)?)
    }

    /// The file with this standard input. A small one lies in the database, and is given a file beside the attempt's output.
    fn stdin_file(&self, hash: &str, attempt: &AttemptId) -> Result<PathBuf, WorkError> {
        let hash = unhex(hash).ok_or(WorkError::NoContent("standard input"))?;
        let path = self.layout.content(&hash);
        if path.exists() {
            return Ok(path);
        }
        let bytes = self.content(hash, "standard input")?;
        let path = stdin_file(&self.output.prepare(attempt)?);
        std::fs::write(&path, &bytes)?;
        Ok(path)
    }

    /// A file with what earlier attempts recorded; `None` when there were none.
    fn transcript(&self, task: TaskId, attempt: &AttemptId) -> Result<Option<PathBuf>, WorkError> {
        let first = self.reader.transcript(task, 1, PAGE)?;
        if first.is_empty() {
            return Ok(None);
        }
        let path = transcript_file(&self.output.prepare(attempt)?);
        let mut file = std::io::BufWriter::new(create_private(&path)?);
        let (mut place, mut page) = (1, first);
        while !page.is_empty() {
            place += u64::try_from(page.len()).unwrap_or(u64::MAX);
            for entry in page {
                file.write_all(entry.as_bytes())?;
                file.write_all(b"\n")?;
            }
            page = self.reader.transcript(task, place, PAGE)?;
        }
        file.flush()?;
        Ok(Some(path))
    }

    fn environment(&self, hash: &str) -> Result<BTreeMap<String, String>, WorkError> {
        let hash = unhex(hash).ok_or(WorkError::NoContent("environment"))?;
        let bytes = self.content(hash, "environment")?;
        // Many tasks share one.
        self.recent.bodies.put(hash, &bytes);
        Ok(serde_json::from_slice(&bytes)?)
    }

    fn body(&self, hash: &str, what: &'static str) -> Result<Arc<[u8]>, WorkError> {
        self.content(unhex(hash).ok_or(WorkError::NoContent(what))?, what)
    }

    fn content(&self, hash: [u8; 32], what: &'static str) -> Result<Arc<[u8]>, WorkError> {
        match self.recent.bodies.get(&hash) {
            Some(bytes) => Ok(bytes),
            None => Ok(self.reader.content(&hash)?.ok_or(WorkError::NoContent(what))?.into()),
        }
    }
}

fn create_private(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}
