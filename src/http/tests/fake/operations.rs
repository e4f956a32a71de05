//! The server as a whole.

use super::World;
use crate::http::operations::{Admission, BackedUp, Operations};
use ouroboros_proto::api::{
    ApiError, ChangeKind, ChangeView, ChangesView, Code, DiskView, ProcessView, UndoAnswer, UndoOne, UndoRequest,
    Undone,
};
use ouroboros_proto::kind::{Isolation, Millis, Role, TaskId, TaskNumber};
use std::path::Path;

impl Operations for World {
    fn admission(&self) -> Result<Admission, ApiError> {
        let rules = Admission {
            isolation: Isolation::Namespace,
            timeout: Some(Millis::seconds(60)),
            max_retries: 100,
            max_rounds: 200,
            mode: ouroboros_proto::agent::Mode::default(),
        };
        self.store().admission.clone().map_or(Ok(rules), Err)
    }

    fn reload(&self) -> Result<Vec<String>, ApiError> {
        Ok(vec!["server.listen".to_owned()])
    }

    fn collect_garbage(&self) -> Result<u64, ApiError> {
        Ok(7)
    }

    fn backup(&self, path: &Path, output: bool) -> Result<BackedUp, ApiError> {
        if path.exists() {
            return Err(ApiError::new(Code::BadField, "It exists."));
        }
        let beside = output.then(|| (path.with_extension("output"), 12));
        Ok(BackedUp { missing_bodies: u64::from(output), output: beside })
    }

    fn processes(&self) -> Result<Vec<ProcessView>, ApiError> {
        let process = |pid, parent, role, task, command: &str| ProcessView {
            pid,
            parent,
            role,
            task,
            command: command.to_owned(),
            age_seconds: Some(61),
            cpu_micros: Some(2_500_000),
            resident_bytes: Some(12 << 20),
            recorded: true,
        };
        Ok(vec![
            process(100, None, Role::Launcher, None, "ouroboros up"),
            process(101, Some(100), Role::Server, None, "ouroboros-server"),
            process(102, Some(101), Role::Worker, None, "ouroboros-worker (spare)"),
            process(110, Some(101), Role::Worker, Some(TaskNumber::new(2)), "ouroboros-worker"),
            process(111, Some(110), Role::Tool, Some(TaskNumber::new(2)), "sh -c 'cargo build --release'"),
        ])
    }

    fn disk(&self) -> DiskView {
        DiskView { database: Some(1 << 20), output: None, logs: Some(4_096), free: Some(1 << 40) }
    }

    fn config(&self) -> serde_json::Value {
        serde_json::json!({ "queue.slots": { "value": "2", "source": "default" } })
    }

    fn changes(&self, _task: TaskId, folder: &str) -> Result<ChangesView, ApiError> {
        let file = ChangeView {
            path: "a".to_owned(),
            change: ChangeKind::Changed,
            foreign: false,
            diff: Some(format!("-{}\n", super::models::PLANTED)),
            note: None,
        };
        Ok(ChangesView { folder: folder.to_owned(), files: vec![file] })
    }

    fn undo(&self, _task: TaskId, folder: &str, asked: &UndoRequest) -> Result<UndoAnswer, ApiError> {
        let one = |path: &String| UndoOne { path: path.clone(), done: Undone::Restored, why: None };
        let files = asked.files.iter().map(one).collect();
        Ok(UndoAnswer { folder: folder.to_owned(), dry_run: asked.dry_run, files })
    }

    fn store_content(&self, hash: [u8; 32], _bytes: &[u8]) -> Result<(), ApiError> {
        self.store().contents.push(hash);
        Ok(())
    }
}
