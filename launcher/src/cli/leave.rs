//! Waiting for processes to be gone.

use super::Failure;
use super::follow::watch::{Wake, wait};
use ouroboros_process::PidFd;
use ouroboros_proto::api::StateView;
use ouroboros_proto::kind::{Millis, clock};
use std::os::fd::AsFd;

/// Processes that were asked to leave. Opened before they are asked, so that each is the process that was meant.
#[derive(Debug)]
pub struct Leaving(Vec<(u32, PidFd)>);

impl Leaving {
    /// Server and launcher.
    pub fn of(state: &StateView) -> Self {
        Self::open([Some(state.pid), state.launcher_pid])
    }

    /// The server alone.
    pub fn of_server(state: &StateView) -> Self {
        Self::open([Some(state.pid), None])
    }

    fn open(pids: [Option<u32>; 2]) -> Self {
        let open = |pid: u32| Some((pid, PidFd::open(i32::try_from(pid).ok()?).ok()??));
        Self(pids.into_iter().flatten().filter_map(open).collect())
    }

    /// Waits until all of them are gone, for `bound` at most.
    pub fn wait(self, bound: Option<Millis>) -> Result<(), Failure> {
        let end = bound.map(|bound| clock::boot().plus(bound));
        for (pid, pidfd) in &self.0 {
            let left = end.map(|end| end.since(clock::boot()));
            let woke = wait(None, Some(pidfd.as_fd()), false, left);
            match woke.map_err(|error| Failure::io("waiting for the server to leave", &error))? {
                Wake::TimedOut => {
                    return Err(Failure::new("still_running", format!("process {pid} is still there")).remedy(
                        "`ouroboros ps` shows what it waits for; `ouroboros panic` kills everything at once.",
                    ));
                }
                Wake::Readable | Wake::Typed | Wake::Notice(_) | Wake::ReaderLeft => {}
            }
        }
        Ok(())
    }
}
