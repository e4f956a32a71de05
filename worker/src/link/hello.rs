//! Connecting and the first frame each way.

use super::frame::{self, ReadError};
use crate::invitation::Invitation;
use interprocess::local_socket::traits::Stream as _;
use interprocess::local_socket::{GenericFilePath, Stream, ToFsName as _};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use ouroboros_proto::kind::Generation;
use ouroboros_proto::wire::{EncodeError, PROTOCOL, ServerHello, WorkerHello, encode};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

/// There is no server to work for.
#[derive(Debug, thiserror::Error)]
pub enum HelloError {
    /// Nobody listens, or the connection ended before the server's first frame.
    #[error("the server is gone")]
    Gone(#[source] io::Error),
    /// The socket could not be used for another reason.
    #[error("the server's socket cannot be used")]
    Socket(#[source] io::Error),
    /// Somebody else listens there.
    #[error("the socket belongs to another user")]
    Impostor,
    /// Our own first frame does not fit.
    #[error("the first frame cannot be encoded")]
    Encode(#[from] EncodeError),
    /// The server speaks another protocol.
    #[error("the server speaks protocol {server}, this worker {PROTOCOL}")]
    Protocol {
        /// Its number.
        server: u32,
    },
    /// The first frame is none we can read.
    #[error("the server's first frame cannot be read")]
    Malformed(#[source] ReadError),
    /// Another life of the server answered.
    #[error("the server is of generation {server}, this worker of {worker}")]
    Generation {
        /// The server's.
        server: Generation,
        /// Ours.
        worker: Generation,
    },
    /// The server turned us away.
    #[error("the server refused this worker: {0}")]
    Refused(String),
}

/// Connects, says hello and waits for the answer; no deadline, since a server that hangs ends its workers itself.
///
/// # Errors
/// [`HelloError`]; the connection is closed then.
pub fn greet(invitation: &Invitation) -> Result<UnixStream, HelloError> {
    let stream = connect(invitation)?;
    let hello = WorkerHello {
        protocol: PROTOCOL,
        build: build(),
        worker: invitation.worker,
        token: invitation.token,
        generation: invitation.generation,
        namespace: pid_namespace().map_err(HelloError::Socket)?,
    };
    (&stream).write_all(&encode(&hello)?).map_err(HelloError::Gone)?;
    let answer: ServerHello = frame::read(&mut &stream).map_err(|error| match error {
        ReadError::Ended(error) => HelloError::Gone(error),
        ReadError::Malformed(_) => HelloError::Malformed(error),
    })?;
    // The reason first: a server that speaks another protocol says so itself.
    if let Some(reason) = answer.refused {
        return Err(HelloError::Refused(reason));
    }
    if answer.protocol != PROTOCOL {
        return Err(HelloError::Protocol { server: answer.protocol });
    }
    if answer.generation != invitation.generation {
        return Err(HelloError::Generation { server: answer.generation, worker: invitation.generation });
    }
    Ok(stream)
}

fn connect(invitation: &Invitation) -> Result<UnixStream, HelloError> {
    let name = invitation.socket.as_path().to_fs_name::<GenericFilePath>().map_err(HelloError::Socket)?;
    let stream = Stream::connect(name).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => {
            HelloError::Gone(error)
        }
        _ => HelloError::Socket(error),
    })?;
    let Stream::UdSocket(stream) = stream;
    // Its process number is 0 where it lives outside our namespace; in a user namespace both sides are seen through the same map.
    let peer = getsockopt(&stream, PeerCredentials).map_err(|errno| HelloError::Socket(errno.into()))?;
    if peer.uid() != rustix::process::geteuid().as_raw() {
        return Err(HelloError::Impostor);
    }
    Ok(UnixStream::from(OwnedFd::from(stream)))
}

/// Version of this binary, and the build within it where one was named at compile time.
fn build() -> String {
    let version = env!("CARGO_PKG_VERSION");
    match option_env!("OUROBOROS_BUILD") {
        Some(build) => format!("{version}+{build}"),
        None => version.to_owned(),
    }
}

/// The inode of a namespace file is the namespace's number (namespaces(7)).
fn pid_namespace() -> io::Result<u64> {
    Ok(rustix::fs::stat("/proc/self/ns/pid")?.st_ino)
}
