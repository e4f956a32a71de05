//! What the child does between its creation and `execve`, in our memory and on a stack of ours.
//!
//! Only system calls through thin wrappers; no allocation, no lock, no panic. All signals are blocked throughout, so no handler of
//! ours runs here. Reference: the notes on `vfork` in clone(2) and signal-safety(7).
#![allow(unsafe_code)]

use super::command::Lead;
use super::error::Step;
use super::plan::{Namespaces, Plan};
use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::atomic::Ordering::Relaxed;

/// What failed, and its errno.
struct Failed(Step, c_int);

/// The steps that can fail in the child, by the number they travel as.
const STEPS: [Step; 8] = [
    Step::Lead,
    Step::UserMap,
    Step::DeathSignal,
    Step::Mounts,
    Step::Descriptors,
    Step::Terminal,
    Step::Directory,
    Step::Execute,
];

/// The failure the child left in the plan, if it left one.
pub(super) fn failure(plan: &Plan) -> Option<(Step, c_int)> {
    let number = usize::try_from(plan.failed_step.load(Relaxed)).ok()?.checked_sub(1)?;
    STEPS.get(number).map(|step| (*step, plan.failed_errno.load(Relaxed)))
}

/// Entry of the child; `plan` points to the [`Plan`] of the suspended parent. Never returns.
pub(super) extern "C" fn child(plan: *mut c_void) -> c_int {
    // SAFETY: the parent passes its plan and is suspended until we execute or exit, so the plan outlives its use here.
    let plan = unsafe { &*plan.cast::<Plan>() };
    let Err(Failed(step, errno)) = become_it(plan);
    let number = STEPS.iter().position(|known| *known == step).and_then(|at| c_int::try_from(at).ok()).unwrap_or(0);
    plan.failed_errno.store(errno, Relaxed);
    plan.failed_step.store(number.saturating_add(1), Relaxed);
    // SAFETY: ends this process without running anything of the parent's.
    unsafe { libc::_exit(127) }
}

fn become_it(plan: &Plan) -> Result<std::convert::Infallible, Failed> {
    reset_dispositions();
    lead(plan)?;
    if let Some(namespaces) = &plan.namespaces {
        map_user(namespaces)?;
        die_with_parent(namespaces)?;
        fresh_proc()?;
    }
    move_descriptors(plan)?;
    if plan.lead == Lead::Terminal {
        // SAFETY: takes no pointer.
        check(unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) }, Step::Terminal)?;
    }
    if let Some(mask) = plan.umask {
        // SAFETY: always succeeds and takes no pointer.
        unsafe { libc::umask(mask) };
    }
    if let Some(cwd) = &plan.cwd {
        // SAFETY: a C string of the plan.
        check(unsafe { libc::chdir(cwd.as_ptr()) }, Step::Directory)?;
    }
    execute(plan)
}

fn errno() -> c_int {
    // SAFETY: the address is valid; it is the suspended parent thread's own, which does not mind.
    unsafe { *libc::__errno_location() }
}

fn check(result: c_int, step: Step) -> Result<(), Failed> {
    if result == -1 { Err(Failed(step, errno())) } else { Ok(()) }
}

/// Ignored signals would stay ignored across `execve`. Our table is a copy: the parent's is not touched. The library's own call
/// would leave out the signals it keeps for itself, which a parent may have left ignored.
fn reset_dispositions() {
    // The kernel's structure (rt_sigaction(2)): handler, flags, restorer, mask. All zero is the default action.
    let default = [0_u64; 4];
    for signal in 1..=64 {
        // SAFETY: points to as much as the kernel reads; it refuses SIGKILL and SIGSTOP, which is fine.
        unsafe {
            libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), ptr::null_mut::<u64>(), size_of::<u64>());
        }
    }
}

fn lead(plan: &Plan) -> Result<(), Failed> {
    match plan.lead {
        // SAFETY: takes no pointer.
        Lead::Group => check(unsafe { libc::setpgid(0, 0) }, Step::Lead),
        // SAFETY: takes no pointer.
        Lead::Session | Lead::Terminal => check(unsafe { libc::setsid() }, Step::Lead),
    }
}

/// `setgroups` must be given up before an unprivileged group map (user_namespaces(7)).
fn map_user(namespaces: &Namespaces) -> Result<(), Failed> {
    if let Some((users, groups)) = &namespaces.maps {
        write_file(c"/proc/self/setgroups", b"deny")?;
        write_file(c"/proc/self/uid_map", users)?;
        write_file(c"/proc/self/gid_map", groups)?;
    }
    Ok(())
}

