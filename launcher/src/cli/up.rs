//! `up`: the launcher.

use super::args::system::Up;
use super::{Context, Failure, Outcome};
use crate::supervise;
use ouroboros_proto::api::StateView;
use ouroboros_proto::kind::ExitCode;
use ouroboros_settings::{Key, Setting};

/// Supervises in the foreground; beside a server that runs it only says where that is.
pub fn up(context: &Context, up: &Up) -> Outcome {
    let settings = up.set.iter().map(|text| setting(text)).collect::<Result<Vec<_>, Failure>>()?;
    let state = context.client().get("/api/state").and_then(|answer| answer.read::<StateView>());
    // One that is leaving is waited for, and its place taken.
    if let Some(state) = state.ok().filter(|state| !state.stopping) {
        return runs(context, &state);
    }
    let options = supervise::Options { paths: context.paths().clone(), settings, auto: up.auto };
    Ok(supervise::up(options).code())
}

fn runs(context: &Context, state: &StateView) -> Outcome {
    if context.json() {
        context.print_json(state)?;
    } else {
        let url = state.url.as_deref().map_or_else(|| "no page".to_owned(), crate::render::clean);
        let (role, pid) = state.launcher_pid.map_or(("server", state.pid), |pid| ("launcher", pid));
        context.print(&format!("already running: {role} pid {pid}, {url}\n"))?;
    }
    if let Some(why) = supervise::unwelcome() {
        context.note(why);
        return Ok(ExitCode::Unavailable.code());
    }
    Ok(0)
}

fn setting(text: &str) -> Result<(Key, String), Failure> {
    let (key, value) = text.split_once('=').ok_or_else(|| {
        Failure::usage(format!("--set {text}: it is KEY=VALUE, such as queue.slots=4; nothing was started"))
    })?;
    let key: Key =
        key.parse().map_err(|error| Failure::usage(format!("--set {text}: {error}; nothing was started")))?;
    let Setting { kind, .. } = key.setting();
    match kind.read(&ouroboros_settings::value::Raw::Untyped(value.to_owned())) {
        Ok(_) => Ok((key, value.to_owned())),
        Err(refusal) => {
            Err(Failure::usage(format!("--set {key}: found {}, allowed is {kind}; nothing was started", refusal.found)))
        }
    }
}
