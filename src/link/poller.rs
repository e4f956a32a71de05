//! The thread.

use super::connection::{Connection, Received, Stage};
use super::handshake::{Greeting, Ourselves, greet};
use super::outbox::Outbox;
use super::reports;
use super::wake::{About, Ask, Wake};
use crate::custody::table::worker_exit;
use crate::custody::{
    Reaper, Table,
    reaper::{Kept, KillBound},
};
use crate::life::critical;
use crate::models::Calls;
use crate::supervisor::LiveRegistry;
use crate::supervisor::inbox::{Inbox, Message};
use interprocess::local_socket::traits::Listener as _;
use interprocess::local_socket::{
    GenericFilePath, Listener, ListenerNonblockingMode, ListenerOptions, Stream, ToFsName,
};
use ouroboros_domain::{WorkerEvent, WorkerExit};
use ouroboros_process::{PidFd, Signal};
use ouroboros_proto::kind::{BootMicros, Millis, WorkerId, clock};
use ouroboros_proto::limits;
use ouroboros_proto::wire::{FromWorker, Report, decode};
use rustix::event::epoll;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Time a worker may live after it closed its socket.
const HANG_UP_BOUND: Millis = Millis::new(1_000);

/// What the thread works with.
pub struct Options {
    /// The bound socket.
    pub listener: Listener,
    /// Who we are.
    pub ourselves: Ourselves,
    /// The workers.
    pub table: Arc<Table>,
    /// Where reports go.
    pub inbox: Arc<Inbox>,
    /// Where live output goes.
    pub live: Arc<LiveRegistry>,
    /// Where calls of models go.
    pub calls: Arc<Calls>,
    /// Reads what a dead worker kept on disk.
    pub kept: Kept,
    /// Time a killed worker may take to die before it counts as wedged.
    pub kill_bound: KillBound,
}

/// Binds the workers' socket, for the owner only. A stale file is replaced: the server's lock says that nobody serves it.
///
/// # Errors
/// When it cannot be bound.
pub fn bind(path: &Path) -> io::Result<Listener> {
    use interprocess::os::unix::local_socket::ListenerOptionsExt as _;
    ListenerOptions::new()
        .name(path.to_fs_name::<GenericFilePath>()?)
        .try_overwrite(true)
        .mode(0o600)
        .nonblocking(ListenerNonblockingMode::Both)
        .create_sync()
}

/// A handle on the thread.
#[derive(Debug, Clone)]
pub struct Link {
    wake: Arc<Wake>,
}

impl Link {
    /// A handle whose thread is started with [`Link::run`].
    ///
    /// # Errors
    /// When descriptors run out.
    pub fn new() -> io::Result<Self> {
        Ok(Self { wake: Wake::new()? })
    }

    /// Starts the thread.
    ///
    /// # Errors
    /// When no thread or descriptor is to be had.
    pub fn run(&self, options: Options, reaper: Reaper) -> io::Result<()> {
        epoll::add(&self.wake.epoll, fd_of(&options.listener), About::Listener.data(), epoll::EventFlags::IN)?;
        let poller = Poller {
            wake: Arc::clone(&self.wake),
            connections: BTreeMap::new(),
            next: 0,
            deadlines: Vec::new(),
            reaper,
            options,
        };
        critical::spawn("link", move || poller.serve())?;
        Ok(())
    }

    /// Watches a worker's death.
    ///
    /// # Errors
    /// When the kernel's limit of watched descriptors is reached.
    pub fn watch(&self, worker: WorkerId, pidfd: &PidFd) -> io::Result<()> {
        self.wake.watch(worker, pidfd)
    }

    /// Everything of a dead worker is gone.
    pub fn tree_gone(&self, worker: WorkerId, exit: WorkerExit) {
        self.wake.ask(Ask::TreeGone(worker, exit));
    }

    /// A worker was sent a kill.
    pub fn killed(&self, worker: WorkerId) {
        self.wake.ask(Ask::Killed(worker));
    }
}

fn fd_of(listener: &Listener) -> impl AsFd + '_ {
    match listener {
        Listener::UdSocket(socket) => socket.as_fd(),
    }
}

