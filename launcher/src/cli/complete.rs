//! Completion of values that only the installation knows.

use super::context::places;
use crate::client::Client;
use clap_complete::CompletionCandidate;
use ouroboros_proto::api::TaskPage;
use ouroboros_settings::schema;
use std::ffi::OsStr;

/// Most tasks that are offered.
const OFFERED: usize = 50;

/// The newest tasks whose numbers begin so. Nothing is started for it, and nothing is said when no server runs.
pub fn tasks(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let page: Option<TaskPage> = places().ok().and_then(|paths| {
        let client = Client::new(paths.api_socket());
        client.get(&format!("/api/tasks?limit={OFFERED}")).ok()?.read().ok()
    });
    let tasks = page.map(|page| page.tasks).unwrap_or_default();
    let numbered = tasks.into_iter().map(|task| {
        let help = format!("{}: {}", task.status.as_str(), crate::render::clean(&task.name));
        (task.number.to_string(), help)
    });
    let last = ("last".to_owned(), "the task accepted last".to_owned());
    let offered = numbered.chain([last]).filter(|(value, _)| value.starts_with(&*typed));
    offered.map(|(value, help)| CompletionCandidate::new(value).help(Some(help.into()))).collect()
}

/// The settings whose keys begin so.
pub fn keys(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    schema::ALL
        .iter()
        .map(|setting| (setting.key.to_string(), setting.description))
        .filter(|(key, _)| key.starts_with(&*typed))
        .map(|(key, help)| CompletionCandidate::new(key).help(Some(help.into())))
        .collect()
}
