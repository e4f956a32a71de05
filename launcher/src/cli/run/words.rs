//! From the command line to a task in words.

use super::spec::{self, directory, text};
use crate::cli::args::work::Run;
use crate::cli::ask::{self, Wanted};
use crate::cli::{Context, Failure};
use crate::client::segment;
use crate::render::task::quote;
use ouroboros_proto::api::{AgentSpec, FromSpec, SubmitOne, TaskView};
use rustix::fs::{Access, access};
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Whether this is a task in words. One word is more likely a command whose `--` was forgotten, and that would cost money.
pub fn are_words(given: &[OsString]) -> bool {
    match given {
        [] => false,
        [one] => one == "-" || one.to_string_lossy().trim().contains(char::is_whitespace),
        _ => true,
    }
}

/// What `run` submits, and what it wants of a model. `note` says what takes long.
pub fn build(context: &Context, run: Run) -> Result<(SubmitOne, Wanted), Failure> {
    let from = from(&run);
    if let (None, [first, _, ..]) = (&from, run.text.as_slice())
        && is_program(first, run.cwd.as_deref())
    {
        return Err(a_program(first, &run.text));
    }
    let before = from.as_ref().filter(|_| run.model.is_none()).map(|from| route_of(context, &from.task)).transpose()?;
    let wanted = Wanted { route: run.model.clone().or(before.flatten()), waits: run.wait_model };
    let shared = spec::shared(&run);
    let folder = match (&from, run.cwd) {
        // That task's.
        (Some(_), None) => String::new(),
        (_, cwd) => directory(cwd)?,
    };
    let agent = AgentSpec {
        prompt: prompt(run.text, &|words| context.note(words))?,
        folder,
        from,
        route: run.model,
        effort: run.effort,
        max_rounds: run.max_rounds,
        wait_model: run.wait_model,
        mode: run.mode,
        path: env::var("PATH").ok(),
        parallel: run.parallel,
        output_schema: run.output_schema.as_deref().map(ask::schema).transpose()?,
        replay: None,
        images: run.image.iter().map(|file| ask::image(file)).collect::<Result<_, _>>()?,
    };
    let task = SubmitOne { agent: Some(agent), max_cost: run.max_cost, ..shared };
    Ok((task, wanted))
}

/// What it goes on from.
pub fn from(run: &Run) -> Option<FromSpec> {
    let forked = run.fork.as_ref().map(|(task, round)| FromSpec { task: task.to_string(), round: Some(*round) });
    forked.or_else(|| run.from.as_ref().map(|task| FromSpec { task: task.to_string(), round: None }))
}

/// The route that a task asked for: another one that continues it asks for it too.
fn route_of(context: &Context, task: &str) -> Result<Option<String>, Failure> {
    let target = format!("/api/tasks/{}", segment(task));
    let task: TaskView = context.acting(|client| client.get(&target)?.read())?;
    Ok(task.agent.and_then(|agent| agent.route))
}

/// Whether a shell would run this word: several words that begin so are more likely a command whose `--` was forgotten.
fn is_program(word: &OsStr, directory: Option<&Path>) -> bool {
    let runs = |path: PathBuf| path.is_file() && access(&path, Access::EXEC_OK).is_ok();
    if word.as_encoded_bytes().contains(&b'/') {
        return runs(directory.unwrap_or_else(|| Path::new("")).join(word));
    }
    let path = env::var_os("PATH").unwrap_or_default();
    !word.is_empty() && env::split_paths(&path).any(|directory| runs(directory.join(word)))
}

fn a_program(first: &OsStr, words: &[OsString]) -> Failure {
    let words: Vec<String> = words.iter().map(|word| quote(&word.to_string_lossy())).collect();
    Failure::usage(format!("{} is a program; nothing was submitted", quote(&first.to_string_lossy()))).remedy(format!(
        "`ouroboros run -- {}` runs it; a task in words goes in quotes: `ouroboros run \"what is to be done\"`.",
        words.join(" ")
    ))
}

fn prompt(given: Vec<OsString>, note: &dyn Fn(&str)) -> Result<String, Failure> {
    let words = given.into_iter().map(text).collect::<Result<Vec<String>, Failure>>()?;
    let prompt = ask::prompt(words, note)?;
    if prompt.trim().is_empty() {
        return Err(
            Failure::usage("there is nothing to do").remedy("Give the task as TEXT, or `-` to read standard input.")
        );
    }
    Ok(prompt)
}

#[cfg(test)]
mod tests {
    use super::are_words;

    #[test]
    fn one_word_is_no_task() {
        let words = |given: &[&str]| are_words(&given.iter().map(Into::into).collect::<Vec<_>>());
        assert!(words(&["fix", "the", "bug"]) && words(&["fix the bug"]) && words(&["-"]));
        assert!(!words(&[]) && !words(&["make"]) && !words(&[" make "]));
    }
}
