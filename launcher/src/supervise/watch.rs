//! One life of a server, from its start to its end.

use super::backoff::STEADY;
use super::life::Launcher;
use super::readiness::{Announcement, Heard};
use super::server::Server;
use super::signals::Asked;
use super::starter::Starter;
use super::stopping::{self, Stopping};
use super::{ask, blockers, poll, sweep, watchdog};
use crate::client::BUILD;
use crate::render::{clean, time};
use ouroboros_process::Signal;
use ouroboros_proto::kind::{BootMicros, Millis, clock};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

/// Time without readiness after which that is said. It is left to go on.
const SLOW: Millis = Millis::seconds(30);
/// How long a server may take to answer after a reload, before the service manager is told that it is over.
const RELOADED: Duration = Duration::from_secs(5);

/// How a life ended. When everything is to be killed at once the server still runs.
#[derive(Debug)]
pub struct Ending {
    /// The server.
    pub server: Server,
    /// How long it had been ready.
    pub ready_for: Option<Millis>,
    /// Whether it was to be replaced.
    pub restarts: bool,
    /// What it said in place of being ready.
    pub garbled: Option<String>,
}

/// What is known of the life so far.
#[derive(Debug)]
struct Course {
    ready_at: Option<BootMicros>,
    slow_at: Option<BootMicros>,
    steady_at: Option<BootMicros>,
    stopping: Option<Stopping>,
    /// For a server that is not ready: one that has no handlers yet would die of them.
    held_back: Vec<Signal>,
    kill: bool,
    garbled: Option<String>,
}

impl Launcher {
    /// Watches until the server has ended, or is to be killed with everything below it.
    pub(super) fn watch(&mut self, mut server: Server, starter: &mut Starter) -> Ending {
        let mut course = Course {
            ready_at: None,
            slow_at: Some(clock::boot().plus(SLOW)),
            steady_at: None,
            stopping: None,
            held_back: Vec::new(),
            kill: false,
            garbled: None,
        };
        loop {
            // In this order: what was asked before an end counts, and so does a readiness before it.
            while let Some(asked) = self.signals.next() {
                self.asked(asked, &server, &mut course);
            }
            let dead = server.child.pidfd().is_dead();
            match server.readiness.hear() {
                Heard::Ready(announcement) => self.ready(&announcement, &server, &mut course, starter),
                Heard::Garbled(said) => {
                    course.garbled = Some(clean(&said));
                    course.kill = true;
                }
                Heard::Nothing => {}
            }
            if !dead {
                self.due(&server, &mut course);
            }
            if dead || course.kill {
                let ready_for = course.ready_at.map(|ready| clock::boot().since(ready));
                let restarts = course.stopping.is_some_and(|stopping| stopping.restarts);
                return Ending { server, ready_for, restarts, garbled: course.garbled };
            }
            let mut descriptors = vec![self.signals.as_fd(), server.child.pidfd().as_fd()];
            descriptors.extend(server.readiness.descriptor());
            let stopping = course.stopping.map(|stopping| stopping.deadline.min(stopping.report_at));
            poll::wait(&descriptors, poll::first([course.slow_at, course.steady_at, stopping]));
        }
    }

    fn ready(&mut self, said: &Announcement, server: &Server, course: &mut Course, starter: &mut Starter) {
        let now = clock::boot();
        course.ready_at = Some(now);
        course.slow_at = None;
        course.steady_at = (self.backoff.crashes() > 0).then(|| now.plus(STEADY));
        let url = said.url.as_deref().map(clean);
        let place = url.as_deref().unwrap_or("no page, only the socket");
        starter.ready(url.as_deref());
        self.notify.ready(&format!("server pid {}, {place}", said.pid));
        if self.was_ready || self.voice.is_log() {
            self.voice.note(&format!("the server is ready: pid {}, {place}", said.pid));
        } else {
            let data = self.options.paths.data_dir().display();
            self.voice.answer(&format!(
                "\
Ouroboros runs: {place}
  data directory  {data}
  to stop         Ctrl-C here, or `ouroboros stop` anywhere
  to see it       `ouroboros open` prints an address that logs a browser in
"
            ));
        }
        if self.after_panic {
            self.voice.note("the queue is held after an emergency stop; `ouroboros release --all` lets work run");
        }
        if let Some(build) = said.build.as_deref().filter(|build| *build != BUILD) {
            self.voice.note(&format!(
                "the server is of build {}, this launcher of {BUILD}; `ouroboros stop`, then `ouroboros up` makes them one",
                clean(build)
            ));
        }
        if let Some(interval) = self.watchdog.filter(|_| !self.was_ready && self.notify.is_heard()) {
            // Without it the manager will restart us, which is what it was told to do.
            let _ = watchdog::start(interval, self.options.paths.api_socket(), self.notify.clone());
        }
        self.was_ready = true;
        for signal in std::mem::take(&mut course.held_back) {
            self.forward(signal, server, course);
        }
    }

