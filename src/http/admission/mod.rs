//! From a request body to tasks that the core can accept: read, checked against the limits, resolved, built.
//!
//! Everything here happens before the core is asked and leaves nothing behind when it refuses, except bodies in the content
//! store that nothing names; retention finds those.

mod build;
mod check;
mod many;
mod surroundings;

pub use surroundings::Surroundings;

use super::json;
use super::operations::Operations;
use super::query::bad;
use super::view::View;
use build::Builder;
use many::Bounded;
use ouroboros_domain::NewTask;
use ouroboros_proto::api::{ApiError, Code, SubmitOne};
use ouroboros_proto::limits;

/// What a body asks for.
#[derive(Debug)]
pub struct Admitted {
    /// The tasks, in order.
    pub tasks: Vec<NewTask>,
    /// Whether the body was a list, which decides the shape of the answer.
    pub many: bool,
}

/// What admission needs to know.
pub struct Admission<'a> {
    /// For `after`.
    pub view: &'a dyn View,
    /// For defaults and large bodies.
    pub operations: &'a dyn Operations,
    /// For the environment and the home directory.
    pub surroundings: &'a Surroundings,
}

impl Admission<'_> {
    /// Reads, checks and builds. Blocks: it looks at directories, reads the store and may write content files.
    ///
    /// # Errors
    /// The first thing that is wrong; `detail.task` counts from 0 in a list.
    pub fn admit(&self, body: &[u8], header_key: Option<&str>) -> Result<Admitted, ApiError> {
        let rules = self.operations.admission()?;
        let (mut tasks, many) = read(body)?;
        if let Some(key) = header_key {
            give_key(&mut tasks, many, key)?;
        }
        let mut builder = Builder::new(self, rules);
        let mut built = Vec::with_capacity(tasks.len());
        for (index, one) in tasks.into_iter().enumerate() {
            let task = builder.build(one).map_err(|error| if many { locate(error, index) } else { error })?;
            built.push(task);
        }
        Ok(Admitted { tasks: built, many })
    }
}

fn read(body: &[u8]) -> Result<(Vec<SubmitOne>, bool), ApiError> {
    if !many::is_list(body) {
        return Ok((vec![json::parse(body)?], false));
    }
    let Bounded { tasks, found } = json::parse::<many::SubmitBounded>(body)?.tasks;
    if found > limits::TASKS_PER_REQUEST.max {
        return Err(ApiError::limit(&limits::TASKS_PER_REQUEST, found).remedy("Send them in several requests."));
    }
    if tasks.is_empty() {
        return Err(ApiError::new(Code::BadField, "The list of tasks is empty; nothing was accepted."));
    }
    Ok((tasks, true))
}

fn give_key(tasks: &mut [SubmitOne], many: bool, key: &str) -> Result<(), ApiError> {
    match tasks {
        [one] if !many => match &one.key {
            Some(own) if own != key => Err(bad(
                "Idempotency-Key",
                "The header Idempotency-Key and the field key differ; nothing was accepted.",
            )),
            _ => {
                one.key = Some(key.to_owned());
                Ok(())
            }
        },
        _ => Err(bad("Idempotency-Key", "The header Idempotency-Key is for one task; give each of many its own key.")),
    }
}

fn locate(mut error: ApiError, index: usize) -> ApiError {
    error.message = format!("Task {index} of the list: {}", error.message);
    let mut detail = match error.detail.take() {
        Some(serde_json::Value::Object(map)) => map,
        _ => serde_json::Map::new(),
    };
    detail.insert("task".to_owned(), index.into());
    error.detail(detail.into())
}
