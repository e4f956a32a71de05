//! The store as the HTTP side reads it.

use crate::http::view::{
    AttemptRecord, Chunk, EventBatch, EventQuery, PageQuery, Standing, TaskRecord, View, ViewError, Which,
};
use crate::life::configuration::Configuration;
use crate::supervisor::LiveRegistry;
use bytes::Bytes;
use ouroboros_domain::{AttemptRow, TaskState};
use ouroboros_proto::api::StreamView;
use ouroboros_proto::kind::{AttemptId, Captured, Outcome, Stream, TaskId, TaskNumber};
use ouroboros_store::reader::{Standing as Stored, TaskFilter, TaskRef};
use ouroboros_store::{Extent, Output, ReadError, Reader};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Attempts whose task is remembered, so that their output is found again.
const REMEMBERED: usize = 1_024;
/// Bytes that a worker may have written beyond what it reported: one pipe and one buffer.
const SLACK: u64 = 1 << 20;

/// Reads committed facts for answers.
pub struct StoreView {
    /// Connections to read with.
    pub reader: Reader,
    /// Output files.
    pub output: Output,
    /// Running attempts.
    pub live: Arc<LiveRegistry>,
    /// How much of a stream is kept.
    pub configuration: Arc<Configuration>,
    /// Which task an attempt belongs to, for attempts that were shown lately.
    pub tasks: Mutex<VecDeque<(AttemptId, TaskId)>>,
}

impl StoreView {
    fn remember(&self, attempts: &[AttemptRow]) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        for row in attempts {
            if !tasks.iter().any(|(attempt, _)| *attempt == row.id) {
                if tasks.len() >= REMEMBERED {
                    tasks.pop_front();
                }
                tasks.push_back((row.id, row.task));
            }
        }
    }

    fn task_of(&self, attempt: AttemptId) -> Option<TaskId> {
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.iter().find(|(known, _)| *known == attempt).map(|(_, task)| *task)
    }

    fn streams(&self, row: &AttemptRow) -> (StreamView, StreamView) {
        let Some(report) = row.report else {
            // A lost attempt reported nothing: its files are all there is.
            let view = |written: u64| StreamView { written, head: written, ..StreamView::default() };
            let lost = |stream| view(self.output.head_bytes(&row.id, stream));
            return match self.live.of_attempt(row.task, row.id) {
                Some(progress) => (view(progress.stdout), view(progress.stderr)),
                None => (lost(Stream::Stdout), lost(Stream::Stderr)),
            };
        };
        let expired = |captured: Captured| captured.written > 0 && !self.output.is_kept(&row.id);
        let view = |captured: Captured| StreamView {
            written: captured.written,
            head: captured.head,
            tail: captured.tail,
            truncated: captured.head.saturating_add(captured.tail) < captured.written,
            expired: expired(captured),
        };
        (view(report.stdout), view(report.stderr))
    }
}

impl View for StoreView {
    fn find(&self, which: Which) -> Result<Option<(TaskId, TaskNumber)>, ViewError> {
        let name = match which {
            Which::Number(number) => TaskRef::Number(number),
            Which::Id(id) => TaskRef::Id(id),
            Which::Last => TaskRef::Last,
        };
        self.reader.resolve(name).map_err(failed)
    }

    fn task(&self, task: TaskId) -> Result<Option<TaskRecord>, ViewError> {
        let detail = self.reader.task(task).map_err(failed)?;
        Ok(detail.map(|detail| TaskRecord {
            started_at: detail.attempts.last().map(|attempt| attempt.started_at),
            row: detail.row,
            spec: detail.spec.map(Bytes::from),
        }))
    }

    fn attempts(&self, task: TaskId) -> Result<Vec<AttemptRecord>, ViewError> {
        let rows = self.reader.attempts(task).map_err(failed)?;
        self.remember(&rows);
        Ok(rows
            .into_iter()
            .map(|row| {
                let (stdout, stderr) = self.streams(&row);
                AttemptRecord { row, stdout, stderr }
            })
            .collect())
    }

