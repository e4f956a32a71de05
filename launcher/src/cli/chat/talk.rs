//! What is done with a line.

use super::command::{self, Command};
use super::follow::Follower;
use super::stand::{At, Shared, Stand};
use super::voice::Voice;
use crate::cli::args::change::Undo;
use crate::cli::args::chat::Chat;
use crate::cli::args::look::Diff;
use crate::cli::args::value::TaskRef;
use crate::cli::{Context, Failure, ask, changes, follow, requests, run};
use crate::client::segment;
use crate::render::{Tone, clean, money};
use ouroboros_proto::agent::{Effort, Mode};
use ouroboros_proto::api::{
    AgentSpec, Code, FromSpec, InterruptRequest, MessageRequest, RequestView, StateView, SubmitOne, TaskPage, TaskView,
};
use ouroboros_proto::kind::{Millis, TaskId, WorkKind};
use serde_json::json;
use std::time::Duration;

/// How long a server that is in trouble is asked again.
pub const PATIENCE: Millis = Millis::seconds(30);
/// How long the end of a task that has delivered may take to be known here.
const ENDING: Duration = Duration::from_secs(30);
/// Tasks among which the newest conversation of a folder is looked for.
const LOOKED_AT: usize = 200;

/// What is wanted of each task of the conversation.
#[derive(Debug, Clone)]
pub struct Wishes {
    /// Where the first one works.
    pub folder: String,
    route: Option<String>,
    effort: Option<Effort>,
    mode: Option<Mode>,
    max_cost: Option<String>,
}

impl Wishes {
    /// What is submitted for this text, after the task that it continues.
    pub fn task(&self, text: String, from: Option<TaskId>) -> SubmitOne {
        let agent = AgentSpec {
            prompt: text,
            folder: if from.is_none() { self.folder.clone() } else { String::new() },
            from: from.map(|task| FromSpec { task: task.to_string(), round: None }),
            route: self.route.clone(),
            effort: self.effort,
            mode: self.mode,
            path: std::env::var("PATH").ok(),
            ..AgentSpec::default()
        };
        SubmitOne { agent: Some(agent), max_cost: self.max_cost.clone(), ..SubmitOne::default() }
    }
}

/// The conversation, on the side where it is typed.
pub struct Talk<'a> {
    context: &'a Context,
    wishes: Wishes,
    shared: Shared,
    voice: Voice,
    /// The task to begin with.
    begin: Option<TaskRef>,
    last: bool,
}

impl<'a> Talk<'a> {
    /// Nothing is said yet.
    pub fn new(context: &'a Context, chat: Chat, folder: String, voice: Voice) -> Self {
        let Chat { last, resume, model, effort, mode, max_cost, cwd: _ } = chat;
        let wishes = Wishes { folder, route: model, effort, mode, max_cost };
        Self { context, wishes, shared: Shared::default(), voice, begin: resume, last }
    }

    /// Where it stands, for others to look at.
    pub fn shared(&self) -> Shared {
        self.shared.clone()
    }

    /// Takes up the conversation that was named.
    pub fn resume(&mut self) -> Result<(), Failure> {
        let task = match self.begin.take() {
            Some(task) => follow::look_up(self.context, task.as_str())?,
            None if self.last => self.newest()?,
            None => return Ok(()),
        };
        let number = task.number;
        let Some(agent) = &task.agent else {
            return Err(Failure::usage(format!("task {number} is no task in words"))
                .remedy(format!("`ouroboros attach {number}` follows it.")));
        };
        self.wishes.folder.clone_from(&agent.folder);
        let at = At { id: task.id, number };
        self.context.note(&format!("task {number}: {}", clean(&task.name)));
        if task.status.is_settled() {
            self.shared.ended(at, 0);
            return Ok(());
        }
        self.follow(at)
    }

    /// The newest task in words in this folder.
    fn newest(&self) -> Result<TaskView, Failure> {
        let page: TaskPage = self.context.client().get(&format!("/api/tasks?limit={LOOKED_AT}"))?.read()?;
        for task in page.tasks.iter().filter(|task| is_conversation(task)) {
            let whole = follow::look_up(self.context, &task.id.to_string())?;
            if whole.agent.as_ref().is_some_and(|agent| agent.folder == self.wishes.folder) {
                return Ok(whole);
            }
        }
        Err(Failure::new("no_conversation", format!("there is no conversation in {} yet", clean(&self.wishes.folder)))
            .remedy("`ouroboros chat` begins one; `ouroboros chat --resume TASK` goes on with any."))
    }

