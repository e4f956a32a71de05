//! Retention: what is old or too much goes, by the settings. Runs at the start, after enough has happened, and when something
//! can have become too old; never on a tick.

use super::clear;
use super::configuration::Configuration;
use crate::custody::Table;
use crate::supervisor::Handle;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use ouroboros_domain::Input;
use ouroboros_proto::kind::{AttemptId, BootMicros, Millis, TaskId, UtcMicros, clock};
use ouroboros_proto::limits;
use ouroboros_store::{Exchanges, Job, Layout, Output, Reader, WriterHandle, space};
use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Settled tasks that are asked to be forgotten in one decision.
const BATCH: usize = 256;
/// Looks for old things are at least and at most this far apart.
const LOOKS: (Millis, Millis) = (Millis::seconds(60), Millis::seconds(6 * 3_600));
/// The disk is asked for its free space at most this often.
const SPACE_PAUSE: Millis = Millis::new(1_000);
const UNKNOWN: u64 = u64::MAX;

/// What retention works with.
pub struct Parts {
    /// Deletes rows.
    pub writer: WriterHandle,
    /// Finds what is old.
    pub reader: Reader,
    /// Output files.
    pub output: Output,
    /// Where things lie.
    pub layout: Layout,
    /// What was sent to providers and what came back.
    pub exchanges: Exchanges,
    /// Forgets tasks.
    pub handle: Handle,
    /// Workers, whose output stays.
    pub table: Arc<Table>,
    /// The settings.
    pub configuration: Arc<Configuration>,
    /// Free bytes, when they are below the low-water mark; zero otherwise.
    pub disk_low: Arc<AtomicU64>,
}

struct Inner {
    parts: Parts,
    /// Held by the one sweep that runs.
    sweeping: Mutex<()>,
    output_bytes: AtomicU64,
    looked_at_disk: AtomicU64,
}

/// Keeps the store within its bounds.
#[derive(Clone)]
pub struct Keeper {
    inner: Arc<Inner>,
}

/// Something that makes a sweep worth while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// Enough was committed since the last.
    Grown,
    /// A task was forgotten: its files have no row any more.
    Forgotten(TaskId),
}

/// A channel for occasions.
#[must_use]
pub fn occasions() -> (Sender<Occasion>, Receiver<Occasion>) {
    bounded(1_024)
}

impl Keeper {
    /// Starts the thread.
    ///
    /// # Errors
    /// When no thread is to be had.
    pub fn start(parts: Parts, occasions: Receiver<Occasion>) -> io::Result<Self> {
        let inner = Inner {
            parts,
            sweeping: Mutex::new(()),
            output_bytes: AtomicU64::new(UNKNOWN),
            looked_at_disk: AtomicU64::new(0),
        };
        let keeper = Self { inner: Arc::new(inner) };
        let theirs = keeper.clone();
        std::thread::Builder::new().name("housekeeping".to_owned()).spawn(move || theirs.serve(&occasions))?;
        Ok(keeper)
    }

    /// Removes what the settings say, now; the bytes of files that were freed.
    ///
    /// # Errors
    /// What could not be removed.
    pub fn sweep_now(&self) -> Result<u64, String> {
        let _only_one = self.inner.sweeping.lock().unwrap_or_else(PoisonError::into_inner);
        let mut freed = 0;
        self.forget_tasks()?;
        self.prune_rows()?;
        freed += self.drop_files_without_row()?;
        freed += self.drop_old_output()?;
        self.drop_versions()?;
        self.drop_scratch()?;
        freed += self.drop_contents()?;
        freed += self.drop_exchanges()?;
        Ok(freed)
    }

    /// Bytes of output files, as of the last sweep.
    #[must_use]
    pub fn output_bytes(&self) -> Option<u64> {
        Some(self.inner.output_bytes.load(Ordering::Relaxed)).filter(|bytes| *bytes != UNKNOWN)
    }

