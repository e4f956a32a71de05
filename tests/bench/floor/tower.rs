//! What the kernel alone takes to end a large tree: the zoo's tower, whose init in a namespace of its own is killed.

use crate::sample::{Samples, micros};
use anyhow::{Context as _, ensure};
use ouroboros_process::{Command, PidFd, Program, Signal, Spawner, Stdio, census};
use std::io::Read as _;
use std::time::Duration;

/// From the kill of the lowest process of a tower of 250 to the death of all of it.
///
/// # Errors
/// It does not stand, or does not end.
pub fn kill(spawner: &Spawner, times: usize, namespaces: bool) -> anyhow::Result<Samples> {
    let mut samples = Samples::default();
    for _ in 0..times {
        let (mut reader, writer) = std::io::pipe()?;
        let mut command = Command::new(Program::Path(support::program("zoo")));
        command.args = vec!["tower".into(), "250".into()];
        command.stdout = Stdio::Fd(writer.into());
        command.namespaces = namespaces;
        let tower = spawner.spawn(command).context("start a tower")?;
        reader.read_exact(&mut [0; 5]).context("the tower stands")?;
        let below = census::descendants(tower.pid())?.into_iter();
        let mut all: Vec<PidFd> = below.filter_map(|(pid, _)| PidFd::open(pid).ok().flatten()).collect();
        all.extend(PidFd::open(tower.pid())?);
        let start = micros();
        tower.pidfd().signal(Signal::KILL)?;
        if !namespaces {
            for process in &all {
                // Those that are dead already need none.
                let _ = process.signal(Signal::KILL);
            }
        }
        for process in &all {
            ensure!(process.wait_dead(Duration::from_secs(30)), "a tower outlives its kill");
        }
        samples.since(start);
        tower.wait()?;
    }
    Ok(samples)
}