    /// Says where one is.
    pub fn greet(&self) {
        self.context.note(&format!("in {}; /help lists the commands, Ctrl-D leaves", clean(&self.wishes.folder)));
    }

    /// Does what a line says; true when that is to leave.
    pub fn line(&mut self, line: &str) -> Result<bool, Failure> {
        match command::read(line) {
            Err(problem) => {
                self.context.note(&problem);
                Ok(false)
            }
            Ok(Some(command)) => self.command(command),
            Ok(None) => {
                let asked = self.shared.known().asked.clone();
                match asked {
                    Some(request) => self.answer(&request, line)?,
                    None if line.trim().is_empty() => {}
                    None => self.say(line)?,
                }
                Ok(false)
            }
        }
    }

    /// Stops the turn that is under way.
    pub fn interrupt(&mut self) -> Result<bool, Failure> {
        let (stand, stopped) = {
            let known = self.shared.known();
            (known.stand, known.stopped)
        };
        match stand {
            Stand::Working(at) if !stopped => {
                let body = InterruptRequest { hold: true, call: None };
                match self.context.client().post(&format!("/api/tasks/{}/interrupt", at.id), &body) {
                    Ok(_) => {
                        self.shared.known().stopped = true;
                        self.context.note("stopped; it waits for what you say, /stop ends it");
                    }
                    Err(error) if error.is(Code::AlreadySettled) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Stand::Working(_) => self.context.note("it is stopped and waits for what you say; /stop ends it"),
            Stand::Idle | Stand::Ended(..) => self.context.note("Ctrl-D or /quit leaves"),
        }
        Ok(false)
    }

    /// Says what goes on without us, and gives the exit code.
    pub fn leave(&self) -> u8 {
        let known = self.shared.known();
        match known.stand {
            Stand::Idle => 0,
            Stand::Ended(_, code) => code,
            Stand::Working(At { number, .. }) => {
                let words = format!("task {number} goes on; `ouroboros chat --resume {number}` takes it up again");
                self.context.note(&words);
                known.waits.unwrap_or(0)
            }
        }
    }

    /// Says something: to the task that works, or as a task that goes on from the one before.
    fn say(&self, text: &str) -> Result<(), Failure> {
        let stand = self.shared.known().stand;
        let from = match stand {
            Stand::Idle => None,
            Stand::Ended(at, _) => Some(at.id),
            Stand::Working(at) => {
                if self.tell(at, text)? {
                    return Ok(());
                }
                // It has delivered meanwhile: what is said goes on from there.
                self.shared.wait_for_end(ENDING);
                Some(at.id)
            }
        };
        let task = self.wishes.task(text.to_owned(), from);
        let accepted = match from {
            None => {
                let wanted = ask::Wanted { route: self.wishes.route.clone(), waits: false };
                let chosen = ask::choose(self.context, &wanted, task.max_cost.as_deref())?;
                let accepted = ask::accept(self.context, task, PATIENCE)?;
                self.context.note(&chosen.words());
                accepted
            }
            Some(_) => run::submit(self.context, task, PATIENCE)?,
        };
        run::say_when_held(self.context);
        self.follow(At { id: accepted.id, number: accepted.number })
    }

    /// Says something to a task; false when that hears nothing any more.
    fn tell(&self, at: At, text: &str) -> Result<bool, Failure> {
        let target = format!("/api/tasks/{}/messages", at.id);
        let (body, key) = (MessageRequest { text: text.to_owned() }, TaskId::mint().to_string());
        let sent =
            run::until_answered(self.context, PATIENCE, || self.context.client().post_with_key(&target, &body, &key));
        match sent {
            Ok(_) => {
                self.shared.known().stopped = false;
                Ok(true)
            }
            Err(failure) if [Code::NotListening, Code::AlreadySettled].iter().any(|code| failure.is(*code)) => {
                Ok(false)
            }
            Err(failure) => Err(failure),
        }
    }

    fn answer(&self, request: &RequestView, line: &str) -> Result<(), Failure> {
        let given = match requests::typed(&request.asks, line) {
            Ok(given) => given,
            Err(problem) => {
                self.context.note(problem);
                return Ok(());
            }
        };
        let over = || {
            let mut known = self.shared.known();
            if known.asked.as_ref().is_some_and(|asked| asked.request == request.request) {
                known.asked = None;
            }
        };
        match requests::send(self.context, request, &given) {
            Ok(_) => over(),
            Err(failure) if failure.is(Code::RequestClosed) => {
                over();
                self.context.note("that is answered already");
            }
            Err(failure) => return Err(failure),
        }
        Ok(())
    }

    fn follow(&self, at: At) -> Result<(), Failure> {
        self.shared.works(at);
        Follower::new(self.context, self.shared.clone(), self.voice.clone(), self.wishes.clone(), at)?.start()
    }

    fn command(&mut self, command: Command) -> Result<bool, Failure> {
        match command {
            Command::Quit => return Ok(true),
            Command::Help => self.context.print(&command::help())?,
            Command::New => self.begin_anew(),
            Command::Model(route) => {
                if route.is_some() {
                    self.wishes.route = route;
                }
                let route = self.wishes.route.as_deref().map_or_else(|| "the one before, or the default".into(), clean);
                self.context.note(&format!("model of the next task: {route}"));
            }
            Command::Mode(mode) => {
                self.wishes.mode = mode.or(self.wishes.mode);
                let mode = self.wishes.mode.map_or("agent.mode", Mode::as_str);
                self.context.note(&format!("mode of the next task: {mode}"));
            }
            Command::Cost => self.cost()?,
            Command::Diff => {
                if let Some(task) = self.task() {
                    changes::diff(self.context, &Diff { task })?;
                }
            }
            Command::Undo => {
                if let Some(task) = self.task() {
                    changes::undo(self.context, &Undo { task, files: Vec::new(), dry_run: false, force: false })?;
                }
            }
            Command::Stop => self.stop()?,
        }
        Ok(false)
    }

    /// The task that commands are about; says so when there is none.
    fn task(&self) -> Option<TaskRef> {
        let stand = self.shared.known().stand;
        let task = match stand {
            Stand::Idle => None,
            Stand::Working(At { number, .. }) | Stand::Ended(At { number, .. }, _) => number.to_string().parse().ok(),
        };
        if task.is_none() {
            self.context.note("nothing was asked for yet");
        }
        task
    }

    fn cost(&self) -> Result<(), Failure> {
        if let Some(task) = self.task() {
            let task: TaskView =
                self.context.client().get(&format!("/api/tasks/{}", segment(task.as_str())))?.read()?;
            let words = task.cost.as_ref().map_or_else(|| "?".to_owned(), money::words);
            self.context.print(&format!("task {}: {words}\n", task.number))?;
        }
        let state: StateView = self.context.client().get("/api/state")?.read()?;
        let spent = state.spending.as_ref().map_or_else(|| "?".to_owned(), money::spending);
        self.context.print(&format!("{}\n", self.context.out().paint(Tone::Faint, &format!("in all: {spent}"))))
    }

    fn stop(&self) -> Result<(), Failure> {
        let stand = self.shared.known().stand;
        let Stand::Working(At { id, number }) = stand else {
            self.context.note("nothing works");
            return Ok(());
        };
        match self.context.client().post(&format!("/api/tasks/{id}/cancel"), &json!({})) {
            Ok(_) => self.context.note(&format!("cancelling task {number}")),
            Err(error) if error.is(Code::AlreadySettled) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn begin_anew(&mut self) {
        let mut known = self.shared.known();
        match known.stand {
            Stand::Working(At { number, .. }) => {
                self.context.note(&format!("task {number} still works; /stop ends it"));
            }
            Stand::Idle | Stand::Ended(..) => {
                known.stand = Stand::Idle;
                self.context.note("what you say next begins another conversation");
            }
        }
    }
}

/// What was only gone through again is none.
fn is_conversation(task: &TaskView) -> bool {
    task.kind == WorkKind::Agent.as_str() && task.from.is_none_or(|from| !from.replay)
}
