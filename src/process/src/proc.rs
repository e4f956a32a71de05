//! Reading `/proc`. Absent and unreadable are told apart everywhere.
//!
//! Field numbers are those of proc_pid_stat(5).

use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read};

/// The parts of `/proc/<pid>/stat` we use.
#[derive(Debug, Clone)]
pub(crate) struct Stat {
    /// Name of the main thread, at most 15 bytes of it.
    pub(crate) name: String,
    /// One letter: `R`, `S`, `D`, `Z`, `T` and so on.
    pub(crate) state: char,
    /// Number of the parent.
    pub(crate) parent: i32,
    /// Number of the process group.
    pub(crate) group: i32,
    /// User and system time, clock ticks.
    pub(crate) cpu_ticks: u64,
    /// Start, clock ticks after boot.
    pub(crate) start_ticks: u64,
    /// Resident pages.
    pub(crate) resident_pages: u64,
}

/// Reads and parses `/proc/<pid>/stat`. `None` when there is no such entry.
pub(crate) fn stat(pid: i32) -> io::Result<Option<Stat>> {
    match read_small(&format!("/proc/{pid}/stat"), 4096)? {
        None => Ok(None),
        Some(bytes) => parse_stat(&bytes).map(Some).ok_or_else(|| malformed("stat")),
    }
}

/// The name may hold spaces and parentheses, so fields count from the last `)`.
fn parse_stat(bytes: &[u8]) -> Option<Stat> {
    let open = bytes.iter().position(|byte| *byte == b'(')?;
    let close = bytes.iter().rposition(|byte| *byte == b')')?;
    let name = String::from_utf8_lossy(bytes.get(open + 1..close)?).into_owned();
    let rest = std::str::from_utf8(bytes.get(close + 1..)?).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number.checked_sub(3)?).copied();
    let number = |at: usize| field(at)?.parse::<u64>().ok();
    Some(Stat {
        name,
        state: field(3)?.chars().next()?,
        parent: field(4)?.parse().ok()?,
        group: field(5)?.parse().ok()?,
        cpu_ticks: number(14)?.saturating_add(number(15)?),
        start_ticks: number(22)?,
        resident_pages: field(24)?.parse::<i64>().ok().and_then(|pages| u64::try_from(pages).ok()).unwrap_or(0),
    })
}

/// Reads a `/proc` file of a process whole, up to `limit` bytes. `None` when the process has no such file (any more).
pub(crate) fn read_small(path: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes));
    match read {
        Ok(_) => Ok(Some(bytes)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the error says that the process is not there. Reading an entry opened before its process ended gives `ESRCH`.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOENT | Errno::SRCH))
}

/// The numbers that name entries of a directory, such as `/proc` or `/proc/<pid>/task`. `None` when it is not there.
pub(crate) fn numbers_in(path: &str) -> io::Result<Option<Vec<i32>>> {
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut numbers = Vec::new();
    for entry in entries {
        match entry {
            Ok(entry) => numbers.extend(entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok())),
            Err(error) if is_absent(&error) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(Some(numbers))
}

/// A file of `/proc` does not look as documented.
pub(crate) fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("/proc: {what} is not as documented"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_fields() {
        let line = b"7 (a) R 1 (b) S 3 4 5 0 -1 0 0 0 0 0 11 22 0 0 20 0 1 0 987654 4096 12 0\n";
        let stat = parse_stat(line).unwrap();
        assert_eq!(stat.name, "a) R 1 (b");
        assert_eq!((stat.state, stat.parent, stat.group), ('S', 3, 4));
        assert_eq!((stat.cpu_ticks, stat.start_ticks, stat.resident_pages), (33, 987_654, 12));
    }

    #[test]
    fn a_cut_line_is_not_a_process() {
        assert!(parse_stat(b"7 (sh) S 3 4").is_none());
        assert!(parse_stat(b"").is_none());
    }
}
