//! The launcher's own life: start a server, watch it, sweep up after it, decide.

use super::activation::Activation;
use super::backoff::Backoff;
use super::environment::{self, Variable};
use super::notify::Notify;
use super::refusal::Refusal;
use super::server::{NotStarted, Recipe, Server};
use super::signals::{Asked, Signals};
use super::starter::Starter;
use super::sweep::Sweeper;
use super::verdict::{Verdict, describe, judge};
use super::voice::Voice;
use super::watch::Ending;
use super::{Options, log, poll, program, watchdog};
use crate::render::time;
use ouroboros_process::child::Status;
use ouroboros_process::{Spawner, set_subreaper};
use ouroboros_proto::kind::{BootMicros, ExitCode, Millis, clock};
use std::env::{var_os, vars_os};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;

/// Supervises one server after the other.
#[derive(Debug)]
pub struct Launcher {
    pub(super) options: Options,
    pub(super) voice: Voice,
    pub(super) signals: Signals,
    pub(super) environment: Vec<Variable>,
    pub(super) notify: Notify,
    pub(super) watchdog: Option<Duration>,
    pub(super) backoff: Backoff,
    pub(super) sweeper: Sweeper,
    /// Whether any server of this launcher has been ready.
    pub(super) was_ready: bool,
    /// Whether the server that runs was started after an emergency stop.
    pub(super) after_panic: bool,
    /// Whether we are leaving.
    pub(super) asked_to_stop: bool,
    /// Signals that asked for it; the second one means now.
    pub(super) stop_signals: u32,
    spawner: Spawner,
    program: PathBuf,
    activation: Activation,
}

/// What to do when no server runs.
#[derive(Debug)]
enum Next {
    Start,
    StartAt(BootMicros),
    Leave(ExitCode),
    Refuse(Refusal),
}

impl Launcher {
    /// Makes this process fit to supervise. Starts nothing.
    ///
    /// # Errors
    /// The machine or the environment does not allow it.
    pub fn prepare(options: Options, voice: Voice, signals: Signals) -> Result<Self, Refusal> {
        let sweeper = Sweeper::new().map_err(|error| Refusal::system("list its children", &error))?;
        set_subreaper().map_err(|error| Refusal::system("adopt orphans", &error))?;
        let activation = Activation::take(|name| var_os(name))?;
        let spawner = Spawner::start().map_err(|error| Refusal::system("start a thread", &error))?;
        Ok(Self {
            program: program::locate(|name| var_os(name))?,
            environment: environment::with_settings(environment::inherited(vars_os()), &options.settings),
            notify: Notify::new(var_os("NOTIFY_SOCKET").as_deref()),
            watchdog: watchdog::interval(|name| var_os(name)),
            backoff: Backoff::default(),
            was_ready: false,
            after_panic: false,
            asked_to_stop: false,
            stop_signals: 0,
            options,
            voice,
            signals,
            sweeper,
            spawner,
            activation,
        })
    }

    /// Supervises until there is nothing more to supervise, and gives the exit code for that.
    pub fn run(mut self, starter: &mut Starter) -> ExitCode {
        loop {
            let next = match self.start() {
                Ok(server) => {
                    let ending = self.watch(server, starter);
                    self.after(ending, starter)
                }
                Err(next) => next,
            };
            match next {
                Next::Leave(code) => return self.leave(code),
                Next::Refuse(refusal) => return self.refuse(&refusal, starter),
                Next::Start => self.idle(None),
                Next::StartAt(time) => self.idle(Some(time)),
            }
            if self.asked_to_stop {
                return self.leave(ExitCode::Stopped);
            }
        }
    }

    fn start(&mut self) -> Result<Server, Next> {
        if self.voice.is_log() {
            log::trim(std::io::stderr().as_fd(), &log::path(&self.options.paths.log_dir()));
        }
        self.after_panic = self.options.paths.panic_marker().exists();
        let recipe = Recipe {
            program: &self.program,
            auto: self.options.auto,
            environment: &self.environment,
            activation: &self.activation,
            data_dir: self.options.paths.data_dir(),
            unproven: self.sweeper.unproven(),
        };
        let refusal = match program::verify(&self.program) {
            Err(refusal) => refusal,
            Ok(()) => match Server::start(&self.spawner, recipe) {
                Ok(server) => return Ok(server),
                Err(error) if error.is_passing() => return Err(self.pause(None, &passing(&error))),
                Err(error) => program::missing(&self.program, &error),
            },
        };
        // An upgrade may be under way: what has worked before is tried again.
        if self.was_ready { Err(self.pause(None, &refusal.message)) } else { Err(Next::Refuse(refusal)) }
    }

