//! Tasks as rows and in detail.

use super::{Column, Look, Table, Tone, clean, money, size, time};
use ouroboros_proto::agent::Objective;
use ouroboros_proto::api::{AttemptView, SendView, StreamView, TaskStatus, TaskView};
use ouroboros_proto::kind::{Millis, UtcMicros};

/// The tone of a status.
pub const fn tone(status: TaskStatus) -> Tone {
    match status {
        TaskStatus::Queued => Tone::Plain,
        TaskStatus::Waiting => Tone::Faint,
        TaskStatus::Held | TaskStatus::Paused | TaskStatus::Cancelling | TaskStatus::Cancelled => Tone::Warn,
        TaskStatus::Running => Tone::Busy,
        TaskStatus::Completed => Tone::Good,
        TaskStatus::Failed => Tone::Bad,
    }
}

/// One row a task.
pub fn table(tasks: &[TaskView], now: UtcMicros, look: Look) -> String {
    let mut table = Table::new(&[
        Column::Right("ID"),
        Column::Left("STATUS"),
        Column::Left("PRIORITY"),
        Column::Right("AGE"),
        Column::Right("TIME"),
        Column::Right("EXIT"),
        Column::Left("NAME"),
    ]);
    for task in tasks {
        table.row([
            (Tone::Plain, task.number.to_string()),
            standing(task),
            (Tone::Plain, task.priority.clone()),
            (Tone::Plain, time::ago(now, task.submitted_at)),
            (Tone::Plain, took(task, now).map_or_else(|| "-".to_owned(), time::span)),
            (Tone::Plain, task.exit_code.map_or_else(|| "-".to_owned(), |code| code.to_string())),
            (Tone::Plain, continues(task).map_or_else(|| task.name.clone(), |from| format!("{from}: {}", task.name))),
        ]);
    }
    table.render(look)
}

/// `continues 7`, `forks 7`, `replays 7`.
fn continues(task: &TaskView) -> Option<String> {
    let from = task.from?;
    let verb = match (from.replay, from.fork) {
        (true, _) => "replays",
        (false, true) => "forks",
        (false, false) => "continues",
    };
    Some(format!("{verb} {}", from.number))
}

/// Where it stands, whether it is its owner who keeps it there, or a task in its folder, and what its agent says that is not reached.
fn standing(task: &TaskView) -> (Tone, String) {
    let word = task.status.as_str();
    match (&task.request, task.waiting_workspace, task.objective) {
        (Some(_), _, _) => (Tone::Warn, format!("{word}, asks")),
        (None, Some(other), _) => (tone(task.status), format!("{word} for {other}")),
        (None, None, Some(objective @ (Objective::Partly | Objective::NotMet))) => {
            (Tone::Warn, format!("{word}, {}", objective.words()))
        }
        (None, None, Some(Objective::Met) | None) => (tone(task.status), word.to_owned()),
    }
}

/// How long its last attempt ran, or runs.
fn took(task: &TaskView, now: UtcMicros) -> Option<Millis> {
    let end = task.settled_at.map_or(now, |end| end.0);
    task.started_at.map(|start| end.since(start.0))
}

