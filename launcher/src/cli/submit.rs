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
    let mut input = io::stdin().lock();
    let max = usize::try_from(submit.batch).unwrap_or(1);
    let (mut accepted, mut line) = (0, 0);
    loop {
        let first = line;
        let batch = batch(&mut input, &mut line, max).map_err(|failure| kept(failure, accepted))?;
        if batch.is_empty() {
            return Ok(0);
        }
        let count = batch.len();
        let many = SubmitMany { tasks: batch };
        let answer: SubmitManyAnswer = context
            .acting(|client| client.post("/api/tasks", &many)?.read())
            .map_err(|failure| kept(failure.about(&lines(first, line)), accepted))?;
        accepted = count.saturating_add(accepted);
        let printed: Result<String, Failure> = answer
            .tasks
            .iter()
            .map(|task| if context.json() { super::context::line(task) } else { Ok(format!("{}\n", task.number)) })
            .collect();
        context.print(&printed?)?;
    }
}

/// The next tasks: at most `max`, and no more than fit a request. Empty at the end; blank lines are passed over.
fn batch(input: &mut impl BufRead, line: &mut usize, max: usize) -> Result<Vec<SubmitOne>, Failure> {
    let (mut tasks, mut bytes) = (Vec::new(), 0_usize);
    while tasks.len() < max && bytes < BATCH_BYTES {
        let mut text = Vec::new();
        let read = input.by_ref().take(LINE_BYTES).read_until(b'\n', &mut text);
        let count = read.map_err(|error| Failure::io("standard input cannot be read", &error))?;
        if count == 0 {
            break;
        }
        *line = line.saturating_add(1);
        bytes = bytes.saturating_add(count);
        if u64::try_from(count).is_ok_and(|count| count >= LINE_BYTES) {
            return Err(Failure::usage(format!("line {line} is over {LINE_BYTES} bytes")));
        }
        if !text.trim_ascii().is_empty() {
            let task = serde_json::from_slice(&text);
            tasks.push(task.map_err(|error| Failure::usage(format!("line {line}: {error}")))?);
        }
    }
    Ok(tasks)
}

fn lines(before: usize, last: usize) -> String {
    let first = before.saturating_add(1);
    if first == last { format!("line {first}") } else { format!("lines {first} to {last}") }
}

/// Says what of the input was accepted before the failure.
fn kept(failure: Failure, accepted: usize) -> Failure {
    let words = match accepted {
        0 => "nothing was accepted".to_owned(),
        count => format!("only the {count} tasks whose numbers were printed are accepted"),
    };
    failure.about(&words)
}

#[cfg(test)]
mod tests {
    use super::{BATCH_BYTES, batch};
    use crate::cli::Failure;

    const TASK: &str = r#"{"command":{"argv":["true"]}}"#;

    #[test]
    fn lines_come_in_bounded_batches() {
        let text = format!("{TASK}\n\n  \n{TASK}\n{TASK}");
        let (mut input, mut line) = (text.as_bytes(), 0);
        let mut next = || (batch(&mut input, &mut line, 2).unwrap().len(), line);
        assert_eq!([next(), next(), next()], [(2, 4), (1, 5), (0, 5)]);
        let large = format!(r#"{{"command":{{"argv":["{}"]}}}}"#, "x".repeat(BATCH_BYTES / 2));
        let text = format!("{large}\n{large}\n{large}\n");
        assert_eq!(batch(&mut text.as_bytes(), &mut 0, 9).unwrap().len(), 2);
    }

    #[test]
    fn a_bad_line_is_named() {
        for bad in ["{", r#"{"command":{"argv":[]},"nmae":"x"}"#, "\u{0}"] {
            let text = format!("{TASK}\n{bad}\n");
            let Err(Failure::Told(report)) = batch(&mut text.as_bytes(), &mut 0, 9) else { panic!("{bad}") };
            assert!(report.message.starts_with("line 2: "), "{}", report.message);
            assert_eq!(report.exit, 2);
        }
    }
}
