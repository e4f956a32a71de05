//! `vcs_status`, `vcs_diff`, `vcs_log`, `vcs_show`: what git says of the folder, without changing anything, not even its index.
//!
//! References: git(1) on `GIT_OPTIONAL_LOCKS`, git-diff(1) on `--no-ext-diff` and `--no-textconv`, gitcli(7) on `--end-of-options`.

use super::{DEFAULT_TIMEOUT, End, Ran, Rights, Start, directory, programs, told};
use crate::arguments::{self, Arguments};
use crate::outcome::{Attempt, Code, Outcome};
use crate::registry::{Access, Call, Tool};
use ouroboros_proto::agent::ToolSpec;
use serde::Deserialize;
use serde_json::{Value, json};

/// Programs and hooks that a repository names are not run, nothing is asked for, and nothing is locked.
const GIT: &[&str] = &[
    "git",
    "--no-pager",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.quotePath=false",
    "-c",
    "log.showSignature=false",
    // The folder may be another user's: it is only read, and confined.
    "-c",
    "safe.directory=*",
];
const ENVIRONMENT: &[(&str, &str)] = &[
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("LC_ALL", "C.UTF-8"),
];
/// Commits that a log shows when it is not told how many, and at most.
const COMMITS: u32 = 20;
const MOST_COMMITS: u32 = 500;

/// What changed and is not committed.
pub struct VcsStatus;
/// Differences.
pub struct VcsDiff;
/// Commits.
pub struct VcsLog;
/// One commit, or a file as it was.
pub struct VcsShow;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Status {
    #[serde(default)]
    path: Option<String>,
}

