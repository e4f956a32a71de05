//! From a request body to tasks that the core can accept: read, checked against the limits, resolved, built.
//!
//! Most requests need nothing that blocks, and are admitted on the thread that read them. What does need it says so, and is
//! admitted again from the start on a thread for that.
//!
//! Everything here happens before the core is asked and leaves nothing behind when it refuses, except bodies in the content
//! store that nothing names; retention finds those.

mod build;
mod check;
mod continued;
mod directory;
mod many;
mod surroundings;

pub use build::{half, max_cost};
pub use surroundings::Surroundings;

use super::json;
use super::models::Models;
use super::operations::Operations;
use super::query::bad;
use super::view::{View, ViewError};
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
    /// For the routes of questions.
    pub models: &'a dyn Models,
    /// For the environment and the home directory.
    pub surroundings: &'a Surroundings,
    /// Whether this thread may wait for a disk.
    pub may_block: bool,
}

/// Why nothing was admitted.
#[derive(Debug)]
pub enum Stop {
    /// Something is wrong with the request, or with us.
    Refused(ApiError),
    /// Only a thread that may wait can tell.
    WouldBlock,
}

impl From<ApiError> for Stop {
    fn from(error: ApiError) -> Self {
        Self::Refused(error)
    }
}

impl From<ViewError> for Stop {
    fn from(error: ViewError) -> Self {
        Self::Refused(error.into())
    }
}

impl From<Stop> for ApiError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Refused(error) => error,
            Stop::WouldBlock => {
                Self::new(Code::Internal, "a request was admitted where it could not be; nothing was accepted")
            }
        }
    }
}

impl Admission<'_> {
    /// Reads, checks and builds. Where it may block it looks at directories, reads the store and writes content files.
    ///
    /// # Errors
    /// The first thing that is wrong; `detail.task` counts from 0 in a list.
    pub fn admit(&self, body: &[u8], header_key: Option<&str>) -> Result<Admitted, Stop> {
        let rules = self.operations.admission()?;
        let (mut tasks, many) = read(body)?;
        if let Some(key) = header_key {
            give_key(&mut tasks, many, key)?;
        }
        let mut builder = Builder::new(self, rules);
        let mut built = Vec::with_capacity(tasks.len());
        for (index, one) in tasks.into_iter().enumerate() {
            let task = builder.build(one).map_err(|stop| match stop {
                Stop::Refused(error) if many => Stop::Refused(locate(error, index)),
                other => other,
            })?;
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
