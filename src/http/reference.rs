//! Tasks as people name them: by number, by id, or `last`.

use super::view::{View, ViewError, Which};
use ouroboros_proto::api::{ApiError, Code};
use ouroboros_proto::kind::{TaskId, TaskNumber};

/// What a name means; `None` when it is not the name of any task.
#[must_use]
pub fn read(name: &str) -> Option<Which> {
    if name == "last" {
        return Some(Which::Last);
    }
    if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()) {
        return name.parse().ok().map(Which::Number);
    }
    name.parse().ok().map(Which::Id)
}

/// The task with this name.
///
/// # Errors
/// The store cannot be read.
pub fn find(view: &dyn View, name: &str) -> Result<Option<(TaskId, TaskNumber)>, ViewError> {
    read(name).map_or(Ok(None), |which| view.find(which))
}

/// The task with this name, which a request is about.
///
/// # Errors
/// There is none, or the store cannot be read.
pub fn require(view: &dyn View, name: &str) -> Result<(TaskId, TaskNumber), ApiError> {
    find(view, name)?.ok_or_else(|| unknown(name))
}

/// The refusal for a task that is not there.
#[must_use]
pub fn unknown(name: &str) -> ApiError {
    ApiError::new(Code::UnknownTask, format!("There is no task {name:?}."))
        .remedy("`ouroboros tasks` lists them; a task is named by its number, its id, or `last`.")
}
