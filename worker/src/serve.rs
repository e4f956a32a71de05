//! The life of a worker.

use crate::agent;
use crate::ask;
use crate::command;
use crate::invitation::Invitation;
use crate::link::{self, Assignment, HelloError, Mailbox, Reporter, Work};
use crate::note::note;
use nix::sys::signal::{SigSet, Signal};
use ouroboros_process::exec::{self, Parent};
use ouroboros_process::{Spawner, set_subreaper};
use ouroboros_proto::kind::ExitCode;
use ouroboros_sandbox::OOM_SCORE_WORKER;
use rustix::event::{PollFd, PollFlags, poll};
use std::error::Error;
use std::io;
use std::sync::Arc;

/// Serves one attempt and returns the code to leave with.
pub fn run() -> ExitCode {
    let invitation = match Invitation::from_environment() {
        Ok(invitation) => invitation,
        Err(error) => {
            note(error);
            return ExitCode::Usage;
        }
    };
    match harden(&invitation) {
        Ok(Parent::Alive) => {}
        Ok(Parent::Gone) => return ExitCode::Orphaned,
        Err(error) => return failed("cannot take custody", &error),
    }
    match link::greet(&invitation) {
        Ok(socket) => serve(Arc::new(socket), &invitation).unwrap_or_else(|error| failed("cannot serve", &error)),
        Err(error) => turned_away(&error),
    }
}

/// Custody first: from here on nothing that is started below gets away from us.
fn harden(invitation: &Invitation) -> io::Result<Parent> {
    set_subreaper()?;
    // Best effort: a host that forbids it has its own idea.
    let _ = exec::oom_score_adj(OOM_SCORE_WORKER);
    // A key pressed or a terminal closed is for the launcher to judge. Blocked signals are not inherited by what the spawner starts.
    // Deaths of children are read from a descriptor.
    SigSet::from_iter([Signal::SIGINT, Signal::SIGQUIT, Signal::SIGHUP, Signal::SIGPIPE, Signal::SIGCHLD])
        .thread_block()?;
    if rustix::process::getpid() == rustix::process::Pid::INIT {
        // Our end is the end of everything in this namespace. Elsewhere our children would survive us, so the lifeline carries.
        return exec::set_parent_death_kill(0);
    }
    let parent = rustix::process::getppid().map(|parent| parent.as_raw_nonzero().get());
    let gone = invitation.server.is_some() && parent != invitation.server;
    Ok(if gone { Parent::Gone } else { Parent::Alive })
}

fn serve(socket: Arc<std::os::unix::net::UnixStream>, invitation: &Invitation) -> io::Result<ExitCode> {
    let mailbox = Arc::new(Mailbox::new(invitation.generation)?);
    link::hold(Arc::clone(&socket), Arc::clone(&mailbox))?;
    let tools = command::Tools::ready(Spawner::start()?)?;
    let (assignment, orders) = await_work(&mailbox)?;
    let reporter = Reporter::new(socket, assignment.attempt, invitation.generation);
    match assignment.work {
        Work::Command(work) => command::run(&tools, &mailbox, reporter, assignment.attempt, &work, orders),
        Work::Ask(work) => ask::run(&mailbox, reporter, &work, orders),
        Work::Agent(work) => agent::run(&tools, &mailbox, reporter, assignment.attempt, &work, orders),
    }
    Ok(ExitCode::Stopped)
}

/// Blocks until there is an assignment, without a bound: a spare waits for as long as its server lives.
fn await_work(mailbox: &Mailbox) -> io::Result<(Assignment, link::Orders)> {
    loop {
        let mut orders = mailbox.take();
        if let Some(assignment) = orders.run.take() {
            return Ok((assignment, orders));
        }
        match poll(&mut [PollFd::new(mailbox, PollFlags::IN)], None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn failed(what: &str, error: &io::Error) -> ExitCode {
    note(format_args!("{what}: {error}"));
    ExitCode::Unavailable
}

fn turned_away(error: &HelloError) -> ExitCode {
    match error.source() {
        Some(source) => note(format_args!("{error}: {source}")),
        None => note(error),
    }
    match error {
        HelloError::Gone(_) => ExitCode::Orphaned,
        HelloError::Socket(_) | HelloError::Encode(_) => ExitCode::Io,
        HelloError::Impostor => ExitCode::NoPermission,
        HelloError::Protocol { .. }
        | HelloError::Malformed(_)
        | HelloError::Generation { .. }
        | HelloError::Refused(_) => ExitCode::Mismatch,
    }
}
