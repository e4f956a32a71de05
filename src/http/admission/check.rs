//! The checks that need nothing but the request and the table of limits.

use super::continued;
use crate::http::operations::Admission as Rules;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ouroboros_proto::api::{AgentSpec, ApiError, AskSpec, Code, CommandSpec, ImageSpec, SubmitOne};
use ouroboros_proto::limits::{self, Limit};
use ouroboros_schema::{Schema, Unusable};
use serde_json::Value;
use std::collections::BTreeMap;

/// Formats of images that every provider with images takes.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Checks everything of a task but its environment, standard input and directory.
///
/// # Errors
/// The first thing that is wrong.
pub fn task(one: &SubmitOne, rules: &Rules) -> Result<(), ApiError> {
    match (&one.ask, &one.agent) {
        (None, None) => argv(&one.command)?,
        (Some(ask), None) if one.command.is_absent() => question(ask)?,
        (None, Some(agent)) if one.command.is_absent() => words(agent)?,
        (Some(_), _) | (None, Some(_)) => {
            let field = if one.ask.is_some() { "ask" } else { "agent" };
            return Err(refuse(
                Code::EmptyPrompt,
                field,
                "A task is a command, a question or a task in words, not two of them",
            ));
        }
    }
    if let Some(name) = &one.name {
        within(&limits::NAME_CHARS, name.chars().count(), "name")?;
        if name.chars().any(char::is_control) {
            return Err(field("name", "The name has a control character in it"));
        }
    }
    if let Some(key) = &one.key {
        within(&limits::KEY_CHARS, key.chars().count(), "key")?;
        if key.is_empty() {
            return Err(refuse(Code::KeyTooLong, "key", "The idempotency key is empty"));
        }
    }
    within(&limits::AFTER_ITEMS, one.after.len(), "after")?;
    at_most(&limits::RETRIES, u64::from(one.retries), "retries")?;
    if one.retries > rules.max_retries {
        return Err(field("retries", &format!("At most {} retries are allowed here", rules.max_retries))
            .remedy("Raise `task.max_retries`."));
    }
    at_most(&limits::DELAY_MILLIS, one.delay_ms.unwrap_or(0), "delay_ms")?;
    at_most(&limits::TIMEOUT_MILLIS, one.timeout_ms.unwrap_or(0), "timeout_ms")?;
    if one.command.umask.is_some_and(|umask| umask > 0o777) {
        return Err(field("command.umask", "The umask is a number from 0 to 511"));
    }
    if one.command.pty.is_some_and(|pty| pty.columns == 0 || pty.rows == 0) {
        return Err(field("command.pty", "A terminal has at least one column and one row"));
    }
    Ok(())
}

fn question(ask: &AskSpec) -> Result<(), ApiError> {
    if ask.prompt.trim().is_empty() && ask.images.is_empty() {
        return Err(refuse(Code::EmptyPrompt, "ask.prompt", "There is no question"));
    }
    if ask.max_output_tokens == Some(0) {
        return Err(field("ask.max_output_tokens", "An answer has at least one token"));
    }
    images(&ask.images, "ask.images")
}

fn images(images: &[ImageSpec], name: &str) -> Result<(), ApiError> {
    for image in images {
        if !IMAGES.contains(&image.media_type.as_str()) {
            return Err(field(name, &format!("An image is one of {}", IMAGES.join(", "))));
        }
        if STANDARD.decode(&image.data).is_err() {
            return Err(field(name, "An image is not base64"));
        }
    }
    Ok(())
}

fn words(agent: &AgentSpec) -> Result<(), ApiError> {
    if agent.prompt.trim().is_empty() && agent.replay.is_none() {
        return Err(refuse(Code::EmptyPrompt, "agent.prompt", "There is nothing to do"));
    }
    continued::check(agent)?;
    if agent.max_rounds == Some(0) {
        return Err(field("agent.max_rounds", "It takes at least one round"));
    }
    at_most(&limits::AGENT_ROUNDS, u64::from(agent.max_rounds.unwrap_or(0)), "agent.max_rounds")?;
    within(&limits::AGENT_IMAGES, agent.images.len(), "agent.images")?;
    images(&agent.images, "agent.images")?;
    agent.output_schema.as_ref().map_or(Ok(()), schema)
}

