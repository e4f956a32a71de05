//! `doctor`: looks at the installation and says what is wrong with it, and what to do. Changes and starts nothing.

mod files;
mod machine;
mod server;

use super::{Context, Outcome};
use crate::render::{Tone, clean};
use serde::Serialize;
use serde_json::json;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// As it should be.
    Ok,
    /// Works, but should be looked at.
    Warn,
    /// Does not work.
    Fail,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was checked.
    pub check: &'static str,
    /// How bad it is.
    pub level: Level,
    /// What was found.
    pub message: String,
    /// What to do.
    pub remedy: Option<String>,
}

impl Finding {
    /// All is well.
    pub fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, level: Level::Ok, message: message.into(), remedy: None }
    }

    /// Something to look at.
    pub fn warn(check: &'static str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, level: Level::Warn, message: message.into(), remedy: Some(remedy.into()) }
    }

    /// Something that does not work.
    pub fn fail(check: &'static str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, level: Level::Fail, message: message.into(), remedy: Some(remedy.into()) }
    }
}

/// Runs every check. The exit code is 1 when one fails.
pub fn doctor(context: &Context) -> Outcome {
    let mut findings = files::check(context);
    findings.extend(server::check(context));
    findings.extend(machine::check(context));
    let failed = findings.iter().any(|finding| finding.level == Level::Fail);
    if context.json() {
        context.print_json(&json!({ "ok": !failed, "checks": findings }))?;
    } else {
        let lines: String = findings.iter().map(|finding| line(context, finding)).collect();
        context.print(&lines)?;
    }
    Ok(u8::from(failed))
}

fn line(context: &Context, finding: &Finding) -> String {
    let (tone, word) = match finding.level {
        Level::Ok => (Tone::Good, "ok  "),
        Level::Warn => (Tone::Warn, "warn"),
        Level::Fail => (Tone::Bad, "fail"),
    };
    let remedy = finding.remedy.as_ref().map(|remedy| format!("      {}\n", clean(remedy))).unwrap_or_default();
    let word = context.out().paint(tone, word);
    format!("{word}  {}: {}\n{remedy}", finding.check, clean(&finding.message))
}