    /// Sweeps, then decides.
    fn after(&mut self, ending: Ending, starter: &mut Starter) -> Next {
        let Ending { server, ready_for, restarts, garbled } = ending;
        // Reaped first when it ended by itself, so that the sweep counts only what it left.
        let _ = server.child.try_wait();
        self.sweeper.sweep(self.voice);
        self.take_signals();
        if let Some(said) = garbled {
            return Next::Refuse(mismatch(&said));
        }
        let status = server.child.try_wait().ok().flatten().map(|exit| exit.status);
        let verdict = match status {
            // It outlived the sweep, or somebody else took its exit: not what was wanted either way.
            None if self.asked_to_stop => Verdict::Leave(ExitCode::Stopped),
            None => Verdict::Crashed,
            Some(Status::Signaled { .. }) if restarts && !self.asked_to_stop => Verdict::Again,
            Some(status) => judge(status, self.asked_to_stop, self.was_ready),
        };
        match verdict {
            Verdict::Leave(code) => Next::Leave(code),
            Verdict::Refused(code) => Next::Refuse(Refusal::of_server(code, self.options.paths.data_dir())),
            Verdict::Again => {
                self.voice.note("starting the server again");
                Next::Start
            }
            Verdict::Crashed => {
                let ending = status.map_or_else(|| "did not end when it was killed".to_owned(), describe);
                let next = self.pause(ready_for, &format!("the server {ending}"));
                if self.backoff.is_alarming() {
                    starter.crashing(self.backoff.crashes(), &ending);
                }
                next
            }
        }
    }

    /// Counts a crash and says when the next start is.
    fn pause(&mut self, ready_for: Option<Millis>, what: &str) -> Next {
        let span = self.backoff.crashed(ready_for, RandomState::new().build_hasher().finish());
        let again = format!("{what}; accepted tasks are kept, the next start is in {}", time::span(span));
        if self.backoff.is_alarming() {
            let alarm = format!("{again}. ALARM: {} crashes in a row", self.backoff.crashes());
            let server_log = self.options.paths.server_log();
            self.voice
                .trouble(&alarm, &format!("{} says why; `ouroboros doctor` checks the rest.", server_log.display()));
            self.notify.status(&alarm);
        } else {
            self.voice.note(&again);
            self.notify.status(&again);
        }
        Next::StartAt(clock::boot().plus(span))
    }

    /// Answers signals while no server runs, until `time`, or just once.
    fn idle(&mut self, time: Option<BootMicros>) {
        loop {
            let hurried = self.take_signals();
            let due = time.is_none_or(|time| clock::boot() >= time);
            if due || hurried || self.asked_to_stop {
                return;
            }
            poll::wait(&[self.signals.as_fd()], time);
        }
    }

    /// Answers the signals that came while no server runs. Says whether the next start was asked for.
    fn take_signals(&mut self) -> bool {
        let mut hurried = false;
        while let Some(asked) = self.signals.next() {
            match asked {
                Asked::Stop | Asked::HangUp => self.asked_to_stop = true,
                Asked::Restart => hurried = true,
                Asked::Reload => self.voice.note("no server runs; the next one reads the configuration when it starts"),
                Asked::Dump => self.dump("no server runs"),
            }
        }
        hurried
    }

    /// Writes how things are to the log.
    pub(super) fn dump(&self, server: &str) {
        let alarm = if self.backoff.is_alarming() { "on" } else { "off" };
        self.voice.note(&format!(
            "state of the launcher: pid {}, {server}, crashes in a row {}, alarm {alarm}, processes not proven gone {}, stopping {}",
            std::process::id(),
            self.backoff.crashes(),
            self.sweeper.survivors(),
            self.asked_to_stop,
        ));
    }

    fn leave(&self, code: ExitCode) -> ExitCode {
        if !self.asked_to_stop {
            self.notify.leaving("the server has ended");
        }
        if code == ExitCode::Panic {
            self.voice.trouble(
                "emergency stop: everything was killed, tasks are kept, and the next start holds the queue",
                "`ouroboros up` starts again; then `ouroboros release --all` lets work run.",
            );
            return code;
        }
        if self.sweeper.survivors() > 0 {
            self.voice.trouble(
                "stopped, but not everything could be ended; see above",
                "The processes are named above; the next `ouroboros up` looks for them again.",
            );
            return if self.sweeper.was_refused() { ExitCode::NoPermission } else { ExitCode::Io };
        }
        self.voice.note("stopped; queued tasks wait for the next `ouroboros up`");
        code
    }

    fn refuse(&self, refusal: &Refusal, starter: &mut Starter) -> ExitCode {
        starter.refused(refusal);
        self.voice.trouble(&refusal.message, &refusal.remedy);
        self.notify.leaving(&refusal.message);
        refusal.code
    }
}

fn passing(error: &NotStarted) -> String {
    format!("the server could not be started: {error}")
}

fn mismatch(said: &str) -> Refusal {
    Refusal::new(
        ExitCode::Unavailable,
        format!(
            "the server speaks to another kind of launcher (it said {said:?}); it was ended, stored tasks are kept"
        ),
        "Install `ouroboros`, `ouroboros-server` and `ouroboros-worker` of one build side by side.",
    )
}
