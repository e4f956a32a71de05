//! Sockets to listen on, bound or taken over before anything is served.

use rustix::fs::{Mode, chmod};
use rustix::io::Errno;
use rustix::net::sockopt::{socket_acceptconn, socket_type};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, getsockname, listen, socket_with};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Connections that the kernel keeps until they are accepted.
const BACKLOG: i32 = 1_024;

/// A socket that is ready to be served.
#[derive(Debug)]
pub enum Listener {
    /// On this machine's file system. Its peers are the owner, proven by the kernel.
    Unix {
        /// The socket.
        socket: UnixListener,
        /// Its file, removed with it; `None` for one that was handed to us.
        file: Option<SocketFile>,
    },
    /// On the network. Its peers must log in.
    Tcp(TcpListener),
}

/// Why a socket could not be had.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The address is taken by somebody who is listening.
    #[error("{0} is already in use")]
    InUse(String),
    /// Only addresses of this machine are served, because the connection is not encrypted.
    #[error("{0} is not an address of this machine alone; only loopback addresses are served")]
    NotLoopback(SocketAddr),
    /// Something that is not a socket has the path.
    #[error("{} exists and is not a socket", .0.display())]
    NotASocket(PathBuf),
    /// A socket that was handed to us is neither a Unix nor an internet one.
    #[error("the socket that was handed over is neither a Unix nor an internet socket")]
    UnknownFamily,
    /// A socket that was handed to us is not a listening stream.
    #[error("the socket that was handed over is not a listening stream")]
    NotListening,
    /// The kernel refused.
    #[error("cannot listen on {address}: {source}")]
    System {
        /// Where.
        address: String,
        /// Why.
        source: io::Error,
    },
}

/// Binds a loopback address. With `fallback`, any free port of it when this one is taken.
///
/// # Errors
/// The address is not loopback, is taken, or the kernel refuses.
pub fn bind_tcp(address: SocketAddr, fallback: bool) -> Result<Listener, BindError> {
    if !address.ip().is_loopback() {
        return Err(BindError::NotLoopback(address));
    }
    // The standard library sets SO_REUSEADDR, so that a restart does not wait for old connections to time out.
    match TcpListener::bind(address) {
        Ok(socket) => Ok(deepen(socket)),
        Err(error) if fallback && error.kind() == io::ErrorKind::AddrInUse => {
            let any = SocketAddr::new(address.ip(), 0);
            TcpListener::bind(any).map(deepen).map_err(|source| system(&any.to_string(), source))
        }
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(BindError::InUse(address.to_string())),
        Err(source) => Err(system(&address.to_string(), source)),
    }
}

/// The standard library keeps few waiting connections; a crowd of clients needs more.
fn deepen(socket: TcpListener) -> Listener {
    if let Err(error) = listen(&socket, BACKLOG) {
        tracing::warn!(%error, "the queue of waiting connections stays short");
    }
    Listener::Tcp(socket)
}

/// Binds a Unix socket that only its owner can open. A socket file that nobody listens on is replaced; a live one never is.
/// The caller holds the lock of the directory, so that two servers cannot do this at once.
///
/// # Errors
/// Somebody listens there, the path is something else, or the kernel refuses.
pub fn bind_unix(path: &Path) -> Result<Listener, BindError> {
    let shown = path.display().to_string();
    let failed = |errno: Errno| system(&shown, errno.into());
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).map_err(failed)?;
    let address = SocketAddrUnix::new(path).map_err(failed)?;
    match bind(&socket, &address) {
        Ok(()) => {}
        Err(Errno::ADDRINUSE) => {
            remove_stale(path)?;
            bind(&socket, &address).map_err(failed)?;
        }
        Err(errno) => return Err(failed(errno)),
    }
    // Nobody can connect before `listen`, so the mode is right before the first peer comes.
    chmod(path, Mode::RUSR | Mode::WUSR).map_err(failed)?;
    listen(&socket, BACKLOG).map_err(failed)?;
    let file = SocketFile::of(path).map_err(|source| system(&shown, source))?;
    Ok(Listener::Unix { socket: UnixListener::from(socket), file: Some(file) })
}

/// Takes over a listening socket that a service manager has bound.
///
/// # Errors
/// It is of another kind, or not loopback.
pub fn inherit(socket: OwnedFd) -> Result<Listener, BindError> {
    let name = getsockname(&socket).map_err(|errno| system("the inherited socket", errno.into()))?;
    let stream = socket_type(&socket).is_ok_and(|kind| kind == SocketType::STREAM);
    if !stream || !socket_acceptconn(&socket).unwrap_or(false) {
        return Err(BindError::NotListening);
    }
    let family = name.address_family();
    if family == AddressFamily::UNIX {
        return Ok(Listener::Unix { socket: UnixListener::from(socket), file: None });
    }
    if family != AddressFamily::INET && family != AddressFamily::INET6 {
        return Err(BindError::UnknownFamily);
    }
    let socket = TcpListener::from(socket);
    let address = socket.local_addr().map_err(|source| system("the inherited socket", source))?;
    if address.ip().is_loopback() { Ok(Listener::Tcp(socket)) } else { Err(BindError::NotLoopback(address)) }
}

fn remove_stale(path: &Path) -> Result<(), BindError> {
    let shown = path.display().to_string();
    let found = fs::symlink_metadata(path).map_err(|source| system(&shown, source))?;
    if !found.file_type().is_socket() {
        return Err(BindError::NotASocket(path.to_owned()));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(|source| system(&shown, source))
        }
        // Connected, or a full queue: somebody is there.
        _ => Err(BindError::InUse(shown)),
    }
}

fn system(address: &str, source: io::Error) -> BindError {
    BindError::System { address: address.to_owned(), source }
}

/// The file of a Unix socket. Dropping it removes the file, when it is still the one that we made.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SocketFile {
    fn of(path: &Path) -> io::Result<Self> {
        let found = fs::symlink_metadata(path)?;
        Ok(Self { path: path.to_owned(), device: found.dev(), inode: found.ino() })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let ours =
            fs::symlink_metadata(&self.path).is_ok_and(|found| found.dev() == self.device && found.ino() == self.inode);
        if ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "the socket file could not be removed");
        }
    }
}
