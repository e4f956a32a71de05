//! Which tools there are. What is listed, looked up and run comes from one table, so a name that is listed can be called.

use crate::folder::Folder;
use crate::limits::Limits;
use crate::outcome::{CallOutcome, Code, Outcome};
use crate::programs::{self, Programs};
use crate::seen::Seen;
use crate::versions::Versions;
use crate::{
    edit_batch, edit_text, list_files, list_tools, note, patch, read_file, search, view_image, web_fetch, write_file,
};
use ouroboros_proto::agent::ToolSpec;
use serde_json::json;
use std::borrow::Cow;

/// Names that a miss tells, at most.
const NAMES_TOLD: usize = 12;

/// Hides secrets in a text.
pub type Mask<'a> = &'a dyn Fn(&str) -> Cow<'_, str>;

/// Fetches a page, in a process of its own; ends early when the second argument says so.
pub type Fetch<'a> = &'a dyn Fn(&ouroboros_fetch::Request, &dyn Fn() -> bool) -> ouroboros_fetch::Answer;

/// What a tool does to files, and to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Looks at them.
    Read,
    /// Changes them.
    Write,
    /// Runs programs, which may do either.
    Run,
    /// Speaks to the network.
    Network,
}

/// What every call of a task shares.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// Where the agent works.
    pub folder: &'a Folder,
    /// Where prior versions go.
    pub versions: &'a Versions,
    /// What the agent knows of files.
    pub seen: &'a Seen,
    /// Bounds.
    pub limits: &'a Limits,
    /// Hides secrets: given whole texts, before anything is cut from them.
    pub mask: Mask<'a>,
    /// The way to the network; `None` while it is off.
    pub fetch: Option<Fetch<'a>>,
    /// Whether the model takes images.
    pub images: bool,
    /// All tools: put in by [`Registry::run`].
    pub tools: Option<&'a Registry>,
    /// Whether the attempt ends; asked often, so it must be cheap.
    pub cancelled: &'a dyn Fn() -> bool,
    /// Runs programs; `None` where that is not to be had.
    pub programs: Option<&'a dyn Programs>,
}

/// A tool.
pub trait Tool: Send + Sync {
    /// Its name, what it does and the schema of its arguments.
    fn spec(&self) -> ToolSpec;
    /// What it does to files.
    fn access(&self) -> Access;
    /// Whether it may run beside others. Those that only read may.
    fn parallel_safe(&self) -> bool {
        match self.access() {
            Access::Read => true,
            Access::Write | Access::Run | Access::Network => false,
        }
    }
    /// Whether it works on the folder, and cannot without it.
    fn needs_folder(&self) -> bool {
        true
    }
    /// Runs it with the arguments as the model wrote them.
    fn run(&self, call: &Call<'_>, arguments: &str) -> Outcome;
}

pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) tool: Box<dyn Tool>,
    pub(crate) hidden: Option<String>,
}

/// All tools, by name.
pub struct Registry {
    entries: Vec<Entry>,
}

impl Registry {
    /// The tools for files, and those that need no process beside the worker's but what [`Call::fetch`] starts.
    #[must_use]
    pub fn files() -> Self {
        Self::new(vec![
            Box::new(read_file::ReadFile),
            Box::new(list_files::ListFiles),
            Box::new(search::SearchCode),
            Box::new(write_file::WriteFile),
            Box::new(edit_text::EditText),
            Box::new(edit_batch::EditBatch),
            Box::new(patch::ApplyPatch),
            Box::new(view_image::ViewImage),
            Box::new(web_fetch::WebFetch::default()),
            Box::new(note::Note),
            Box::new(list_tools::ListTools),
        ])
    }

    /// The tools for files, and those that run programs.
    #[must_use]
    pub fn all() -> Self {
        let mut all = Self::files();
        for tool in programs::all() {
            all.add(tool);
        }
        all
    }

    /// These tools, in this order. Of two with one name the first counts.
    #[must_use]
    pub fn new(tools: Vec<Box<dyn Tool>>) -> Self {
        let mut all = Self { entries: Vec::with_capacity(tools.len()) };
        for tool in tools {
            all.add(tool);
        }
        all
    }

    /// Adds a tool at the end, unless there is one of its name.
    pub fn add(&mut self, tool: Box<dyn Tool>) {
        let name = tool.spec().name;
        if self.entries.iter().all(|entry| entry.name != name) {
            self.entries.push(Entry { name, tool, hidden: None });
        }
    }

    /// Takes a tool out of use. It stays listed, so that what providers cache of a prompt stays valid; calling it is a refusal
    /// with this reason. False when there is no such tool.
    pub fn hide(&mut self, name: &str, reason: &str) -> bool {
        let Some(entry) = self.entries.iter_mut().find(|entry| entry.name == name) else { return false };
        entry.hidden = Some(reason.to_owned());
        true
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Every tool as a model is told of it, always in the same order.
    #[must_use]
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.entries.iter().map(|entry| entry.tool.spec()).collect()
    }

    /// The tool of this name.
    ///
    /// # Errors
    /// A miss that names the tools that can be called, or a refusal that says why this one cannot.
    pub fn get(&self, name: &str) -> Result<&dyn Tool, Outcome> {
        let Some(entry) = self.entries.iter().find(|entry| entry.name == name) else { return Err(self.miss(name)) };
        match &entry.hidden {
            None => Ok(entry.tool.as_ref()),
            Some(reason) => {
                let text = format!("{name} is hidden by policy: {reason}. Go on without it.");
                Err(Outcome::not_ok(Code::HiddenByPolicy, text).with(json!({ "tool": name })))
            }
        }
    }

    /// Runs a tool.
    #[must_use]
    pub fn run(&self, name: &str, call: &Call<'_>, arguments: &str) -> Outcome {
        match self.get(name) {
            Ok(tool) => {
                let outcome = tool.run(&Call { tools: Some(self), ..*call }, arguments);
                // A folder that is gone looks like an empty one.
                if tool.needs_folder() && tells_of_files(&outcome) && call.folder.is_gone() {
                    return gone(call.folder);
                }
                outcome
            }
            Err(outcome) => outcome,
        }
    }

    fn miss(&self, name: &str) -> Outcome {
        let callable: Vec<&str> =
            self.entries.iter().filter(|entry| entry.hidden.is_none()).map(|entry| entry.name.as_str()).collect();
        let shown = callable.iter().take(NAMES_TOLD).copied().collect::<Vec<_>>().join(", ");
        let more = match callable.len().saturating_sub(NAMES_TOLD) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let asked: String = name.chars().take(64).collect();
        let text = format!("There is no tool {asked:?}. You can call: {shown}{more}.");
        Outcome::not_ok(Code::UnknownTool, text).with(json!({ "tool": asked, "callable": callable.len() }))
    }
}

fn tells_of_files(outcome: &Outcome) -> bool {
    outcome.class != CallOutcome::ArgumentError && outcome.code != Some(Code::Cancelled)
}

fn gone(folder: &Folder) -> Outcome {
    let path = folder.path().display().to_string();
    let text = format!(
        "The folder {path} was removed while you worked in it: nothing in it can be read or changed any more, also when a new one has \
         its name. Deliver what you have, and say so."
    );
    Outcome::not_ok(Code::FolderGone, text).with(json!({ "folder": path }))
}

#[cfg(test)]
mod tests;
