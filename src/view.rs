//! The store as the HTTP side reads it.

use crate::http::view::{
    AttemptRecord, Chunk, EventBatch, EventQuery, PageQuery, RequestRecord, Standing, TaskRecord, View, ViewError,
    Which,
};
use crate::http::view::{CostQuery, Costs};
use crate::life::configuration::Configuration;
use crate::spending;
use crate::supervisor::LiveRegistry;
use bytes::Bytes;
use ouroboros_domain::{AttemptRow, RuleRow, SendRow, TaskRow, TaskState};
use ouroboros_proto::api::{CostView, MessageView, StreamView};
use ouroboros_proto::kind::{AttemptId, Captured, Outcome, SendId, Stream, TaskId, TaskNumber, WorkKind, clock};
use ouroboros_store::output::{head_capacity, tail_capacity};
use ouroboros_store::reader::{Message, RequestDetail, Standing as Stored, TaskFilter, TaskRef};
use ouroboros_store::{Exchanges, Extent, Output, ReadError, Reader};
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
    /// What was sent to providers.
    pub exchanges: Exchanges,
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

    /// Says of each task who keeps it from its folder.
    fn add_workspaces(&self, tasks: &mut [TaskRecord]) -> Result<(), ViewError> {
        let rows: Vec<&TaskRow> = tasks.iter().map(|record| &record.row).collect();
        let waits = self.reader.waits_for_workspace(&rows, clock::wall()).map_err(failed)?;
        for record in tasks.iter_mut().filter(|_| !waits.is_empty()) {
            record.behind = waits.get(&record.row.id).copied();
        }
        Ok(())
    }

    /// Adds what agents said of the tasks that they delivered.
    fn add_objectives(&self, tasks: &mut [TaskRecord]) -> Result<(), ViewError> {
        let delivered = |row: &TaskRow| {
            row.kind == WorkKind::Agent && matches!(row.state, TaskState::Settled { outcome: Outcome::Completed, .. })
        };
        for record in tasks.iter_mut().filter(|record| delivered(&record.row)) {
            let word = self.reader.objective(record.row.id).map_err(failed)?;
            record.objective = word.and_then(|word| serde_json::from_str(&word).ok());
        }
        Ok(())
    }

    fn streams(&self, row: &AttemptRow) -> (StreamView, StreamView) {
        let Some(report) = row.report else {
            let limit = self.configuration.settings().task_output_limit.get();
            // A lost attempt reported nothing: its files are all there is.
            let lost = |stream| {
                let written = self.output.head_bytes(&row.id, stream);
                StreamView { written, head: written, ..StreamView::default() }
            };
            return match self.live.of_attempt(row.task, row.id) {
                Some(progress) => (running(progress.stdout, limit), running(progress.stderr, limit)),
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

/// Bytes of a transcript that are shown at once.
const TRANSCRIPT_PART: usize = 1 << 20;

impl View for StoreView {
    fn spent(&self, task: TaskId, limit: usize) -> Result<(CostView, Vec<SendRow>), ViewError> {
        spending::of_task(&self.reader, task, limit).map_err(failed)
    }

    fn transcript(&self, task: TaskId, from: u64) -> Result<Vec<String>, ViewError> {
        self.reader.transcript(task, from, TRANSCRIPT_PART).map_err(failed)
    }

    fn requests(&self, task: Option<TaskId>, open: bool, limit: u32) -> Result<Vec<RequestRecord>, ViewError> {
        Ok(self.reader.requests(task, open, limit).map_err(failed)?.into_iter().map(request).collect())
    }

    fn request(&self, task: TaskId, number: u32) -> Result<Option<RequestRecord>, ViewError> {
        Ok(self.reader.request(task, number).map_err(failed)?.map(request))
    }

    fn rules(&self) -> Result<Vec<RuleRow>, ViewError> {
        self.reader.rules(None).map_err(failed)
    }

    fn messages(&self, task: TaskId) -> Result<Vec<MessageView>, ViewError> {
        let view = |message: Message| MessageView {
            number: message.number,
            at: message.at.into(),
            text: message.text,
            taken: message.place,
        };
        Ok(self.reader.messages(task, false).map_err(failed)?.into_iter().map(view).collect())
    }

    fn content(&self, hash: &[u8; 32]) -> Result<Option<Bytes>, ViewError> {
        Ok(self.reader.content(hash).map_err(failed)?.map(Bytes::from))
    }

    fn window(&self, task: TaskId) -> Result<Option<String>, ViewError> {
        self.reader.newest_entry(task, "window").map_err(failed)
    }

    fn send(&self, send: SendId) -> Result<Option<SendRow>, ViewError> {
        Ok(self.reader.sends(&[send]).map_err(failed)?.remove(&send))
    }

    fn exchange(&self, send: SendId) -> Result<Option<(Bytes, Bytes)>, ViewError> {
        let found = self.exchanges.get(send).map_err(|error| ViewError::Failed(error.to_string()))?;
        Ok(found.map(|both| (both.request.into(), both.response.into())))
    }

    fn costs(&self, query: &CostQuery) -> Result<Costs, ViewError> {
        spending::costs(&self.reader, query).map_err(failed)
    }

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
        let record = detail.map(|detail| TaskRecord {
            started_at: detail.attempts.last().map(|attempt| attempt.started_at),
            row: detail.row,
            spec: detail.spec.map(Bytes::from),
            behind: None,
            objective: None,
        });
        let mut found = Vec::from_iter(record);
        self.add_workspaces(&mut found)?;
        self.add_objectives(&mut found)?;
        Ok(found.pop())
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
        let accept = |row: &TaskRow, _: &[u8]| match row.state {
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
                behind: None,
                objective: None,
            }));
            match page.next {
                Some(next) if found.len() < query.limit => before = Some(next),
                _ => {
                    self.add_workspaces(&mut found)?;
                    self.add_objectives(&mut found)?;
                    return Ok(found);
                }
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

/// What can be given of a stream that is being written and may keep `limit` bytes: as [`Extent::Live`] reads it.
fn running(written: u64, limit: u64) -> StreamView {
    let head = written.min(head_capacity(limit));
    let tail = written.min(written.saturating_add(SLACK).saturating_sub(tail_capacity(limit)).max(head));
    StreamView { written, head, tail: written.saturating_sub(tail), truncated: written > limit, expired: false }
}

fn request(found: RequestDetail) -> RequestRecord {
    let RequestDetail { row, number, content, answer } = found;
    RequestRecord { row, number, content, answer }
}

fn failed(error: ReadError) -> ViewError {
    ViewError::Failed(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_running_stream_only_what_cannot_be_overwritten_is_promised() {
        let limit = 4 * SLACK;
        let cases = [
            // Everything is in the head, or in a ring that cannot have come around yet.
            (0, (0, 0, false)),
            (limit / 2, (limit / 2, 0, false)),
            (limit - SLACK, (limit / 2, limit / 2 - SLACK, false)),
            // What the worker may have written since could lie over the oldest bytes of the ring.
            (limit, (limit / 2, limit / 2 - SLACK, false)),
            (limit + 1, (limit / 2, limit / 2 - SLACK, true)),
            (9 * limit, (limit / 2, limit / 2 - SLACK, true)),
        ];
        for (written, expected) in cases {
            let view = running(written, limit);
            assert_eq!((view.head, view.tail, view.truncated), expected, "{written}");
            assert_eq!((view.written, view.expired), (written, false));
        }
        assert_eq!((running(SLACK, 64 << 10).head, running(SLACK, 64 << 10).tail), (32 << 10, 0));
    }
}
