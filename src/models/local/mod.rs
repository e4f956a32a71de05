//! The inference server that this server runs itself: started when it is needed, ended when it is not.
//!
//! | module | what it is for |
//! |---|---|
//! | [`owner`] | the one that starts it, waits until it answers, and ends it |
//! | [`plan`] | what the settings say about it |
//! | [`rest`] | pauses between starts that failed |
//! | [`task`] | it as a task, and how its end is heard of |
//! | [`probe`] | whether it answers |
//!
//! It runs as a task of its own kind, so that custody, log, ledger and every kind of end are those of any other work: it takes no
//! slot, ends with the server in order, by panic, or when the server dies, and its output is the task's output. Here is only what
//! that does not give: the port, readiness, idleness, and pauses.
//!
//! At most one runs, and the next is not started before the end of the one before is known. Whoever has an [`InUse`] keeps it.

mod owner;
mod plan;
mod probe;
mod rest;
mod task;
#[cfg(test)]
mod tests;

use crate::life::configuration::Configuration;
use crate::supervisor::Handle;
use ouroboros_proto::kind::TaskNumber;
use ouroboros_store::Reader;
use owner::{Owner, Wish};
use plan::Plan;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use task::ModelTask;
use tokio::runtime;
use tokio::sync::{mpsc, oneshot, watch};

/// Callers that wait for the owner to listen; the next ones wait for them.
const CALLERS: usize = 64;

/// Why there is no inference server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocalError {
    /// No command is set.
    #[error("no command runs a model here: `models.local_command` is empty")]
    NotConfigured,
    /// The command is no command.
    #[error("`models.local_command` is not a command: {0}")]
    BadCommand(&'static str),
    /// Another program listens on the port that is set.
    #[error("the local model cannot be started: another program listens on port {0} (`models.local_port`)")]
    PortTaken(u16),
    /// It could not be started.
    #[error("the local model could not be started: {0}")]
    NotStarted(String),
    /// It ended before it answered.
    #[error("the local model ended before it answered; `ouroboros logs {0}` shows what it said")]
    Ended(TaskNumber),
    /// It did not answer in time.
    #[error("the local model did not answer within 10 minutes; `ouroboros logs {0}` shows what it said")]
    Silent(TaskNumber),
    /// It failed just before.
    #[error("the local model failed; it is started again in {0} s")]
    Resting(u64),
    /// The server leaves.
    #[error("the server is leaving")]
    Leaving,
}

/// The handle.
pub struct Local {
    configuration: Arc<Configuration>,
    wishes: mpsc::Sender<Wish>,
    up: Arc<AtomicBool>,
}

/// While it lives, the inference server is not idle.
#[derive(Debug)]
pub struct InUse {
    users: watch::Sender<usize>,
}

impl InUse {
    fn new(users: &watch::Sender<usize>) -> Self {
        users.send_modify(|users| *users = users.saturating_add(1));
        Self { users: users.clone() }
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.users.send_modify(|users| *users = users.saturating_sub(1));
    }
}

impl Local {
    /// With nothing running. `environment` is what the command gets; the owner lives on `runtime` as long as this.
    #[must_use]
    pub fn new(
        handle: Handle,
        reader: Reader,
        configuration: Arc<Configuration>,
        environment: BTreeMap<String, String>,
        runtime: &runtime::Handle,
    ) -> Self {
        let (wishes, heard) = mpsc::channel(CALLERS);
        let up = Arc::new(AtomicBool::new(false));
        let settings = Arc::clone(&configuration);
        let plan = move || Plan::of(&settings.settings());
        runtime.spawn(Owner::new(ModelTask::new(handle, reader, environment), plan, heard, Arc::clone(&up)).run());
        Self { configuration, wishes, up }
    }

    /// Whether a command is set.
    #[must_use]
    pub fn is_configured(&self) -> bool {
        !self.configuration.settings().models_local_command.trim().is_empty()
    }

    /// Whether it runs and has answered.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.up.load(Ordering::Acquire)
    }

    /// Starts the inference server if it does not run, and waits until it answers. Its base URL, and a guard against idleness.
    /// Dropping the future takes the wish back; what was started is ended when it was idle for long enough.
    ///
    /// # Errors
    /// [`LocalError`].
    pub async fn ready(&self) -> Result<(String, InUse), LocalError> {
        let (wish, answer) = oneshot::channel();
        self.wishes.send(wish).await.map_err(|_| LocalError::Leaving)?;
        let (port, in_use) = answer.await.map_err(|_| LocalError::Leaving)??;
        Ok((format!("http://127.0.0.1:{port}/v1"), in_use))
    }
}
