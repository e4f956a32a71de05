//! Checks of locks, socket and the server behind it.

use super::Finding;
use crate::cli::Context;
use crate::cli::failure::skew;
use crate::client::{BUILD, ClientError};
use crate::render::clean;
use ouroboros_proto::api::{CostBreakdown, ProcessView, StateView};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use serde_json::Value;
use std::path::Path;

/// Runs them.
pub fn check(context: &Context) -> Vec<Finding> {
    let paths = context.paths();
    let launcher = is_locked(&paths.launcher_lock());
    let server = is_locked(&paths.server_lock());
    let answer = context.client().get("/api/state").and_then(|answer| answer.read::<StateView>());
    let mut findings = vec![running(context, &answer, launcher, server)];
    if let Ok(state) = answer {
        findings.push(build(&state));
        findings.extend(data_dir(context, &state));
        findings.push(port(context, &state));
        findings.push(isolation(&state));
        findings.extend(alarms(&state));
        findings.push(strays(context));
        findings.push(ledger(context));
    }
    findings
}

/// Whether what limits count is what the ledger's rows come to.
fn ledger(context: &Context) -> Finding {
    const CHECK: &str = "spending";
    let costs = context
        .client()
        .get("/api/cost-breakdown?by=route&check=true")
        .and_then(|answer| answer.read::<CostBreakdown>());
    match costs {
        Ok(costs) => match costs.warning {
            None => {
                Finding::ok(CHECK, format!("{} calls of models; their sum is what limits count", costs.whole.sends))
            }
            Some(warning) => Finding::fail(
                CHECK,
                clean(&warning),
                "Restore a backup, or correct the database with its owner's knowledge; no total is final until then.",
            ),
        },
        Err(error) => Finding::warn(CHECK, clean(&error.to_string()), "Look at `ouroboros logs --server`."),
    }
}

/// What locks and socket say together.
fn running(
    context: &Context,
    answer: &Result<StateView, ClientError>,
    launcher: Option<bool>,
    server: Option<bool>,
) -> Finding {
    const CHECK: &str = "server";
    let socket = context.client().socket().display();
    match (answer, server) {
        (Ok(state), _) => {
            let by = match (state.launcher_pid, launcher) {
                (Some(pid), _) => format!("its launcher is {pid}"),
                (None, Some(true)) => "a launcher holds its lock".to_owned(),
                (None, _) => "it has no launcher".to_owned(),
            };
            Finding::ok(CHECK, format!("pid {} answers on {socket}; {by}", state.pid))
        }
        (Err(ClientError::NotRunning { .. }), Some(true)) => Finding::fail(
            CHECK,
            format!("a server holds {}, but nobody listens on {socket}", context.paths().server_lock().display()),
            "It is starting, or it hangs: look at `ouroboros logs --server`; `ouroboros up` waits for it.",
        ),
        (Err(ClientError::NotRunning { .. }), _) => match launcher {
            Some(true) => Finding::warn(
                CHECK,
                "a launcher runs, but no server",
                "It waits before the next try: look at `ouroboros logs --server`.",
            ),
            _ => Finding::ok(CHECK, "not running; `ouroboros up` starts it"),
        },
        (Err(error), _) => Finding::fail(
            CHECK,
            clean(&error.to_string()),
            "Look at `ouroboros logs --server`; check that server and command are of one build and of one user.",
        ),
    }
}

/// Whether somebody holds this lock; `None` when that cannot be found out.
fn is_locked(path: &Path) -> Option<bool> {
    let file = match rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Some(false),
        Err(_) => return None,
    };
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Some(false),
        Err(Errno::WOULDBLOCK) => Some(true),
        Err(_) => None,
    }
}

fn build(state: &StateView) -> Finding {
    if state.build == BUILD {
        Finding::ok("version", crate::render::state::version(state))
    } else {
        Finding::warn("version", "server and command are of different builds", skew(&state.build))
    }
}

/// A server that answers for another directory than the one its socket is found by.
fn data_dir(context: &Context, state: &StateView) -> Option<Finding> {
    let ours = context.paths().data_dir();
    let same = std::fs::canonicalize(ours).ok() == std::fs::canonicalize(&state.data_dir).ok();
    (!same).then(|| {
        Finding::fail(
            "data directory",
            format!("the server works on {}, and this command looks at {}", clean(&state.data_dir), ours.display()),
            "Check OUROBOROS_HOME and XDG_DATA_HOME here and where the server was started.",
        )
    })
}

/// Whether the page is where others look for it.
fn port(context: &Context, state: &StateView) -> Finding {
    const CHECK: &str = "page";
    let file = context.paths().port_file();
    let announced = std::fs::read(&file).ok().and_then(|text| serde_json::from_slice::<Value>(&text).ok());
    let announced = announced.as_ref().and_then(|file| file.get("url")).and_then(Value::as_str);
    match (state.url.as_deref(), announced) {
        (None, _) => {
            Finding::warn(CHECK, "the server listens on its socket only", "The address is the setting server.listen.")
        }
        (Some(url), Some(known)) if url == known => Finding::ok(CHECK, clean(url)),
        (Some(url), known) => Finding::warn(
            CHECK,
            format!("it is at {}, and {} says {}", clean(url), file.display(), clean(known.unwrap_or("nothing"))),
            "`ouroboros restart --drain` writes the file again.",
        ),
    }
}

fn isolation(state: &StateView) -> Finding {
    const CHECK: &str = "isolation";
    match state.alarms.iter().find(|alarm| alarm.code == "not_isolated") {
        None => Finding::ok(CHECK, "tasks run in namespaces of their own"),
        Some(alarm) => Finding::warn(
            CHECK,
            format!(
                "{} A process that leaves its group may outlive launcher, server and worker when all three are killed at once.",
                clean(&alarm.message)
            ),
            alarm
                .remedy
                .clone()
                .unwrap_or_else(|| "Allow user namespaces (`sysctl user.max_user_namespaces`).".to_owned()),
        ),
    }
}

fn alarms(state: &StateView) -> Vec<Finding> {
    let others = state.alarms.iter().filter(|alarm| alarm.code != "not_isolated");
    others
        .map(|alarm| {
            let message = format!("{}: {}", clean(&alarm.code), clean(&alarm.message));
            let remedy =
                alarm.remedy.clone().unwrap_or_else(|| "`ouroboros status` shows it until it is over.".to_owned());
            Finding::warn("alarm", message, remedy)
        })
        .collect()
}

/// Processes of ours that nobody has recorded and no task explains.
fn strays(context: &Context) -> Finding {
    const CHECK: &str = "processes";
    let processes = context.client().get("/api/processes").and_then(|answer| answer.read::<Vec<ProcessView>>());
    match processes {
        Ok(processes) => {
            let strays: Vec<String> = processes
                .iter()
                .filter(|process| !process.recorded && process.task.is_none())
                .map(|process| process.pid.to_string())
                .collect();
            if strays.is_empty() {
                Finding::ok(CHECK, format!("{} processes, each accounted for", processes.len()))
            } else {
                Finding::warn(
                    CHECK,
                    format!("no task explains {}", strays.join(" ")),
                    "`ouroboros ps` shows where they hang.",
                )
            }
        }
        Err(error) => Finding::warn(CHECK, error.to_string(), "`ouroboros ps` asks again."),
    }
}
