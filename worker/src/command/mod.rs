//! A command, from its start behind a barrier to the proof that its whole tree is gone.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`start`] | descriptors, and the process behind its barrier |
//! | [`attempt`] | watching it: orders, deadlines, output, until its tree is gone |
//! | [`output`] | reading streams |
//! | [`memory`] | whether memory was the reason for a SIGKILL |
//! | [`ending`] | what it all means |
//!
//! The tree is over when its leader is: what the leader leaves behind is ended. There is one thread and no clock tick here; it
//! sleeps until a descriptor is ready or a deadline that something set is reached.

mod attempt;
mod deaths;
mod ending;
mod memory;
mod output;
mod start;

pub use deaths::Deaths;
pub use ending::usage;
pub use start::{Barred, barred, shown};

use crate::keep::{Place, place};
use crate::link::{Mailbox, Orders, Reporter};
use attempt::Attempt;
use ending::Watch;
use memory::Memory;
use ouroboros_process::Spawner;
use ouroboros_proto::kind::{AttemptId, Usage};
use ouroboros_proto::wire::{CommandWork, Report};
use rustix::fs::{Mode, OFlags};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// What a worker gets ready while it waits for work.
#[derive(Debug)]
pub struct Tools {
    spawner: Spawner,
    /// This binary, as it was started: replacing the file at its path never mixes builds.
    program: Arc<OwnedFd>,
    memory: Memory,
}

impl Tools {
    /// Gets them ready.
    ///
    /// # Errors
    /// When the binary cannot be opened.
    pub fn ready(spawner: Spawner) -> io::Result<Self> {
        let program = rustix::fs::open("/proc/self/exe", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { spawner, program: Arc::new(program), memory: Memory::now() })
    }

    /// What the machine's memory was like before anything ran.
    pub const fn memory(&self) -> Memory {
        self.memory
    }
}

/// Runs a command to its acknowledged end. `orders` is what arrived together with it.
pub fn run(
    tools: &Tools,
    mailbox: &Mailbox,
    mut reporter: Reporter,
    attempt: AttemptId,
    work: &CommandWork,
    orders: Orders,
) {
    let place = Place::new(&work.output_base);
    let (report, settling) = match start::behind_barrier(tools, work) {
        Ok(started) => {
            reporter.report(Report::ProcessStarted {
                process: started.process,
                identity: started.child.identity().clone(),
                command: start::shown(&work.argv),
            });
            let mut running = Attempt::new(started, work, mailbox, &mut reporter);
            running.until_leader_is_over(orders);
            let settling = mailbox.settle();
            (running.settle(&Watch { memory: &tools.memory, attempt }), settling)
        }
        Err(ending) => (Some(ending::report(ending, Usage::default())), mailbox.settle()),
    };
    let Some(report) = report else {
        drop(settling);
        // The lifeline ends this process.
        loop {
            std::thread::park();
        }
    };
    place.store(&report, &reporter);
    drop(settling);
    place::deliver(report, mailbox, &mut reporter);
}
