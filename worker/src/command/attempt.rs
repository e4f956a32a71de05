//! Watching a command until its tree is gone.

use super::deaths::Deaths;
use super::ending::{self, Cause, Watch};
use super::output::Output;
use super::start::Started;
use crate::link::{Mailbox, Orders, Reporter};
use crate::note::note;
use crate::wake;
use ouroboros_process::{Child, PidFd, Signal, Status, census, reaper};
use ouroboros_proto::kind::{AttemptReport, BootMicros, Millis, ProcessId, Stream, clock};
use ouroboros_proto::wire::CommandWork;
use ouroboros_sandbox::report::read_failure;
use rustix::event::{PollFd, PollFlags};
use rustix::process::{WaitId, WaitIdOptions, waitid};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Between TERM and KILL when the time is over.
const TIMEOUT_GRACE: Millis = Millis::seconds(2);
/// How long one try to end everything takes at most.
const TRY: Duration = Duration::from_secs(2);
/// Before the next try when it is not known what is left.
const PAUSE: Millis = Millis::seconds(1);
/// Processes that are waited for at once when they were asked to end.
const WATCHED: usize = 256;

/// One command under custody.
pub struct Attempt<'a> {
    child: Child,
    process: ProcessId,
    status: OwnedFd,
    output: Output,
    deaths: Deaths,
    timeout: Option<Millis>,
    phase: Phase,
    /// When it was released, or started while it is not.
    since: BootMicros,
    mailbox: &'a Mailbox,
    reporter: &'a mut Reporter,
}

/// How far the leader is.
enum Phase {
    /// Behind its barrier.
    Barred(OwnedFd),
    /// Released, and to be ended at a time when it was given one.
    Running(Option<Deadline>),
    /// To be gone at a time.
    Stopping { cause: Cause, released: bool, kill_at: BootMicros },
}

struct Deadline {
    at: BootMicros,
    alarm: Option<OwnedFd>,
}

impl<'a> Attempt<'a> {
    /// Takes over a process that stands behind its barrier.
    pub fn new(started: Started, work: &CommandWork, mailbox: &'a Mailbox, reporter: &'a mut Reporter) -> Self {
        Self {
            child: started.child,
            process: started.process,
            status: started.status,
            output: started.output,
            deaths: started.deaths,
            timeout: work.timeout,
            phase: Phase::Barred(started.barrier),
            since: clock::boot(),
            mailbox,
            reporter,
        }
    }

    /// Ends what is left of the tree; returns when nothing of it is left and the output is on the disk. `None` when it may have
    /// died because the server did, which is no ending of its own.
    pub fn settle(mut self, watch: &Watch<'_>) -> Option<AttemptReport> {
        let elapsed = clock::boot().since(self.since);
        let orphaned = self.mailbox.is_closed();
        self.until_tree_is_gone();

        self.output.drain();
        self.output.announce_all(clock::boot(), self.reporter);
        self.reporter.flush();
        let (stop, released) = match &self.phase {
            Phase::Barred(_) => (None, false),
            Phase::Running(_) => (None, true),
            Phase::Stopping { cause, released, .. } => (Some(*cause), *released),
        };
        let status = self.child.try_wait().ok().flatten().map(|exit| exit.status);
        if orphaned && stop.is_none() && !matches!(status, Some(Status::Exited(_))) {
            return None;
        }
        let ending = ending::decide(stop, released, read_failure(&self.status), status, watch);
        Some(AttemptReport {
            stdout: self.output.finish(Stream::Stdout),
            stderr: self.output.finish(Stream::Stderr),
            ..ending::report(ending, ending::usage(elapsed))
        })
    }

    /// Until the leader is dead or is to be killed now. An order that comes after the leader's own end changes nothing.
    pub fn until_leader_is_over(&mut self, first: Orders) {
        let mut orders = first;
        loop {
            if self.child.pidfd().is_dead() {
                self.reporter.answer(&orders);
                return;
            }
            self.obey(&orders);
            if self.kill_at().is_some_and(|at| at <= clock::boot()) {
                return;
            }
            self.wait(&[], self.kill_at());
            orders = self.mailbox.take();
        }
    }

    /// What the leader leaves may use the rest of a grace that was given; then it is killed, until the kernel knows no child.
    fn until_tree_is_gone(&mut self) {
        let mut watched = Vec::new();
        while let Some(kill_at) = self.kill_at().filter(|at| *at > clock::boot()) {
            watched.retain(|process: &PidFd| !process.is_dead());
            if watched.is_empty() {
                watched = living_below();
            }
            if watched.is_empty() {
                break;
            }
            self.wait(&watched, Some(kill_at));
            let orders = self.mailbox.take();
            self.obey(&orders);
        }
        // The usual case in two calls. The group goes first, while its leader still holds its number.
        let _ = self.child.kill_group(Signal::KILL);
        if self.child.try_wait().is_ok_and(|exit| exit.is_some()) && childless() {
            return;
        }
        loop {
            let report = reaper::end_everything(&|_| false, TRY);
            if report.is_clean() {
                return;
            }
            self.outwait(&report);
        }
    }

