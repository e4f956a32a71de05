//! What is read of it.

use super::World;
use crate::http::view::{
    AttemptRecord, Chunk, CostQuery, Costs, EventBatch, EventQuery, PageQuery, RequestRecord, Standing, TaskRecord,
    View, ViewError, Which,
};
use bytes::Bytes;
use ouroboros_domain::{EventRow, NewTask, RuleRow, SendRow, TaskState};
use ouroboros_proto::api::{CostView, MessageView, StreamView};
use ouroboros_proto::kind::{AttemptId, EventSeq, Outcome, SendId, Stream, TaskId, TaskNumber};
use ouroboros_store::reader;

impl View for World {
    fn find(&self, which: Which) -> Result<Option<(TaskId, TaskNumber)>, ViewError> {
        let store = self.store();
        let found = match which {
            Which::Number(number) => store.tasks.get(&number),
            Which::Id(id) => store.tasks.values().find(|record| record.row.id == id),
            Which::Last => store.tasks.values().last(),
        };
        Ok(found.map(|record| (record.row.id, record.row.number)))
    }

    fn task(&self, task: TaskId) -> Result<Option<TaskRecord>, ViewError> {
        Ok(self.store().tasks.values().find(|record| record.row.id == task).cloned())
    }

    fn attempts(&self, task: TaskId) -> Result<Vec<AttemptRecord>, ViewError> {
        let store = self.store();
        let mut records: Vec<_> = store.attempts.iter().filter(|record| record.row.task == task).cloned().collect();
        for record in &mut records {
            for (stream, view) in [(Stream::Stdout, &mut record.stdout), (Stream::Stderr, &mut record.stderr)] {
                let key = (record.row.id, stream);
                let written = store.output.get(&key).map_or(0, Vec::len);
                let (head, tail) = store.kept.get(&key).copied().unwrap_or((written, 0));
                let number = |size: usize| u64::try_from(size).unwrap();
                *view = StreamView {
                    written: number(written),
                    head: number(head),
                    tail: number(tail),
                    truncated: head + tail < written,
                    expired: store.expired,
                };
            }
        }
        Ok(records)
    }

    fn page(&self, query: &PageQuery) -> Result<Vec<TaskRecord>, ViewError> {
        let wanted = |record: &&TaskRecord| {
            let phase = match record.row.state {
                TaskState::Queued => query.phases.queued,
                TaskState::Running { .. } => query.phases.running,
                TaskState::Settled { .. } => query.phases.settled,
            };
            phase && query.before.is_none_or(|before| record.row.number < before)
        };
        Ok(self.store().tasks.values().rev().filter(wanted).take(query.limit).cloned().collect())
    }

    fn standing(&self, tasks: &[TaskId]) -> Result<Vec<Standing>, ViewError> {
        let store = self.store();
        let found = store.tasks.values().filter(|record| tasks.contains(&record.row.id));
        Ok(found
            .map(|record| Standing {
                task: record.row.id,
                number: record.row.number,
                completed: matches!(record.row.state, TaskState::Settled { outcome: Outcome::Completed, .. }),
            })
            .collect())
    }

    fn events(&self, query: &EventQuery) -> Result<EventBatch, ViewError> {
        let store = self.store();
        let wanted = |row: &&EventRow| {
            row.seq > query.after && query.task.is_none_or(|task| row.task.is_some_and(|(id, _)| id == task))
        };
        let newest = store.dropped + u64::try_from(store.events.len()).unwrap();
        Ok(EventBatch {
            rows: store.events.iter().filter(wanted).take(query.limit).cloned().collect(),
            oldest: EventSeq::new(store.dropped + 1),
            newest: EventSeq::new(newest),
        })
    }

    fn output(&self, attempt: AttemptId, stream: Stream, from: u64, max: usize) -> Result<Chunk, ViewError> {
        let store = self.store();
        if store.expired {
            return Err(ViewError::Expired);
        }
        let from = from.max(store.overtaken);
        let key = (attempt, stream);
        let Some(bytes) = store.output.get(&key) else { return Ok(Chunk { offset: from, bytes: Bytes::new() }) };
        let (head, tail) = store.kept.get(&key).copied().unwrap_or((bytes.len(), 0));
        let from = usize::try_from(from).unwrap();
        let (from, end) = if from < head { (from, head) } else { (from.max(bytes.len() - tail), bytes.len()) };
        let end = end.min(from + max);
        let bytes = bytes.get(from..end).map_or_else(Bytes::new, Bytes::copy_from_slice);
        Ok(Chunk { offset: u64::try_from(from).unwrap(), bytes })
    }

    fn spent(&self, task: TaskId, limit: usize) -> Result<(CostView, Vec<SendRow>), ViewError> {
        let store = self.store();
        let rows: Vec<SendRow> = store.sends.iter().filter(|row| row.task == task).cloned().collect();
        let newest = rows.iter().skip(rows.len().saturating_sub(limit)).cloned().collect();
        let costs = rows.iter().map(reader::Costs::of).fold(reader::Costs::default(), reader::Costs::plus);
        Ok((crate::spending::view(&costs), newest))
    }

    fn transcript(&self, task: TaskId, from: u64) -> Result<Vec<String>, ViewError> {
        let entries = self.store().transcripts.get(&task).cloned().unwrap_or_default();
        let skipped = usize::try_from(from.saturating_sub(1)).unwrap_or(usize::MAX);
        Ok(entries.into_iter().skip(skipped).take(2).collect())
    }

    fn messages(&self, task: TaskId) -> Result<Vec<MessageView>, ViewError> {
        Ok(self.store().messages.get(&task).cloned().unwrap_or_default())
    }

    fn content(&self, hash: &[u8; 32]) -> Result<Option<Bytes>, ViewError> {
        let found = |task: &NewTask| task.contents.iter().find(|content| content.hash == *hash).cloned();
        Ok(self.store().submitted.iter().find_map(found).map(|content| Bytes::copy_from_slice(&content.bytes)))
    }

    fn requests(&self, task: Option<TaskId>, open: bool, limit: u32) -> Result<Vec<RequestRecord>, ViewError> {
        let wanted = |record: &&RequestRecord| {
            task.is_none_or(|task| record.row.task == task) && (!open || record.row.is_open())
        };
        let limit = usize::try_from(limit).unwrap();
        Ok(self.store().requests.iter().filter(wanted).take(limit).cloned().collect())
    }

    fn request(&self, task: TaskId, number: u32) -> Result<Option<RequestRecord>, ViewError> {
        Ok(self.store().requests.iter().find(|record| record.row.key() == (task, number)).cloned())
    }

    fn rules(&self) -> Result<Vec<RuleRow>, ViewError> {
        Ok(self.store().rules.clone())
    }

    fn window(&self, task: TaskId) -> Result<Option<String>, ViewError> {
        let entries = self.store().transcripts.get(&task).cloned().unwrap_or_default();
        Ok(entries.into_iter().rfind(|entry| entry.starts_with("{\"type\":\"window\"")))
    }

    fn send(&self, send: SendId) -> Result<Option<SendRow>, ViewError> {
        Ok(self.store().sends.iter().find(|row| row.id == send).cloned())
    }

    fn exchange(&self, send: SendId) -> Result<Option<(Bytes, Bytes)>, ViewError> {
        Ok(self.store().exchanges.get(&send).cloned())
    }

    fn costs(&self, query: &CostQuery) -> Result<Costs, ViewError> {
        self.store().asked_costs.push(query.clone());
        Ok(self.store().costs.clone())
    }
}
