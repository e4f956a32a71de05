//! The task that works, followed on a thread of its own.

use super::lines::{Lines, Page};
use super::stand::{At, Shared};
use super::talk::{PATIENCE, Wishes};
use super::voice::Voice;
use crate::cli::follow::telling::{self, Aside, Telling, Told};
use crate::cli::follow::{Position, Step, position};
use crate::cli::{Context, Failure, run};
use crate::client::{ClientError, Message, query};
use crate::render::{self, Look, Tone, clean, money};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ouroboros_proto::api::{Code, EntryView, EventView, LiveOutput, PausePhase, TaskView};
use ouroboros_proto::kind::{BootMicros, Millis, Stream, clock};
use std::thread;

/// Exit codes of a task that waits, as `run` gives them.
const PAUSED: u8 = 4;
const WAITS: u8 = 5;
const FAILED: u8 = 1;
/// Longest pause between two tries to reach the server.
const PAUSE: Millis = Millis::seconds(1);

/// Follows one task, and those that go on from it by themselves.
pub struct Follower {
    context: Context,
    shared: Shared,
    voice: Voice,
    wishes: Wishes,
    look: Look,
    at: At,
    told: Progress,
    /// Everything that was recorded is known: what is known now is true now.
    caught_up: bool,
    /// The request that was shown last.
    shown: Option<u32>,
}

/// How far a task was shown.
struct Progress {
    position: Position,
    telling: Telling,
    page: Page,
    aside: Aside,
    err: Lines,
    /// What it delivered: its text is shown while it is written.
    delivered: Vec<u8>,
}

impl Progress {
    fn new(look: Look) -> Self {
        Self {
            position: Position::default(),
            telling: Telling::new(look),
            page: Page::new(look),
            aside: Aside::default(),
            err: Lines::default(),
            delivered: Vec::new(),
        }
    }
}

/// What a message came to.
enum Taken {
    More,
    End,
    Broken,
}

impl Follower {
    /// For this task, from its beginning.
    pub fn new(context: &Context, shared: Shared, voice: Voice, wishes: Wishes, at: At) -> Result<Self, Failure> {
        let look = context.out();
        Ok(Self {
            context: context.another()?,
            shared,
            voice,
            wishes,
            look,
            at,
            told: Progress::new(look),
            caught_up: false,
            shown: None,
        })
    }

    /// Begins. The thread ends with the task, or with this process.
    pub fn start(self) -> Result<(), Failure> {
        let begun = thread::Builder::new().name("chat".to_owned()).spawn(move || self.run());
        begun.map(drop).map_err(|error| Failure::io("a thread cannot be started", &error))
    }

    fn run(mut self) {
        loop {
            let at = self.at;
            let ended = self.follow().and_then(|()| self.facts());
            match ended.and_then(|task| self.end(&task)) {
                Ok(Some(next)) => {
                    self = Self { at: next, told: Progress::new(self.look), caught_up: false, shown: None, ..self };
                }
                Ok(None) => return,
                Err(failure) => {
                    let (words, number) = (clean(&failure.message()), at.number);
                    self.note(&format!(
                        "task {number} is followed no more: {words}; `/quit` and `ouroboros chat --resume {number}`"
                    ));
                    self.shared.ended(at, crate::cli::OURS);
                    return;
                }
            }
        }
    }

    /// Shows what it does until it has ended.
    fn follow(&mut self) -> Result<(), Failure> {
        loop {
            let position = self.told.position;
            let mut wanted = vec![
                ("output", Some("true".to_owned())),
                ("from_stdout", Some(position.stdout.to_string())),
                ("from_stderr", Some(position.stderr.to_string())),
            ];
            wanted.extend(position.of_words());
            let target = query(&format!("/api/tasks/{}/events", self.at.id), &wanted);
            let opened =
                self.trying(|follower| follower.context.client().events(&target, follower.told.position.event));
            let mut stream = match opened {
                Err(failure) if failure.is(Code::EventsExpired) && self.told.position.event.is_some() => {
                    self.told.position.event = None;
                    continue;
                }
                // It has ended so long ago that there is nothing to follow.
                Err(failure) if failure.is(Code::EventsExpired) => return Ok(()),
                opened => opened.map_err(position::or_too_old)?,
            };
            let mut open = true;
            while open {
                while let Some(message) = stream.next() {
                    match self.take(&message)? {
                        Taken::More => {}
                        Taken::End => return Ok(()),
                        Taken::Broken => open = false,
                    }
                }
                open = open
                    && match stream.read() {
                        Ok(more) => more || stream.has_next(),
                        Err(ClientError::Lost(_)) => false,
                        Err(error) => return Err(error.into()),
                    };
            }
        }
    }