    /// Until one of those that could not be killed is gone. Nothing may be reported before.
    fn outwait(&mut self, report: &reaper::Report) {
        for survivor in &report.survivors {
            note(format_args!("cannot end process {} ({})", survivor.pid, survivor.command));
        }
        let mut held: Vec<PidFd> = report
            .survivors
            .iter()
            .filter_map(|survivor| PidFd::open(survivor.pid).ok().flatten())
            .take(WATCHED)
            .collect();
        let retry = held.is_empty().then(|| clock::boot().plus(PAUSE));
        let count = held.len();
        while held.len() == count && retry.is_none_or(|at| at > clock::boot()) {
            self.wait(&held, retry);
            let orders = self.mailbox.take();
            self.reporter.answer(&orders);
            held.retain(|process| !process.is_dead());
        }
    }

    fn kill_at(&self) -> Option<BootMicros> {
        match &self.phase {
            Phase::Stopping { kill_at, .. } => Some(*kill_at),
            Phase::Barred(_) | Phase::Running(_) => None,
        }
    }

    fn obey(&mut self, orders: &Orders) {
        self.reporter.answer(orders);
        if let Some(grace) = orders.stop {
            self.stop(grace);
        }
        if let Some(process) = orders.release {
            self.release(process);
        }
        if matches!(&self.phase, Phase::Running(Some(deadline)) if deadline.at <= clock::boot()) {
            self.ask_to_end(Cause::TimedOut, TIMEOUT_GRACE);
        }
    }

    fn stop(&mut self, grace: Millis) {
        let now = clock::boot();
        match &mut self.phase {
            Phase::Barred(_) => {
                self.phase = Phase::Stopping { cause: Cause::Killed, released: false, kill_at: now };
            }
            Phase::Running(_) if grace == Millis::ZERO => {
                self.phase = Phase::Stopping { cause: Cause::Killed, released: true, kill_at: now };
            }
            Phase::Running(_) => self.ask_to_end(Cause::Asked, grace),
            Phase::Stopping { kill_at, .. } => *kill_at = (*kill_at).min(now.plus(grace)),
        }
    }

    /// Those that are stopped cannot act on a TERM before they continue.
    fn ask_to_end(&mut self, cause: Cause, grace: Millis) {
        let _ = self.child.kill_group(Signal::TERM);
        let _ = self.child.kill_group(Signal::CONT);
        self.phase = Phase::Stopping { cause, released: true, kill_at: clock::boot().plus(grace) };
    }

    fn release(&mut self, process: ProcessId) {
        let Phase::Barred(barrier) = &self.phase else { return };
        if process != self.process {
            note(format_args!("ignored a release of process {process}, which is not ours"));
            return;
        }
        // It cannot block, and fails only when the process is dead, which is seen next.
        let _ = rustix::io::write(barrier, &[1]);
        self.since = clock::boot();
        let at = self.timeout.map(|timeout| self.since.plus(timeout));
        self.phase = Phase::Running(at.map(|at| Deadline { at, alarm: wake::alarm(at) }));
    }

    /// Until anything happens or `until`; moves output and reports along.
    fn wait(&mut self, watched: &[PidFd], until: Option<BootMicros>) {
        let stuck = !self.reporter.is_idle();
        let deadline = match &self.phase {
            Phase::Running(Some(deadline)) => Some(deadline),
            Phase::Running(None) | Phase::Barred(_) | Phase::Stopping { .. } => None,
        };
        let announcement = if stuck { None } else { self.output.next_announcement() };
        let reaping = self.deaths.more().then(clock::boot);
        let until = [until, announcement, reaping, deadline.map(|deadline| deadline.at)].into_iter().flatten().min();

        let mut fds = vec![PollFd::new(self.mailbox, PollFlags::IN), PollFd::new(&self.deaths, PollFlags::IN)];
        fds.extend(self.output.poll_fds());
        fds.extend(watched.iter().map(|process| PollFd::new(process, PollFlags::IN)));
        fds.extend(
            deadline.and_then(|deadline| deadline.alarm.as_ref()).map(|alarm| PollFd::new(alarm, PollFlags::IN)),
        );
        if watched.is_empty() {
            fds.push(PollFd::new(&**self.child.pidfd(), PollFlags::IN));
        }
        if stuck {
            fds.push(PollFd::new(&*self.reporter, PollFlags::OUT));
        }
        wake::until(&mut fds, until);
        drop(fds);

        if !self.child.pidfd().is_dead() {
            self.deaths.reap();
        }
        self.output.read();
        self.reporter.flush();
        if self.reporter.is_idle() {
            self.output.announce(clock::boot(), self.reporter);
            self.reporter.flush();
        }
    }
}

/// Handles on what lives below us.
fn living_below() -> Vec<PidFd> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let below = census::descendants(own).unwrap_or_default();
    // A number that is reused between look and opening is only waited for, and not beyond the grace.
    let open = below.into_iter().filter_map(|(pid, _)| PidFd::open(pid).ok().flatten());
    open.filter(|process| !process.is_dead()).take(WATCHED).collect()
}

/// Whether the kernel knows no child of ours, dead or alive. Reaps nothing.
fn childless() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::All, look), Err(rustix::io::Errno::CHILD))
}