impl Arguments for Status {
    const EXAMPLE: &'static str = r#"{"path":"src"}"#;
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Diff {
    #[serde(default)]
    base: Option<String>,
    #[serde(default)]
    head: Option<String>,
    #[serde(default)]
    staged: Option<bool>,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    summary: Option<bool>,
}

impl Arguments for Diff {
    const EXAMPLE: &'static str = r#"{"base":"main","path":"src"}"#;
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Log {
    #[serde(default)]
    rev: Option<String>,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    count: Option<u32>,
}

impl Arguments for Log {
    const EXAMPLE: &'static str = r#"{"rev":"main","path":"src/lib.rs","count":10}"#;
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Show {
    rev: String,
    #[serde(default)]
    path: Option<String>,
}

impl Arguments for Show {
    const EXAMPLE: &'static str = r#"{"rev":"HEAD~1","path":"src/lib.rs"}"#;
}

macro_rules! tool {
    ($tool:ident, $run:ident, $name:literal, $description:literal, $parameters:expr) => {
        impl Tool for $tool {
            fn spec(&self) -> ToolSpec {
                ToolSpec { name: $name.to_owned(), description: $description.to_owned(), parameters: $parameters }
            }

            fn access(&self) -> Access {
                Access::Run
            }

            fn run(&self, call: &Call<'_>, arguments: &str) -> Outcome {
                $run(call, arguments).unwrap_or_else(|outcome| outcome)
            }
        }
    };
}

tool!(
    VcsStatus,
    status,
    "vcs_status",
    "Shows the branch, and which files git sees as changed, staged, untracked or in conflict.",
    json!({ "type": "object", "properties": { "path": path_schema() }, "additionalProperties": false })
);
tool!(
    VcsDiff,
    diff,
    "vcs_diff",
    "Shows differences: of the files to what is staged; with staged, of what is staged to the last commit; with base, of the \
     files to that commit; with base and head, between those two.",
    json!({
        "type": "object",
        "properties": {
            "base": rev_schema("The older side."),
            "head": rev_schema("The newer side; needs base."),
            "staged": { "type": "boolean", "description": "What is staged instead of the files." },
            "path": path_schema(),
            "summary": { "type": "boolean", "description": "Only which files, and how many lines." }
        },
        "additionalProperties": false
    })
);
tool!(
    VcsLog,
    log,
    "vcs_log",
    "Lists commits, newest first: hash, date, author, subject.",
    json!({
        "type": "object",
        "properties": {
            "rev": rev_schema("Where to begin, or a range; HEAD when absent."),
            "path": path_schema(),
            "count": { "type": "integer", "minimum": 1, "maximum": MOST_COMMITS, "description": "How many; 20 when absent." }
        },
        "additionalProperties": false
    })
);
tool!(
    VcsShow,
    show,
    "vcs_show",
    "Shows a commit with its changes, or, with path, a file as it was then.",
    json!({
        "type": "object",
        "properties": {
            "rev": rev_schema("A commit, branch or tag."),
            "path": { "type": "string", "description": "A file, relative to the folder." }
        },
        "required": ["rev"],
        "additionalProperties": false
    })
);

fn path_schema() -> Value {
    json!({ "type": "string", "description": "Only what is below it, relative to the folder." })
}

fn rev_schema(what: &str) -> Value {
    json!({ "type": "string", "description": what })
}

fn status(call: &Call<'_>, arguments: &str) -> Attempt<Outcome> {
    let asked: Status = arguments::read(arguments, call.limits.argument_bytes)?;
    let mut argv = words(&["status", "--porcelain=v1", "--branch", "--untracked-files=normal", "--"]);
    argv.push(pathspec(call, asked.path.as_deref())?);
    git(call, argv, "Nothing is changed.")
}

fn diff(call: &Call<'_>, arguments: &str) -> Attempt<Outcome> {
    let asked: Diff = arguments::read(arguments, call.limits.argument_bytes)?;
    let mut argv = words(&["diff", "--no-ext-diff", "--no-textconv", "--no-color"]);
    if asked.summary == Some(true) {
        argv.push("--stat=120".to_owned());
    }
    if asked.staged == Some(true) {
        if asked.head.is_some() {
            return Err(bad("staged and head exclude each other."));
        }
        argv.push("--cached".to_owned());
    }
    match (&asked.base, &asked.head) {
        (None, Some(_)) => return Err(bad("head needs base.")),
        (base, head) => {
            argv.push("--end-of-options".to_owned());
            for rev in [base, head].into_iter().flatten() {
                argv.push(revision(rev)?);
            }
        }
    }
    argv.push("--".to_owned());
    argv.push(pathspec(call, asked.path.as_deref())?);
    git(call, argv, "There is no difference.")
}

fn log(call: &Call<'_>, arguments: &str) -> Attempt<Outcome> {
    let asked: Log = arguments::read(arguments, call.limits.argument_bytes)?;
    let count = asked.count.unwrap_or(COMMITS);
    if !(1..=MOST_COMMITS).contains(&count) {
        return Err(bad(&format!("count is 1 to {MOST_COMMITS}.")));
    }
    let mut argv = words(&["log", "--no-color", "--date=iso-strict", "--format=%h %ad %an: %s"]);
    argv.extend([format!("--max-count={count}"), "--end-of-options".to_owned()]);
    argv.push(revision(asked.rev.as_deref().unwrap_or("HEAD"))?);
    argv.push("--".to_owned());
    argv.push(pathspec(call, asked.path.as_deref())?);
    git(call, argv, "There is no such commit.")
}

fn show(call: &Call<'_>, arguments: &str) -> Attempt<Outcome> {
    let asked: Show = arguments::read(arguments, call.limits.argument_bytes)?;
    let rev = revision(&asked.rev)?;
    let mut argv =
        words(&["show", "--no-ext-diff", "--no-textconv", "--no-color", "--date=iso-strict", "--end-of-options"]);
    match &asked.path {
        None => argv.push(rev),
        Some(path) => {
            let path = inside(path)?;
            argv.push(format!("{rev}:./{path}"));
        }
    }
    git(call, argv, "It is empty.")
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn bad(words: &str) -> Outcome {
    Outcome::not_ok(Code::BadArguments, format!("{words} Nothing was done."))
}

/// A name of a commit, which cannot be taken for an option or a path.
fn revision(rev: &str) -> Attempt<String> {
    let plain = !rev.is_empty()
        && rev.len() <= 500
        && !rev.starts_with('-')
        && !rev.contains(|c: char| c.is_control() || c == ' ');
    if plain { Ok(rev.to_owned()) } else { Err(bad(&format!("{rev:?} is no name of a commit."))) }
}

/// A relative path below the folder, as git is given it.
fn inside(path: &str) -> Attempt<String> {
    let leads_out = path.starts_with('/') || path.split('/').any(|name| name == "..");
    if path.is_empty() || leads_out || path.contains('\0') {
        return Err(bad(&format!("{path:?} is no path inside the folder.")));
    }
    Ok(path.trim_start_matches("./").to_owned())
}

/// What is there or was there: a path that need not exist any more.
fn pathspec(call: &Call<'_>, path: Option<&str>) -> Attempt<String> {
    let Some(path) = path else { return Ok(".".to_owned()) };
    let path = match std::path::Path::new(path).strip_prefix(call.folder.path()) {
        Ok(inside) => inside.display().to_string(),
        Err(_) => path.to_owned(),
    };
    Ok(format!(":(literal){}", inside(&path)?))
}

fn git(call: &Call<'_>, arguments: Vec<String>, when_empty: &str) -> Attempt<Outcome> {
    let argv: Vec<String> = GIT.iter().map(|word| (*word).to_owned()).chain(arguments).collect();
    let start = Start {
        argv,
        script: None,
        cwd: directory(call, None)?,
        stdin: Vec::new(),
        env: ENVIRONMENT.to_vec(),
        timeout: DEFAULT_TIMEOUT,
        rights: Rights::Look,
        apart: true,
    };
    let ran = programs(call)?.run(start)?;
    Ok(outcome(call, &ran, when_empty))
}

fn outcome(call: &Call<'_>, ran: &Ran, when_empty: &str) -> Outcome {
    let facts: Value = told::facts(ran).into();
    let complaint = told::text(&ran.stderr, call.mask);
    match &ran.end {
        End::Exited(0) => {
            let text = told::text(&ran.stdout, call.mask);
            Outcome::ok(if text.is_empty() { when_empty.to_owned() } else { text }, facts)
        }
        End::NotFound => Outcome::not_ok(Code::NoProgram, "git is not installed here. Go on without it.").with(facts),
        End::Exited(128) if complaint.contains("not a git repository") => {
            Outcome::not_ok(Code::NoRepository, "The folder is in no git repository.").with(facts)
        }
        // A name that means nothing, or a file that was not there.
        End::Exited(_) => Outcome::not_ok(Code::NotFound, format!("git says: {}", complaint.trim())).with(facts),
        End::Signaled { .. } | End::TimedOut | End::Stopped | End::NotExecutable(_) => {
            let code = super::run::code(&ran.end).unwrap_or(Code::Io);
            Outcome::not_ok(code, told::ran(ran, call.mask)).with(facts)
        }
    }
}
