//! The process: one request on standard input, one answer on standard output.

use crate::hops::{Fetcher, Limits, SystemResolver};
use crate::message::{Answer, Refusal, Request, Why};
use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

/// Bytes of a request.
const REQUEST_BYTES: u64 = 256 << 10;

/// How long a page may be worked on after it came: some are written to be slow to read.
const READING: Duration = Duration::from_secs(10);

/// Stack of the thread that works: parsers of pages go deep.
const STACK: usize = 32 << 20;

/// Reads a request, fetches, writes the answer. Whatever happens, there is an answer, and in time.
#[must_use]
pub fn main() -> ExitCode {
    let mut json = Vec::new();
    let answer = match io::stdin().lock().take(REQUEST_BYTES).read_to_end(&mut json) {
        Ok(_) => answer(&json, Limits::default()),
        Err(error) => died(&format!("the request cannot be read: {error}")),
    };
    // Whoever asked is gone when it cannot be written.
    let written = serde_json::to_vec(&answer).map_err(io::Error::other).and_then(|json| {
        let mut out = io::stdout().lock();
        out.write_all(&json)?;
        out.flush()
    });
    if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn died(words: &str) -> Answer {
    Answer::Refused(Refusal::new(Why::Died, words))
}

fn answer(json: &[u8], limits: Limits) -> Answer {
    let request: Request = match serde_json::from_slice(json) {
        Ok(request) => request,
        Err(error) => return died(&format!("the request cannot be read: {error}")),
    };
    let patience = limits.total.saturating_add(READING);
    let (done, end) = mpsc::sync_channel(1);
    let work = move || {
        // Nobody listens when it came too late.
        let _ = done.send(fetched(&request, limits));
    };
    if let Err(error) = thread::Builder::new().stack_size(STACK).spawn(work) {
        return died(&format!("no thread is to be had: {error}"));
    }
    match end.recv_timeout(patience) {
        Ok(answer) => answer,
        Err(mpsc::RecvTimeoutError::Timeout) => {
            Answer::Refused(Refusal::new(Why::TimedOut, "the page takes too long to be read"))
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => died("the page cannot be read: the reader of pages broke down"),
    }
}

fn fetched(request: &Request, limits: Limits) -> Answer {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            let answer = runtime.block_on(Fetcher::new(Arc::new(SystemResolver), limits).fetch(request));
            // A name that is still being looked up must not hold it up.
            runtime.shutdown_background();
            answer
        }
        Err(error) => died(&format!("no runtime is to be had: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_asked_there_is_an_answer() {
        for (json, why) in [
            ("", Why::Died),
            ("{}", Why::Died),
            (r#"{"url":"http://x/","private_origins":["http://127.0.0.1/path"]}"#, Why::Died),
            (r#"{"url":"ftp://host/"}"#, Why::BadUrl),
            (r#"{"url":"http://127.0.0.1:9/"}"#, Why::PrivateAddress),
            (r#"{"url":"http://localhost:9/"}"#, Why::PrivateAddress),
        ] {
            let Answer::Refused(refusal) = answer(json.as_bytes(), Limits::default()) else { panic!("{json}") };
            assert_eq!(refusal.why, why, "{json}: {}", refusal.detail);
        }
    }
}
