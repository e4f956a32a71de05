//! Runs the scenarios, in the order of their list, and shares what several of them compare with.

use crate::arguments::Arguments;
use crate::disk;
use crate::floor::Floor;
use crate::rows::SCENARIOS;
use crate::sample::Samples;
use crate::table::{self, Row, Verdict};
use anyhow::Context as _;
use ouroboros_process::Spawner;
use std::cell::RefCell;
use tokio::runtime::Runtime;

/// What scenarios are given.
pub struct Bench {
    /// Whether a look is enough.
    pub quick: bool,
    /// Starts processes.
    pub spawner: Spawner,
    /// Drives this side of every connection, on the thread that measures.
    pub runtime: Runtime,
    floor: RefCell<Option<Floor>>,
}

impl Bench {
    /// `full` of something, or a few when a look is enough.
    pub fn count(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }

    /// Samples of `S`, taken now: the disk's speed moves within a run, so each scenario compares with its own.
    pub fn syncs(&self, count: usize) -> anyhow::Result<Samples> {
        disk::append_and_sync(count).context("measure the disk")
    }

    /// `S`, milliseconds.
    pub fn sync_millis(&self) -> anyhow::Result<f64> {
        Ok(self.syncs(self.count(500, 100))?.p50())
    }

    /// Uses the floor of a task, made when first needed.
    pub fn with_floor<T>(&self, use_it: impl FnOnce(&mut Floor) -> anyhow::Result<T>) -> anyhow::Result<T> {
        let mut floor = self.floor.borrow_mut();
        if floor.is_none() {
            *floor = Some(Floor::new(self.spawner.clone()).context("set up floor-task")?);
        }
        floor.as_mut().map_or_else(|| Err(anyhow::anyhow!("no floor")), use_it)
    }
}

/// Runs what was asked for; whether all of it could be measured.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let bench = Bench { quick: arguments.quick, spawner: Spawner::start()?, runtime, floor: RefCell::default() };
    let mut rows = Vec::new();
    for scenario in SCENARIOS {
        if !arguments.only.is_empty() && !arguments.only.iter().any(|name| name == scenario.name) {
            continue;
        }
        eprintln!("… {}", scenario.about);
        match (scenario.run)(&bench) {
            Ok(found) => rows.extend(found),
            Err(error) => rows.push(Row::broken(scenario.about, format!("{error:#}"))),
        }
    }
    table::print(&rows, arguments.json);
    Ok(!rows.iter().any(|row| matches!(row.verdict, Verdict::Broken(_))))
}
