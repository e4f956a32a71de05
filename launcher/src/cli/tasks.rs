//! `tasks`: what is there, newest first.

use super::args::look::Tasks;
use super::{Context, Failure, Outcome};
use crate::client::query;
use crate::render;
use ouroboros_proto::api::{TaskStatus, TaskView};
use ouroboros_proto::kind::clock;
use ouroboros_proto::limits;
use serde_json::{Value, json};

/// Lists tasks.
pub fn tasks(context: &Context, tasks: &Tasks) -> Outcome {
    let mut pages = Pages::new(context, tasks);
    let mut listed: Vec<Value> = Vec::new();
    while let Some(page) = pages.next_page()? {
        listed.extend(page);
    }
    if context.json() {
        context.print_json(&json!({ "tasks": listed, "next": pages.cursor }))?;
        return Ok(0);
    }
    let views: Result<Vec<TaskView>, _> = listed.into_iter().map(serde_json::from_value).collect();
    let views = views.map_err(|error| crate::client::ClientError::Malformed(error.to_string()))?;
    if views.is_empty() {
        context.note("there are no such tasks");
    } else {
        context.print(&render::task::table(&views, clock::wall(), context.out()))?;
    }
    if pages.cursor.is_some() {
        context.note(&format!("there are more than {}; `--limit N` or `--all` lists them", views.len()));
    }
    Ok(0)
}

/// Walks through a listing page by page.
pub struct Pages<'a> {
    context: &'a Context,
    status: Option<String>,
    name: Option<String>,
    left: u64,
    cursor: Option<String>,
    started: bool,
}

impl<'a> Pages<'a> {
    /// The pages of these tasks.
    pub fn new(context: &'a Context, tasks: &Tasks) -> Self {
        let words: Vec<&str> = tasks.status.iter().copied().map(TaskStatus::as_str).collect();
        Self {
            context,
            status: (!words.is_empty()).then(|| words.join(",")),
            name: tasks.name.clone(),
            left: if tasks.all { u64::MAX } else { tasks.limit },
            cursor: None,
            started: false,
        }
    }

    /// The next page; `None` after the last one.
    pub fn next_page(&mut self) -> Result<Option<Vec<Value>>, Failure> {
        if self.left == 0 || (self.started && self.cursor.is_none()) {
            return Ok(None);
        }
        self.started = true;
        let limit = self.left.min(limits::PAGE_ROWS.max);
        let target = query(
            "/api/tasks",
            &[
                ("limit", Some(limit.to_string())),
                ("cursor", self.cursor.take()),
                ("status", self.status.clone()),
                ("name", self.name.clone()),
            ],
        );
        let mut page = self.context.client().get(&target)?.value()?;
        self.cursor = page.get("next").and_then(Value::as_str).map(ToOwned::to_owned);
        let Some(Value::Array(tasks)) = page.get_mut("tasks").map(Value::take) else {
            return Err(crate::client::ClientError::Malformed("a page without tasks".to_owned()).into());
        };
        self.left = self.left.saturating_sub(u64::try_from(tasks.len()).unwrap_or(u64::MAX));
        Ok(Some(tasks))
    }
}