    fn page(&self, query: &PageQuery) -> Result<Vec<TaskRecord>, ViewError> {
        let mut standing = Vec::new();
        if query.phases.queued || query.phases.running {
            standing.push(Stored::Live);
        }
        if query.phases.settled {
            standing.extend([Stored::Completed, Stored::Failed, Stored::Cancelled]);
        }
        let accept = |row: &ouroboros_domain::TaskRow, _: &[u8]| match row.state {
            TaskState::Queued => query.phases.queued,
            TaskState::Running { .. } => query.phases.running,
            TaskState::Settled { .. } => query.phases.settled,
        };
        let mut before = query.before;
        let mut found = Vec::new();
        loop {
            let filter = TaskFilter { before, standing: &standing, accept: Some(&accept) };
            let page = self.reader.tasks(filter, query.limit.saturating_sub(found.len())).map_err(failed)?;
            found.extend(page.tasks.into_iter().map(|listed| TaskRecord {
                row: listed.row,
                started_at: listed.started_at,
                spec: (!listed.spec.is_empty()).then(|| Bytes::from(listed.spec)),
            }));
            match page.next {
                Some(next) if found.len() < query.limit => before = Some(next),
                _ => return Ok(found),
            }
        }
    }

    fn standing(&self, tasks: &[TaskId]) -> Result<Vec<Standing>, ViewError> {
        let rows = self.reader.tasks_by_id(tasks).map_err(failed)?;
        Ok(rows
            .into_iter()
            .map(|row| Standing {
                task: row.id,
                number: row.number,
                completed: matches!(row.state, TaskState::Settled { outcome: Outcome::Completed, .. }),
            })
            .collect())
    }

    fn events(&self, query: &EventQuery) -> Result<EventBatch, ViewError> {
        let number = match query.task {
            None => None,
            Some(task) => match self.reader.resolve(TaskRef::Id(task)).map_err(failed)? {
                Some((_, number)) => Some(number),
                None => return Err(ViewError::Expired),
            },
        };
        let limit = u32::try_from(query.limit).unwrap_or(u32::MAX);
        let page = self.reader.events(query.after, number, limit).map_err(failed)?;
        Ok(EventBatch { rows: page.events, oldest: page.oldest, newest: page.newest })
    }

    fn output(&self, attempt: AttemptId, stream: Stream, from: u64, max: usize) -> Result<Chunk, ViewError> {
        let limit = self.configuration.settings().task_output_limit.get();
        let task = self.task_of(attempt);
        let row = match task {
            Some(task) => self.reader.attempts(task).map_err(failed)?.into_iter().find(|row| row.id == attempt),
            None => None,
        };
        let report = row.as_ref().and_then(|row| row.report);
        let written = || {
            let progress = task.and_then(|task| self.live.of_attempt(task, attempt));
            progress.map_or(0, |progress| match stream {
                Stream::Stdout => progress.stdout,
                Stream::Stderr => progress.stderr,
            })
        };
        let extent = match (report, row.map(|row| row.ended_at)) {
            (Some(report), _) => Extent::Final(match stream {
                Stream::Stdout => report.stdout,
                Stream::Stderr => report.stderr,
            }),
            (None, Some(None)) => Extent::Live { written: &written, slack: SLACK },
            (None, _) => Extent::Unknown,
        };
        match self.output.reader(&attempt, limit).read(stream, extent, from, max) {
            Ok(chunk) => Ok(Chunk { offset: chunk.offset, bytes: chunk.bytes.into() }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => match report.is_some() {
                true => Err(ViewError::Expired),
                false => Ok(Chunk { offset: from, bytes: Bytes::new() }),
            },
            Err(error) => Err(ViewError::Failed(error.to_string())),
        }
    }
}

fn failed(error: ReadError) -> ViewError {
    ViewError::Failed(error.to_string())
}