fn fd_of_stream(stream: &Stream) -> impl AsFd + '_ {
    match stream {
        Stream::UdSocket(socket) => socket.as_fd(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overdue {
    /// The connection has not said hello.
    Hello(u64),
    /// The worker closed its socket and lives.
    HungUp(WorkerId),
    /// The worker was killed and lives.
    Killed(WorkerId),
}

struct Poller {
    wake: Arc<Wake>,
    connections: BTreeMap<u64, Connection>,
    next: u64,
    deadlines: Vec<(BootMicros, Overdue)>,
    reaper: Reaper,
    options: Options,
}

impl Poller {
    fn serve(mut self) {
        let mut events = Vec::with_capacity(64);
        loop {
            events.clear();
            let timeout = self.deadlines.iter().map(|(at, _)| *at).min().map(timeout_until);
            match epoll::wait(&self.wake.epoll, rustix::buffer::spare_capacity(&mut events), timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    tracing::error!(%error, "the workers' sockets cannot be waited for");
                    return;
                }
            }
            let abouts: Vec<(About, bool)> = events
                .iter()
                .map(|event| {
                    let (data, flags) = (event.data, event.flags);
                    (About::of(data), flags.contains(epoll::EventFlags::OUT))
                })
                .collect();
            for (about, writable) in abouts {
                match about {
                    About::Listener => self.accept(),
                    About::Wake => self.asked(),
                    About::Connection(id) => {
                        if writable {
                            self.flush(id);
                        }
                        self.readable(id);
                    }
                    About::Death(worker) => self.died(worker),
                }
            }
            self.expire();
        }
    }

    fn accept(&mut self) {
        loop {
            let stream = match self.options.listener.accept() {
                Ok(stream) => Arc::new(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => return tracing::warn!(%error, "a worker's connection cannot be accepted"),
            };
            let ungreeted =
                self.connections.values().filter(|known| matches!(known.stage, Stage::Ungreeted { .. })).count();
            let credentials = rustix::net::sockopt::socket_peercred(fd_of_stream(&stream)).ok();
            let peer = credentials.map(|peer| peer.pid.as_raw_nonzero().get());
            let ours = credentials.is_some_and(|peer| peer.uid == rustix::process::geteuid());
            if !ours || u64::try_from(ungreeted).unwrap_or(u64::MAX) >= limits::UNGREETED_CONNECTIONS.max {
                tracing::warn!(peer, "a connection on the workers' socket is turned away");
                continue;
            }
            let id = self.next;
            self.next = self.next.wrapping_add(1);
            let deadline = clock::boot().plus(Millis::new(limits::READY_MILLIS.max));
            let outbox = Arc::new(Outbox::new(Arc::clone(&stream), Arc::clone(&self.wake)));
            let flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP;
            if epoll::add(&self.wake.epoll, fd_of_stream(&stream), About::Connection(id).data(), flags).is_ok() {
                self.deadlines.push((deadline, Overdue::Hello(id)));
                self.connections.insert(id, Connection::new(stream, outbox, peer, deadline));
            }
        }
    }

    fn readable(&mut self, id: u64) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if connection.paused {
            return;
        }
        let received = connection.receive();
        let fine = self.take_frames(id);
        if !fine || matches!(received, Received::Closed) {
            self.close(id);
        }
    }

    /// Gives whole frames on; false when the peer broke the protocol.
    fn take_frames(&mut self, id: u64) -> bool {
        while let Some(connection) = self.connections.get_mut(&id) {
            let full = u64::from(connection.in_flight.load(Ordering::Acquire)) >= limits::FRAMES_PER_WORKER.max;
            if full && !connection.paused {
                connection.paused = true;
                self.interest(id);
            }
            if full {
                return true;
            }
            let Some(connection) = self.connections.get_mut(&id) else { return true };
            let body = match connection.next_frame() {
                Ok(Some(body)) => body,
                Ok(None) => return true,
                Err(error) => {
                    tracing::warn!(peer = connection.peer, %error, "a worker sends what is not a frame");
                    return false;
                }
            };
            match connection.stage {
                Stage::Ungreeted { .. } => match greet(connection, &body, &self.options.table, &self.options.ourselves)
                {
                    Greeting::Refused => return false,
                    Greeting::Welcome { worker, known } => {
                        connection.stage = Stage::Greeted(worker);
                        self.deadlines.retain(|(_, overdue)| *overdue != Overdue::Hello(id));
                        if known {
                            self.options.inbox.push_worker(Message::about(worker, WorkerEvent::Ready));
                        }
                    }
                },
                Stage::Greeted(worker) => {
                    let credit = Arc::clone(&connection.in_flight);
                    match decode::<FromWorker>(&body) {
                        Ok(frame) => {
                            if !self.frame(worker, frame, &credit) {
                                return false;
                            }
                        }
                        Err(error) => {
                            tracing::warn!(worker = worker.get(), %error, "a worker's frame cannot be read");
                            return false;
                        }
                    }
                }
            }
        }
        true
    }

    /// Takes a frame; false when it says what no worker of ours says.
    fn frame(&self, worker: WorkerId, frame: FromWorker, in_flight: &Arc<AtomicU32>) -> bool {
        let report = match frame.report {
            Report::Output { stream, written } => {
                let assigned = self.options.table.assigned(worker);
                if let Some(assigned) = assigned.filter(|assigned| assigned.attempt == frame.attempt) {
                    self.options.live.grew(assigned.task, frame.attempt, stream, written);
                }
                return true;
            }
            Report::Call { call, request } => {
                self.options.calls.begin(worker, frame.attempt, frame.sequence, call, request);
                return true;
            }
            Report::CallOff { call } => {
                self.options.calls.call_off(worker, call);
                return true;
            }
            Report::Taken { call, bytes } => {
                self.options.calls.taken(worker, call, bytes);
                return true;
            }
            recorded => match reports::recorded(recorded) {
                Ok(report) => report,
                Err(why) => return reports::turned_down(worker, &why),
            },
        };
        in_flight.fetch_add(1, Ordering::AcqRel);
        let wake = Arc::clone(&self.wake);
        let credit = Arc::clone(in_flight);
        let taken = move || {
            if u64::from(credit.fetch_sub(1, Ordering::AcqRel)) == limits::FRAMES_PER_WORKER.max {
                wake.ask(Ask::ReadOn);
            }
        };
        let event = WorkerEvent::Report {
            attempt: frame.attempt,
            generation: frame.generation,
            sequence: frame.sequence,
            report,
        };
        self.options.inbox.push_worker(Message::about(worker, event).when_taken(taken));
        true
    }

    fn close(&mut self, id: u64) {
        let Some(connection) = self.connections.remove(&id) else { return };
        // Closing the last copy would forget it too, but the outbox has one.
        let _ = epoll::delete(&self.wake.epoll, fd_of_stream(&connection.stream));
        self.deadlines.retain(|(_, overdue)| *overdue != Overdue::Hello(id));
        if let Stage::Greeted(worker) = connection.stage {
            if let Some(entry) = self.options.table.lock().get_mut(&worker) {
                entry.drained = true;
                entry.outbox = None;
            }
            self.deadlines.push((clock::boot().plus(HANG_UP_BOUND), Overdue::HungUp(worker)));
            self.finish(worker);
        }
    }

    fn died(&mut self, worker: WorkerId) {
        let child = self.options.table.lock().get(&worker).and_then(|entry| entry.child.clone());
        let Some(child) = child else { return };
        self.wake.forget(child.pidfd());
        if !child.is_namespaced() {
            return self.reaper.orphans(worker);
        }
        match child.try_wait() {
            Ok(Some(exit)) => self.tree_gone(worker, worker_exit(exit.status)),
            // A readable pidfd of our child that cannot be waited for: somebody took its exit.
            Ok(None) | Err(_) => self.tree_gone(worker, WorkerExit::Signal(9)),
        }
    }

    fn tree_gone(&mut self, worker: WorkerId, exit: WorkerExit) {
        self.deadlines.retain(|(_, overdue)| *overdue != Overdue::Killed(worker));
        if let Some(entry) = self.options.table.lock().get_mut(&worker) {
            entry.exit = Some(exit);
        }
        // It may have connected, written and died before its connection was accepted.
        self.accept();
        let pending: Vec<u64> = self
            .connections
            .iter()
            .filter(|(_, known)| match known.stage {
                Stage::Greeted(greeted) => greeted == worker,
                Stage::Ungreeted { .. } => true,
            })
            .map(|(id, _)| *id)
            .collect();
        for id in pending {
            self.readable(id);
        }
        self.finish(worker);
    }

    /// Tells that a worker is gone, once both its tree and its socket are done.
    fn finish(&mut self, worker: WorkerId) {
        let mut workers = self.options.table.lock();
        let Some(entry) = workers.get_mut(&worker).filter(|entry| entry.drained && !entry.told_gone) else { return };
        let Some(exit) = entry.exit else { return };
        let assigned = entry.assigned;
        entry.told_gone = true;
        drop(workers);
        self.deadlines.retain(|(_, overdue)| *overdue != Overdue::HungUp(worker));
        let kept = assigned.and_then(|assigned| (self.options.kept)(assigned.attempt));
        if let Some(entry) = self.options.table.lock().get_mut(&worker) {
            entry.kept = kept;
        }
        if let Some(assigned) = assigned {
            self.options.live.end(assigned.task, assigned.attempt);
        }
        self.options.inbox.push_worker(Message::about(worker, WorkerEvent::Gone { exit, kept }));
    }

    fn asked(&mut self) {
        for ask in self.wake.taken() {
            match ask {
                Ask::TreeGone(worker, exit) => self.tree_gone(worker, exit),
                Ask::Killed(worker) => {
                    let bound = (self.options.kill_bound)();
                    self.deadlines.push((clock::boot().plus(bound), Overdue::Killed(worker)));
                }
                Ask::ReadOn => self.read_on(),
                Ask::Flush => {
                    let ids: Vec<u64> = self.connections.keys().copied().collect();
                    for id in ids {
                        self.flush(id);
                    }
                }
            }
        }
    }

    fn read_on(&mut self) {
        let paused: Vec<u64> = self.connections.iter().filter(|(_, known)| known.paused).map(|(id, _)| *id).collect();
        for id in paused {
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.paused = false;
            }
            self.interest(id);
            self.readable(id);
        }
    }

    fn flush(&mut self, id: u64) {
        if self.connections.contains_key(&id) {
            self.interest(id);
        }
    }

    /// Asks epoll for what the connection needs now.
    fn interest(&mut self, id: u64) {
        let Some(connection) = self.connections.get(&id) else { return };
        let mut flags = epoll::EventFlags::empty();
        if !connection.paused {
            flags |= epoll::EventFlags::IN | epoll::EventFlags::RDHUP;
        }
        if !connection.outbox.flush() {
            flags |= epoll::EventFlags::OUT;
        }
        // It fails only for a descriptor that is not watched; then its close is on its way.
        let _ = epoll::modify(&self.wake.epoll, fd_of_stream(&connection.stream), About::Connection(id).data(), flags);
    }

    fn expire(&mut self) {
        let now = clock::boot();
        let (over, left): (Vec<_>, Vec<_>) = self.deadlines.drain(..).partition(|(at, _)| *at <= now);
        self.deadlines = left;
        for (_, overdue) in over {
            match overdue {
                Overdue::Hello(id) => self.close(id),
                Overdue::HungUp(worker) => {
                    let child = self.options.table.lock().get(&worker).and_then(|entry| entry.child.clone());
                    if let Some(child) = child.filter(|child| !child.pidfd().is_dead()) {
                        tracing::warn!(
                            worker = worker.get(),
                            pid = child.pid(),
                            "a worker closed its socket and lives; it is killed"
                        );
                        let _ = child.pidfd().signal(Signal::KILL);
                        let bound = (self.options.kill_bound)();
                        self.deadlines.push((now.plus(bound), Overdue::Killed(worker)));
                    }
                }
                Overdue::Killed(worker) => self.wedged(worker),
            }
        }
    }

    fn wedged(&self, worker: WorkerId) {
        let child = self.options.table.lock().get(&worker).and_then(|entry| entry.child.clone());
        if let Some(child) = child.filter(|child| !child.pidfd().is_dead()) {
            tracing::error!(
                worker = worker.get(),
                pid = child.pid(),
                "a worker does not die; its slot is given up until it does"
            );
            let survivors = vec![child.identity().clone()];
            self.options.table.wedged(worker, &survivors);
            self.options.inbox.push_worker(Message::about(worker, WorkerEvent::Wedged { survivors }));
        }
    }
}

fn timeout_until(deadline: BootMicros) -> rustix::event::Timespec {
    let micros = deadline.get().saturating_sub(clock::boot().get());
    // One millisecond more, so that it is over when we wake.
    let millis = (micros / 1_000).saturating_add(1);
    rustix::event::Timespec {
        tv_sec: i64::try_from(millis / 1_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(millis % 1_000).unwrap_or(0).saturating_mul(1_000_000),
    }
}
