//! `logs`: what a task wrote, or what the server says.

mod server;

use super::args::look::Logs;
use super::follow::{self, Followed, Session, View};
use super::{Context, Failure, Outcome};
use crate::client::{query, segment};
use ouroboros_proto::kind::{Millis, Stream};
use std::io::{self, Write};

/// How long a follower waits for a server that went away.
const RECONNECT: Millis = Millis::seconds(30);

/// Prints a log.
pub fn logs(context: &Context, logs: &Logs) -> Outcome {
    let Some(task) = logs.task.as_ref().filter(|_| !logs.server) else {
        return server::print(context, logs.follow).map(|()| 0);
    };
    let stream = if logs.stderr { Stream::Stderr } else { Stream::Stdout };
    if logs.follow {
        let task = follow::look_up(context, task.as_str())?;
        let view = View::One { stream, attempt: logs.attempt };
        Session::new(context, Followed::of(&task), view, RECONNECT, None).run()?;
    } else {
        let path = format!("/api/tasks/{}", segment(task.as_str()));
        copy(context, &path, stream, logs.attempt, &mut io::stdout().lock())?;
    }
    Ok(0)
}

/// Copies what is kept of a stream, byte for byte; what is not kept is said on standard error.
pub fn copy(
    context: &Context,
    path: &str,
    stream: Stream,
    attempt: Option<u32>,
    to: &mut impl Write,
) -> Result<(), Failure> {
    if let Some(gap) = kept(context, path, stream, attempt, to)? {
        context.note(&gap);
    }
    Ok(())
}

/// Copies what is kept of a stream, byte for byte. What is not kept, in words.
pub fn kept(
    context: &Context,
    path: &str,
    stream: Stream,
    attempt: Option<u32>,
    to: &mut impl Write,
) -> Result<Option<String>, Failure> {
    let attempt = attempt.map(|attempt| attempt.to_string());
    let target = query(&format!("{path}/logs/{}", stream.as_str()), &[("attempt", attempt)]);
    let mut response = context.client().bytes(&target)?;
    let gap = response.header("ouroboros-gap").and_then(parse_gap);
    let mut bytes = Vec::new();
    while response.read_some(&mut bytes)? {
        to.write_all(&bytes)?;
        bytes.clear();
    }
    to.flush()?;
    Ok(gap.map(|(first, last)| {
        let missing = last.saturating_sub(first).saturating_add(1);
        let stream = stream.as_str();
        format!("{missing} bytes of {stream} after the first {first} are not kept and are left out here")
    }))
}

/// First and last offset that are not kept.
fn parse_gap(text: &str) -> Option<(u64, u64)> {
    let (first, last) = text.trim().split_once('-')?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::parse_gap;

    #[test]
    fn gaps_read_as_two_offsets() {
        assert_eq!(parse_gap("10-19"), Some((10, 19)));
        assert_eq!(parse_gap("10"), None);
        assert_eq!(parse_gap("-1-2"), None);
    }
}
