//! `submit`: many tasks from standard input.

use super::args::work::Submit;
use super::{Context, Failure, Outcome};
use ouroboros_proto::api::{SubmitMany, SubmitManyAnswer, SubmitOne};
use ouroboros_proto::limits;
use std::io::{self, BufRead, Read};

/// Longest line: what fits a request with room for its frame.
const LINE_BYTES: u64 = limits::REQUEST_BODY.max - 1_024;

/// Bytes of lines in one request.
const BATCH_BYTES: usize = 4 << 20;

/// Has the lines accepted in batches, each all or none, and prints the number of each accepted task.
pub fn submit(context: &Context, submit: &Submit) -> Outcome {
    let max = usize::try_from(submit.batch).unwrap_or(1);
    let mut lines = Lines::new(io::stdin().lock());
    let mut accepted = 0;
    loop {
        let batch = lines.batch(max).map_err(|failure| kept(failure, accepted))?;
        let count = batch.tasks.len();
        if count == 0 {
            return Ok(0);
        }
        let many = SubmitMany { tasks: batch.tasks };
        let answer: SubmitManyAnswer = context
            .acting(|client| client.post("/api/tasks", &many)?.read())
            .map_err(|failure| kept(failure.about(&format!("lines {} to {}", batch.first, batch.last)), accepted))?;
        accepted = count.saturating_add(accepted);
        let printed: Result<String, Failure> = answer
            .tasks
            .iter()
            .map(|task| if context.json() { super::context::line(task) } else { Ok(format!("{}\n", task.number)) })
            .collect();
        context.print(&printed?)?;
    }
}

/// Tasks for one request, and the lines they stood in, counted from 1.
#[derive(Debug, Default)]
struct Batch {
    tasks: Vec<SubmitOne>,
    first: usize,
    last: usize,
}

/// A task that was read, its line, and the bytes of that.
#[derive(Debug)]
struct Parsed {
    task: SubmitOne,
    line: usize,
    bytes: usize,
}

/// Reads tasks line by line.
#[derive(Debug)]
struct Lines<R> {
    input: R,
    line: usize,
    /// Read, but too much for the last batch.
    carried: Option<Parsed>,
}

impl<R: BufRead> Lines<R> {
    fn new(input: R) -> Self {
        Self { input, line: 0, carried: None }
    }

    /// The next tasks: at most `max`, and no more than fit a request. Empty at the end.
    fn batch(&mut self, max: usize) -> Result<Batch, Failure> {
        let (mut batch, mut bytes) = (Batch::default(), 0_usize);
        while batch.tasks.len() < max {
            let carried = self.carried.take();
            let Some(read) = carried.map_or_else(|| self.task(), |read| Ok(Some(read)))? else { break };
            bytes = bytes.saturating_add(read.bytes);
            if bytes > BATCH_BYTES && !batch.tasks.is_empty() {
                self.carried = Some(read);
                break;
            }
            if batch.tasks.is_empty() {
                batch.first = read.line;
            }
            batch.last = read.line;
            batch.tasks.push(read.task);
        }
        Ok(batch)
    }

    /// The next task; blank lines are passed over.
    fn task(&mut self) -> Result<Option<Parsed>, Failure> {
        loop {
            let mut text = Vec::new();
            let read = self.input.by_ref().take(LINE_BYTES).read_until(b'\n', &mut text);
            let bytes = read.map_err(|error| Failure::io("standard input cannot be read", &error))?;
            if bytes == 0 {
                return Ok(None);
            }
            self.line = self.line.saturating_add(1);
            let line = self.line;
            if u64::try_from(bytes).is_ok_and(|bytes| bytes >= LINE_BYTES) {
                return Err(Failure::usage(format!("line {line} is over {LINE_BYTES} bytes")));
            }
            if !text.trim_ascii().is_empty() {
                let task = serde_json::from_slice(&text);
                let task = task.map_err(|error| Failure::usage(format!("line {line}: {}", told(&error))))?;
                return Ok(Some(Parsed { task, line, bytes }));
            }
        }
    }
}

/// Says what of the input was accepted before the failure.
fn kept(failure: Failure, accepted: usize) -> Failure {
    let words = match accepted {
        0 => "nothing was accepted".to_owned(),
        count => format!("only the {count} tasks whose numbers were printed are accepted"),
    };
    failure.about(&words)
}

/// Without the line that the parser counts: to it every task is line 1.
fn told(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let own = text.strip_suffix(&format!(" at line {} column {}", error.line(), error.column()));
    own.map_or_else(|| text.clone(), |own| format!("{own}, at column {}", error.column()))
}

#[cfg(test)]
mod tests {
    use super::{BATCH_BYTES, Lines};
    use crate::cli::Failure;

    const TASK: &str = r#"{"command":{"argv":["true"]}}"#;

    fn batches(text: &str, max: usize) -> Vec<(usize, usize, usize)> {
        let mut lines = Lines::new(text.as_bytes());
        let next = || lines.batch(max).unwrap();
        let all = std::iter::repeat_with(next).take_while(|batch| !batch.tasks.is_empty());
        all.map(|batch| (batch.tasks.len(), batch.first, batch.last)).collect()
    }

    #[test]
    fn lines_come_in_bounded_batches() {
        assert_eq!(batches(&format!("{TASK}\n\n  \n{TASK}\n{TASK}"), 2), [(2, 1, 4), (1, 5, 5)]);
        assert_eq!(batches("", 2), []);
        let large = format!(r#"{{"command":{{"argv":["{}"]}}}}"#, "x".repeat(BATCH_BYTES / 2));
        let huge = format!(r#"{{"command":{{"argv":["{}"]}}}}"#, "x".repeat(BATCH_BYTES + 1));
        let text = format!("{large}\n{large}\n{TASK}\n{huge}\n{TASK}\n");
        assert_eq!(batches(&text, 9), [(1, 1, 1), (2, 2, 3), (1, 4, 4), (1, 5, 5)]);
    }

    #[test]
    fn a_bad_line_is_named() {
        for bad in ["{", r#"{"command":{"argv":[]},"nmae":"x"}"#, "\u{0}"] {
            let text = format!("{TASK}\n{bad}\n");
            let Err(Failure::Told(report)) = Lines::new(text.as_bytes()).batch(9) else { panic!("{bad}") };
            assert!(report.message.starts_with("line 2: "), "{}", report.message);
            assert_eq!(report.exit, 2);
        }
    }
}
