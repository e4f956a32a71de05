//! `run_command` and `run_script`: a program, once, to its end.

use super::{
    End, Ran, Rights, Start, argv_schema, checked, cwd_schema, directory, network_schema, programs, timeout,
    timeout_schema, told,
};
use crate::arguments::{self, Arguments};
use crate::outcome::{Attempt, Code, Outcome};
use crate::registry::{Access, Call, Tool};
use ouroboros_proto::agent::ToolSpec;
use serde::Deserialize;
use serde_json::{Value, json};

/// Bytes of a script.
const SCRIPT_BYTES: usize = 1 << 20;
/// What may read a script, and how its file is named.
const INTERPRETERS: &[&str] = &["sh", "bash", "python3", "node", "perl", "ruby"];

/// Runs argv.
pub struct RunCommand;
/// Runs the text of a script.
pub struct RunScript;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Command {
    argv: Vec<String>,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    stdin: Option<String>,
    #[serde(default)]
    timeout_s: Option<u64>,
    #[serde(default)]
    network: Option<bool>,
    #[serde(default)]
    unconfined: Option<bool>,
}

impl Arguments for Command {
    const EXAMPLE: &'static str = r#"{"argv":["cargo","test","--offline"],"timeout_s":600}"#;
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    script: String,
    #[serde(default)]
    interpreter: Option<String>,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    stdin: Option<String>,
    #[serde(default)]
    timeout_s: Option<u64>,
    #[serde(default)]
    network: Option<bool>,
    #[serde(default)]
    unconfined: Option<bool>,
}

impl Arguments for Script {
    const EXAMPLE: &'static str = r#"{"script":"for f in *.md; do wc -l \"$f\"; done"}"#;
}

fn unconfined_schema() -> Value {
    json!({
        "type": "boolean",
        "description": "Whether it must reach beyond the folder. The person is asked first; say why in your text."
    })
}

impl Tool for RunCommand {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "run_command".to_owned(),
            description: "Runs a program to its end and gives its exit code and what it wrote. It may write in the folder and in \
                          its temporary directory only. What it starts ends with it."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "argv": argv_schema(),
                    "cwd": cwd_schema(),
                    "stdin": { "type": "string", "description": "What it reads; nothing when absent." },
                    "timeout_s": timeout_schema(),
                    "network": network_schema(),
                    "unconfined": unconfined_schema()
                },
                "required": ["argv"],
                "additionalProperties": false
            }),
        }
    }

    fn access(&self) -> Access {
        Access::Run
    }

    fn run(&self, call: &Call<'_>, arguments: &str) -> Outcome {
        command(call, arguments).unwrap_or_else(|outcome| outcome)
    }
}

impl Tool for RunScript {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "run_script".to_owned(),
            description:
                "Runs the text of a script, as run_command runs a program. Use it for pipes, loops and several steps."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "script": { "type": "string", "description": "The script." },
                    "interpreter": { "type": "string", "enum": INTERPRETERS, "description": "What reads it; sh when absent." },
                    "cwd": cwd_schema(),
                    "stdin": { "type": "string", "description": "What it reads; nothing when absent." },
                    "timeout_s": timeout_schema(),
                    "network": network_schema(),
                    "unconfined": unconfined_schema()
                },
                "required": ["script"],
                "additionalProperties": false
            }),
        }
    }

    fn access(&self) -> Access {
        Access::Run
    }

    fn run(&self, call: &Call<'_>, arguments: &str) -> Outcome {
        script(call, arguments).unwrap_or_else(|outcome| outcome)
    }
}

fn command(call: &Call<'_>, arguments: &str) -> Attempt<Outcome> {
    let asked: Command = arguments::read(arguments, call.limits.argument_bytes)?;
    let argv = checked(asked.argv)?;
    let start = Start {
        argv,
        script: None,
        cwd: directory(call, asked.cwd.as_deref())?,
        stdin: asked.stdin.unwrap_or_default().into_bytes(),
        env: Vec::new(),
        timeout: timeout(asked.timeout_s)?,
        rights: rights(asked.network, asked.unconfined),
        apart: false,
    };
    Ok(outcome(call, &programs(call)?.run(start)?))
}

fn script(call: &Call<'_>, arguments: &str) -> Attempt<Outcome> {
    let asked: Script = arguments::read(arguments, call.limits.argument_bytes)?;
    let interpreter = asked.interpreter.as_deref().unwrap_or("sh");
    if !INTERPRETERS.contains(&interpreter) {
        let words = format!("interpreter is one of {}. Nothing was done.", INTERPRETERS.join(", "));
        return Err(Outcome::not_ok(Code::BadArguments, words));
    }
    if asked.script.len() > SCRIPT_BYTES {
        let words =
            format!("The script has {} bytes, at most {SCRIPT_BYTES} are taken. Nothing was done.", asked.script.len());
        return Err(Outcome::not_ok(Code::TooLarge, words));
    }
    let (cwd, timeout) = (directory(call, asked.cwd.as_deref())?, timeout(asked.timeout_s)?);
    let programs = programs(call)?;
    let file = programs.scratch("script", asked.script.as_bytes())?;
    let start = Start {
        argv: vec![interpreter.to_owned(), file.display().to_string()],
        script: Some(asked.script),
        cwd,
        stdin: asked.stdin.unwrap_or_default().into_bytes(),
        env: Vec::new(),
        timeout,
        rights: rights(asked.network, asked.unconfined),
        apart: false,
    };
    Ok(outcome(call, &programs.run(start)?))
}

fn rights(network: Option<bool>, unconfined: Option<bool>) -> Rights {
    if unconfined == Some(true) { Rights::Unconfined } else { Rights::Usual { network: network.unwrap_or(false) } }
}

/// A program that says no by its exit code has answered; one that was ended, or never began, has not.
fn outcome(call: &Call<'_>, ran: &Ran) -> Outcome {
    let (text, facts): (_, Value) = (told::ran(ran, call.mask), told::facts(ran).into());
    match code(&ran.end) {
        None => Outcome::ok(text, facts),
        Some(code) => Outcome::not_ok(code, text).with(facts),
    }
}

/// Why a program's end is not one that it chose.
pub(super) fn code(end: &End) -> Option<Code> {
    match end {
        End::Exited(_) => None,
        End::Signaled { .. } => Some(Code::Signaled),
        End::TimedOut => Some(Code::TimedOut),
        End::Stopped => Some(Code::Stopped),
        End::NotFound => Some(Code::NoProgram),
        End::NotExecutable(_) => Some(Code::NotExecutable),
    }
}
