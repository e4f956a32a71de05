//! Sockets that a service manager opened for us (sd_listen_fds(3)), kept for every server that we start.

use super::environment::Variable;
use super::refusal::Refusal;
use ouroboros_proto::kind::ExitCode;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;

/// Number of the first one (`SD_LISTEN_FDS_START`).
pub const FIRST: i32 = 3;

/// More than any unit of ours names.
const MOST: i32 = 16;

/// What one server gets.
#[derive(Debug, Default)]
pub struct Handed {
    /// Copies of the sockets, and the numbers that the server has them under.
    pub descriptors: Vec<(OwnedFd, i32)>,
    /// What tells it of them.
    pub variables: Vec<Variable>,
}

/// The sockets, in the order in which they were handed over.
#[derive(Debug, Default)]
pub struct Activation {
    sockets: Vec<OwnedFd>,
    names: Option<OsString>,
}

impl Activation {
    /// Takes over the sockets that the environment names for this process.
    ///
    /// # Errors
    /// They are named and cannot be had.
    pub fn take(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, Refusal> {
        let number = |name: &str| variable(name)?.to_str()?.parse::<i32>().ok();
        let meant = number("LISTEN_PID") == Some(getpid().as_raw_nonzero().get());
        let Some(count) = number("LISTEN_FDS").filter(|count| meant && *count > 0) else { return Ok(Self::default()) };
        if count > MOST {
            return Err(unusable(&io::Error::other(format!("{count} are more than {MOST}"))));
        }
        // Copies by way of our own pidfd: the numbers are the manager's, and they are closed by no one.
        let own = pidfd_open(getpid(), PidfdFlags::empty()).map_err(|error| unusable(&error.into()))?;
        let copies = (FIRST..FIRST.saturating_add(count)).map(|fd| pidfd_getfd(&own, fd, PidfdGetfdFlags::empty()));
        let sockets = copies.collect::<Result<_, _>>().map_err(|error| unusable(&error.into()))?;
        Ok(Self { sockets, names: variable("LISTEN_FDNAMES") })
    }

    /// Copies for one server. `LISTEN_PID` is our number, since the server's is not known before it runs; it equals the launcher's
    /// number that the server is told as well.
    ///
    /// # Errors
    /// Descriptors ran out.
    pub fn hand_over(&self) -> io::Result<Handed> {
        if self.sockets.is_empty() {
            return Ok(Handed::default());
        }
        let copies = self.sockets.iter().zip(FIRST..).map(|(socket, at)| Ok((socket.try_clone()?, at)));
        let descriptors = copies.collect::<io::Result<_>>()?;
        let mut variables: Vec<Variable> = vec![
            ("LISTEN_PID".into(), std::process::id().to_string().into()),
            ("LISTEN_FDS".into(), self.sockets.len().to_string().into()),
        ];
        variables.extend(self.names.clone().map(|names| ("LISTEN_FDNAMES".into(), names)));
        Ok(Handed { descriptors, variables })
    }
}

fn unusable(error: &io::Error) -> Refusal {
    Refusal::new(
        ExitCode::Unavailable,
        format!("the sockets that the service manager opened cannot be taken over: {error}; nothing was started"),
        "Socket activation needs Linux 5.6; without the socket unit the server opens its sockets by itself.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_for_another_process_are_not_ours() {
        let environment = |pid: String| {
            move |name: &str| match name {
                "LISTEN_PID" => Some(OsString::from(&pid)),
                "LISTEN_FDS" => Some("1".into()),
                _ => None,
            }
        };
        let taken = Activation::take(environment("1".to_owned())).unwrap();
        assert!(taken.hand_over().unwrap().variables.is_empty());
        assert!(Activation::take(|_| None).unwrap().sockets.is_empty());
    }
}
