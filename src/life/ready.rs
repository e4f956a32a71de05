//! Telling whoever started us that work can be accepted, and where.

use ouroboros_process::durable;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Where we can be reached.
#[derive(Debug, serde::Serialize)]
pub struct Announcement<'a> {
    /// Our process number.
    pub pid: u32,
    /// Our build.
    pub build: &'a str,
    /// Address of page and API, when there is one.
    pub url: Option<&'a str>,
    /// The owner's socket.
    pub socket: &'a Path,
}

/// Writes one JSON line to the pipe that our starter named, and closes it.
///
/// # Errors
/// When the pipe is not there or its reader is gone.
pub fn announce(pipe: Option<File>, announcement: &Announcement<'_>) -> io::Result<()> {
    let Some(mut pipe) = pipe else { return Ok(()) };
    let line = serde_json::to_string(announcement)?;
    writeln!(pipe, "{line}")
}

/// Writes the file by which others find our address. It is not synced twice: a stale one is told apart by the socket.
///
/// # Errors
/// When it cannot be written.
pub fn write_port_file(path: &Path, announcement: &Announcement<'_>) -> io::Result<()> {
    let mut text = serde_json::to_vec(announcement)?;
    text.push(b'\n');
    durable::replace(path, &text)
}
