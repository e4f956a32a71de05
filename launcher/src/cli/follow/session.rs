//! One task, followed until it has ended or nobody wants to follow it any more.

use super::Followed;
use super::ask::{Choice, ask};
use super::machine::{self, Machine};
use super::outlet::Outlet;
use super::parking::{Leave, Parking};
use super::position::{self, Position};
use super::progress::Progress;
use super::prompt::Prompt;
use super::signals::{Notice, Signals};
use super::take::Taken;
use super::telling::{Aside, Telling};
use super::watch::{Wake, wait, wait_or_typed};
use crate::cli::{Context, Failure};
use crate::client::{ClientError, EventStream, query};
use crate::render;
use ouroboros_proto::api::{Code, TaskView};
use ouroboros_proto::kind::{BootMicros, Millis, Stream, TaskId, TaskNumber, clock};
use serde_json::{Value, json};
use std::io;
use std::os::fd::AsFd;

/// What is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// What the task writes; with `--json` its events too.
    Output,
    /// What it writes to one stream, all of it to our standard output.
    One {
        /// The stream.
        stream: Stream,
        /// Only of this attempt, counted from 1.
        attempt: Option<u32>,
    },
    /// Nothing: only its end matters.
    End,
}

/// How following ended.
#[derive(Debug)]
pub enum Ended {
    /// The task has ended.
    Settled(Box<TaskView>),
    /// The task waits for its owner to let it spend more, or for a model.
    Parked(Box<TaskView>),
    /// The task goes on without us.
    Detached,
}

/// Longest pause between two tries to reach the server.
const PAUSE: Millis = Millis::seconds(1);

/// The follower.
#[derive(Debug)]
pub struct Session<'a> {
    pub(super) context: &'a Context,
    pub(super) view: View,
    pub(super) number: TaskNumber,
    /// Whether the task is one in words.
    pub(super) in_words: bool,
    pub(super) position: Position,
    pub(super) progress: Progress,
    pub(super) parking: Parking,
    pub(super) outlet: Outlet,
    /// How far a task in words was told, and what of its own words is left out.
    pub(super) telling: Telling,
    pub(super) aside: Aside,
    /// What it delivered, where its text is shown while it is written.
    pub(super) delivered: Vec<u8>,
    /// The same for programs.
    pub(super) machine: Option<Machine>,
    /// Where a person answers what the task asks.
    pub(super) prompt: Option<Prompt>,
    task: TaskId,
    reconnect: Millis,
    signals: Option<&'a Signals>,
    cancels: u32,
    cancel_owed: bool,
}

impl<'a> Session<'a> {
    /// A follower of this task from its beginning, which waits up to `reconnect` for a server that went away.
    pub fn new(
        context: &'a Context,
        Followed { task, number, in_words }: Followed,
        view: View,
        reconnect: Millis,
        signals: Option<&'a Signals>,
    ) -> Self {
        let progress = Progress::new(context, number);
        let position = Position::default();
        let (parking, outlet) = (Parking::default(), Outlet::default());
        let machine = (in_words && view == View::Output && context.json()).then(Machine::default);
        Self {
            context,
            view,
            number,
            in_words,
            position,
            progress,
            parking,
            outlet,
            telling: Telling::new(context.err()),
            aside: Aside::default(),
            delivered: Vec::new(),
            machine,
            prompt: None,
            task,
            reconnect,
            signals,
            cancels: 0,
            cancel_owed: false,
        }
    }

    /// The same for a question or a task in words: what it writes ends with a line on a terminal and where words of ours
    /// follow it in the same place, cannot steer a terminal, and `leave` says what ends the following before the task's end.
    pub fn of_question(mut self, leave: Leave) -> Self {
        let words_follow = !self.context.quiet() && is_same(io::stdout(), io::stderr());
        let (out, err) = (self.context.out(), self.context.err());
        self.prompt = Prompt::new(self.context);
        self.parking = Parking::of(leave);
        self.outlet = Outlet::of_model(out.terminal || words_follow, out, err);
        self
    }

    /// Follows.
    pub fn run(mut self) -> Result<Ended, Failure> {
        if self.machine.is_none() {
            return self.follow();
        }
        let begun = self.begin();
        let ended = begun.and_then(|()| self.follow());
        if let Some(machine) = &self.machine {
            self.context.print_json(&machine.end(&ended))?;
        }
        ended
    }

    /// Says which task it is, for programs.
    fn begin(&mut self) -> Result<(), Failure> {
        let path = self.path();
        let task = self.trying(|session| session.context.client().get(&path)?.value())?;
        let models = self.trying(|session| session.context.client().get("/api/models")?.value())?;
        let task = task.unwrap_or_default();
        self.context.print_json(&machine::task(&task, &models.unwrap_or_default()))?;
        let inherited = task.get("agent").and_then(|agent| agent.get("inherited")).and_then(Value::as_u64);
        inherited.filter(|inherited| *inherited > 0).map_or(Ok(()), |inherited| self.inherit(inherited))
    }

