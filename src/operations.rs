//! Acts of the server as a whole, for the HTTP side.

use crate::changes::Place;
use crate::custody::{Assigned, Table};
use crate::http::Operations;
use crate::http::operations::{Admission, BackedUp};
use crate::life::configuration::Configuration;
use crate::life::ends;
use crate::life::housekeeping::Keeper;
use crate::life::logging::Logging;
use crate::supervisor::Handle;
use crate::supervisor::inbox::Inbox;
use crate::supervisor::work::AttemptSettings;
use ouroboros_process::census;
use ouroboros_proto::api::{ApiError, ChangesView, Code, DiskView, ProcessView, UndoAnswer, UndoRequest};
use ouroboros_proto::kind::{BootMicros, Millis, Role, TaskId, TaskNumber, clock};
use ouroboros_store::{Contents, Layout, Reader, WriterHandle, backup, space};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// What acts need.
pub struct ServerOperations {
    /// The settings.
    pub configuration: Arc<Configuration>,
    /// The log.
    pub logging: Logging,
    /// What attempts are started with.
    pub attempts: Arc<Mutex<AttemptSettings>>,
    /// Where new settings go.
    pub inbox: Arc<Inbox>,
    /// The writer.
    pub writer: WriterHandle,
    /// The store.
    pub reader: Reader,
    /// Bodies stored under their hash.
    pub contents: Contents,
    /// Where things lie.
    pub layout: Layout,
    /// The workers.
    pub table: Arc<Table>,
    /// The supervisor.
    pub handle: Handle,
    /// Retention.
    pub keeper: Keeper,
    /// Places that are closed to agents.
    pub fenced: Vec<String>,
}

impl Operations for ServerOperations {
    fn admission(&self) -> Result<Admission, ApiError> {
        self.keeper.look_at_disk();
        let status = self.handle.status();
        let status = status.borrow();
        if let Some(alarm) = status.alarms.iter().find(|alarm| alarm.code == "disk_low") {
            let error = ApiError::new(Code::DiskFull, format!("{} Nothing was accepted.", alarm.message));
            return Err(error.remedy(alarm.remedy.clone().unwrap_or_default()));
        }
        let settings = self.configuration.settings();
        let timeout = settings.task_default_timeout;
        Ok(Admission {
            isolation: settings.task_isolation,
            timeout: (timeout > Millis::ZERO).then_some(timeout),
            max_retries: settings.task_max_retries,
            max_rounds: settings.agent_max_rounds,
            mode: settings.agent_mode,
        })
    }

    fn reload(&self) -> Result<Vec<String>, ApiError> {
        ends::reload(&self.configuration, &self.logging, &self.attempts, &self.inbox).map_err(|problems| {
            ApiError::new(
                Code::BadConfig,
                format!("The configuration is not valid; the one in force stays.\n{problems}"),
            )
            .remedy("Correct it with `ouroboros config edit`.")
        })
    }

    fn collect_garbage(&self) -> Result<u64, ApiError> {
        self.keeper.sweep_now().map_err(|error| {
            ApiError::new(Code::Internal, format!("Not everything could be removed: {error}"))
                .remedy("Look at `ouroboros logs --server`.")
        })
    }

    fn backup(&self, path: &Path, output: bool) -> Result<BackedUp, ApiError> {
        let taken = backup::take(&self.writer, &self.layout, path, output).map_err(|error| {
            ApiError::new(Code::BadField, format!("The backup {} was not written: {error}", path.display()))
                .remedy("Name a path that does not exist, in a directory that can be written.")
        })?;
        let beside = taken.output_bytes.map(|bytes| (backup::output_beside(path), bytes));
        Ok(BackedUp { missing_bodies: taken.missing_bodies, output: beside })
    }

    fn processes(&self) -> Result<Vec<ProcessView>, ApiError> {
        let workers = self.table.processes();
        let tasks: Vec<TaskId> = workers.iter().filter_map(|(_, _, assigned)| Some((*assigned)?.task)).collect();
        let unreadable = |error: &dyn std::fmt::Display| {
            ApiError::new(Code::Internal, format!("The process table could not be read: {error}"))
        };
        let numbers: BTreeMap<TaskId, TaskNumber> = self
            .reader
            .tasks_by_id(&tasks)
            .map_err(|error| unreadable(&error))?
            .into_iter()
            .map(|row| (row.id, row.number))
            .collect();
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        let mut views = Vec::new();
        let launcher = self.handle.life().launcher_pid.and_then(|pid| i32::try_from(pid).ok());
        if let Some(launcher) = launcher {
            views.extend(view(launcher, None, Role::Launcher, None, true));
        }
        views.extend(view(own, launcher, Role::Server, None, true));
        for (_, identity, assigned) in workers {
            let task = assigned.and_then(|Assigned { task, .. }| numbers.get(&task).copied());
            views.extend(view(identity.pid, Some(own), Role::Worker, task, true));
            let below = census::descendants(identity.pid).map_err(|error| unreadable(&error))?;
            for (pid, parent) in below {
                views.extend(view(pid, Some(parent), Role::Tool, task, parent == identity.pid));
            }
        }
        Ok(views)
    }

    fn disk(&self) -> DiskView {
        let size = |path: &Path| std::fs::metadata(path).ok().map(|meta| meta.len());
        let database =
            size(&self.layout.database()).map(|bytes| bytes.saturating_add(size(&self.layout.log()).unwrap_or(0)));
        DiskView {
            database,
            output: self.keeper.output_bytes(),
            logs: directory_size(&self.configuration.paths().log_dir()),
            free: space::free(self.layout.root()).ok(),
        }
    }

    fn config(&self) -> serde_json::Value {
        serde_json::to_value(self.configuration.settings().rows()).unwrap_or(serde_json::Value::Null)
    }

    fn changes(&self, task: TaskId, folder: &str) -> Result<ChangesView, ApiError> {
        let versions = self.layout.versions(&task);
        Place { folder, versions: &versions, fenced: &self.fenced }.changes()
    }

    fn undo(&self, task: TaskId, folder: &str, asked: &UndoRequest) -> Result<UndoAnswer, ApiError> {
        let versions = self.layout.versions(&task);
        Place { folder, versions: &versions, fenced: &self.fenced }.undo(asked)
    }

    fn store_content(&self, hash: [u8; 32], bytes: &[u8]) -> Result<(), ApiError> {
        self.contents.put_as(hash, bytes).map(drop).map_err(|error| {
            ApiError::new(
                Code::NotAccepted,
                format!("The task's data could not be stored, so it was not accepted: {error}"),
            )
            .remedy("Check the disk that holds the data directory, then repeat the request.")
        })
    }
}

fn directory_size(path: &Path) -> Option<u64> {
    let entries = std::fs::read_dir(path).ok()?;
    Some(entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|meta| meta.len()).sum())
}

fn view(pid: i32, parent: Option<i32>, role: Role, task: Option<TaskNumber>, recorded: bool) -> Option<ProcessView> {
    let sample = census::sample(pid).ok()??;
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    let started = BootMicros::new(sample.start_ticks.saturating_mul(1_000_000 / ticks));
    Some(ProcessView {
        pid,
        parent,
        role,
        task,
        command: sample.command,
        age_seconds: Some(clock::boot().since(started).get() / 1_000),
        cpu_micros: Some(sample.cpu_micros),
        resident_bytes: Some(sample.resident_bytes),
        recorded,
    })
}
