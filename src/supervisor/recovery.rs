//! What the supervisor does when a commit failed: until the disk has spoken, nothing is known.

use super::actor::{STALL, Supervisor, killed_not_recorded, not_accepted};
use super::alarms::Storage;
use super::committer::Owed;
use super::inbox::{Message, Next};
use crate::life::critical;
use ouroboros_domain::{Boot, Effect, Input, Reply, Settings, TaskCommand};
use ouroboros_proto::api::{ApiError, Code};
use ouroboros_proto::kind::{Millis, clock};
use ouroboros_store::{CommitError, CommitErrorKind};
use std::sync::atomic::Ordering;

/// Contradictions in a row after which a life ends.
const CONTRADICTIONS: u32 = 3;
/// Pause between two tries to open a failed store.
const REOPEN_PAUSE: Millis = Millis::new(500);

impl Supervisor {
    /// After a failed commit nothing is known but what the disk says: everything is opened and loaded again.
    pub(super) fn recover(&mut self, error: &CommitError, dropped: Vec<Owed>) {
        let cause = error.decision.or_else(|| dropped.first().map(|owed| owed.decision));
        let about = dropped.iter().find(|owed| Some(owed.decision) == cause).map(|owed| owed.about);
        tracing::error!(%error, about, dropped = dropped.len(), "a commit failed; the store is opened again");
        self.count_contradictions(error);
        self.storage = Storage::Failed;
        self.publish();
        let begun = clock::boot();
        let mut waiting = dropped;
        let rows = loop {
            match self.parts.writer.reopen() {
                Ok(rows) => break rows,
                Err(error) => tracing::error!(%error, "the store cannot be opened again yet"),
            }
            if clock::boot().since(begun) >= STALL {
                answer_unknown(&mut waiting);
            }
            self.serve_while_failed();
            if self.left.load(Ordering::Acquire) {
                return;
            }
        };
        self.core = self.core.reload(rows.live);
        self.storage = Storage::Well;
        self.decide(Input::Boot(self.boot(self.core.settings())), None);
        for (worker, event) in self.parts.table.told() {
            self.decide(Input::Worker { worker, event }, None);
        }
        for input in self.parts.asked.told() {
            self.decide(Input::Money(input), None);
        }
        for owed in waiting {
            self.answer_after_reload(owed);
        }
        tracing::info!("the store is open again");
    }

    /// A change that contradicts what is stored is a fault of ours. What asked for it was dropped with its decision; when the
    /// next ones contradict too, the fault is in the state, and only another life can help.
    fn count_contradictions(&mut self, error: &CommitError) {
        if !matches!(error.kind, CommitErrorKind::Constraint { .. }) {
            self.contradictions = 0;
            return;
        }
        self.contradictions = self.contradictions.saturating_add(1);
        if self.contradictions > CONTRADICTIONS {
            critical::fail("decisions contradict what is stored, also after it was loaded again");
        }
    }

    fn boot(&self, settings: Settings) -> Boot {
        Boot {
            // Of this life, not of the rows: the commit that failed may have been the one that begins it.
            generation: self.parts.life.generation,
            settings,
            namespaces: self.namespaces,
            hold: None,
            disown: false,
            living: self.parts.table.living(),
        }
    }

    /// Between two tries: work is refused, cancels kill, everything else waits in its lane.
    fn serve_while_failed(&mut self) {
        let until = clock::boot().plus(REOPEN_PAUSE);
        loop {
            let left = until.since(clock::boot());
            if left == Millis::ZERO {
                return;
            }
            if let Next::Message(message) = self.parts.inbox.next_owner(left) {
                let Message { input, reply, .. } = *message;
                let mut answer = Err(not_accepted());
                if let Input::Task { task, command: TaskCommand::Cancel { .. }, .. } = input {
                    self.kill_now(task);
                    answer = Err(killed_not_recorded());
                }
                if let Some((_, sender)) = reply {
                    let _ = sender.send(answer);
                }
            }
        }
    }

    /// The truth about a request whose decision was dropped, now that the disk has spoken.
    fn answer_after_reload(&self, owed: Owed) {
        let Some((request, sender)) = owed.reply else { return };
        let accepted = owed.effects.into_iter().find_map(|effect| match effect {
            Effect::Reply { request: asked, reply: Reply::Accepted(tasks) } if asked == request => Some(tasks),
            _ => None,
        });
        let answer = match accepted {
            Some(tasks) if tasks.iter().all(|(task, ..)| self.core.task(*task).is_some()) => Ok(Reply::Accepted(tasks)),
            _ => Err(not_accepted()),
        };
        let _ = sender.send(answer);
    }
}

fn answer_unknown(waiting: &mut [Owed]) {
    for owed in waiting {
        if let Some((_, sender)) = owed.reply.take() {
            let error = ApiError::new(
                Code::CommitUnknown,
                "Storage failed while this was being recorded; whether it was accepted is not known.",
            );
            let _ = sender.send(Err(error.remedy("Repeat the request with the same idempotency key.")));
        }
    }
}
