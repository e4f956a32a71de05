//! The pipe on which a server says, once, that it is ready.

use rustix::io::Errno;
use serde::Deserialize;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Longest announcement.
const LINE_BYTES: usize = 16 << 10;

/// What the server says. What a newer one adds is passed over.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Announcement {
    /// Its process number.
    pub pid: u32,
    /// Address of page and API, when there is one.
    #[serde(default)]
    pub url: Option<String>,
    /// Its build, when it names it.
    #[serde(default)]
    pub build: Option<String>,
}

/// What came of reading.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// Nothing new, or the end without a word.
    Nothing,
    /// It is ready.
    Ready(Announcement),
    /// It said something else: it is made for another launcher.
    Garbled(String),
}

/// Reads the announcement as it comes in.
#[derive(Debug)]
pub struct Readiness {
    pipe: Option<OwnedFd>,
    line: Vec<u8>,
}

impl Readiness {
    /// `pipe` must not block.
    pub fn new(pipe: OwnedFd) -> Self {
        Self { pipe: Some(pipe), line: Vec::new() }
    }

    /// The descriptor to poll, until there is nothing more to hear.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Reads what is there. Anything but `Nothing` is said once.
    pub fn hear(&mut self) -> Heard {
        let mut chunk = [0; 4 << 10];
        while let Some(pipe) = &self.pipe {
            match rustix::io::read(pipe, &mut chunk) {
                Ok(0) => self.pipe = None,
                Ok(count) => self.line.extend_from_slice(chunk.get(..count).unwrap_or_default()),
                Err(Errno::AGAIN) => return Heard::Nothing,
                Err(Errno::INTR) => {}
                Err(_) => self.pipe = None,
            }
            let end = self.line.iter().position(|byte| *byte == b'\n');
            if end.is_some() || self.line.len() > LINE_BYTES {
                self.pipe = None;
                return parse(self.line.get(..end.unwrap_or(LINE_BYTES)).unwrap_or_default());
            }
        }
        Heard::Nothing
    }
}

fn parse(line: &[u8]) -> Heard {
    serde_json::from_slice(line)
        .map_or_else(|_| Heard::Garbled(String::from_utf8_lossy(line).chars().take(200).collect()), Heard::Ready)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pipe::{PipeFlags, pipe_with};

    fn hear(texts: &[&[u8]]) -> Vec<Heard> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
        let mut readiness = Readiness::new(read);
        let mut heard: Vec<Heard> = texts
            .iter()
            .map(|text| {
                // Once there is nothing more to hear nobody reads.
                let _ = rustix::io::write(&write, text);
                readiness.hear()
            })
            .collect();
        drop(write);
        heard.push(readiness.hear());
        assert!(readiness.descriptor().is_none());
        heard
    }

    #[test]
    fn a_line_in_pieces_is_heard_once() {
        let ready = Announcement { pid: 7, url: Some("http://x".to_owned()), build: None };
        let heard = hear(&[b"{\"pid\":7,\"url\":\"http", b"://x\",\"socket\":\"/s\",\"new\":1}\n", b"more\n"]);
        assert_eq!(heard, [Heard::Nothing, Heard::Ready(ready), Heard::Nothing, Heard::Nothing]);
    }

    #[test]
    fn half_a_line_is_no_readiness_and_noise_is_told() {
        assert_eq!(hear(&[b"{\"pid\":7}"]), [Heard::Nothing, Heard::Nothing]);
        assert_eq!(hear(&[b"READY\n"]), [Heard::Garbled("READY".to_owned()), Heard::Nothing]);
        let endless = vec![b'x'; LINE_BYTES + 1];
        assert_eq!(hear(&[&endless]), [Heard::Garbled("x".repeat(200)), Heard::Nothing]);
    }
}
