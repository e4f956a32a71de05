//! The inference server as a task, and how its end is heard of.

use super::owner::Runner;
use crate::supervisor::Handle;
use futures_util::future::BoxFuture;
use ouroboros_domain::{Content, EventRow, NewTask, Policy, Spec, TaskCommand};
use ouroboros_proto::api::StoredSpec;
use ouroboros_proto::kind::hex::hex;
use ouroboros_proto::kind::{Event, Isolation, Priority, TaskId, TaskNumber, WorkKind};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

/// Runs commands as tasks of kind `model`.
pub struct ModelTask {
    handle: Handle,
    environment: BTreeMap<String, String>,
    live: Option<Live>,
}

/// One that was submitted and has not ended as far as is known.
struct Live {
    task: TaskId,
    events: broadcast::Receiver<Arc<[EventRow]>>,
    /// Events were missed; its end may be among them.
    missed: bool,
}

impl ModelTask {
    /// Nothing is submitted yet. `environment` is what commands get.
    pub fn new(handle: Handle, environment: BTreeMap<String, String>) -> Self {
        Self { handle, environment, live: None }
    }

    fn task(&self, argv: Vec<String>) -> Result<NewTask, serde_json::Error> {
        let env = serde_json::to_vec(&self.environment)?;
        let hash: [u8; 32] = Sha256::digest(&env).into();
        let spec = StoredSpec {
            argv,
            cwd: "/".to_owned(),
            umask: None,
            env: hex(&hash),
            stdin: None,
            pty: None,
            name: Some("local model".to_owned()),
            ask: None,
        };
        Ok(NewTask {
            id: TaskId::mint(),
            kind: WorkKind::Model,
            spec: Spec::New(serde_json::to_vec(&spec)?.into()),
            contents: vec![Content { hash, bytes: Arc::from(env), in_file: false }],
            key: None,
            priority: Priority::Urgent,
            delay: None,
            after: Vec::new(),
            hold: false,
            policy: Policy { rerun: false, retries: 0, timeout: None, isolation: Isolation::Namespace, max_cost: None },
            parent: None,
        })
    }
}

impl Runner for ModelTask {
    fn start(&mut self, argv: Vec<String>) -> BoxFuture<'_, Result<TaskNumber, String>> {
        Box::pin(async {
            let task = self.task(argv).map_err(|error| error.to_string())?;
            let events = self.handle.events();
            self.live = Some(Live { task: task.id, events, missed: false });
            match self.handle.submit(vec![task]).await {
                Ok(accepted) => Ok(accepted.first().map_or_else(TaskNumber::default, |(_, number, _)| *number)),
                Err(error) => {
                    self.live = None;
                    Err(error.message)
                }
            }
        })
    }

    fn ended(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if let Some(live) = &mut self.live {
                live.ended(&self.handle).await;
                self.live = None;
            }
        })
    }

    fn end(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if let Some(live) = &self.live {
                // Refused when it has ended by itself.
                let _ = self.handle.task(live.task, TaskCommand::Cancel { grace: None }).await;
            }
        })
    }
}

impl Live {
    async fn ended(&mut self, handle: &Handle) {
        loop {
            if self.missed {
                // Releasing what is not held changes nothing, and is refused for what has settled.
                if handle.task(self.task, TaskCommand::Release).await.is_err() {
                    return;
                }
                self.missed = false;
            }
            match self.events.recv().await {
                Ok(rows) if rows.iter().any(|row| self.settles(row)) => return,
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => self.missed = true,
                // The server leaves, and takes the worker along.
                Err(RecvError::Closed) => std::future::pending().await,
            }
        }
    }

    fn settles(&self, row: &EventRow) -> bool {
        row.task.is_some_and(|(id, _)| id == self.task) && matches!(row.event, Event::Settled { .. })
    }
}
