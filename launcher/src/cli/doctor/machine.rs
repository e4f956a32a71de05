//! Checks of the machine.

use super::Finding;
use crate::cli::{Context, service};
use std::path::Path;

/// The oldest kernel that custody works on: pidfds that can be waited for.
const OLDEST: (u32, u32) = (5, 4);
/// The oldest one that sockets of a service manager can be taken over on (pidfd_getfd(2)).
const ACTIVATION: (u32, u32) = (5, 6);

/// Fewest open files that a server with all its workers needs.
const FILES: u64 = 4_096;

/// Runs them.
pub fn check(context: &Context) -> Vec<Finding> {
    vec![kernel(service::has_socket()), namespaces(), files(), locks(context.paths().data_dir())]
}

fn kernel(listens: bool) -> Finding {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    judge(release.trim(), listens)
}

/// What to say of a kernel; `listens` tells whether a service manager opens our sockets.
fn judge(release: &str, listens: bool) -> Finding {
    match version(release) {
        Some(version) if version < OLDEST => {
            Finding::fail("kernel", format!("Linux {release} is too old"), "Linux 5.4 or later is needed.")
        }
        Some(version) if version < ACTIVATION && listens => Finding::fail(
            "kernel",
            format!("Linux {release} is too old for the socket unit that is installed"),
            "Socket activation needs Linux 5.6; install the service again without `--socket` after `ouroboros service uninstall`.",
        ),
        Some(version) if version < ACTIVATION => {
            Finding::ok("kernel", format!("Linux {release}; socket activation would need 5.6"))
        }
        Some(_) => Finding::ok("kernel", format!("Linux {release}")),
        None => Finding::warn(
            "kernel",
            format!("Linux {release} has no version that is understood"),
            "Linux 5.4 or later is needed.",
        ),
    }
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|letter: char| !letter.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Whether the machine allows user namespaces at all; the server's own probe has the last word.
fn namespaces() -> Finding {
    let max = std::fs::read_to_string("/proc/sys/user/max_user_namespaces").ok();
    let max: Option<u64> = max.and_then(|text| text.trim().parse().ok());
    match max {
        Some(0) => Finding::warn(
            "user namespaces",
            "none are allowed; tasks run on the host, guarded by groups and sub-reapers only",
            "`sysctl user.max_user_namespaces=15000`, as root",
        ),
        Some(max) => Finding::ok("user namespaces", format!("up to {max}")),
        None => {
            Finding::warn("user namespaces", "the kernel has none", "Tasks run on the host; nothing else is affected.")
        }
    }
}

fn files() -> Finding {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    match limit.maximum {
        Some(max) if max < FILES => Finding::warn(
            "open files",
            format!("at most {max}"),
            format!("Raise the hard limit to {FILES} or more (`ulimit -Hn`, LimitNOFILE= of the service)."),
        ),
        Some(max) => Finding::ok("open files", format!("up to {max}")),
        None => Finding::ok("open files", "unbounded"),
    }
}

/// Whether the data is on a file system of this machine: locks and the database need one.
fn locks(data: &Path) -> Finding {
    const REMOTE: [(u64, &str); 5] =
        [(0x6969, "NFS"), (0xff53_4d42, "CIFS"), (0xfe53_4d42, "SMB"), (0x0102_1997, "9p"), (0x5346_414f, "AFS")];
    let kind = data
        .ancestors()
        .find_map(|dir| rustix::fs::statfs(dir).ok())
        .map(|disk| disk.f_type.unsigned_abs() & 0xffff_ffff);
    match kind.and_then(|kind| REMOTE.iter().find(|(known, _)| *known == kind)) {
        Some((_, name)) => Finding::warn(
            "file system",
            format!("the data directory is on {name}, whose locks cannot be relied on"),
            "Put it on a local disk: OUROBOROS_HOME names another place.",
        ),
        None => Finding::ok("file system", "local"),
    }
}

#[cfg(test)]
mod tests {
    use super::{judge, version};
    use crate::cli::doctor::Level;

    #[test]
    fn kernel_versions_are_read() {
        assert_eq!(version("6.18.0-rc1+x"), Some((6, 18)));
        assert_eq!(version("5.4"), Some((5, 4)));
        assert_eq!(version("5.15.153.1-microsoft-standard-WSL2"), Some((5, 15)));
        assert_eq!(version("six"), None);
    }

    #[test]
    fn a_kernel_is_judged_by_what_is_used_of_it() {
        for (release, listens, level, words) in [
            ("5.3.18", false, Level::Fail, "too old"),
            ("5.4.0", false, Level::Ok, "socket activation would need 5.6"),
            ("5.4.0", true, Level::Fail, "socket unit"),
            ("5.5.19", true, Level::Fail, "socket unit"),
            ("5.6.0", true, Level::Ok, "Linux 5.6.0"),
            ("six", true, Level::Warn, "no version"),
        ] {
            let finding = judge(release, listens);
            assert_eq!(finding.level, level, "{release} {listens}");
            assert!(finding.message.contains(words), "{release} {listens}: {}", finding.message);
        }
        assert_eq!(judge("6.18.0", false).message, "Linux 6.18.0");
    }
}
