//! The inference server as a task, and how its end is heard of.

use super::owner::Runner;
use crate::models::followed::Followed;
use crate::supervisor::Handle;
use futures_util::future::{BoxFuture, FutureExt as _};
use ouroboros_domain::{Content, NewTask, Policy, Spec, TaskCommand};
use ouroboros_proto::api::StoredSpec;
use ouroboros_proto::kind::hex::hex;
use ouroboros_proto::kind::{Event, Isolation, Millis, Priority, TaskId, TaskNumber, WorkKind};
use ouroboros_store::Reader;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How long it may take to end by itself; less than its owner waits for the end. It has nothing to save.
const GRACE: Millis = Millis::seconds(10);

/// Runs commands as tasks of kind `model`.
pub struct ModelTask {
    handle: Handle,
    environment: BTreeMap<String, String>,
    /// Where missed events are read.
    reader: Reader,
    /// One that was submitted and has not ended as far as is known.
    live: Option<Followed>,
}

impl ModelTask {
    /// Nothing is submitted yet. `environment` is what commands get.
    pub const fn new(handle: Handle, reader: Reader, environment: BTreeMap<String, String>) -> Self {
        Self { handle, environment, reader, live: None }
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
            agent: None,
            from: None,
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
            inherit: None,
            workspace: None,
        })
    }
}

impl Runner for ModelTask {
    fn start(&mut self, argv: Vec<String>) -> BoxFuture<'_, Result<TaskNumber, String>> {
        Box::pin(async {
            if self.live.is_some() && self.ended().now_or_never().is_none() {
                return Err("the one before it was told to end and has not ended".to_owned());
            }
            let task = self.task(argv).map_err(|error| error.to_string())?;
            let (id, events) = (task.id, self.handle.events());
            let accepted = self.handle.submit(vec![task]).await.map_err(|error| error.message)?;
            let number = accepted.first().map_or_else(TaskNumber::default, |(_, number, _)| *number);
            self.live = Some(Followed::new(events, self.reader.clone(), id, number));
            Ok(number)
        })
    }

    fn ended(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            while let Some(live) = &mut self.live {
                match live.next().await {
                    Some(row) if matches!(row.event, Event::Settled { .. }) => self.live = None,
                    Some(_) => {}
                    // The server leaves, and takes the worker along.
                    None => std::future::pending().await,
                }
            }
        })
    }

    fn end(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if let Some(live) = &self.live {
                // Refused when it has ended by itself.
                let _ = self.handle.task(live.id(), TaskCommand::Cancel { grace: Some(GRACE) }).await;
            }
        })
    }
}