    fn take(&mut self, message: &Message) -> Result<Taken, Failure> {
        match message.event.as_str() {
            "event" => self.take_event(message)?,
            "caught_up" => {
                self.caught_up = true;
                self.stand()?;
            }
            "output" => self.take_output(&message.data)?,
            "piece" => {
                let told = self.told.telling.piece(telling::piece(message)?);
                self.show(told);
            }
            "entry" => {
                if let Some(EntryView { place, entry }) = telling::entry(message)?
                    && self.told.position.take_entry(place)
                {
                    let told = self.told.telling.entry(&entry);
                    self.show(told);
                }
            }
            "end" => return Ok(Taken::End),
            "error" => return Ok(Taken::Broken),
            _ => {}
        }
        Ok(Taken::More)
    }

    /// Events that this build does not know change nothing here.
    fn take_event(&mut self, message: &Message) -> Result<(), Failure> {
        let Ok(EventView { seq, event, .. }) = serde_json::from_str::<EventView>(&message.data) else { return Ok(()) };
        if !self.told.position.take_event(message.id.unwrap_or(seq.get())) {
            return Ok(());
        }
        self.told.position.follow_attempts(&event);
        match Step::of(&event) {
            Some(Step::Heard(request)) => {
                let mut known = self.shared.known();
                if known.asked.as_ref().is_some_and(|asked| asked.request == request) {
                    known.asked = None;
                }
            }
            Some(Step::Asks | Step::Paused(_) | Step::Model(_) | Step::Held) if self.caught_up => self.stand()?,
            Some(Step::Started | Step::Resumed) => self.shared.known().waits = None,
            Some(Step::Again) if self.caught_up => self.note("its attempt ended, another one follows"),
            _ => {}
        }
        Ok(())
    }

    /// Says what the task waits for, and asks what it asks.
    fn stand(&mut self) -> Result<(), Failure> {
        let task = self.facts()?;
        if task.status.is_settled() {
            return Ok(());
        }
        let number = task.number;
        if let Some(request) = task.request.as_deref().filter(|request| self.shown != Some(request.request)) {
            self.shown = Some(request.request);
            let words = format!("{}{}", render::request::whole(request), render::request::hint(&request.asks));
            // Before it is shown: the next line is the answer.
            self.shared.known().asked = Some(request.clone());
            self.flush();
            self.voice.say(words.trim_end());
        }
        let paused = task.pause.filter(|pause| pause.phase != PausePhase::Resumed);
        let waits = match paused {
            Some(pause) => {
                let limit = pause.limit.as_str();
                self.note(&format!(
                    "paused, the {limit} limit leaves too little; `ouroboros show {number}` says how it goes on"
                ));
                Some(PAUSED)
            }
            None if task.wait.is_some() => {
                self.note(&format!("waits: {}", clean(task.reason.as_deref().unwrap_or("there is no model now"))));
                Some(WAITS)
            }
            None => task.request.is_some().then_some(WAITS),
        };
        self.shared.known().waits = waits;
        Ok(())
    }

