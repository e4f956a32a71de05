//! What exec mode tells the worker, over a pipe that `execve` closes: what the command is confined by, or why it did not start.
//!
//! Each word is a tag, a length and a body. One fits what a pipe takes at once, so it neither blocks nor arrives in parts.

use ouroboros_proto::agent::{Confined, Unconfined};
use rustix::io::Errno;
use serde::Serialize;
use std::os::fd::AsFd;

/// What failed, with its errno.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The process could not be prepared.
    SetUp {
        /// The errno.
        errno: i32,
    },
    /// The working directory cannot be entered.
    Directory {
        /// The errno.
        errno: i32,
    },
    /// There is no such program.
    NotFound,
    /// It cannot be executed.
    NotExecutable {
        /// The errno.
        errno: i32,
    },
}

/// One word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// It did not become the command.
    Failed(Failure),
    /// It waits behind its barrier, and this is in force.
    Confined(Confined),
    /// It was to be confined and is not: it does not become the command.
    Unconfined(Unconfined),
}

const FAILED: u8 = 1;
const CONFINED: u8 = 2;
const UNCONFINED: u8 = 3;
/// A tag and a length.
const HEAD: usize = 3;
/// Bytes that a pipe takes at once (pipe(7), `PIPE_BUF`).
const AT_ONCE: usize = 4096;
/// Words that are read at most; exec mode says two.
const MOST_WORDS: usize = 8;

/// Hands one over.
pub fn write(status: impl AsFd, word: &Word) {
    let (tag, body) = match word {
        Word::Failed(failure) => (FAILED, encode(*failure).to_vec()),
        Word::Confined(confined) => (CONFINED, json(confined)),
        Word::Unconfined(unconfined) => (UNCONFINED, json(unconfined)),
    };
    let Ok(length) = u16::try_from(body.len()) else { return };
    let mut bytes = vec![tag];
    bytes.extend(length.to_be_bytes());
    bytes.extend(body);
    if bytes.len() <= AT_ONCE {
        // When nobody reads, nobody wants to know.
        let _ = rustix::io::write(status, &bytes);
    }
}

/// The words that are there now. The pipe does not block.
pub fn read(status: impl AsFd) -> Vec<Word> {
    let mut held = Vec::new();
    let mut buffer = [0_u8; AT_ONCE];
    while held.len() < MOST_WORDS.saturating_mul(AT_ONCE) {
        match rustix::io::read(&status, &mut buffer) {
            Err(Errno::INTR) => {}
            Ok(0) | Err(_) => break,
            Ok(count) => held.extend(buffer.iter().take(count)),
        }
    }
    let mut words = Vec::new();
    let mut rest = held.as_slice();
    while let Some((&[tag, high, low], after)) = rest.split_first_chunk::<HEAD>() {
        let Some((body, after)) = after.split_at_checked(usize::from(u16::from_be_bytes([high, low]))) else { break };
        words.extend(decode(tag, body));
        rest = after;
    }
    words
}

/// Why a process that is dead did not become its command; `None` when it did, or was killed before.
pub fn read_failure(status: impl AsFd) -> Option<Failure> {
    read(status).into_iter().find_map(|word| match word {
        Word::Failed(failure) => Some(failure),
        Word::Unconfined(Unconfined::Failed { errno, .. }) => Some(Failure::SetUp { errno }),
        Word::Unconfined(_) => Some(Failure::SetUp { errno: Errno::PERM.raw_os_error() }),
        Word::Confined(_) => None,
    })
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

fn encode(failure: Failure) -> [u8; 5] {
    let (step, errno) = match failure {
        Failure::SetUp { errno } => (1, errno),
        Failure::Directory { errno } => (2, errno),
        Failure::NotFound => (3, 0),
        Failure::NotExecutable { errno } => (4, errno),
    };
    let [a, b, c, d] = errno.to_ne_bytes();
    [step, a, b, c, d]
}

fn decode(tag: u8, body: &[u8]) -> Option<Word> {
    match tag {
        FAILED => {
            let [step, errno @ ..] = *<&[u8; 5]>::try_from(body).ok()?;
            let errno = i32::from_ne_bytes(errno);
            Some(Word::Failed(match step {
                1 => Failure::SetUp { errno },
                2 => Failure::Directory { errno },
                3 => Failure::NotFound,
                4 => Failure::NotExecutable { errno },
                _ => return None,
            }))
        }
        CONFINED => serde_json::from_slice(body).ok().map(Word::Confined),
        UNCONFINED => serde_json::from_slice(body).ok().map(Word::Unconfined),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouroboros_proto::agent::{ConfineStep, Guarantee, Limits, Namespaces, Profile};
    use rustix::pipe::{PipeFlags, pipe_with};

    fn confined() -> Confined {
        Confined {
            profile: Profile::Workspace,
            network: false,
            missing: Guarantee::ALL.to_vec(),
            landlock: u32::MAX,
            seccomp: 2,
            no_new_privs: true,
            view: true,
            local_sockets: true,
            namespaces: Namespaces { mount: u64::MAX, user: u64::MAX, pid: u64::MAX, ipc: u64::MAX },
            capabilities: u64::MAX,
            limits: Limits { core: Some(u64::MAX), open_files: None, file_bytes: None, address_space: None },
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let (reader, writer) = pipe_with(PipeFlags::NONBLOCK).unwrap();
        let words = [
            Word::Confined(confined()),
            Word::Failed(Failure::SetUp { errno: 1 }),
            Word::Failed(Failure::Directory { errno: -2 }),
            Word::Failed(Failure::NotFound),
            Word::Failed(Failure::NotExecutable { errno: i32::MAX }),
            Word::Unconfined(Unconfined::Missing { guarantees: Guarantee::ALL.to_vec() }),
        ];
        words.iter().for_each(|word| write(&writer, word));
        assert_eq!(read(&reader), words);
        assert_eq!(read(&reader), []);
    }

    #[test]
    fn what_is_in_force_is_no_failure() {
        let (reader, writer) = pipe_with(PipeFlags::NONBLOCK).unwrap();
        write(&writer, &Word::Confined(confined()));
        assert_eq!(read_failure(&reader), None);
        write(&writer, &Word::Confined(confined()));
        write(&writer, &Word::Failed(Failure::NotFound));
        assert_eq!(read_failure(&reader), Some(Failure::NotFound));
        write(&writer, &Word::Unconfined(Unconfined::Failed { step: ConfineStep::View, errno: 5 }));
        assert_eq!(read_failure(&reader), Some(Failure::SetUp { errno: 5 }));
    }
}
