//! Programs that an agent runs: each behind its barrier until it is recorded, alone or beside the work as a service, and gone with
//! everything it started before the attempt reports its end.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`running`] | one process, from its start to the proof that its group is gone |
//! | [`window`] | what is kept of what it writes |
//! | [`at`] | what tools see: [`ouroboros_tools::programs::Programs`] for one call |
//!
//! Invariants: nothing of a program has run before the server recorded its process. What loses its parent below us, and is no
//! service, ends when the program that is being waited for does. One thread waits for everything.

mod at;
mod running;
mod window;

pub use at::At;

use crate::agent::policy::Guards;
use crate::command::{Deaths, Tools};
use crate::link::Mailbox;
use crate::note::note;
use crate::wake;
use ouroboros_fetch::Origin;
use ouroboros_process::{Signal, reaper};
use ouroboros_proto::agent::{Guarantee, Profile};
use ouroboros_proto::kind::{AttemptId, Millis, clock};
use ouroboros_proto::wire::AgentWork;
use ouroboros_sandbox::{Confinement, Limits};
use ouroboros_tools::{Code, Outcome};
use running::Running;
use rustix::event::{PollFd, PollFlags};
use std::cell::{Cell, RefCell};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Services that run at once.
const SERVICES: usize = 16;
/// How long one try to end everything takes at most.
const TRY: Duration = Duration::from_secs(2);
/// Between TERM and KILL at the end of the attempt.
const GRACE: Millis = Millis::seconds(2);
/// Before the next try when something could not be ended.
const PAUSE: Millis = Millis::seconds(1);

/// What programs of an attempt are run with.
pub struct Programs<'t> {
    tools: &'t Tools,
    attempt: AttemptId,
    /// Where they write beside the folder: home and temporary files.
    scratch: PathBuf,
    /// What each is confined to, but for its profile.
    confinement: Confinement,
    /// How a program is refused that could change what is guarded, and why.
    guarded: Option<(Code, &'static str)>,
    /// The environment that each may be given of.
    environment: Vec<(String, String)>,
    /// Origins at private addresses that pages may be fetched from.
    private_origins: Vec<Origin>,
    deaths: RefCell<Deaths>,
    services: RefCell<Vec<Named>>,
    files: Cell<u32>,
    /// Whether the scratch directory is there.
    made: Cell<bool>,
}

struct Named {
    name: String,
    running: Running,
    /// Whether the server was told that it is over.
    told: bool,
}

impl<'t> Programs<'t> {
    /// Starts nothing and makes nothing yet.
    ///
    /// # Errors
    /// There is no place for the scratch directory, or no descriptor is to be had.
    pub fn ready(
        tools: &'t Tools,
        attempt: AttemptId,
        work: &AgentWork,
        folder: &Path,
        path: Option<&str>,
        guards: &Guards,
    ) -> io::Result<Self> {
        let scratch = beneath_real(Path::new(&work.scratch))?;
        let confinement = Confinement {
            profile: Profile::Workspace,
            folder: folder.to_owned(),
            scratch: scratch.clone(),
            home: std::env::var_os("HOME").map(PathBuf::from),
            readable: repository(folder).into_iter().collect(),
            writable: Vec::new(),
            readonly: guards
                .places()
                .iter()
                .filter(|guard| guard.code.is_some())
                .map(|guard| guard.path.clone())
                .collect(),
            hidden: work.fenced.iter().map(PathBuf::from).collect(),
            network: false,
            limits: Limits::default(),
            accept: if work.may_lack_confinement { Guarantee::ALL.to_vec() } else { Vec::new() },
            without_view: false,
        };
        Ok(Self {
            tools,
            attempt,
            scratch,
            guarded: guards.against_unconfined(),
            environment: environment(path),
            // One that is none allows nothing.
            private_origins: work.private_origins.iter().filter_map(|origin| Origin::parse(origin).ok()).collect(),
            confinement,
            deaths: RefCell::new(Deaths::notice()?),
            services: RefCell::default(),
            files: Cell::new(0),
            made: Cell::new(false),
        })
    }

    /// Makes the scratch directory where it is not there yet.
    fn make_scratch(&self) -> io::Result<()> {
        if self.made.get() {
            return Ok(());
        }
        for directory in [&self.scratch, &self.scratch.join("home"), &self.scratch.join("tmp")] {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        }
        self.made.set(true);
        Ok(())
    }

    /// Ends every service; returns when the kernel knows no child of this process. Whoever could not be ended is waited for, since
    /// nothing may be reported before; the lifeline ends this process when the server goes.
    pub fn close(&self, mailbox: &Mailbox) {
        let mut services = self.services.borrow_mut();
        let until = clock::boot().plus(GRACE);
        for service in services.iter_mut().filter(|service| !service.running.is_over()) {
            service.running.ask_to_end();
        }
        while services.iter().any(|service| !service.running.is_over()) && clock::boot() < until {
            let mut fds: Vec<PollFd<'_>> = services
                .iter()
                .filter(|service| !service.running.is_over())
                .map(|service| service.running.poll_death())
                .collect();
            wake::until(&mut fds, Some(until));
            drop(fds);
            self.deaths.borrow_mut().reap();
        }
        loop {
            let report = reaper::end_everything(&|_| false, TRY);
            if report.is_clean() {
                break;
            }
            for survivor in &report.survivors {
                note(format_args!("cannot end process {} ({})", survivor.pid, survivor.command));
            }
            wake::until(&mut [PollFd::new(mailbox, PollFlags::IN)], Some(clock::boot().plus(PAUSE)));
        }
        services.clear();
    }

    /// Ends what lost its parent below us. Services stay.
    fn sweep(&self) -> usize {
        let services: Vec<i32> = self.services.borrow().iter().map(|service| service.running.pid()).collect();
        let mut ended = 0_usize;
        loop {
            let report = reaper::end_everything(&|pid| services.contains(&pid), TRY);
            ended = ended.saturating_add(report.ended);
            if report.is_clean() {
                return ended;
            }
            for survivor in &report.survivors {
                note(format_args!("cannot end process {} ({})", survivor.pid, survivor.command));
            }
        }
    }

    /// A file of this attempt's own.
    fn file(&self, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        let number = self.files.get();
        self.files.set(number.saturating_add(1));
        self.make_scratch()?;
        let path = self.scratch.join("tmp").join(format!("{name}-{}-{number}", self.attempt));
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(bytes)?;
        Ok(path)
    }
}

impl Drop for Programs<'_> {
    fn drop(&mut self) {
        for service in self.services.get_mut() {
            let _ = service.running.signal(Signal::KILL);
        }
    }
}

/// The one path of a directory that need not be there yet; the one it is to be in is.
fn beneath_real(path: &Path) -> io::Result<PathBuf> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return path.canonicalize() };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    Ok(parent.canonicalize()?.join(name))
}

/// What a program may be given of the environment.
fn environment(path: Option<&str>) -> Vec<(String, String)> {
    // Variables that are no text are nothing that comes through anyway.
    let own =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    own.chain(path.map(|path| ("PATH".to_owned(), path.to_owned()))).collect()
}

/// The directory of version control that a folder inside a repository needs, where it lies outside the folder.
fn repository(folder: &Path) -> Option<PathBuf> {
    let above = folder.ancestors().find(|above| above.join(".git").exists())?;
    (above != folder).then(|| above.join(".git"))
}

/// A program that could not be started for a reason that is not its own.
fn fault(error: &io::Error) -> Outcome {
    Outcome::not_ok(Code::Io, format!("The program could not be started: {error}. Nothing was done."))
}
