//! What calls of tools work with, and doing one of them, alone or beside others.

use super::programs::At;
use super::steps::{Asked, not_done};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ouroboros_proto::agent::{CallImage, CallOutcome, CallResult};
use ouroboros_proto::kind::{BootMicros, clock};
use ouroboros_shapes::Source;
use ouroboros_tools::{Access, Call, Code, Folder, Image, Limits, Outcome, Registry, Seen, Versions};
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;

/// What calls beside each other share.
pub struct Desk {
    pub(super) registry: Registry,
    pub(super) folder: Folder,
    pub(super) versions: Versions,
    pub(super) seen: Seen,
    /// What hides secrets, made when something is first looked at: it takes longer than a short task.
    pub(super) source: OnceLock<Source>,
    pub(super) limits: Limits,
    /// Whether its route takes images. One of which it is not known that it takes none is asked.
    pub(super) images: bool,
}

/// A call that is done, with what of its outcome is not told to the model.
pub struct Done {
    pub(super) result: CallResult,
    pub(super) code: Option<Code>,
    pub(super) facts: Value,
}

impl Done {
    pub fn from(call: &Asked<'_>, since: BootMicros, outcome: Outcome) -> Self {
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
    pub fn outside(&self, folder: &str) -> Option<PathBuf> {
        let path = self.facts.get("path").filter(|_| self.code == Some(Code::Outside))?.as_str()?;
        let path = Path::new(folder).join(path).canonicalize().ok()?;
        if path.is_dir() { Some(path) } else { path.parent().map(Path::to_owned) }
    }
}

impl Desk {
    /// Does calls beside each other; where no thread is to be had, one after the other.
    pub fn beside(&self, calls: &[Asked<'_>], first: u32, cancelled: &(dyn Fn(u32) -> bool + Sync)) -> Vec<Done> {
        let one = |call: &Asked<'_>, number| self.one(call, &|| cancelled(number), None);
        thread::scope(|scope| {
            let begun: Vec<_> = (first..)
                .zip(calls)
                .map(|(number, call)| {
                    (call, number, thread::Builder::new().spawn_scoped(scope, move || one(call, number)))
                })
                .collect();
            begun
                .into_iter()
                .map(|(call, number, thread)| match thread {
                    Ok(thread) => thread.join().unwrap_or_else(|_| died(call)),
                    Err(_) => one(call, number),
                })
                .collect()
        })
    }

    fn source(&self) -> io::Result<&Source> {
        if let Some(source) = self.source.get() {
            return Ok(source);
        }
        let source = Source::new().map_err(io::Error::other)?;
        Ok(self.source.get_or_init(|| source))
    }

    pub fn is_parallel(&self, call: &Asked<'_>) -> bool {
        self.registry.get(call.name).is_ok_and(|tool| tool.parallel_safe())
    }

    pub fn access(&self, call: &Asked<'_>) -> Option<Access> {
        self.registry.get(call.name).ok().map(|tool| tool.access())
    }

    /// Does one call. Calls beside others run no programs: those are not for that.
    pub fn one(&self, asked: &Asked<'_>, cancelled: &dyn Fn() -> bool, at: Option<&At<'_, '_>>) -> Done {
        let since = clock::boot();
        let source = match self.source() {
            Ok(source) => source,
            Err(error) => return Done::from(asked, since, Outcome::io("What hides secrets cannot be made", &error)),
        };
        let fetch = |request: &ouroboros_fetch::Request, _: &dyn Fn() -> bool| match at {
            Some(at) => at.fetch(request),
            None => At::no_fetch(),
        };
        let call = Call {
            folder: &self.folder,
            versions: &self.versions,
            limits: &self.limits,
            seen: &self.seen,
            mask: &|text| source.mask(text),
            fetch: at.is_some().then_some(&fetch),
            images: self.images,
            tools: None,
            cancelled,
            programs: at.map(|at| -> &dyn ouroboros_tools::programs::Programs { at }),
        };
        let outcome: Outcome =
            if cancelled() { Outcome::cancelled() } else { self.registry.run(asked.name, &call, asked.arguments) };
        Done::from(asked, since, outcome)
    }
}

/// An image as it is recorded.
pub fn carried(image: Image) -> CallImage {
    CallImage { media_type: image.media_type.to_owned(), data: STANDARD.encode(image.bytes) }
}

/// A tool that panicked may have done a part.
fn died(call: &Asked<'_>) -> Done {
    let words = "The tool died. Whether it did a part is not known: look before you do it again.";
    Done { result: not_done(call, CallOutcome::Unknown, "tool_died", words), code: None, facts: Value::Null }
}
