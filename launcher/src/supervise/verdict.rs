//! What an ending of the server means for the launcher.

use ouroboros_process::child::Status;
use ouroboros_proto::kind::ExitCode;

/// What to do after the sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Leave with this code: it is what was wanted.
    Leave(ExitCode),
    /// Leave with this code, and say what is wrong: starting again would not help.
    Refused(ExitCode),
    /// Start the next one at once.
    Again,
    /// Start the next one after a pause that grows.
    Crashed,
}

/// Judges an ending. `asked_to_stop`: the launcher is leaving, so nothing is started again and a crash is no news.
/// `was_ready`: some server of this launcher has been ready, so its files and settings were good.
pub fn judge(status: Status, asked_to_stop: bool, was_ready: bool) -> Verdict {
    let code = match status {
        Status::Exited(code) => ExitCode::from_code(i32::from(code)),
        Status::Signaled { .. } => None,
    };
    match code {
        Some(code @ (ExitCode::Stopped | ExitCode::Panic)) => Verdict::Leave(code),
        Some(code @ (ExitCode::Usage | ExitCode::Data | ExitCode::NoPermission | ExitCode::Config)) => {
            Verdict::Refused(code)
        }
        Some(code @ (ExitCode::Unavailable | ExitCode::CantCreate | ExitCode::Io)) if asked_to_stop || !was_ready => {
            Verdict::Refused(code)
        }
        Some(ExitCode::Restart) if !asked_to_stop => Verdict::Again,
        Some(
            ExitCode::Restart
            | ExitCode::Unavailable
            | ExitCode::CantCreate
            | ExitCode::Io
            | ExitCode::Orphaned
            | ExitCode::Mismatch,
        )
        | None => {
            if asked_to_stop {
                Verdict::Leave(ExitCode::Stopped)
            } else {
                Verdict::Crashed
            }
        }
    }
}

/// An ending in words.
pub fn describe(status: Status) -> String {
    match status {
        Status::Exited(code) => format!("exited with code {code}"),
        Status::Signaled { signal, core } => {
            let name =
                nix::sys::signal::Signal::try_from(i32::from(signal)).map_or("", nix::sys::signal::Signal::as_str);
            let dumped = if core { ", core dumped" } else { "" };
            if name.is_empty() {
                format!("was ended by signal {signal}{dumped}")
            } else {
                format!("was ended by signal {signal} ({name}{dumped})")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ending_has_its_answer() {
        use ExitCode::*;
        use Verdict::*;
        let signal = Status::Signaled { signal: 9, core: false };
        // Ending, then: before the first readiness, after it, and when a stop was asked for.
        let table = [
            (Status::Exited(0), Leave(Stopped), Leave(Stopped), Leave(Stopped)),
            (Status::Exited(42), Again, Again, Leave(Stopped)),
            (Status::Exited(99), Leave(Panic), Leave(Panic), Leave(Panic)),
            (Status::Exited(64), Refused(Usage), Refused(Usage), Refused(Usage)),
            (Status::Exited(65), Refused(Data), Refused(Data), Refused(Data)),
            (Status::Exited(69), Refused(Unavailable), Crashed, Refused(Unavailable)),
            (Status::Exited(73), Refused(CantCreate), Crashed, Refused(CantCreate)),
            (Status::Exited(74), Refused(Io), Crashed, Refused(Io)),
            (Status::Exited(77), Refused(NoPermission), Refused(NoPermission), Refused(NoPermission)),
            (Status::Exited(78), Refused(Config), Refused(Config), Refused(Config)),
            (Status::Exited(1), Crashed, Crashed, Leave(Stopped)),
            (Status::Exited(100), Crashed, Crashed, Leave(Stopped)),
            (Status::Exited(101), Crashed, Crashed, Leave(Stopped)),
            (Status::Exited(137), Crashed, Crashed, Leave(Stopped)),
            (signal, Crashed, Crashed, Leave(Stopped)),
        ];
        for (status, before, after, stopping) in table {
            assert_eq!(judge(status, false, false), before, "{status:?}");
            assert_eq!(judge(status, false, true), after, "{status:?}");
            assert_eq!(judge(status, true, true), stopping, "{status:?}");
        }
    }

    #[test]
    fn endings_read_well() {
        assert_eq!(describe(Status::Exited(3)), "exited with code 3");
        assert_eq!(describe(Status::Signaled { signal: 9, core: false }), "was ended by signal 9 (SIGKILL)");
        assert_eq!(
            describe(Status::Signaled { signal: 11, core: true }),
            "was ended by signal 11 (SIGSEGV, core dumped)"
        );
        assert_eq!(describe(Status::Signaled { signal: 40, core: false }), "was ended by signal 40");
    }
}
