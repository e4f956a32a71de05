//! Calls of tools: done in the order of the calls, those that only read beside each other, and told in words.

use crate::model::{Line, Speech};
use ouroboros_proto::agent::{CallOutcome, CallResult, Message, Part, ToolSpec};
use ouroboros_proto::kind::clock;
use ouroboros_proto::wire::AgentWork;
use ouroboros_tools::{Call, Fence, Folder, Limits, Outcome, Registry, Versions};
use std::borrow::Cow;
use std::io;
use std::path::Path;
use std::thread;

/// Calls that run beside each other at most.
const AT_ONCE: usize = 8;
/// Bytes of all results of one round: what comes later is left out, and said to be.
const ROUND_BYTES: usize = 1 << 20;
/// Said in place of such a result.
const LEFT_OUT: &str =
    "It was done, and its result is left out: the results of this round are too long together. Ask for less at once.";
/// Characters of a call's arguments that are shown.
const SHOWN: usize = 100;

/// A call as the model wrote it. Calls are the same when they ask for the same, whatever their ids.
#[derive(Debug)]
pub struct Asked<'a> {
    id: &'a str,
    name: &'a str,
    arguments: &'a str,
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
    calls.iter().map(|call| result(call, CallOutcome::Refusal, code, words)).collect()
}

/// What calls come to of which nobody knows whether they were done.
pub fn unknown(calls: &[Asked<'_>], code: &str, words: &str) -> Vec<CallResult> {
    calls.iter().map(|call| result(call, CallOutcome::Unknown, code, words)).collect()
}

fn result(call: &Asked<'_>, outcome: CallOutcome, code: &str, words: &str) -> CallResult {
    CallResult {
        call: call.id.to_owned(),
        name: call.name.to_owned(),
        outcome,
        code: Some(code.to_owned()),
        text: words.to_owned(),
        millis: 0,
    }
}

/// The tools of an attempt, and what they work on.
pub struct Steps {
    registry: Registry,
    specs: Vec<ToolSpec>,
    folder: Folder,
    versions: Versions,
    limits: Limits,
}

impl Steps {
    /// Opens the folder.
    ///
    /// # Errors
    /// It is not there or cannot be looked into.
    pub fn ready(work: &AgentWork) -> io::Result<Self> {
        let mut fence = Fence::none();
        for path in &work.fenced {
            fence.add(Path::new(path))?;
        }
        let folder = Folder::open(Path::new(&work.folder), fence)?;
        let registry = Registry::files();
        let specs = registry.specs();
        let versions = Versions::open(Path::new(&work.versions))?;
        // What an attempt that was killed left half written.
        versions.sweep(&folder)?;
        Ok(Self { registry, specs, folder, versions, limits: Limits::default() })
    }

    /// The tools as the model is told of them.
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// Does the calls. What is not begun when the attempt ends is not done.
    pub fn take(&self, calls: &[Asked<'_>], line: &Line<'_>, speech: &mut Speech) -> Vec<CallResult> {
        let cancelled = line.watch();
        let (mut results, mut bytes) = (Vec::with_capacity(calls.len()), 0_usize);
        let mut left = calls;
        while let Some(first) = left.first() {
            let beside = left.iter().take(AT_ONCE).take_while(|call| self.is_parallel(call)).count().max(1);
            let (now, later) = left.split_at(beside.min(left.len()));
            left = later;
            let done = if now.len() == 1 { vec![self.one(first, &cancelled)] } else { self.beside(now, &cancelled) };
            for (call, mut result) in now.iter().zip(done) {
                speech.say(&told(call, &result));
                bytes = bytes.saturating_add(result.text.len());
                if bytes > ROUND_BYTES && result.outcome == CallOutcome::Ok {
                    LEFT_OUT.clone_into(&mut result.text);
                }
                results.push(result);
            }
        }
        results
    }

    /// Does calls beside each other; where no thread is to be had, one after the other.
    fn beside(&self, calls: &[Asked<'_>], cancelled: &(dyn Fn() -> bool + Sync)) -> Vec<CallResult> {
        thread::scope(|scope| {
            let begun: Vec<_> = calls
                .iter()
                .map(|call| (call, thread::Builder::new().spawn_scoped(scope, || self.one(call, cancelled))))
                .collect();
            let end = |(call, thread): (&Asked<'_>, io::Result<thread::ScopedJoinHandle<'_, CallResult>>)| match thread
            {
                Ok(thread) => thread.join().unwrap_or_else(|_| died(call)),
                Err(_) => self.one(call, cancelled),
            };
            begun.into_iter().map(end).collect()
        })
    }

    fn is_parallel(&self, call: &Asked<'_>) -> bool {
        self.registry.get(call.name).is_ok_and(|tool| tool.parallel_safe())
    }

    fn one(&self, asked: &Asked<'_>, cancelled: &dyn Fn() -> bool) -> CallResult {
        let since = clock::boot();
        let call = Call {
            folder: &self.folder,
            versions: &self.versions,
            limits: &self.limits,
            mask: &|text| Cow::Borrowed(text),
            cancelled,
        };
        let outcome: Outcome =
            if cancelled() { Outcome::cancelled() } else { self.registry.run(asked.name, &call, asked.arguments) };
        CallResult {
            call: asked.id.to_owned(),
            name: asked.name.to_owned(),
            outcome: outcome.class,
            code: outcome.code.map(|code| code.as_str().to_owned()),
            text: outcome.text,
            millis: clock::boot().since(since).get(),
        }
    }
}

/// A tool that panicked may have done a part.
fn died(call: &Asked<'_>) -> CallResult {
    let words = "The tool died. Whether it did a part is not known: look before you do it again.";
    result(call, CallOutcome::Unknown, "tool_died", words)
}

/// A call and what came of it, on a line.
fn told(call: &Asked<'_>, result: &CallResult) -> String {
    let mut arguments: String = call.arguments.chars().filter(|letter| !letter.is_control()).take(SHOWN).collect();
    if call.arguments.chars().count() > SHOWN {
        arguments.push('…');
    }
    let end = match (&result.outcome, &result.code) {
        (CallOutcome::Ok, _) => String::new(),
        (_, Some(code)) => format!(" — {}", code.replace('_', " ")),
        (_, None) => " — not done".to_owned(),
    };
    format!("· {} {arguments}{end}", call.name)
}