    fn take_output(&mut self, data: &str) -> Result<(), Failure> {
        let malformed = |words: String| Failure::from(ClientError::Malformed(words));
        let output: LiveOutput = serde_json::from_str(data).map_err(|error| malformed(error.to_string()))?;
        let bytes = STANDARD.decode(&output.data).map_err(|error| malformed(error.to_string()))?;
        let Some(new) = self.told.position.take_output(&output, bytes.len()) else { return Ok(()) };
        let bytes = bytes.get(new.skip..).unwrap_or_default();
        if new.missing > 0 {
            self.note(&format!("{} bytes are not kept and are left out here", new.missing));
        }
        match output.stream {
            Stream::Stdout => self.told.delivered.extend_from_slice(bytes),
            Stream::Stderr => {
                let aside = self.told.aside.take(bytes);
                let text = self.told.err.take(&aside);
                self.aside(&text);
            }
        }
        Ok(())
    }

    fn show(&mut self, told: Vec<Told>) {
        for told in told {
            match told {
                Told::Text(text) => {
                    let text = self.told.page.take(&text);
                    self.voice.say(&text);
                }
                Told::TextEnds => {
                    let text = self.told.page.finish();
                    self.voice.say(&text);
                }
                Told::Line(line) => self.voice.say(&line),
                // They were shown while they were written.
                Told::Words(_) => {}
            }
        }
    }

    /// Words on the way to the answer, less loud than that.
    fn aside(&self, text: &str) {
        let lines: Vec<String> = text.lines().map(|line| self.look.paint(Tone::Faint, line)).collect();
        self.voice.say(&lines.join("\n"));
    }

    fn note(&self, text: &str) {
        self.aside(&format!("ouroboros: {text}"));
    }

    /// Shows what was begun.
    fn flush(&mut self) {
        let delivered = std::mem::take(&mut self.told.delivered);
        let text = String::from_utf8_lossy(&delivered);
        if text.trim() != self.told.telling.last().trim() {
            let shown = self.told.page.take(&text);
            self.voice.say(&shown);
        }
        let (out, err) = (self.told.page.finish(), self.told.err.finish());
        self.aside(&err);
        self.voice.say(&out);
    }

    /// Says how it ended. What was said too late to be heard is not lost: it is the next task, which is given then.
    fn end(&mut self, task: &TaskView) -> Result<Option<At>, Failure> {
        self.flush();
        let code = task.exit_code.unwrap_or(FAILED);
        let messages = task.agent.iter().flat_map(|agent| &agent.messages);
        let unheard: Vec<&str> =
            messages.filter(|message| message.taken.is_none()).map(|message| message.text.as_str()).collect();
        let over = unheard.is_empty() || task.cancel_requested;
        if over {
            // Before it is told: who leaves then leaves with its exit code.
            self.shared.ended(self.at, code);
        }
        if code != 0 {
            let reason = task.reason.as_deref().unwrap_or_else(|| task.status.as_str());
            self.note(&format!("task {}: {}", task.number, clean(reason)));
        }
        self.note(&task.cost.as_ref().map_or_else(|| "?".to_owned(), money::words));
        if over {
            return Ok(None);
        }
        let next = self.wishes.task(unheard.join("\n\n"), Some(task.id));
        let accepted = run::submit(&self.context, next, PATIENCE)?;
        let at = At { id: accepted.id, number: accepted.number };
        self.note(&format!("it had ended before it heard that; task {} goes on with it", at.number));
        self.shared.works(at);
        Ok(Some(at))
    }

    fn facts(&mut self) -> Result<TaskView, Failure> {
        let target = format!("/api/tasks/{}", self.at.id);
        self.trying(|follower| follower.context.client().get(&target)?.read())
    }

    /// Asks until there is an answer, for a bounded time.
    fn trying<T>(&self, ask: impl Fn(&Self) -> Result<T, ClientError>) -> Result<T, Failure> {
        let mut end: Option<BootMicros> = None;
        let mut pause = Millis::new(10);
        loop {
            let error = match ask(self) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let end = *end.get_or_insert_with(|| clock::boot().plus(PATIENCE));
            if !error.passes_with_its_server() || clock::boot() >= end {
                return Err(error.into());
            }
            thread::sleep(pause.duration());
            pause = Millis::new(pause.get().saturating_mul(2)).min(PAUSE);
        }
    }
}
