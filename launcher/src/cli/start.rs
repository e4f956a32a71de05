//! Starting the launcher for a verb that needs it.

use super::{Context, Failure, config, service};
use crate::client::ClientError;
use crate::supervise::{self, Started};
use ouroboros_proto::api::{Health, StateView};
use ouroboros_proto::kind::{BootMicros, Millis, clock};
use ouroboros_settings::Key;
use std::time::Duration;

/// How long a server may take until it is ready; a large store after a crash takes half a second.
const READY: Millis = Millis::seconds(30);

/// Starts the service when there is one, a launcher of its own otherwise, waits until it answers, and says so once.
pub fn start(context: &Context) -> Result<(), Failure> {
    let how = if service::start_user_service()? {
        "started the service `ouroboros`; `ouroboros stop` stops it".to_owned()
    } else {
        let started = supervise::start_detached(context.paths()).map_err(|error| {
            Failure::new("not_started", format!("Ouroboros is not running and could not be started: {error}."))
                .remedy("`ouroboros up` starts it here and shows what is wrong.")
        })?;
        match started {
            Started::Ours => format!("started in the background; {}`ouroboros stop` stops it now", idle(context)),
            // Whoever started that one was told how it ends.
            Started::Before(Some(pid)) => format!("launcher {pid} was there already; nothing was started"),
            Started::Before(None) => "a launcher was there already; nothing was started".to_owned(),
        }
    };
    ready(context, READY)?;
    context.note(&how);
    Ok(())
}

/// When a server that was started so leaves by itself.
fn idle(context: &Context) -> String {
    let Ok(loaded) = config::load(context) else { return String::new() };
    if loaded.settings.server_idle_exit == Millis::ZERO {
        return String::new();
    }
    format!("it leaves after {} without work, ", loaded.settings.value(Key::ServerIdleExit))
}

/// Waits until the server answers and says that it is ready, or only degraded.
pub fn ready(context: &Context, bound: Millis) -> Result<Health, Failure> {
    poll(bound, || {
        let health: Health = context.client().get("/api/health")?.read()?;
        Ok(Some(health))
    })
    .map_err(|error| late(context, bound, error))
}

/// Waits until a server of a later life than `generation` answers.
pub fn later(context: &Context, generation: u64, bound: Millis) -> Result<StateView, Failure> {
    poll(bound, || {
        let state: StateView = context.client().get("/api/state")?.read()?;
        Ok(Some(state).filter(|state| state.generation.get() > generation))
    })
    .map_err(|error| late(context, bound, error))
}

fn late(context: &Context, bound: Millis, error: Option<ClientError>) -> Failure {
    match error {
        Some(error) if !error.is_passing() => error.into(),
        _ => Failure::new("not_ready", format!("the server did not answer within {} s", bound.get() / 1_000)).remedy(
            format!("`ouroboros up` shows what is wrong, and so does {}.", context.paths().server_log().display()),
        ),
    }
}

/// Tries with growing pauses until there is an answer; the last failure when there was none in time.
fn poll<T>(bound: Millis, attempt: impl Fn() -> Result<Option<T>, ClientError>) -> Result<T, Option<ClientError>> {
    let end: BootMicros = clock::boot().plus(bound);
    let mut pause = Duration::from_millis(2);
    loop {
        let last = match attempt() {
            Ok(Some(answer)) => return Ok(answer),
            Ok(None) => None,
            Err(error) if error.is_passing() => Some(error),
            Err(error) => return Err(Some(error)),
        };
        if clock::boot() >= end {
            return Err(last);
        }
        std::thread::sleep(pause);
        pause = pause.saturating_mul(2).min(Duration::from_millis(100));
    }
}
