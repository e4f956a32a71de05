//! Calls of tools: done in the order of the calls, those that only read beside each other, and told in words.

use super::conversation::IMAGE_BYTES;
use super::desk::{Desk, Done};
use super::owner;
use super::policy::{Act, Gate, Judge, Looks, Safety, guarded};
use super::programs::{At, Programs};
use super::skills::{self, Skill};
use super::transcript::Transcript;
use crate::command::Tools;
use crate::link::Mailbox;
use crate::model::{Line, Speech};
use ouroboros_proto::agent::{CallOutcome, CallResult, Facts, Job, Message, Mode, Part, TOLD_CALL, ToolSpec};
use ouroboros_proto::kind::{AttemptId, Ending, clock};
use ouroboros_proto::wire::AgentWork;
use ouroboros_tools::{Access, Fence, Folder, Limits, Outcome, Registry, Seen, Versions};
use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

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
    safety: Safety,
}

/// Where skills may lie: in the folder, and where the owner keeps those for all folders. What is nearer counts first.
fn skill_places(work: &AgentWork, folder: &Path) -> Vec<PathBuf> {
    let near = skills::PLACES.iter().map(|place| folder.join(place));
    near.chain(work.skills.iter().map(PathBuf::from)).collect()
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
        let mut folder = Folder::open(Path::new(&work.folder), fence)?;
        let guards = guarded(folder.path(), job.mode);
        for guard in &guards {
            folder.guard(guard.path.clone(), guard.code);
        }
        let registry = Registry::all();
        let mut specs = registry.specs();
        specs.push(owner::spec());
        let skills = skills::find(&skill_places(work, folder.path()));
        if !skills.is_empty() {
            specs.push(skills::spec());
        }
        let versions = Versions::at(Path::new(&work.versions));
        // What an attempt that was killed left half written.
        versions.sweep(&folder)?;
        let programs = Programs::ready(tools, attempt, work, folder.path(), job.path.as_deref(), &guards)?;
        let path = folder.path().display().to_string();
        // What cannot be read is not known.
        let facts: Facts = serde_json::from_slice(&work.facts).unwrap_or_default();
        let desk = RefCell::new(Desk {
            registry,
            folder,
            versions,
            seen: Seen::nothing(),
            source: OnceLock::new(),
            limits: Limits::default(),
            images: facts.images != Some(false),
        });
        Ok(Self { specs, skills, desk, programs, mode: job.mode, folder: path, safety: Safety::of(work, job) })
    }

    /// Ends what still runs; returns when nothing does.
    pub fn close(&self, mailbox: &Mailbox) {
        self.programs.close(mailbox);
    }

    /// The tools as the model is told of them.
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// Whether its route takes images, as far as that is known.
    pub fn takes_images(&self) -> bool {
        self.desk.borrow().images
    }

    /// What the model is told of the skills there are.
    pub fn skills(&self) -> Option<String> {
        skills::told(&self.skills)
    }

    /// Whether something may change by these calls before they are durable. Looking changes nothing, a program runs only once its
    /// process is recorded, which comes after, and a service that is ended was this attempt's own.
    pub fn may_change(&self, calls: &[Asked<'_>]) -> bool {
        let desk = self.desk.borrow();
        calls.iter().any(|call| match desk.access(call) {
            Some(Access::Read | Access::Run) => false,
            Some(Access::Write | Access::Network) => true,
            // Of no tool on files: those ask, and note.
            None => false,
        })
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
    /// not done. The error is what the first ones came to, and why the attempt ends while one waits: a later attempt asks again.
    pub fn take(
        &self,
        calls: &[Asked<'_>],
        mut number: u32,
        transcript: &mut Transcript,
        line: &mut Line<'_>,
        speech: &mut Speech,
    ) -> Result<Vec<CallResult>, (Vec<CallResult>, Ending)> {
        let judge = Judge::new(&self.safety, transcript);
        let (mut results, mut bytes, mut seen) = (Vec::with_capacity(calls.len()), 0_usize, 0_usize);
        let mut left = calls;
        while let Some(first) = left.first() {
            let beside =
                left.iter().take(AT_ONCE).take_while(|call| self.desk.borrow().is_parallel(call)).count().max(1);
            let (now, later) = left.split_at(beside.min(left.len()));
            left = later;
            let done = match now {
                [call] if call.name == owner::NAME => owner::ask(call, number, line, speech).map(|done| vec![done]),
                [call] if call.name == skills::NAME => Ok(vec![self.skill(call)]),
                [_] => self.alone(first, self.gate(first, number, &judge), line, speech).map(|done| vec![done]),
                _ => {
                    // Time that the owner took does not count.
                    let cancelled = line.watch();
                    let done = self.desk.borrow().beside(now, number, &cancelled);
                    let gates = (number..).zip(now).map(|(number, call)| self.gate(call, number, &judge));
                    self.again_where_allowed(now, done, gates, line, speech)
                }
            };
            let done = match done {
                Ok(done) => done,
                Err(ending) => return Err((results, ending)),
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
        gate: Gate<'_>,
        line: &mut Line<'_>,
        speech: &mut Speech,
    ) -> Result<CallResult, Ending> {
        if self.desk.borrow().access(call) == Some(Access::Write)
            && let Err(refusal) = gate.pass(&Act::Change, line, speech)
        {
            return finished(&gate, Done::from(call, clock::boot(), refusal));
        }
        let done = {
            let cancelled = line.watch();
            let readable = self.desk.borrow().folder.readable().map(Path::to_owned).collect();
            let at = At::new(&self.programs, &gate, readable, line, speech);
            let done = self.desk.borrow().one(call, &|| cancelled(gate.number()), Some(&at));
            match at.refusal() {
                Some(refusal) => Done::from(call, clock::boot(), refusal),
                None => self.noticed(done),
            }
        };
        let done = self.reaching_outside(call, done, &gate, line, speech);
        finished(&gate, done)
    }

    /// A call that changed something guarded where that is only noticed says so.
    fn noticed(&self, mut done: Done) -> Done {
        let paths = self.desk.borrow().folder.take_noticed();
        if !paths.is_empty() && done.result.outcome == CallOutcome::Ok {
            let paths = paths.join(", ");
            let notice = format!("[ouroboros] core_patch_notice: this changes what keeps Ouroboros safe: {paths}.");
            done.result.text = format!("{notice}\n{}", done.result.text);
        }
        done
    }

    /// What decides about one call.
    fn gate<'a>(&'a self, call: &Asked<'a>, number: u32, judge: &'a dyn Looks) -> Gate<'a> {
        Gate::new(self.mode, &self.folder, call.name, number, judge)
    }

    /// Asks for what was refused because it lies outside.
    fn again_where_allowed<'a>(
        &self,
        calls: &[Asked<'_>],
        done: Vec<Done>,
        gates: impl Iterator<Item = Gate<'a>>,
        line: &mut Line<'_>,
        speech: &mut Speech,
    ) -> Result<Vec<CallResult>, Ending> {
        let mut results = Vec::with_capacity(done.len());
        for ((gate, call), done) in gates.zip(calls).zip(done) {
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
        self.desk.borrow().one(call, &|| cancelled(gate.number()), None)
    }
}

fn finished(gate: &Gate<'_>, done: Done) -> Result<CallResult, Ending> {
    match gate.ended() {
        Some(ending) => Err(ending),
        None => Ok(CallResult {
            text: gate
                .warning()
                .map_or_else(|| done.result.text.clone(), |words| format!("{words}\n{}", done.result.text)),
            decided: gate.decided(),
            confined: gate.confinement(),
            receipt: done.facts.get("receipt").cloned(),
            ..done.result
        }),
    }
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