/// What is delivered must satisfy it, so what it means is known before anything is spent.
fn schema(schema: &Value) -> Result<(), ApiError> {
    const NAME: &str = "agent.output_schema";
    within(&limits::OUTPUT_SCHEMA_BYTES, schema.to_string().len(), NAME)?;
    match Schema::read(schema) {
        Ok(_) => Ok(()),
        Err(error @ Unusable::Outside(_)) => {
            let words = format!("The schema of what is to be delivered cannot be used: {error}");
            Err(refuse(Code::BadSchema, NAME, &words).remedy("Put what it refers to under `$defs`."))
        }
        Err(error @ Unusable::Wrong(_)) => Err(refuse(
            Code::BadSchema,
            NAME,
            &format!("The schema of what is to be delivered cannot be used: {error}"),
        )),
    }
}

fn argv(command: &CommandSpec) -> Result<(), ApiError> {
    let argv = &command.argv;
    if argv.first().is_none_or(String::is_empty) {
        return Err(refuse(Code::EmptyArgv, "command.argv", "There is no program to run"));
    }
    within(&limits::ARGV_ITEMS, argv.len(), "command.argv")?;
    for argument in argv {
        within(&limits::ARGUMENT_BYTES, argument.len(), "command.argv")?;
        no_nul(argument, "command.argv")?;
    }
    within(&limits::ARGV_BYTES, argv.iter().map(|argument| argument.len() + 1).sum(), "command.argv")
}

/// Checks a whole environment, as the program will see it.
///
/// # Errors
/// The first thing that is wrong.
pub fn environment(env: &BTreeMap<String, String>) -> Result<(), ApiError> {
    within(&limits::ENV_ITEMS, env.len(), "command.env")?;
    within(&limits::ENV_BYTES, env.iter().map(|(name, value)| name.len() + value.len() + 2).sum(), "command.env")?;
    for (name, value) in env {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err(refuse(
                Code::BadEnv,
                "command.env",
                &format!("The variable {name:?} has an empty name, a '=' or NUL in its name, or a NUL in its value"),
            ));
        }
    }
    Ok(())
}

/// Standard input, as bytes.
///
/// # Errors
/// Given twice, not base64, or too large.
pub fn stdin(command: &mut CommandSpec) -> Result<Option<Vec<u8>>, ApiError> {
    let bytes = match (command.stdin.take(), command.stdin_base64.take()) {
        (Some(_), Some(_)) => {
            return Err(field("command.stdin", "Standard input is given twice, as text and as base64"));
        }
        (Some(text), None) => Some(text.into_bytes()),
        (None, Some(text)) => Some(
            STANDARD
                .decode(text)
                .map_err(|error| field("command.stdin_base64", &format!("Standard input is not base64: {error}")))?,
        ),
        (None, None) => None,
    };
    within(&limits::STDIN_BYTES, bytes.as_ref().map_or(0, Vec::len), "command.stdin")?;
    Ok(bytes)
}

/// Checks the form of a working directory.
///
/// # Errors
/// Not absolute, too long, or with NUL in it.
pub fn directory(cwd: &str) -> Result<(), ApiError> {
    within(&limits::CWD_BYTES, cwd.len(), "command.cwd")?;
    no_nul(cwd, "command.cwd")?;
    if cwd.starts_with('/') {
        return Ok(());
    }
    Err(refuse(Code::BadDirectory, "command.cwd", &format!("The working directory {cwd:?} is not an absolute path")))
}

/// Refuses a count over a limit.
pub fn within(limit: &Limit, found: usize, name: &str) -> Result<(), ApiError> {
    at_most(limit, u64::try_from(found).unwrap_or(u64::MAX), name)
}

/// Refuses a number over a limit.
pub fn at_most(limit: &Limit, found: u64, name: &str) -> Result<(), ApiError> {
    if found <= limit.max {
        return Ok(());
    }
    let mut error = ApiError::limit(limit, found);
    error.message = format!("{name}: {}", error.message);
    if let Some(serde_json::Value::Object(detail)) = &mut error.detail {
        detail.insert("field".to_owned(), name.into());
    }
    Err(error)
}

fn no_nul(text: &str, name: &str) -> Result<(), ApiError> {
    if text.contains('\0') { Err(field(name, "There is a NUL in it, which no program can be given")) } else { Ok(()) }
}

/// A refusal of a field.
pub fn field(name: &str, message: &str) -> ApiError {
    refuse(Code::BadField, name, message)
}

/// A refusal that names a field.
pub fn refuse(code: Code, name: &str, message: &str) -> ApiError {
    ApiError::new(code, format!("{message}; nothing was accepted.")).detail(serde_json::json!({ "field": name }))
}
