//! `config`: settings, read and changed. Works on the file, whether a server runs or not.

mod edit;
mod file;

pub use file::{load, write};

use super::args::system::Config;
use super::{Context, Failure, Outcome};
use crate::client::ClientError;
use crate::render::{Column, Table, Tone, clean};
use ouroboros_proto::api::{CommandAnswer, CommandRequest};
use ouroboros_settings::{Key, Origin, Problem, Warning, check};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Does what was asked with settings.
pub fn config(context: &Context, config: Config) -> Outcome {
    match config {
        Config::List => list(context),
        Config::Get { key } => get(context, &key),
        Config::Set { key, value } => set(context, &key, &value),
        Config::Unset { key } => unset(context, &key),
        Config::Edit => edit::edit(context),
        Config::Check { file } => check_file(context, file),
        Config::Path => path(context),
    }
}

fn list(context: &Context) -> Outcome {
    let loaded = load(context)?;
    warn(context, &loaded.warnings);
    let rows = loaded.settings.rows();
    if context.json() {
        context.print_json(&json!({ "settings": rows }))?;
        return Ok(0);
    }
    let mut table =
        Table::new(&[Column::Left("KEY"), Column::Left("VALUE"), Column::Left("IN FORCE"), Column::Left("FROM")]);
    for row in rows {
        let value = row.value.as_str().map_or_else(|| row.value.to_string(), ToOwned::to_owned);
        let tone = if row.origin == Origin::Default { Tone::Faint } else { Tone::Plain };
        table.row([
            (Tone::Plain, row.key.to_string()),
            (Tone::Plain, value),
            (Tone::Plain, row.effect.to_string()),
            (tone, row.origin.to_string()),
        ]);
    }
    context.print(&table.render(context.out()))?;
    Ok(0)
}

fn get(context: &Context, key: &str) -> Outcome {
    let key = known(key)?;
    let settings = load(context)?.settings;
    if context.json() {
        context.print_json(&settings.row(key))?;
    } else {
        context.print(&format!("{}\n", key.setting().shown(&settings.value(key))))?;
    }
    Ok(0)
}

fn set(context: &Context, key: &str, value: &str) -> Outcome {
    let key = known(key)?;
    let value = write(context, key, value)?;
    say_overridden(context, key);
    done(context, &format!("{key} is {} in {}", key.setting().shown(&value), file::shown(context)))
}

fn unset(context: &Context, key: &str) -> Outcome {
    let key = known(key)?;
    let path = file::shown(context);
    if file::remove(context, key)? {
        say_overridden(context, key);
        done(context, &format!("{key} is no longer in {path}; its default is in force"))
    } else {
        done(context, &format!("{key} is not in {path}; nothing was changed"))
    }
}

fn check_file(context: &Context, file: Option<PathBuf>) -> Outcome {
    let (path, text) = match file {
        Some(path) => {
            let text = std::fs::read_to_string(&path);
            let text = text.map_err(|error| Failure::io(format!("{} cannot be read", path.display()), &error))?;
            (path, text)
        }
        None => (context.paths().config_file().to_owned(), file::text(context)?),
    };
    let checked = check(&path, &text);
    let problems: Vec<String> = checked.problems.iter().map(ToString::to_string).collect();
    let warnings: Vec<String> = checked.warnings.iter().map(ToString::to_string).collect();
    let valid = problems.is_empty();
    if context.json() {
        context.print_json(&json!({ "valid": valid, "problems": problems, "warnings": warnings }))?;
        return Ok(u8::from(!valid));
    }
    warn(context, &checked.warnings);
    if !valid {
        return Err(invalid(&checked.problems));
    }
    context.note(&format!("{} is valid", path.display()));
    Ok(0)
}

fn path(context: &Context) -> Outcome {
    let path = context.paths().config_file();
    if context.json() {
        context.print_json(&json!({ "path": path.display().to_string(), "exists": path.exists() }))?;
    } else {
        context.print(&format!("{}\n", path.display()))?;
    }
    Ok(0)
}

/// Has a server that runs read the file again, and says what came of the change.
fn done(context: &Context, message: &str) -> Outcome {
    let reloaded = match context.client().post("/api/command", &CommandRequest::Reload) {
        Ok(answer) => Some(answer.read::<CommandAnswer>()?.needs_restart),
        Err(ClientError::NotRunning { .. }) => None,
        Err(error) => {
            return Err(Failure::from(error).about(&format!("{message}, but the server did not take it over")));
        }
    };
    if context.json() {
        let waits: Value = reloaded.as_ref().map_or(Value::Null, |waits| json!(waits));
        context.print_json(&json!({ "message": message, "reloaded": reloaded.is_some(), "needs_restart": waits }))?;
        return Ok(0);
    }
    context.note(&clean(message));
    if let Some(waits) = reloaded.filter(|waits| !waits.is_empty()) {
        context.note(&format!("in force after `ouroboros restart --drain`: {}", clean(&waits.join(" "))));
    }
    Ok(0)
}

fn known(key: &str) -> Result<Key, Failure> {
    key.parse().map_err(|error: ouroboros_settings::UnknownKey| {
        Failure::usage(error.to_string()).remedy("`ouroboros config list` shows all settings.")
    })
}

/// A variable of this environment is over the file for a server that was started with it.
fn say_overridden(context: &Context, key: Key) {
    let variable = key.variable();
    if std::env::var_os(&variable).is_some_and(|value| !value.is_empty()) {
        context.note(&format!("{variable} is set here and is over the file"));
    }
}

fn warn(context: &Context, warnings: &[Warning]) {
    for warning in warnings {
        context.note(&format!("{}; it is ignored", clean(&warning.to_string())));
    }
}

/// Problems as one failure.
fn invalid(problems: &[Problem]) -> Failure {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    Failure::new("bad_config", format!("the configuration is not valid: {}", lines.join("; ")))
        .remedy("`ouroboros config edit` opens the file; `docs/configuration.md` describes every setting.")
}
