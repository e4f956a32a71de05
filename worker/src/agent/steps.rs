//! Calls of tools: done in the order of the calls, those that only read beside each other, and told in words.

use super::conversation::IMAGE_BYTES;
use super::owner;
use super::policy::{Act, Gate};
use super::programs::{At, Programs};
use super::skills::{self, Skill};
use crate::command::Tools;
use crate::link::Mailbox;
use crate::model::{Line, Speech};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ouroboros_proto::agent::{CallImage, CallOutcome, CallResult, Job, Message, Mode, Part, TOLD_CALL, ToolSpec};
use ouroboros_proto::kind::{AttemptId, BootMicros, Ending, clock};
use ouroboros_proto::wire::AgentWork;
use ouroboros_shapes::Source;
use ouroboros_tools::{Access, Call, Code, Fence, Folder, Image, Limits, Outcome, Registry, Seen, Versions};
use serde_json::Value;
use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

/// Calls that run beside each other at most.
const AT_ONCE: usize = 8;
/// Bytes of all results of one round: what comes later is left out, and said to be.
const ROUND_BYTES: usize = 1 << 20;
/// Said in place of such a result.
const LEFT_OUT: &str =
    "It was done, and its result is left out: the results of this round are too long together. Ask for less at once.";
/// Said in place of an image beyond that.
const IMAGE_LEFT_OUT: &str =
    "The image is left out: the images of this round are too large together. Look at fewer at once.";
/// Characters of a call's arguments that are shown.
const SHOWN: usize = 100;

/// A call as the model wrote it. Calls are the same when they ask for the same, whatever their ids.
#[derive(Debug)]
pub struct Asked<'a> {
    /// Its id.
    pub id: &'a str,
    /// The tool.
    pub name: &'a str,
    /// What the tool is given.
    pub arguments: &'a str,
}

impl<'a> Asked<'a> {
    /// The provider's id of the call.
    pub fn id(&self) -> &'a str {
        self.id
    }

    /// The tool.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// The arguments as the model wrote them.
    pub fn arguments(&self) -> &'a str {
        self.arguments
    }
}

impl PartialEq for Asked<'_> {
    fn eq(&self, other: &Self) -> bool {
        (self.name, self.arguments) == (other.name, other.arguments)
    }
}

/// The calls of a turn, in their order.
pub fn calls(message: &Message) -> Vec<Asked<'_>> {
    message.parts.iter().filter_map(asked).collect()
}

fn asked(part: &Part) -> Option<Asked<'_>> {
    match part {
        Part::ToolCall { id, name, arguments, .. } => Some(Asked { id, name, arguments }),
        Part::Text { .. }
        | Part::Image { .. }
        | Part::Reasoning { .. }
        | Part::ToolResult { .. }
        | Part::Refusal { .. }
        | Part::Native { .. } => None,
    }
}

