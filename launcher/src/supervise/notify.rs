//! What a service manager is told (sd_notify(3)). Its process is this one; the server is not its business.

use ouroboros_proto::kind::Millis;
use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::{Arc, Mutex, PoisonError};

/// Tells the service manager, when there is one. Copies speak for the same process.
#[derive(Debug, Clone, Default)]
pub struct Notify(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    socket: UnixDatagram,
    manager: SocketAddr,
    leaving: Mutex<bool>,
}

impl Notify {
    /// Whoever `NOTIFY_SOCKET` names; nobody when it is unset or of a kind that we cannot reach.
    pub fn new(address: Option<&OsStr>) -> Self {
        let reach = |address: &OsStr| {
            let manager = match address.as_bytes().strip_prefix(b"@") {
                Some(name) => SocketAddr::from_abstract_name(name).ok()?,
                None if address.as_bytes().starts_with(b"/") => SocketAddr::from_pathname(address).ok()?,
                None => return None,
            };
            let socket = UnixDatagram::unbound().ok()?;
            socket.set_nonblocking(true).ok()?;
            Some(Arc::new(Inner { socket, manager, leaving: Mutex::new(false) }))
        };
        Self(address.and_then(reach))
    }

    /// Whether anybody listens.
    pub fn is_heard(&self) -> bool {
        self.0.is_some()
    }

    /// Work is accepted. Says nothing once we are leaving.
    pub fn ready(&self, status: &str) {
        self.unless_leaving(&format!("READY=1\nSTATUS={}", line(status)));
    }

    /// How things are, in a line.
    pub fn status(&self, status: &str) {
        self.send(&format!("STATUS={}", line(status)));
    }

    /// The configuration is being read again; ended by [`Notify::ready`].
    pub fn reloading(&self) {
        self.unless_leaving("RELOADING=1");
    }

    /// We stop, and need at most this long.
    pub fn stopping(&self, bound: Millis, status: &str) {
        let micros = bound.get().saturating_mul(1_000);
        self.last(&format!("STOPPING=1\nEXTEND_TIMEOUT_USEC={micros}\nSTATUS={}", line(status)));
    }

    /// We leave now.
    pub fn leaving(&self, status: &str) {
        self.last(&format!("STOPPING=1\nSTATUS={}", line(status)));
    }

    fn last(&self, message: &str) {
        if let Some(inner) = &self.0 {
            *inner.leaving.lock().unwrap_or_else(PoisonError::into_inner) = true;
            self.send(message);
        }
    }

    /// All is well.
    pub fn alive(&self) {
        self.send("WATCHDOG=1");
    }

    fn unless_leaving(&self, message: &str) {
        let Some(inner) = &self.0 else { return };
        // Held while it is sent, so that nothing overtakes the word that we leave.
        let leaving = inner.leaving.lock().unwrap_or_else(PoisonError::into_inner);
        if !*leaving {
            self.send(message);
        }
    }

    fn send(&self, message: &str) {
        if let Some(inner) = &self.0 {
            // A manager that does not listen is its own loss.
            let _ = inner.socket.send_to_addr(message.as_bytes(), &inner.manager);
        }
    }
}

/// A newline would begin another assignment.
fn line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(manager: &UnixDatagram) -> String {
        let mut buffer = [0; 1024];
        let length = manager.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    #[test]
    fn by_path_and_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let by_path = UnixDatagram::bind(&path).unwrap();
        Notify::new(Some(path.as_os_str())).ready("a\nREADY=0");
        assert_eq!(heard(&by_path), "READY=1\nSTATUS=a READY=0");

        let name = format!("ouroboros-test-{}", std::process::id());
        let by_name = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        Notify::new(Some(OsStr::new(&format!("@{name}")))).alive();
        assert_eq!(heard(&by_name), "WATCHDOG=1");
    }

    #[test]
    fn nothing_is_ready_any_more_once_we_leave() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let manager = UnixDatagram::bind(&path).unwrap();
        let notify = Notify::new(Some(path.as_os_str()));
        notify.stopping(Millis::seconds(3), "bye");
        notify.clone().ready("late");
        notify.reloading();
        notify.alive();
        assert_eq!(heard(&manager), "STOPPING=1\nEXTEND_TIMEOUT_USEC=3000000\nSTATUS=bye");
        assert_eq!(heard(&manager), "WATCHDOG=1");
    }

    #[test]
    fn without_a_manager_nothing_happens() {
        for address in [None, Some(OsStr::new("vsock:2:1234")), Some(OsStr::new(""))] {
            let notify = Notify::new(address);
            assert!(!notify.is_heard());
            notify.ready("x");
            notify.stopping(Millis::ZERO, "x");
        }
    }
}
