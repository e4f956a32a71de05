//! What other threads ask of the link's thread.

use ouroboros_domain::WorkerExit;
use ouroboros_process::PidFd;
use ouroboros_proto::kind::WorkerId;
use rustix::event::{EventfdFlags, epoll, eventfd};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

/// Something asked.
pub(super) enum Ask {
    /// Everything of a worker is gone.
    TreeGone(WorkerId, WorkerExit),
    /// A worker was sent a kill: it must be dead within the bound, or it is wedged.
    Killed(WorkerId),
    /// A worker's frames no longer wait: read on.
    ReadOn,
    /// Something could not be written at once.
    Flush,
}

/// Epoll, the asks, and the descriptor that wakes.
#[derive(Debug)]
pub(super) struct Wake {
    pub epoll: OwnedFd,
    event: OwnedFd,
    asks: Mutex<Vec<Ask>>,
}

impl std::fmt::Debug for Ask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::TreeGone(..) => "TreeGone",
            Self::Killed(_) => "Killed",
            Self::ReadOn => "ReadOn",
            Self::Flush => "Flush",
        })
    }
}

/// What an epoll event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    Listener,
    Wake,
    Connection(u64),
    Death(WorkerId),
}

const KIND_SHIFT: u32 = 62;
const ID_MASK: u64 = (1 << KIND_SHIFT) - 1;

impl About {
    pub fn data(self) -> epoll::EventData {
        epoll::EventData::new_u64(match self {
            Self::Listener => 0,
            Self::Wake => 1,
            Self::Connection(id) => (1 << KIND_SHIFT) | (id & ID_MASK),
            Self::Death(worker) => (2 << KIND_SHIFT) | (worker.get() & ID_MASK),
        })
    }

    pub fn of(data: epoll::EventData) -> Self {
        let value = data.u64();
        match (value >> KIND_SHIFT, value & ID_MASK) {
            (0, 0) => Self::Listener,
            (0, _) => Self::Wake,
            (1, id) => Self::Connection(id),
            (_, id) => Self::Death(WorkerId::new(id)),
        }
    }
}

impl Wake {
    pub fn new() -> io::Result<Arc<Self>> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &event, About::Wake.data(), epoll::EventFlags::IN)?;
        Ok(Arc::new(Self { epoll, event, asks: Mutex::new(Vec::new()) }))
    }

    pub fn watch(&self, worker: WorkerId, pidfd: &PidFd) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, pidfd, About::Death(worker).data(), epoll::EventFlags::IN)?)
    }

    pub fn forget(&self, pidfd: &PidFd) {
        // It is not watched twice, and closing it would forget it too.
        let _ = epoll::delete(&self.epoll, pidfd);
    }

    /// Bounded: at most a few asks for each worker.
    pub fn ask(&self, ask: Ask) {
        self.asks.lock().unwrap_or_else(PoisonError::into_inner).push(ask);
        // A full counter wakes just as well.
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }

    pub fn taken(&self) -> Vec<Ask> {
        let _ = rustix::io::read(&self.event, &mut [0_u8; 8]);
        std::mem::take(&mut *self.asks.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