    fn follow(&mut self) -> Result<Ended, Failure> {
        loop {
            let target = self.target();
            let stream = self.trying(|session| session.context.client().events(&target, session.position.event));
            let mut stream = match stream {
                Ok(Some(stream)) => stream,
                Ok(None) => return Ok(Ended::Detached),
                // The task ended so long ago that its events are gone; what it wrote may still be there.
                Err(failure) if failure.is(Code::EventsExpired) => {
                    self.copy_kept()?;
                    return self.outcome();
                }
                Err(failure) => return Err(position::or_too_old(failure)),
            };
            if self.cancel_owed {
                self.send_cancel()?;
            }
            match self.pump(&mut stream)? {
                Pumped::Lost => {
                    self.outlet.leave_line()?;
                    self.progress.show("goes on; the connection to the server was lost, trying again");
                }
                Pumped::Detached => return Ok(Ended::Detached),
                Pumped::Ended => return self.outcome(),
                Pumped::Asks(task) => return Ok(Ended::Parked(task)),
                Pumped::Parked => {
                    if let Some(task) = self.parked()? {
                        return Ok(Ended::Parked(task));
                    }
                }
            }
        }
    }

    pub(super) fn path(&self) -> String {
        format!("/api/tasks/{}", self.task)
    }

    fn target(&self) -> String {
        let output = (self.view != View::End).then_some(self.position);
        let mut wanted = vec![
            ("output", output.map(|_| "true".to_owned())),
            ("from_stdout", output.map(|position| position.stdout.to_string())),
            ("from_stderr", output.map(|position| position.stderr.to_string())),
        ];
        if self.in_words && self.view == View::Output {
            wanted.extend(self.position.of_words());
        }
        query(&format!("{}/events", self.path()), &wanted)
    }

    /// The facts about the ended task.
    fn outcome(&mut self) -> Result<Ended, Failure> {
        let path = self.path();
        let task: Option<TaskView> = self.trying(|session| session.context.client().get(&path)?.read())?;
        self.close()?;
        let Some(task) = task else { return Ok(Ended::Detached) };
        if self.context.json() && self.view == View::Output && self.machine.is_none() {
            self.context.print_json(&json!({ "message": "end", "task": task }))?;
        }
        Ok(Ended::Settled(Box::new(task)))
    }

    /// The facts about a task that is said to wait; `None` when it goes on already.
    fn parked(&mut self) -> Result<Option<Box<TaskView>>, Failure> {
        let path = self.path();
        let task: Option<TaskView> = self.trying(|session| session.context.client().get(&path)?.read())?;
        let Some(task) = task.filter(|task| self.parking.leaves_with(task)) else { return Ok(None) };
        self.progress.clear();
        self.close()?;
        if self.context.json() && self.machine.is_none() {
            self.context.print_json(&json!({ "message": "parked", "task": task }))?;
        }
        Ok(Some(Box::new(task)))
    }

    /// Has the person at the terminal asked what the task asks; without one, says how it is answered. The task when that is a reason
    /// to leave.
    fn asked(&mut self) -> Result<Option<Box<TaskView>>, Failure> {
        let path = self.path();
        let task: Option<TaskView> = self.trying(|session| session.context.client().get(&path)?.read())?;
        let Some(task) = task.filter(|task| !task.status.is_settled()) else { return Ok(None) };
        let Some(request) = task.request.clone() else { return Ok(None) };
        self.progress.clear();
        let shown = self.prompt.as_mut().is_some_and(|prompt| prompt.is_asking() || prompt.ask(*request.clone()));
        if shown {
            return Ok(None);
        }
        if self.parking.leaves_with(&task) {
            return self.parked();
        }
        if !self.context.json() {
            let (number, asks) = (self.number, render::clean(request.asks.text()));
            self.context.note(&format!("task {number} asks its owner: {asks}; `ouroboros answer {number}` answers"));
        }
        Ok(None)
    }

    /// Asks until there is an answer, for at most the time to reconnect. `None` when somebody wants us to leave.
    pub(super) fn trying<T>(&mut self, ask: impl Fn(&Self) -> Result<T, ClientError>) -> Result<Option<T>, Failure> {
        let mut end: Option<BootMicros> = None;
        let mut pause = Millis::new(10);
        loop {
            let error = match ask(self) {
                Ok(answer) => return Ok(Some(answer)),
                Err(error) if error.is(Code::EventsExpired) && self.position.event.is_some() => {
                    self.progress.clear();
                    self.context.note("some events are no longer kept and are left out");
                    self.position.event = None;
                    continue;
                }
                Err(error) => error,
            };
            let end = *end.get_or_insert_with(|| clock::boot().plus(self.reconnect));
            if !error.passes_with_its_server() {
                return Err(error.into());
            }
            if clock::boot() >= end {
                return Err(self.gone(&error));
            }
            match wait(self.signals, None, self.view != View::End, Some(pause)).map_err(poll_failed)? {
                Wake::Notice(notice) => {
                    if self.notice(notice)? {
                        return Ok(None);
                    }
                }
                Wake::ReaderLeft => return Ok(None),
                Wake::Readable | Wake::Typed | Wake::TimedOut => {}
            }
            pause = Millis::new(pause.get().saturating_mul(2)).min(PAUSE);
        }
    }