    fn asked(&mut self, asked: Asked, server: &Server, course: &mut Course) {
        match asked {
            Asked::Stop => {
                self.stop_signals = self.stop_signals.saturating_add(1);
                if self.stop_signals > 1 {
                    self.voice.note("killing everything at once");
                    course.kill = true;
                } else if !self.asked_to_stop {
                    self.stop(server, course);
                }
            }
            Asked::HangUp if !self.asked_to_stop => self.stop(server, course),
            Asked::HangUp => {}
            Asked::Reload => self.forward(Signal::HUP, server, course),
            Asked::Restart if course.stopping.is_none() => self.forward(Signal::USR1, server, course),
            Asked::Restart => {}
            Asked::Dump => {
                let ready = course.ready_at.map(|ready| time::age(clock::boot().since(ready)));
                let ready = ready.map_or_else(|| "not ready".to_owned(), |age| format!("ready for {age}"));
                self.dump(&format!("server pid {}, {ready}", server.child.pid()));
                self.forward(Signal::USR2, server, course);
            }
        }
    }

    /// Passes a signal on to a server that can take it, now or when it is ready.
    fn forward(&mut self, signal: Signal, server: &Server, course: &mut Course) {
        if course.ready_at.is_none() {
            if !course.held_back.contains(&signal) {
                course.held_back.push(signal);
            }
            return;
        }
        // One that has ended meanwhile needs nothing more.
        let _ = server.child.pidfd().signal(signal);
        if signal == Signal::USR1 {
            self.voice.note("restarting the server");
            course.stopping = Some(Stopping::begin(clock::boot(), self.bound(), true));
        }
        if signal == Signal::HUP && self.notify.is_heard() {
            self.tell_reload(server.child.pid());
        }
    }

    /// Tells the service manager of a reload, and of its end when the server answers again.
    fn tell_reload(&self, pid: i32) {
        let notify = self.notify.clone();
        let socket = self.options.paths.api_socket();
        notify.reloading();
        let over = move || {
            let _ = ask::ask(socket, "/api/health", RELOADED);
            notify.ready(&format!("server pid {pid}; configuration read again"));
        };
        if std::thread::Builder::new().name("reload".to_owned()).spawn(over).is_err() {
            self.notify.ready(&format!("server pid {pid}"));
        }
    }

    /// Begins an ordered stop: the server is told, and ends its own children.
    fn stop(&mut self, server: &Server, course: &mut Course) {
        self.asked_to_stop = true;
        let bound = self.bound();
        course.stopping = Some(Stopping::begin(clock::boot(), bound, false));
        course.slow_at = None;
        let _ = server.child.pidfd().signal(Signal::TERM);
        let said = format!("stopping; what still runs after {} is killed", time::age(bound));
        let sweep = Millis::new(u64::try_from(sweep::BOUND.as_millis()).unwrap_or(0));
        self.notify.stopping(Millis::new(bound.get().saturating_add(sweep.get().saturating_mul(2))), &said);
        self.voice.note(&format!("{said}; a second Ctrl-C kills it now"));
    }

    fn bound(&self) -> Millis {
        stopping::bound(&self.options.paths, &self.options.settings, &self.environment)
    }

    /// Does what is due by the clock.
    fn due(&mut self, server: &Server, course: &mut Course) {
        let now = clock::boot();
        let pid = server.child.pid();
        if course.slow_at.is_some_and(|at| now >= at) {
            course.slow_at = None;
            let log = self.options.paths.server_log();
            self.voice.trouble(
                &format!("the server, pid {pid}, is not ready after {}; it is left to go on", time::age(SLOW)),
                &format!("{} says what it does; Ctrl-C stops it.", log.display()),
            );
        }
        if course.steady_at.is_some_and(|at| now >= at) {
            course.steady_at = None;
            if self.backoff.steady() {
                self.voice.note("the server stays up; the alarm is over");
                self.notify.status(&format!("server pid {pid}"));
            }
        }
        let Some(stopping) = &mut course.stopping else { return };
        if now >= stopping.deadline {
            blockers::report_now(self.voice, pid);
            self.voice.note("the bound has passed; killing everything");
            course.kill = true;
        } else if stopping.report_due(now) {
            let held = Arc::clone(server.child.pidfd());
            blockers::report(self.voice, self.options.paths.api_socket(), pid, held);
        }
    }
}
