//! What every command is, confined or not: one that ends with its worker, goes first when memory runs out, and leaves no core.

use ouroboros_process::exec::{self, Parent};
use rustix::io::Errno;
use std::io;

/// How readily the kernel ends a command when memory runs out.
const OOM_SCORE_TOOL: i16 = 500;
/// The same for a worker: after its command, before the server.
pub const OOM_SCORE_WORKER: i16 = 200;

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Custody {
    /// The worker, as `getppid` shows it.
    pub parent: i32,
    /// Whether standard output becomes the controlling terminal.
    pub terminal: bool,
    /// Whether set-uid bits and file capabilities do nothing.
    pub no_new_privs: bool,
}

/// Puts the calling process, which leads a session already, under custody.
///
/// # Errors
/// When a step failed; `ESRCH` when the worker ended meanwhile. A score that cannot be set is no failure: only hosts with an idea
/// of their own forbid it.
pub fn enter(wanted: Custody) -> io::Result<()> {
    if exec::set_parent_death_kill(wanted.parent)? == Parent::Gone {
        return Err(Errno::SRCH.into());
    }
    if wanted.terminal {
        rustix::process::ioctl_tiocsctty(io::stdout())?;
    }
    let _ = exec::oom_score_adj(OOM_SCORE_TOOL);
    exec::no_core_dumps()?;
    if wanted.no_new_privs {
        exec::no_new_privs()?;
    }
    Ok(())
}
