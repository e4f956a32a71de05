//! `floor-task`: the least that a task can cost while nothing of what is promised is given up.
//!
//! The real worker, started ahead and greeted; its exec mode with the barrier; three durable commits in one group-committing SQLite
//! writer: accepted and assigned, process recorded, settled. The slot is free when the worker has left. There is no HTTP, no queue,
//! no decision, no event log beyond one row a commit.

mod ledger;
mod pool;
pub mod tower;

use crate::sample::{Samples, micros, seconds_since};
use anyhow::{Context as _, bail};
use ledger::Ledger;
use ouroboros_process::Spawner;
use ouroboros_proto::kind::{AttemptId, Isolation, TaskId};
use ouroboros_proto::wire::{CommandWork, Order, Report, Stdin};
use pool::{Pool, Worker};
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;

/// The loop and what it needs.
pub struct Floor {
    dir: TempDir,
    ledger: Ledger,
    pool: Pool,
}

impl Floor {
    /// Sets it up; no worker is started yet.
    ///
    /// # Errors
    /// There is no room for its database or its socket.
    pub fn new(spawner: Spawner) -> anyhow::Result<Self> {
        let dir = tempfile::Builder::new().prefix("floor").tempdir()?;
        std::fs::create_dir(dir.path().join("output"))?;
        let ledger = Ledger::start(&dir.path().join("floor.db"))?;
        let pool = Pool::start(spawner, &dir.path().join("floor.sock"))?;
        Ok(Self { dir, ledger, pool })
    }

    /// Whether workers get namespaces of their own here, as the product's do.
    pub fn isolation(&self) -> Isolation {
        self.pool.isolation()
    }

    /// Runs `true` this many times on an idle system, each when a worker stands ready: submitted to settled.
    pub fn latency(&mut self, tasks: usize) -> anyhow::Result<Samples> {
        let mut samples = Samples::default();
        for _ in 0..tasks {
            let worker = self.pool.take()?;
            // A spare has been waiting for a while, as it does on an idle system.
            std::thread::sleep(std::time::Duration::from_millis(5));
            let start = micros();
            self.serve(worker, || samples.since(start))?;
        }
        Ok(samples)
    }

    /// Runs `true` this many times on so many slots. Tasks a second.
    pub fn rate(&mut self, tasks: usize, slots: usize) -> anyhow::Result<f64> {
        let taken = AtomicUsize::new(0);
        self.pool.keep_one()?;
        let start = micros();
        std::thread::scope(|scope| {
            let slot = || -> anyhow::Result<()> {
                while taken.fetch_add(1, Ordering::Relaxed) < tasks {
                    self.serve(self.pool.take()?, || {})?;
                }
                Ok(())
            };
            let slots: Vec<_> = (0..slots).map(|_| scope.spawn(slot)).collect();
            slots.into_iter().try_for_each(|slot| slot.join().unwrap_or_else(|_| bail!("a slot of the floor panicked")))
        })?;
        Ok(tasks as f64 / seconds_since(start))
    }

    /// One task on a worker that stands ready.
    fn serve(&self, mut worker: Worker, settled: impl FnOnce()) -> anyhow::Result<()> {
        let (task, attempt) = (TaskId::mint(), AttemptId::mint());
        self.ledger.commit(task, 0)?;
        worker.order(attempt, Order::Run { task, work: Box::new(self.work(attempt)) })?;
        let process = loop {
            match worker.report()?.report {
                Report::ProcessStarted { process, .. } => break process,
                Report::Output { .. } => {}
                other => bail!("the floor's worker reports {other:?}"),
            }
        };
        self.ledger.commit(task, 1)?;
        worker.order(attempt, Order::Release { process })?;
        let sequence = loop {
            let frame = worker.report()?;
            if matches!(frame.report, Report::Terminal(_)) {
                break frame.sequence;
            }
        };
        self.ledger.commit(task, 2)?;
        settled();
        worker.order(attempt, Order::Acknowledge { sequence })?;
        worker.leave().context("the floor's worker leaves")
    }

    fn work(&self, attempt: AttemptId) -> CommandWork {
        CommandWork {
            argv: vec!["true".to_owned()],
            env: vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())],
            cwd: "/".to_owned(),
            umask: None,
            stdin: Stdin::Null,
            pty: None,
            timeout: None,
            no_new_privs: true,
            output_limit: 64 << 20,
            output_base: self.dir.path().join("output").join(attempt.to_string()).display().to_string(),
        }
    }
}