/// Everything about one task.
pub fn detail(task: &TaskView, now: UtcMicros, look: Look) -> String {
    let mut lines = Lines::default();
    let status = look.paint(tone(task.status), task.status.as_str());
    let reason = task.reason.as_ref().map(|reason| format!(": {}", clean(reason))).unwrap_or_default();
    lines.put("task", format!("{} ({})", task.number, task.id));
    lines.put("name", clean(&task.name));
    lines.put("status", format!("{status}{reason}"));
    lines.put("objective", task.objective.map(|objective| format!("{}, as its agent says itself", objective.words())));
    lines.put("exit code", task.exit_code.map(|code| code.to_string()));
    lines.put("priority", clean(&task.priority));
    lines.put("submitted", format!("{} ({} ago)", time::moment(task.submitted_at), time::ago(now, task.submitted_at)));
    lines.put("not before", task.not_before.map(time::moment));
    lines.put("started", task.started_at.map(time::moment));
    lines.put("settled", task.settled_at.map(time::moment));
    lines.put("took", took(task, now).map(time::span));
    lines.put("after", list(task.after.iter().map(ToString::to_string)));
    lines.put("repeats", task.retry_of.map(|id| id.to_string()));
    if let Some(command) = &task.command {
        lines.put("command", list(command.argv.iter().map(|argument| quote(argument))));
        lines.put("directory", command.cwd.as_deref().map(clean));
        lines.put("variables", list(command.env.keys().map(|name| clean(name))));
        lines.put("terminal", command.pty.map(|pty| format!("{} x {}", pty.columns, pty.rows)));
    }
    if let Some(ask) = &task.ask {
        lines.put("question", clean(&ask.head));
        lines.put("route", ask.route.as_deref().map(clean));
    }
    lines.put("from", task.from.and_then(|from| Some(format!("{} (round {})", continues(task)?, from.round))));
    if let Some(agent) = &task.agent {
        lines.put("prompt", clean(&agent.head));
        lines.put("folder", clean(&agent.folder));
        lines.put("route", agent.route.as_deref().map(clean));
        let window = agent.window.as_ref();
        lines.put(
            "window",
            window.map(|window| {
                format!("{} tokens on {}, {}", window.tokens, clean(&window.route), window.source.words())
            }),
        );
        for message in &agent.messages {
            let taken = match message.taken {
                Some(_) => "taken",
                None if task.status.is_settled() => "not taken: the task had ended",
                None => "not taken yet",
            };
            lines.put("message", format!("{} ({taken}): {}", message.number, clean(&message.text)));
        }
    }
    if let Some(request) = &task.request {
        let text = request.asks.text().trim().lines().next().unwrap_or_default();
        lines.put(
            "asks",
            format!("{} (request {}, {} ago)", clean(text), request.request, time::ago(now, request.asked_at)),
        );
    }
    lines.put("pause", task.pause.map(|pause| pause.id.to_string()));
    lines.put("limit", task.max_cost_nanos.map(money::limit));
    lines.put("cost", task.cost.as_ref().map(money::words));
    for send in &task.sends {
        lines.put("call", send_line(send));
    }
    for attempt in &task.attempt_list {
        lines.put("attempt", attempt_line(attempt));
    }
    lines.0
}

fn attempt_line(attempt: &AttemptView) -> String {
    let ending = match (&attempt.ending, attempt.ended_at) {
        (Some(ending), _) => clean(ending.text.trim_end_matches('.')),
        (None, Some(_)) => "lost: how its process ended is not known".to_owned(),
        (None, None) => "running".to_owned(),
    };
    let usage = attempt.usage.map_or_else(String::new, |usage| {
        let cpu = Millis::new(usage.user_micros.saturating_add(usage.system_micros) / 1_000);
        let (wall, cpu) = (time::span(Millis::new(usage.elapsed_ms)), time::span(cpu));
        format!("; {wall}, {cpu} of CPU, {} of memory", size(usage.max_resident_bytes))
    });
    let streams = [("stdout", attempt.stdout), ("stderr", attempt.stderr)];
    let output: String = streams.into_iter().map(|(name, stream)| stream_words(name, stream)).collect();
    format!("{} ({}): {ending}{usage}{output}", attempt.ordinal, clean(&attempt.isolation))
}

fn send_line(send: &SendView) -> String {
    let model = send.model.as_ref().map(|model| format!(" by {}", clean(model))).unwrap_or_default();
    let cost = money::of_send(send.state, send.cost, send.bound_nanos);
    let tokens = money::tokens(send.usage.input, send.usage.output);
    format!("{}.{} {}{model}: {}, {cost}, {tokens}", send.call, send.ordinal, clean(&send.route), send.state.as_str())
}

fn stream_words(name: &str, stream: StreamView) -> String {
    let kept = match (stream.expired, stream.truncated) {
        (true, _) => ", no longer kept",
        (false, true) => ", its middle dropped",
        (false, false) => "",
    };
    if stream.written == 0 { String::new() } else { format!("; {name} {}{kept}", size(stream.written)) }
}

fn list(items: impl Iterator<Item = String>) -> Option<String> {
    let items: Vec<String> = items.collect();
    (!items.is_empty()).then(|| items.join(" "))
}

/// The argument as a POSIX shell would need it to be written.
pub fn quote(argument: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "%+,-./:=@_^".contains(letter);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_owned()
    } else {
        clean(&format!("'{}'", argument.replace('\'', "'\\''")))
    }
}

/// Lines of a name and a value.
#[derive(Debug, Default)]
pub struct Lines(pub String);

impl Lines {
    /// Adds a line when there is a value.
    pub fn put(&mut self, name: &str, value: impl Into<Option<String>>) {
        if let Some(value) = value.into() {
            self.0.push_str(&format!("{name:<11} {value}\n"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn arguments_are_shown_as_a_shell_takes_them() {
        let shown = ["a.b/c=1", "", "a b", "it's", "x\ny"].map(quote);
        assert_eq!(shown, ["a.b/c=1", "''", "'a b'", "'it'\\''s'", "'x\\ny'"]);
    }
}
