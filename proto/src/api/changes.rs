//! What a task changed in its folder, and taking it back.

use serde::{Deserialize, Serialize};

/// What a task changed: what its files were before, against what they are now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangesView {
    /// The folder it worked in.
    pub folder: String,
    /// Its files, by path.
    pub files: Vec<ChangeView>,
}

/// How a file differs from what it was before the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It was not there.
    Created,
    /// Its bytes or its mode are others.
    Changed,
    /// It is gone.
    Deleted,
    /// It is what it was again.
    Same,
    /// What it is now cannot be read, or is no file.
    Unreadable,
}

impl ChangeKind {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Deleted => "deleted",
            Self::Same => "same",
            Self::Unreadable => "unreadable",
        }
    }
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeView {
    /// Its path in the folder.
    pub path: String,
    /// How it differs.
    pub change: ChangeKind,
    /// Whether it is not what the task left: somebody else has changed it since.
    pub foreign: bool,
    /// The difference line by line, as `diff -u` writes it; absent when it is no text, or too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Why there is no `diff`, or what else is to be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Body of `POST /api/tasks/{id}/undo`; may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct UndoRequest {
    /// Paths in the folder; every file that the task changed when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Only say what would be done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Also where somebody else has changed a file since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

/// What became of the files, each by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoAnswer {
    /// The folder.
    pub folder: String,
    /// Whether nothing was done, because only that was asked for.
    pub dry_run: bool,
    /// The files, newest change first.
    pub files: Vec<UndoOne>,
}

/// What became of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoOne {
    /// Its path in the folder.
    pub path: String,
    /// What was done, or would be.
    pub done: Undone,
    /// Why not, when it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What an undo comes to for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undone {
    /// It is what it was before the task.
    Restored,
    /// The task had created it; it is gone.
    Removed,
    /// It is what it was already.
    Unchanged,
    /// It was left as it is.
    Refused,
}