    /// Looks whether the disk is too full to accept work. Cheap: asks the file system at most once a second.
    pub fn look_at_disk(&self) {
        let now = clock::boot();
        let last = BootMicros::new(self.inner.looked_at_disk.load(Ordering::Relaxed));
        if last != BootMicros::default() && now.since(last) < SPACE_PAUSE {
            return;
        }
        self.inner.looked_at_disk.store(now.get(), Ordering::Relaxed);
        let parts = &self.inner.parts;
        let Ok(free) = space::free(parts.layout.root()) else { return };
        let low = free < parts.configuration.settings().disk_low_water.get() || !parts.writer.ensure_reserve();
        let value = if low { free.max(1) } else { 0 };
        if parts.disk_low.swap(value, Ordering::Relaxed) != value {
            parts.handle.nudge();
        }
    }

    fn serve(&self, occasions: &Receiver<Occasion>) {
        loop {
            if let Err(error) = self.sweep_now() {
                tracing::warn!(error, "housekeeping did not finish");
            }
            self.look_at_disk();
            let next = match self.pause() {
                Some(pause) => occasions.recv_timeout(pause.duration()),
                None => occasions.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match next {
                // What came together is done together.
                Ok(_) => while occasions.try_recv().is_ok() {},
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// When something can have become too old.
    fn pause(&self) -> Option<Millis> {
        let parts = &self.inner.parts;
        let settings = parts.configuration.settings();
        let of_tasks = settings.retention_tasks.min(settings.retention_output).min(settings.retention_keys);
        let of_tasks = Some(of_tasks).filter(|_| parts.reader.settled_count().unwrap_or(0) > 0);
        next_look(of_tasks, Some(settings.retention_exchanges).filter(|_| !parts.exchanges.is_empty()))
    }

    fn forget_tasks(&self) -> Result<(), String> {
        let parts = &self.inner.parts;
        let settings = parts.configuration.settings();
        let before = ago(settings.retention_tasks);
        let keep = u64::from(settings.retention_max_tasks);
        let mut after: Option<TaskId> = None;
        loop {
            let found = parts.reader.removable(before, keep, after, BATCH).map_err(|error| error.to_string())?;
            after = found.tasks.last().copied();
            if after.is_none() || !parts.handle.housekeeping(Input::Forget { tasks: found.tasks }) || !found.more {
                return Ok(());
            }
        }
    }

    fn prune_rows(&self) -> Result<(), String> {
        let parts = &self.inner.parts;
        let settings = parts.configuration.settings();
        let before = ago(settings.retention_keys);
        let jobs = [
            Job::Events { keep: u64::from(settings.retention_events) },
            Job::Keys { before, keep: limits::PENDING_TASKS.max },
        ];
        for job in jobs {
            match parts.writer.maintenance(job).recv() {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return Err(error.to_string()),
                Err(_) => return Ok(()),
            }
        }
        parts.handle.keys_expired(before);
        Ok(())
    }

    fn drop_exchanges(&self) -> Result<u64, String> {
        let parts = &self.inner.parts;
        let settings = parts.configuration.settings();
        let before = ago(settings.retention_exchanges);
        let most = settings.retention_exchanges_total.get();
        parts.exchanges.sweep(before, most).map_err(|error| error.to_string())
    }

    fn drop_files_without_row(&self) -> Result<u64, String> {
        let parts = &self.inner.parts;
        let files = parts.output.attempts().map_err(|error| error.to_string())?;
        if files.is_empty() {
            return Ok(0);
        }
        let stray = parts.reader.without_row(files).map_err(|error| error.to_string())?;
        Ok(self.remove_output(stray))
    }

    /// What was kept of the files that forgotten tasks changed.
    fn drop_versions(&self) -> Result<(), String> {
        let parts = &self.inner.parts;
        let tasks = parts.layout.tasks_with_versions().map_err(|error| error.to_string())?;
        for task in parts.reader.forgotten(&tasks).map_err(|error| error.to_string())? {
            if let Err(error) = std::fs::remove_dir_all(parts.layout.versions(&task)) {
                tracing::warn!(task = %task, %error, "kept versions of files cannot be removed");
            }
        }
        Ok(())
    }

    /// Home and temporary files of programs whose task is over. The worker that would need them is gone by then, or leaving.
    fn drop_scratch(&self) -> Result<(), String> {
        let parts = &self.inner.parts;
        let tasks = parts.layout.tasks_with_scratch().map_err(|error| error.to_string())?;
        for task in parts.reader.over(&tasks).map_err(|error| error.to_string())? {
            if let Err(error) = clear::remove_tree(&parts.layout.scratch(&task)) {
                tracing::warn!(task = %task, %error, "temporary files of programs cannot be removed");
            }
        }
        Ok(())
    }

    /// Output of settled tasks beyond its age or total size, oldest first: attempt ids sort by time.
    fn drop_old_output(&self) -> Result<u64, String> {
        let parts = &self.inner.parts;
        let settings = parts.configuration.settings();
        let files = parts.output.attempts().map_err(|error| error.to_string())?;
        let oldest_kept = ago(settings.retention_output);
        let old: BTreeSet<AttemptId> =
            files.iter().copied().take_while(|attempt| started(*attempt) < oldest_kept).collect();
        let mut freed = self.remove_output(self.not_running(old));
        let mut total = parts.output.usage().map_err(|error| error.to_string())?;
        let most = settings.retention_output_total.get();
        if total > most {
            for attempt in self.not_running(files) {
                if total <= most {
                    break;
                }
                let bytes = self.remove_output(BTreeSet::from([attempt]));
                total = total.saturating_sub(bytes);
                freed = freed.saturating_add(bytes);
            }
        }
        self.inner.output_bytes.store(total, Ordering::Relaxed);
        Ok(freed)
    }

    fn not_running(&self, attempts: BTreeSet<AttemptId>) -> BTreeSet<AttemptId> {
        let running = self.inner.parts.table.processes();
        let running: BTreeSet<AttemptId> =
            running.into_iter().filter_map(|(_, _, assigned)| Some(assigned?.attempt)).collect();
        attempts.difference(&running).copied().collect()
    }

    fn remove_output(&self, attempts: BTreeSet<AttemptId>) -> u64 {
        let mut freed = 0_u64;
        for attempt in attempts {
            match self.inner.parts.output.remove(&attempt) {
                Ok(bytes) => freed = freed.saturating_add(bytes),
                Err(error) => tracing::warn!(attempt = %attempt, %error, "output files cannot be removed"),
            }
        }
        freed
    }

    fn drop_contents(&self) -> Result<u64, String> {
        let parts = &self.inner.parts;
        let unreferenced = parts.reader.unreferenced().map_err(|error| error.to_string())?;
        match parts.writer.maintenance(Job::Contents(unreferenced)).recv() {
            Ok(Ok(swept)) => Ok(swept.file_bytes),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Ok(0),
        }
    }
}

/// The wall-clock time this long ago.
fn ago(age: Millis) -> UtcMicros {
    let micros = i64::try_from(age.get().saturating_mul(1_000)).unwrap_or(i64::MAX);
    UtcMicros::new(clock::wall().get().saturating_sub(micros))
}

/// When an attempt was made: the first six bytes of a version-7 UUID are its milliseconds.
fn started(attempt: AttemptId) -> UtcMicros {
    let millis = attempt.as_bytes().iter().take(6).fold(0_i64, |sum, byte| (sum << 8) | i64::from(*byte));
    UtcMicros::new(millis.saturating_mul(1_000))
}

/// A tenth of the shortest age of what is kept, within bounds; never while nothing is.
fn next_look(of_tasks: Option<Millis>, of_exchanges: Option<Millis>) -> Option<Millis> {
    let shortest = of_tasks.into_iter().chain(of_exchanges).min()?;
    Some(Millis::new(shortest.get() / 10).clamp(LOOKS.0, LOOKS.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_look_is_due_for_the_first_thing_that_gets_too_old() {
        let (tasks, exchanges) = (Some(Millis::seconds(30_000)), Some(Millis::seconds(20_000)));
        assert_eq!(next_look(None, None), None, "nothing is kept");
        assert_eq!(next_look(tasks, None), Some(Millis::seconds(3_000)));
        assert_eq!(next_look(None, exchanges), Some(Millis::seconds(2_000)), "tasks may be forgotten sooner");
        assert_eq!(next_look(tasks, exchanges), Some(Millis::seconds(2_000)));
        assert_eq!(next_look(tasks, Some(Millis::seconds(1))), Some(LOOKS.0));
    }
}