fn write_file(path: &CStr, bytes: &[u8]) -> Result<(), Failed> {
    // SAFETY: a C string; the descriptor is ours alone and closed below.
    let fd = unsafe { libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC) };
    check(fd, Step::UserMap)?;
    // SAFETY: the pointer and length are those of one slice.
    let written = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
    let result = if written == -1 { Err(Failed(Step::UserMap, errno())) } else { Ok(()) };
    // SAFETY: opened above.
    unsafe { libc::close(fd) };
    result
}

/// Inside a new PID namespace `getppid` is 0 whoever the parent is, so the parent is read from the `/proc` of the namespace
/// we come from. It must be read after the signal was asked for: a parent that ended in between is then seen to be another.
fn die_with_parent(namespaces: &Namespaces) -> Result<(), Failed> {
    // SAFETY: takes no pointer.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) }, Step::DeathSignal)?;
    let mut buffer = [0_u8; 512];
    // SAFETY: a C string; the descriptor is ours alone and closed below.
    let fd = unsafe { libc::open(c"/proc/self/stat".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    check(fd, Step::DeathSignal)?;
    // SAFETY: the pointer and length are those of the buffer.
    let length = unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) };
    // SAFETY: opened above.
    unsafe { libc::close(fd) };
    let line = usize::try_from(length).ok().and_then(|length| buffer.get(..length));
    if line.and_then(parent_in_stat) == Some(namespaces.parent) {
        Ok(())
    } else {
        Err(Failed(Step::DeathSignal, libc::ESRCH))
    }
}

/// Field 4 of proc_pid_stat(5), without allocating.
fn parent_in_stat(line: &[u8]) -> Option<i32> {
    let close = line.iter().rposition(|byte| *byte == b')')?;
    let mut words = line.get(close.checked_add(2)?..)?.split(|byte| *byte == b' ');
    let parent = words.nth(1)?;
    parent.iter().try_fold(0_i32, |sum, digit| {
        let digit = i32::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?);
        sum.checked_mul(10)?.checked_add(digit)
    })
}

/// Mounts of ours stay ours, while those the host removes later still go away here.
fn fresh_proc() -> Result<(), Failed> {
    let flags = libc::MS_REC | libc::MS_SLAVE;
    // SAFETY: C strings, and null where mount(2) ignores the argument.
    let private = unsafe { libc::mount(ptr::null(), c"/".as_ptr(), ptr::null(), flags, ptr::null()) };
    check(private, Step::Mounts)?;
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    // SAFETY: as above.
    let proc = unsafe { libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), c"proc".as_ptr(), flags, ptr::null()) };
    check(proc, Step::Mounts)
}

fn move_descriptors(plan: &Plan) -> Result<(), Failed> {
    for (from, to) in &plan.moves {
        // SAFETY: takes no pointer; our descriptor table is a copy.
        check(unsafe { libc::dup2(*from, *to) }, Step::Descriptors)?;
    }
    for fd in &plan.kept {
        // SAFETY: takes no pointer. A standard stream that is closed stays closed.
        unsafe { libc::fcntl(*fd, libc::F_SETFD, 0) };
    }
    for (first, last) in &plan.gaps {
        // SAFETY: takes no pointer. Before Linux 5.11 it fails, and only descriptors opened with O_CLOEXEC, as all of ours
        // are, or sealed at the spawner's start are closed.
        unsafe { libc::syscall(libc::SYS_close_range, *first, *last, libc::CLOSE_RANGE_CLOEXEC) };
    }
    Ok(())
}

fn execute(plan: &Plan) -> Result<std::convert::Infallible, Failed> {
    // SAFETY: all-zero is an empty set.
    let none: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: valid pointer; only the calling thread's mask changes, and the child has a mask of its own.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut()) };
    // SAFETY: NULL-terminated arrays of C strings that the plan owns.
    unsafe { libc::execve(plan.program.as_ptr(), plan.argv.as_ptr(), plan.envp.as_ptr()) };
    Err(Failed(Step::Execute, errno()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent_in_stat(b"12 (a) b (c)) S 345 12 12 0"), Some(345));
        assert_eq!(parent_in_stat(b"12 (a) S x"), None);
        assert_eq!(parent_in_stat(b""), None);
    }
}
