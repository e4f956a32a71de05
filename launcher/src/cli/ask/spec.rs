//! From the command line to the question that is submitted.

use crate::cli::Failure;
use crate::cli::args::model::Ask;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ouroboros_proto::api::{AskSpec, ImageSpec, SubmitOne};
use ouroboros_proto::limits;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use std::path::Path;

/// Silence of standard input after which it is said that it is waited for.
const SILENCE: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// What `ask` submits. `note` says what takes long.
pub fn build(ask: Ask, note: &dyn Fn(&str)) -> Result<SubmitOne, Failure> {
    let images = ask.image.iter().map(|path| image(path)).collect::<Result<Vec<ImageSpec>, Failure>>()?;
    let output_schema = ask.output_schema.as_deref().map(schema).transpose()?;
    let prompt = prompt(ask.text, note)?;
    if prompt.trim().is_empty() && images.is_empty() {
        return Err(Failure::usage("there is no question").remedy("Give it as TEXT, or `-` to read standard input."));
    }
    Ok(SubmitOne {
        ask: Some(AskSpec {
            prompt,
            system: ask.system,
            route: ask.model,
            max_output_tokens: ask.max_tokens,
            effort: ask.effort,
            output_schema,
            images,
            wait_model: ask.wait_model,
        }),
        name: ask.name,
        key: ask.key,
        timeout_ms: ask.timeout.map(|timeout| timeout.get()),
        max_cost: ask.max_cost,
        parent: ask.parent.map(|parent| parent.to_string()),
        ..SubmitOne::default()
    })
}

/// A question or a task in words: words of the command line, then what standard input gives, when that is asked for or
/// is a pipe or file.
pub fn prompt(words: Vec<String>, note: &dyn Fn(&str)) -> Result<String, Failure> {
    let dashed = words.iter().any(|word| word == "-");
    let given = words.into_iter().filter(|word| word != "-").collect::<Vec<String>>().join(" ");
    let stdin = io::stdin();
    if !dashed && stdin.is_terminal() {
        return Ok(given);
    }
    // A service manager's socket or `/dev/null` has nothing to add.
    if !dashed && !given.is_empty() && !is_pipe_or_file() {
        return Ok(given);
    }
    if !given.is_empty() && !has_come(&stdin) {
        note("standard input is open and silent: what it gives is added to the text, so its end is waited for");
        note("give `< /dev/null` when there is nothing to add");
    }
    let piped = text(stdin.lock(), "standard input")?;
    Ok(match (given.is_empty(), piped.is_empty()) {
        (true, _) => piped,
        (false, true) => given,
        (false, false) => format!("{given}\n\n{piped}"),
    })
}

/// Whether something came, or the end of it, before the silence was long.
fn has_come(input: &impl AsFd) -> bool {
    poll(&mut [PollFd::new(input, PollFlags::IN)], Some(&SILENCE)) != Ok(0)
}

/// Whether standard input is a pipe or a file, and not a device such as `/dev/null`.
fn is_pipe_or_file() -> bool {
    rustix::fs::fstat(io::stdin()).is_ok_and(|stat| {
        let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
        kind == rustix::fs::FileType::Fifo || kind == rustix::fs::FileType::RegularFile
    })
}

fn text(input: impl Read, what: &str) -> Result<String, Failure> {
    String::from_utf8(bytes(input, what)?)
        .map_err(|_| Failure::usage(format!("{what} is not UTF-8; nothing was submitted")))
}

/// Everything, as long as a question may hold it.
fn bytes(input: impl Read, what: &str) -> Result<Vec<u8>, Failure> {
    let max = limits::ASK_BYTES.max;
    let mut bytes = Vec::new();
    input
        .take(max.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::io(format!("{what} cannot be read; nothing was submitted"), &error))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > max {
        return Err(Failure::usage(format!("{what} is over {max} bytes; nothing was submitted")));
    }
    Ok(bytes)
}

fn file(path: &Path) -> Result<(Vec<u8>, String), Failure> {
    let what = path.display().to_string();
    let file = File::open(path);
    let file = file.map_err(|error| Failure::io(format!("{what} cannot be read; nothing was submitted"), &error))?;
    Ok((bytes(file, &what)?, what))
}

/// An image that is in a file.
pub fn image(path: &Path) -> Result<ImageSpec, Failure> {
    let (bytes, what) = file(path)?;
    let media_type = media_type(&bytes).ok_or_else(|| {
        Failure::usage(format!("{what} is not a PNG, JPEG, GIF or WebP image; nothing was submitted"))
    })?;
    Ok(ImageSpec { media_type: media_type.to_owned(), data: STANDARD.encode(bytes) })
}

/// What an image is, by its first bytes, whatever its name says.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// A JSON Schema that is in a file.
pub fn schema(path: &Path) -> Result<serde_json::Value, Failure> {
    let (bytes, what) = file(path)?;
    let schema = serde_json::from_slice(&bytes);
    schema.map_err(|error| Failure::usage(format!("{what} is not JSON: {error}; nothing was submitted")))
}

#[cfg(test)]
mod tests {
    use super::media_type;

    #[test]
    fn an_image_is_what_its_bytes_say() {
        assert_eq!(media_type(b"\x89PNG\r\n\x1a\nrest"), Some("image/png"));
        assert_eq!(media_type(b"\xff\xd8\xff\xe0"), Some("image/jpeg"));
        assert_eq!(media_type(b"GIF89a"), Some("image/gif"));
        assert_eq!(media_type(b"RIFF\0\0\0\0WEBPVP8 "), Some("image/webp"));
        assert_eq!(media_type(b"RIFF\0\0\0\0WAVE"), None);
        assert_eq!(media_type(b""), None);
    }
}
