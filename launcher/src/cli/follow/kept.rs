//! What is read of a task instead of followed: what it goes on from, and what is kept of one whose events are not.

use super::session::{Session, View};
use crate::cli::{Failure, logs};
use ouroboros_proto::agent::Entry;
use ouroboros_proto::api::Code;
use ouroboros_proto::kind::Stream;
use serde_json::Value;

impl Session<'_> {
    /// Passes over this many entries at the begin of the transcript, which are another task's.
    pub(super) fn inherit(&mut self, entries: u64) -> Result<(), Failure> {
        self.read_entries(1, Some(entries), |session, _, entry| {
            if let Some(machine) = &mut session.machine {
                machine.inherit(entry);
            }
            Ok(())
        })?;
        self.position.entry = entries.saturating_add(1);
        Ok(())
    }

    /// Shows what is kept of what it wrote; for programs, its transcript from where it was left.
    pub(super) fn copy_kept(&mut self) -> Result<(), Failure> {
        self.progress.clear();
        if self.machine.is_some() {
            return self.tell_kept();
        }
        if self.context.json() {
            return Ok(());
        }
        let path = self.path();
        match self.view {
            View::End => Ok(()),
            View::One { stream, attempt } => {
                logs::copy(self.context, &path, stream, attempt, &mut self.outlet.writer(Stream::Stdout))
            }
            View::Output => {
                logs::copy(self.context, &path, Stream::Stdout, None, &mut self.outlet.writer(Stream::Stdout))?;
                logs::copy(self.context, &path, Stream::Stderr, None, &mut self.outlet.writer(Stream::Stderr))
            }
        }
    }

    fn tell_kept(&mut self) -> Result<(), Failure> {
        self.read_entries(self.position.entry.max(1), None, |session, place, entry| {
            if session.position.take_entry(place) { session.entry(entry) } else { Ok(()) }
        })?;
        if self.position.attempt > 0 {
            // Its notes were given while it was followed.
            return Ok(());
        }
        let mut bytes = Vec::new();
        match logs::kept(self.context, &self.path(), Stream::Stderr, None, &mut bytes) {
            Ok(gap) => {
                self.noted(Stream::Stderr, 0, &bytes)?;
                gap.map_or(Ok(()), |gap| self.note(&gap))
            }
            Err(failure) if failure.is(Code::Expired) => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// Reads entries from a place on, up to and with another; those of kinds that this build does not know are passed over.
    fn read_entries(
        &mut self,
        mut from: u64,
        last: Option<u64>,
        mut take: impl FnMut(&mut Self, u64, &Entry) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let is_wanted = |place: u64| last.is_none_or(|last| place <= last);
        while is_wanted(from) {
            let target = format!("{}/transcript?from={from}", self.path());
            let page: Option<Value> = self.trying(|session| session.context.client().get(&target)?.value())?;
            let entries = page.as_ref().and_then(|page| page.get("entries")).and_then(Value::as_array);
            let Some(entries) = entries.filter(|entries| !entries.is_empty()) else { return Ok(()) };
            for entry in entries {
                if let Ok(entry) = serde_json::from_value(entry.clone())
                    && is_wanted(from)
                {
                    take(self, from, &entry)?;
                }
                from = from.saturating_add(1);
            }
        }
        Ok(())
    }
}
