//! Confining the calling process, and finding out what holds.
//!
//! The order is what makes it work: the view while there are rights to build one; capabilities while they can still be given up; then
//! `no_new_privs`, without which nobody may restrict themselves; then Landlock, which forbids mounts; then the filter, which forbids
//! most of what came before. What is reported afterwards was asked of the kernel or tried out, never taken from what was requested.

use crate::calls::{self, Open};
use crate::confinement::Confinement;
use crate::view::{self, View};
use crate::{files, filter, places, privileges};
use ouroboros_process::exec::{self, Parent};
use ouroboros_proto::agent::{ConfineStep, Confined, Guarantee, Limits, Namespaces, Profile, Unconfined};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::{Resource, getppid, getrlimit, test_kill_process};
use rustix::thread::{SecureComputingMode, capabilities, no_new_privs, secure_computing_mode};
use std::io;
use std::os::unix::fs::MetadataExt;

/// Landlock's first version that holds truncation.
const HOLDS_TRUNCATION: u32 = 3;
/// Its first that holds signals and abstract sockets.
const HOLDS_SIGNALS: u32 = 6;

/// Confines this process and all it starts. `parent` is the worker, as `getppid` shows it. No other thread may be there.
///
/// # Errors
/// What was wanted does not hold. The process may be confined in part, and must not become the command.
pub fn apply(wanted: &Confinement, parent: i32) -> Result<Confined, Unconfined> {
    let limit = |error: io::Error| failed(ConfineStep::Limits, error.raw_os_error().unwrap_or(0));
    for (resource, most) in [
        (Resource::Core, Some(0)),
        (Resource::Nofile, wanted.limits.open_files),
        (Resource::Fsize, wanted.limits.file_bytes),
        (Resource::As, wanted.limits.address_space),
    ] {
        if let Some(most) = most {
            exec::limit(resource, most).map_err(limit)?;
        }
    }
    if wanted.profile == Profile::Full {
        drop_in_privilege()?;
        return Ok(read_back(wanted, Enforced::default(), Vec::new()));
    }

    let layout = places::find(wanted)?;
    let view = if wanted.without_view { View::None } else { view::enter(&layout)? };
    if view == View::Entered {
        // A change of credentials may have cleared it.
        match exec::set_parent_death_kill(parent) {
            Ok(Parent::Alive) => {}
            Ok(Parent::Gone) => return Err(failed(ConfineStep::DeathSignal, Errno::SRCH.raw_os_error())),
            Err(error) => return Err(failed(ConfineStep::DeathSignal, error.raw_os_error().unwrap_or(0))),
        }
    }
    privileges::give_up()?;
    drop_in_privilege()?;
    let landlock = files::restrict(&layout, view, wanted.network)?;
    let local_sockets = view == View::Entered && landlock >= HOLDS_SIGNALS;
    let open = Open { network: wanted.network, local_sockets, shared_objects: view == View::Entered };
    let program = filter::program(&calls::arms(open), calls::NEWEST)
        .map_err(|_| failed(ConfineStep::Seccomp, Errno::INVAL.raw_os_error()))?;
    match filter::install(program) {
        // Without it what follows misses a guarantee, and says so.
        Err(Unconfined::Failed { errno, .. }) if [libc::ENOSYS, libc::EINVAL].contains(&errno) => {}
        other => other?,
    }

    let enforced = Enforced { landlock, view, local_sockets };
    let missing = missing(&enforced);
    let unaccepted: Vec<Guarantee> = missing.iter().copied().filter(|one| !wanted.accept.contains(one)).collect();
    if !unaccepted.is_empty() {
        return Err(Unconfined::Missing { guarantees: unaccepted });
    }
    Ok(read_back(wanted, enforced, missing))
}

/// What the steps came to.
struct Enforced {
    landlock: u32,
    view: View,
    local_sockets: bool,
}

impl Default for Enforced {
    fn default() -> Self {
        Self { landlock: 0, view: View::None, local_sockets: true }
    }
}

fn failed(step: ConfineStep, errno: i32) -> Unconfined {
    Unconfined::Failed { step, errno }
}

fn drop_in_privilege() -> Result<(), Unconfined> {
    exec::no_new_privs().map_err(|error| failed(ConfineStep::Privileges, error.raw_os_error().unwrap_or(0)))
}

/// What does not hold, by what the kernel says and by trying.
fn missing(enforced: &Enforced) -> Vec<Guarantee> {
    let view = enforced.view == View::Entered;
    let landlock = if files_are_held(enforced.view) { enforced.landlock } else { 0 };
    Guarantee::ALL
        .into_iter()
        .filter(|guarantee| {
            !match guarantee {
                Guarantee::Files => landlock >= HOLDS_TRUNCATION || view && landlock > 0,
                Guarantee::Modes => view,
                // A domain cannot look into a process outside of it.
                Guarantee::Processes => landlock > 0 && filter_is_on(),
                Guarantee::Signals => landlock >= HOLDS_SIGNALS && signals_are_held(),
                Guarantee::Calls => filter_is_on(),
            }
        })
        .collect()
}

/// Whether what is there and not given cannot be opened.
fn files_are_held(view: View) -> bool {
    let (path, flags) = match view {
        View::Entered => (view::COVER_OF_FILE, OFlags::RDONLY),
        View::None => ("/", OFlags::RDONLY | OFlags::DIRECTORY),
    };
    matches!(openat(CWD, path, flags | OFlags::CLOEXEC, Mode::empty()), Err(Errno::ACCESS))
}

/// Whether the worker cannot be signalled.
fn signals_are_held() -> bool {
    getppid().is_none_or(|parent| test_kill_process(parent) == Err(Errno::PERM))
}

fn filter_is_on() -> bool {
    secure_computing_mode().is_ok_and(|mode| mode == SecureComputingMode::Filter)
}

fn read_back(wanted: &Confinement, enforced: Enforced, missing: Vec<Guarantee>) -> Confined {
    let inode = |name: &str| std::fs::metadata(format!("/proc/self/ns/{name}")).map_or(0, |found| found.ino());
    let limit = |resource| getrlimit(resource).maximum;
    Confined {
        profile: wanted.profile,
        network: wanted.network || wanted.profile == Profile::Full,
        missing,
        landlock: enforced.landlock,
        seccomp: if filter_is_on() { 2 } else { 0 },
        no_new_privs: no_new_privs().unwrap_or(false),
        view: enforced.view == View::Entered,
        local_sockets: enforced.local_sockets,
        namespaces: Namespaces { mount: inode("mnt"), user: inode("user"), pid: inode("pid"), ipc: inode("ipc") },
        capabilities: capabilities(None).map_or(u64::MAX, |sets| sets.permitted.bits()),
        limits: Limits {
            core: limit(Resource::Core),
            open_files: limit(Resource::Nofile),
            file_bytes: limit(Resource::Fsize),
            address_space: limit(Resource::As),
        },
    }
}
