//! What an owner does to the system as a whole.

use super::task::unexpected;
use crate::http::auth::Caller;
use crate::http::operations::BackedUp;
use crate::http::site::Call;
use crate::http::{json, reply};
use ouroboros_domain::{QueueCommand, Reply, ShutdownKind};
use ouroboros_proto::api::{ApiError, Code, CommandAnswer, CommandRequest};
use ouroboros_proto::kind::TaskNumber;
use ouroboros_proto::limits;
use std::path::PathBuf;
use std::sync::Arc;
use warp::http::StatusCode;
use warp::reply::Response;

/// `POST /api/command`
pub async fn command(call: &mut Call<'_>) -> Result<Response, ApiError> {
    call.request.query(&[])?;
    let answer = match read(call).await? {
        CommandRequest::Stop { drain } => end(call, ShutdownKind::Stop, drain).await?,
        CommandRequest::Restart { drain } => end(call, ShutdownKind::Restart, drain).await?,
        CommandRequest::Panic => {
            call.site.handle.panic();
            said("Everything is being killed.")
        }
        CommandRequest::HoldQueue => queue(call, QueueCommand::Hold, "The queue is held: nothing new starts.").await?,
        CommandRequest::ReleaseQueue { all } => {
            let message = if all { "The queue and every held task are released." } else { "The queue is released." };
            queue(call, QueueCommand::Release { all }, message).await?
        }
        CommandRequest::SetSlots { slots } => {
            if u64::from(slots) > limits::SLOTS.max {
                return Err(ApiError::limit(&limits::SLOTS, slots.into()));
            }
            queue(call, QueueCommand::SetSlots(slots), &format!("{slots} tasks may run at once.")).await?
        }
        CommandRequest::Reload => {
            let operations = Arc::clone(&call.site.operations);
            let needs_restart = call.site.blocking.act(move || operations.reload()).await?;
            CommandAnswer { needs_restart, ..said("The configuration was read again.") }
        }
        CommandRequest::CollectGarbage => {
            let operations = Arc::clone(&call.site.operations);
            let freed = call.site.blocking.act(move || operations.collect_garbage()).await?;
            CommandAnswer { freed_bytes: Some(freed), ..said("What is no longer kept was removed.") }
        }
        CommandRequest::Backup { path, output } => backup(call, path, output).await?,
        CommandRequest::LoginCode => login_code(call)?,
    };
    reply::json(StatusCode::OK, &answer)
}

/// Commands without fields read past fields that they do not have; this does not.
async fn read(call: &mut Call<'_>) -> Result<CommandRequest, ApiError> {
    let body = call.body().await?;
    let command: CommandRequest = json::parse(&body.bytes)?;
    let given: serde_json::Map<String, serde_json::Value> = json::parse(&body.bytes)?;
    let known = serde_json::to_value(&command).unwrap_or_default();
    match given.keys().find(|field| known.get(field.as_str()).is_none()) {
        None => Ok(command),
        Some(field) => {
            Err(ApiError::new(Code::BadField, format!("This command has no field {field:?}; nothing was done."))
                .detail(serde_json::json!({ "field": field })))
        }
    }
}

async fn end(call: &Call<'_>, kind: ShutdownKind, drain: bool) -> Result<CommandAnswer, ApiError> {
    let tasks: Vec<TaskNumber> = call.site.handle.shutdown(kind, drain).await?;
    let what = match kind {
        ShutdownKind::Stop => "stops",
        ShutdownKind::Restart => "restarts",
    };
    let message = match (tasks.len(), drain) {
        (0, _) => format!("The server {what}; nothing is running."),
        (running, true) => format!("The server {what} when {running} running tasks have ended."),
        (running, false) => format!("The server {what} and interrupts {running} running tasks."),
    };
    Ok(CommandAnswer { tasks, ..said(message) })
}

async fn queue(call: &Call<'_>, command: QueueCommand, message: &str) -> Result<CommandAnswer, ApiError> {
    match call.site.handle.queue(command).await? {
        Reply::Done => Ok(said(message)),
        other => Err(unexpected(&other)),
    }
}

async fn backup(call: &Call<'_>, path: String, output: bool) -> Result<CommandAnswer, ApiError> {
    let target = PathBuf::from(&path);
    if !target.is_absolute() || path.contains('\0') {
        return Err(ApiError::new(Code::BadField, format!("The path {path:?} is not absolute; nothing was written.")));
    }
    let operations = Arc::clone(&call.site.operations);
    let BackedUp { missing_bodies, output } =
        call.site.blocking.act(move || operations.backup(&target, output)).await?;
    let mut message = format!("A copy of the database is at {path}.");
    if let Some((dir, bytes)) = output {
        message.push_str(&format!(" {bytes} bytes of output are in {}.", dir.display()));
    }
    if missing_bodies > 0 {
        message.push_str(&format!(
            " {missing_bodies} large bodies are not in it because they are lost: tasks that need them cannot run again."
        ));
    }
    Ok(said(message))
}

fn login_code(call: &Call<'_>) -> Result<CommandAnswer, ApiError> {
    // A browser is let in by the owner, not by another browser: a stolen session must not make new ones.
    if call.caller != Caller::Owner {
        return Err(
            ApiError::new(Code::Forbidden, "A browser cannot make login codes.").remedy("Run `ouroboros open`.")
        );
    }
    let Some(url) = &call.site.about.url else {
        return Err(ApiError::new(Code::BadConfig, "There is no address for browsers.").remedy("Set `server.listen`."));
    };
    let code = call.site.auth.codes.mint()?;
    let message = "Open this address in a browser; it works once, for five minutes.";
    Ok(CommandAnswer { url: Some(format!("{url}/login?code={code}")), ..said(message) })
}

fn said(message: impl Into<String>) -> CommandAnswer {
    CommandAnswer { message: message.into(), ..CommandAnswer::default() }
}