    /// What is known when the server stays away.
    fn gone(&mut self, error: &ClientError) -> Failure {
        self.progress.clear();
        let Position { attempt, stdout, stderr, .. } = self.position;
        let shown = match (self.view, attempt) {
            (View::Output | View::One { .. }, 0) => "it had written nothing".to_owned(),
            (View::Output | View::One { .. }, _) => {
                format!("{stdout} bytes of output and {stderr} of errors were shown")
            }
            (View::End, _) => "it had not ended".to_owned(),
        };
        let (number, waited) = (self.number, render::time::span(self.reconnect));
        Failure::new(
            "server_gone",
            format!("the server went away and did not come back within {waited} ({error}); task {number} is recorded, {shown}"),
        )
        .remedy(format!("`ouroboros up` starts the server; then `ouroboros attach {number}` follows the task again."))
        .exit(crate::cli::OURS)
    }

    fn pump(&mut self, stream: &mut EventStream) -> Result<Pumped, Failure> {
        loop {
            while let Some(message) = stream.next() {
                match self.take(&message) {
                    Ok(Taken::End) => return Ok(Pumped::Ended),
                    Ok(Taken::Broken) => return Ok(Pumped::Lost),
                    Ok(Taken::Parked) => return Ok(Pumped::Parked),
                    Ok(Taken::Asks) => {
                        if let Some(task) = self.asked()? {
                            return Ok(Pumped::Asks(task));
                        }
                    }
                    Ok(Taken::More) => {}
                    Err(Failure::Closed) => return Ok(Pumped::Detached),
                    Err(failure) => return Err(failure),
                }
            }
            let wake = if stream.has_early() {
                Wake::Readable
            } else {
                let terminal = self.prompt.as_ref().and_then(Prompt::source);
                wait_or_typed(self.signals, Some(stream.as_fd()), terminal, self.view != View::End, None)
                    .map_err(poll_failed)?
            };
            match wake {
                Wake::Readable => match stream.read() {
                    Ok(true) => {}
                    // The rest of a stream that ended is already taken apart; its end may be in it.
                    Ok(false) if stream.has_next() => {}
                    Ok(false) | Err(ClientError::Lost(_)) => return Ok(Pumped::Lost),
                    Err(error) => return Err(error.into()),
                },
                Wake::Notice(notice) => {
                    if self.notice(notice)? {
                        return Ok(Pumped::Detached);
                    }
                }
                Wake::Typed => {
                    if let Some(prompt) = &mut self.prompt {
                        prompt.answer(self.context);
                    }
                }
                Wake::ReaderLeft => return Ok(Pumped::Detached),
                Wake::TimedOut => {}
            }
        }
    }

    /// Answers to a signal; true when the task is to go on without us.
    fn notice(&mut self, notice: Notice) -> Result<bool, Failure> {
        let choice = match (notice, self.signals) {
            (Notice::HangUp, _) => return Ok(true),
            (Notice::Interrupt, Some(signals)) if self.cancels == 0 => {
                self.progress.clear();
                match self.stop_turn(signals) {
                    Some(choice) => choice,
                    None => ask(signals, self.number).unwrap_or(Choice::Cancel),
                }
            }
            (Notice::Interrupt | Notice::Terminate, _) => Choice::Cancel,
        };
        match choice {
            Choice::Cancel => self.send_cancel().map(|()| false),
            Choice::GoOn => Ok(false),
            Choice::Detach => {
                let number = self.number;
                self.context.note(&format!("task {number} goes on; `ouroboros attach {number}` follows it again"));
                Ok(true)
            }
            Choice::Leave => Ok(true),
        }
    }

    /// Asks for the task to be cancelled; asked again, without any grace. What cannot be sent now is sent after the next connect.
    fn send_cancel(&mut self) -> Result<(), Failure> {
        let body = if self.cancels == 0 { json!({}) } else { json!({ "grace_ms": 0 }) };
        self.progress.clear();
        let number = self.number;
        self.cancel_owed = false;
        match self.context.client().post(&format!("{}/cancel", self.path()), &body) {
            Ok(_) => self.context.note(&format!("cancelling task {number}")),
            Err(error) if error.is(Code::AlreadySettled) => {}
            Err(error) if error.passes_with_its_server() => {
                self.cancel_owed = true;
                self.context.note(&format!("task {number} will be cancelled as soon as the server answers: {error}"));
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
        self.cancels = self.cancels.saturating_add(1);
        Ok(())
    }
}

enum Pumped {
    Ended,
    Parked,
    Asks(Box<TaskView>),
    Detached,
    Lost,
}

fn poll_failed(error: io::Error) -> Failure {
    Failure::io("waiting for the server", &error)
}

/// Whether both lead to the same file, pipe or terminal.
fn is_same(one: impl AsFd, other: impl AsFd) -> bool {
    let place = |stat: rustix::fs::Stat| (stat.st_dev, stat.st_ino);
    let (one, other) = (rustix::fs::fstat(one).map(place), rustix::fs::fstat(other).map(place));
    one.is_ok() && one == other
}
