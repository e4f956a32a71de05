//! Which tools there are. What is listed, looked up and run comes from one table, so a name that is listed can be called.

use crate::folder::Folder;
use crate::limits::Limits;
use crate::outcome::{Code, Outcome};
use crate::versions::Versions;
use crate::{edit_batch, edit_text, list_files, patch, read_file, search, write_file};
use ouroboros_proto::agent::ToolSpec;
use serde_json::json;
use std::borrow::Cow;

/// Names that a miss tells, at most.
const NAMES_TOLD: usize = 12;

/// Hides secrets in a text.
pub type Mask<'a> = &'a dyn Fn(&str) -> Cow<'_, str>;

/// What a tool does to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Looks at them.
    Read,
    /// Changes them.
    Write,
}

/// What every call of a task shares.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// Where the agent works.
    pub folder: &'a Folder,
    /// Where prior versions go.
    pub versions: &'a Versions,
    /// Bounds.
    pub limits: &'a Limits,
    /// Hides secrets: given whole texts, before anything is cut from them.
    pub mask: Mask<'a>,
    /// Whether the attempt ends; asked often, so it must be cheap.
    pub cancelled: &'a dyn Fn() -> bool,
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
            Access::Write => false,
        }
    }
    /// Runs it with the arguments as the model wrote them.
    fn run(&self, call: &Call<'_>, arguments: &str) -> Outcome;
}

struct Entry {
    name: String,
    tool: Box<dyn Tool>,
    hidden: Option<String>,
}

/// All tools, by name.
pub struct Registry {
    entries: Vec<Entry>,
}

impl Registry {
    /// The tools for files.
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
        ])
    }

    /// These tools, in this order. Of two with one name the first counts.
    #[must_use]
    pub fn new(tools: Vec<Box<dyn Tool>>) -> Self {
        let mut entries: Vec<Entry> = Vec::with_capacity(tools.len());
        for tool in tools {
            let name = tool.spec().name;
            if entries.iter().all(|entry| entry.name != name) {
                entries.push(Entry { name, tool, hidden: None });
            }
        }
        Self { entries }
    }

    /// Takes a tool out of use. It stays listed, so that what providers cache of a prompt stays valid; calling it is a refusal
    /// with this reason. False when there is no such tool.
    pub fn hide(&mut self, name: &str, reason: &str) -> bool {
        let Some(entry) = self.entries.iter_mut().find(|entry| entry.name == name) else { return false };
        entry.hidden = Some(reason.to_owned());
        true
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
            Ok(tool) => tool.run(call, arguments),
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

#[cfg(test)]
mod tests;