/// What calls come to that are not done.
pub fn refused(calls: &[Asked<'_>], code: &str, words: &str) -> Vec<CallResult> {
    calls.iter().map(|call| not_done(call, CallOutcome::Refusal, code, words)).collect()
}

/// What calls come to of which nobody knows whether they were done.
pub fn unknown(calls: &[Asked<'_>], code: &str, words: &str) -> Vec<CallResult> {
    calls.iter().map(|call| not_done(call, CallOutcome::Unknown, code, words)).collect()
}

/// What a call came to that no tool was run for.
pub fn not_done(call: &Asked<'_>, outcome: CallOutcome, code: &str, words: &str) -> CallResult {
    CallResult {
        call: call.id.to_owned(),
        name: call.name.to_owned(),
        outcome,
        code: Some(code.to_owned()),
        text: words.to_owned(),
        images: Vec::new(),
        millis: 0,
        decided: None,
        confined: None,
        receipt: None,
        whole: None,
    }
}

/// The tools of an attempt, and what they work on.
pub struct Steps<'t> {
    specs: Vec<ToolSpec>,
    skills: Vec<Skill>,
    desk: RefCell<Desk>,
    programs: Programs<'t>,
    mode: Mode,
    folder: String,
}

/// Where skills may lie: in the folder, and where the owner keeps those for all folders. What is nearer counts first.
fn skill_places(work: &AgentWork, folder: &Path) -> Vec<PathBuf> {
    let near = skills::PLACES.iter().map(|place| folder.join(place));
    near.chain(work.skills.iter().map(PathBuf::from)).collect()
}

/// What calls beside each other share.
struct Desk {
    registry: Registry,
    folder: Folder,
    versions: Versions,
    seen: Seen,
    source: Source,
    limits: Limits,
}

impl<'t> Steps<'t> {
    /// Opens the folder.
    ///
    /// # Errors
    /// It is not there or cannot be looked into.
    pub fn ready(work: &AgentWork, job: &Job, tools: &'t Tools, attempt: AttemptId) -> io::Result<Self> {
        let mut fence = Fence::none();
        for path in &work.fenced {
            fence.add(Path::new(path))?;
        }
        let folder = Folder::open(Path::new(&work.folder), fence)?;
        let registry = Registry::all();
        let mut specs = registry.specs();
        specs.push(owner::spec());
        let skills = skills::find(&skill_places(work, folder.path()));
        if !skills.is_empty() {
            specs.push(skills::spec());
        }
        let versions = Versions::open(Path::new(&work.versions))?;
        // What an attempt that was killed left half written.
        versions.sweep(&folder)?;
        let source = Source::new().map_err(io::Error::other)?;
        let programs = Programs::ready(tools, attempt, work, folder.path(), job.path.as_deref())?;
        let path = folder.path().display().to_string();
        let desk =
            RefCell::new(Desk { registry, folder, versions, seen: Seen::nothing(), source, limits: Limits::default() });
        Ok(Self { specs, skills, desk, programs, mode: job.mode, folder: path })
    }

    /// Ends what still runs; returns when nothing does.
    pub fn close(&self, mailbox: &Mailbox) {
        self.programs.close(mailbox);
    }

    /// The tools as the model is told of them.
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// What the model is told of the skills there are.
    pub fn skills(&self) -> Option<String> {
        skills::told(&self.skills)
    }

    /// Reads a skill. Its folder may be read from then on, unless it lies in a closed place.
    fn skill(&self, call: &Asked<'_>) -> CallResult {
        let (result, skill) = skills::take(call, &self.skills);
        if let Some(skill) = skill.filter(|skill| !skill.folder.starts_with(&self.folder)) {
            let _ = self.desk.borrow_mut().folder.add_readable(&skill.folder);
        }
        result
    }

    /// Does the calls; `number` is the place of the first among all calls of the task. What is not begun when the attempt ends is
    /// not done. The error is why it ends while it waits for its owner: a later attempt asks again.
    pub fn take(
        &self,
        calls: &[Asked<'_>],
        mut number: u32,
        line: &mut Line<'_>,
        speech: &mut Speech,
    ) -> Result<Vec<CallResult>, Ending> {
        let (mut results, mut bytes, mut seen) = (Vec::with_capacity(calls.len()), 0_usize, 0_usize);
        let mut left = calls;
        while let Some(first) = left.first() {
            let beside =
                left.iter().take(AT_ONCE).take_while(|call| self.desk.borrow().is_parallel(call)).count().max(1);
            let (now, later) = left.split_at(beside.min(left.len()));
            left = later;
            let done = match now {
                [call] if call.name == owner::NAME => vec![owner::ask(call, number, line, speech)?],
                [call] if call.name == skills::NAME => vec![self.skill(call)],
                [_] => vec![self.alone(first, number, line, speech)?],
                _ => {
                    // Time that the owner took does not count.
                    let cancelled = line.watch();
                    let done = self.desk.borrow().beside(now, &cancelled);
                    self.again_where_allowed(now, done, number, line, speech)?
                }
            };
            number = number.saturating_add(u32::try_from(now.len()).unwrap_or(u32::MAX));
            for (call, mut result) in now.iter().zip(done) {
                speech.say(&told(call, &result));
                bytes = bytes.saturating_add(result.text.len());
                if bytes > ROUND_BYTES && result.outcome == CallOutcome::Ok {
                    LEFT_OUT.clone_into(&mut result.text);
                    result.images.clear();
                }
                let more = result.images.iter().map(|image| image.data.len()).sum::<usize>();
                if more > 0 && seen.saturating_add(more) > IMAGE_BYTES {
                    result.images.clear();
                    IMAGE_LEFT_OUT.clone_into(&mut result.text);
                }
                seen = seen.saturating_add(result.images.iter().map(|image| image.data.len()).sum());
                results.push(result);
            }
        }
        Ok(results)
    }

    /// Does one call by itself, as far as it may be done.
    fn alone(
        &self,
        call: &Asked<'_>,
        number: u32,
        line: &mut Line<'_>,
        speech: &mut Speech,
    ) -> Result<CallResult, Ending> {
        let gate = Gate::new(self.mode, &self.folder, call.name, number);
        if self.desk.borrow().access(call) == Some(Access::Write)
            && let Err(refusal) = gate.pass(&Act::Change, line, speech)
        {
            return finished(&gate, Done::from(call, clock::boot(), refusal));
        }
        let done = {
            let cancelled = line.watch();
            let readable = self.desk.borrow().folder.readable().map(Path::to_owned).collect();
            let at = At::new(&self.programs, &gate, readable, line, speech);
            let done = self.desk.borrow().one(call, &cancelled, Some(&at));
            match at.refusal() {
                Some(refusal) => Done::from(call, clock::boot(), refusal),
                None => done,
            }
        };
        let done = self.reaching_outside(call, done, &gate, line, speech);
        finished(&gate, done)
    }

    /// Asks for what was refused because it lies outside.
    fn again_where_allowed(
        &self,
        calls: &[Asked<'_>],
        done: Vec<Done>,
        first: u32,
        line: &mut Line<'_>,
        speech: &mut Speech,
    ) -> Result<Vec<CallResult>, Ending> {
        let mut results = Vec::with_capacity(done.len());
        for ((number, call), done) in (first..).zip(calls).zip(done) {
            let gate = Gate::new(self.mode, &self.folder, call.name, number);
            let done = self.reaching_outside(call, done, &gate, line, speech);
            results.push(finished(&gate, done)?);
        }
        Ok(results)
    }

    /// A call that only reads and was refused because it lies outside of the folder is done again when that is allowed.
    fn reaching_outside(
        &self,
        call: &Asked<'_>,
        done: Done,
        gate: &Gate<'_>,
        line: &mut Line<'_>,
        speech: &mut Speech,
    ) -> Done {
        let reads = self.desk.borrow().access(call) == Some(Access::Read);
        let Some(directory) = done.outside(&self.folder).filter(|_| reads) else { return done };
        let shown = directory.display().to_string();
        if let Err(refusal) = gate.pass(&Act::ReadOutside { directory: &shown }, line, speech) {
            return Done::from(call, clock::boot(), refusal);
        }
        if let Err(error) = self.desk.borrow_mut().folder.add_readable(&directory) {
            return Done::from(call, clock::boot(), Outcome::io(&format!("{shown} could not be opened"), &error));
        }
        let cancelled = line.watch();
        self.desk.borrow().one(call, &cancelled, None)
    }
}

/// A call that is done, with what of its outcome is not told to the model.
struct Done {
    result: CallResult,
    code: Option<Code>,
    facts: Value,
}

impl Done {
    fn from(call: &Asked<'_>, since: BootMicros, outcome: Outcome) -> Self {
        let result = CallResult {
            call: call.id.to_owned(),
            name: call.name.to_owned(),
            outcome: outcome.class,
            code: outcome.code.map(|code| code.as_str().to_owned()),
            text: outcome.text,
            images: outcome.images.into_iter().map(carried).collect(),
            millis: clock::boot().since(since).get(),
            decided: None,
            confined: None,
            receipt: None,
            whole: None,
        };
        Self { result, code: outcome.code, facts: outcome.facts }
    }

    /// The directory outside of the folder that it would have to look into.
    fn outside(&self, folder: &str) -> Option<PathBuf> {
        let path = self.facts.get("path").filter(|_| self.code == Some(Code::Outside))?.as_str()?;
        let path = Path::new(folder).join(path).canonicalize().ok()?;
        if path.is_dir() { Some(path) } else { path.parent().map(Path::to_owned) }
    }
}

fn finished(gate: &Gate<'_>, done: Done) -> Result<CallResult, Ending> {
    match gate.ended() {
        Some(ending) => Err(ending),
        None => Ok(CallResult {
            decided: gate.decided(),
            confined: gate.confinement(),
            receipt: done.facts.get("receipt").cloned(),
            ..done.result
        }),
    }
}

impl Desk {
    /// Does calls beside each other; where no thread is to be had, one after the other.
    fn beside(&self, calls: &[Asked<'_>], cancelled: &(dyn Fn() -> bool + Sync)) -> Vec<Done> {
        thread::scope(|scope| {
            let begun: Vec<_> = calls
                .iter()
                .map(|call| (call, thread::Builder::new().spawn_scoped(scope, || self.one(call, cancelled, None))))
                .collect();
            let end = |(call, thread): (&Asked<'_>, io::Result<thread::ScopedJoinHandle<'_, Done>>)| match thread {
                Ok(thread) => thread.join().unwrap_or_else(|_| died(call)),
                Err(_) => self.one(call, cancelled, None),
            };
            begun.into_iter().map(end).collect()
        })
    }

    fn is_parallel(&self, call: &Asked<'_>) -> bool {
        self.registry.get(call.name).is_ok_and(|tool| tool.parallel_safe())
    }

    fn access(&self, call: &Asked<'_>) -> Option<Access> {
        self.registry.get(call.name).ok().map(|tool| tool.access())
    }

    /// Does one call. Calls beside others run no programs: those are not for that.
    fn one(&self, asked: &Asked<'_>, cancelled: &dyn Fn() -> bool, at: Option<&At<'_, '_>>) -> Done {
        let since = clock::boot();
        let fetch = |request: &ouroboros_fetch::Request, _: &dyn Fn() -> bool| match at {
            Some(at) => at.fetch(request),
            None => At::no_fetch(),
        };
        let call = Call {
            folder: &self.folder,
            versions: &self.versions,
            limits: &self.limits,
            seen: &self.seen,
            mask: &|text| self.source.mask(text),
            fetch: at.is_some().then_some(&fetch),
            // A route of which it is not known that it takes none is asked.
            images: true,
            tools: None,
            cancelled,
            programs: at.map(|at| -> &dyn ouroboros_tools::programs::Programs { at }),
        };
        let outcome: Outcome =
            if cancelled() { Outcome::cancelled() } else { self.registry.run(asked.name, &call, asked.arguments) };
        Done::from(asked, since, outcome)
    }
}

fn carried(image: Image) -> CallImage {
    CallImage { media_type: image.media_type.to_owned(), data: STANDARD.encode(image.bytes) }
}

/// A tool that panicked may have done a part.
fn died(call: &Asked<'_>) -> Done {
    let words = "The tool died. Whether it did a part is not known: look before you do it again.";
    Done { result: not_done(call, CallOutcome::Unknown, "tool_died", words), code: None, facts: Value::Null }
}

/// The words of a note, on one line.
fn noted(call: &Asked<'_>) -> Option<String> {
    let arguments: serde_json::Value = (call.name == "note").then(|| serde_json::from_str(call.arguments).ok())??;
    let words: Vec<&str> = arguments.get("text")?.as_str()?.split_whitespace().collect();
    Some(words.join(" ").chars().filter(|letter| !letter.is_control()).collect())
}

/// A call and what came of it, on a line.
pub fn told(call: &Asked<'_>, result: &CallResult) -> String {
    if let Some(words) = noted(call).filter(|_| result.outcome == CallOutcome::Ok) {
        return format!("{TOLD_CALL}note: {words}");
    }
    let mut arguments: String = call.arguments.chars().filter(|letter| !letter.is_control()).take(SHOWN).collect();
    if call.arguments.chars().count() > SHOWN {
        arguments.push('…');
    }
    let end = match (&result.outcome, &result.code) {
        (CallOutcome::Ok, _) => String::new(),
        (_, Some(code)) => format!(" — {}", code.replace('_', " ")),
        (_, None) => " — not done".to_owned(),
    };
    format!("{TOLD_CALL}{} {arguments}{end}", call.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_told_in_its_own_words_and_other_calls_as_they_are() {
        let asked = |name, arguments| Asked { id: "a", name, arguments };
        let done = |call: &Asked<'_>, outcome| CallResult { outcome, code: None, ..not_done(call, outcome, "", "") };
        let note = asked("note", r#"{"text":"Half is\n done. \u001b[31m"}"#);
        assert_eq!(told(&note, &done(&note, CallOutcome::Ok)), "· note: Half is done. [31m");
        let wrong = asked("note", "{}");
        assert_eq!(told(&wrong, &done(&wrong, CallOutcome::ArgumentError)), "· note {} — not done");
        let read = asked("read_file", r#"{"path":"a"}"#);
        assert_eq!(told(&read, &done(&read, CallOutcome::Ok)), r#"· read_file {"path":"a"}"#);
    }
}
