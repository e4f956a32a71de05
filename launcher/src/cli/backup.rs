//! `backup` and `restore`.

use super::args::system::{Backup, Restore};
use super::{Context, Failure, Outcome, program};
use crate::client::ClientError;
use crate::render::clean;
use ouroboros_proto::api::{CommandAnswer, CommandRequest};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A copy of a large database takes a while.
const PATIENCE: Duration = Duration::from_secs(1_800);

/// Has the server write a consistent copy of its store.
pub fn backup(context: &Context, backup: &Backup) -> Outcome {
    let path = absolute(&backup.file)?;
    let request = CommandRequest::Backup { path, output: backup.output };
    let answer = context.acting(|client| client.post_within("/api/command", &request, PATIENCE))?;
    if context.json() {
        context.print_json(&answer.value()?)?;
    } else {
        context.note(&clean(&answer.read::<CommandAnswer>()?.message));
    }
    Ok(0)
}

/// Becomes the server's own `restore`, which checks the file and puts it in place.
pub fn restore(context: &Context, restore: &Restore) -> Outcome {
    match context.client().get("/api/health") {
        Err(ClientError::NotRunning { .. }) => {}
        Err(error) => return Err(error.into()),
        Ok(_) => {
            return Err(Failure::new("running", "Ouroboros is running on this database; nothing was changed")
                .remedy("Stop it with `ouroboros stop`, then restore; the queue is held at the next start."));
        }
    }
    let file = absolute(&restore.file)?;
    if !Path::new(&file).is_file() {
        return Err(Failure::usage(format!("{file} is not a file; nothing was changed")));
    }
    Err(program::become_server(&["restore", &file]))
}

fn absolute(file: &Path) -> Result<String, Failure> {
    let path: PathBuf = std::path::absolute(file).map_err(|error| Failure::io(file.display(), &error))?;
    path.into_os_string()
        .into_string()
        .map_err(|path| Failure::usage(format!("the path {path:?} is not valid UTF-8; nothing was done")))
}
