//! One server process, from its start on.

use super::activation::{self, Activation, Handed};
use super::environment::{LAUNCHER_PID, READY_FD, UNPROVEN, Variable};
use super::readiness::Readiness;
use ouroboros_process::{Child, Command, Program, SpawnError, Spawner, Stdio};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::pipe::{PipeFlags, pipe_with};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// What every server of one launcher is started with.
#[derive(Debug)]
pub struct Recipe<'a> {
    /// The program.
    pub program: &'a Path,
    /// Whether it leaves when it is idle.
    pub auto: bool,
    /// The environment that is inherited.
    pub environment: &'a [Variable],
    /// The sockets of a service manager.
    pub activation: &'a Activation,
    /// Where it runs.
    pub data_dir: &'a Path,
    /// What is left of earlier servers, as JSON.
    pub unproven: Option<String>,
}

/// A server that was started. It stops by itself when this is dropped, since its lifeline ends.
#[derive(Debug)]
pub struct Server {
    /// Its process.
    pub child: Child,
    /// Where it says that it is ready.
    pub readiness: Readiness,
    _lifeline: OwnedFd,
}

/// A server was not started.
#[derive(Debug, thiserror::Error)]
pub enum NotStarted {
    /// There was no pipe or descriptor for it.
    #[error("no descriptors are left ({0})")]
    Descriptors(#[from] io::Error),
    /// The process could not be made.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

impl NotStarted {
    /// Whether a later try may go better by itself.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Descriptors(_) | Self::Spawn(SpawnError::Limit { .. }) => true,
            Self::Spawn(
                SpawnError::NotFound
                | SpawnError::NotExecutable { .. }
                | SpawnError::BadDirectory { .. }
                | SpawnError::Namespace { .. }
                | SpawnError::Invalid(_)
                | SpawnError::Other { .. },
            ) => false,
        }
    }
}

impl Server {
    /// Starts one in a process group of its own, so that a Ctrl-C on our terminal reaches us alone.
    ///
    /// # Errors
    /// [`NotStarted`]; nothing runs then.
    pub fn start(spawner: &Spawner, recipe: Recipe<'_>) -> Result<Self, NotStarted> {
        let (stdin, lifeline) = pipe_with(PipeFlags::CLOEXEC).map_err(io::Error::from)?;
        let (readable, announces) = pipe_with(PipeFlags::CLOEXEC).map_err(io::Error::from)?;
        // Our end only: the flag belongs to the end, not to the pipe.
        fcntl_setfl(&readable, OFlags::NONBLOCK).map_err(io::Error::from)?;
        let Handed { descriptors: mut inherit, variables } = recipe.activation.hand_over()?;
        let ready_at = inherit.last().map_or(activation::FIRST, |(_, number)| number.saturating_add(1));
        inherit.push((announces, ready_at));

        let mut env = recipe.environment.to_vec();
        env.extend(variables);
        env.push((READY_FD.into(), ready_at.to_string().into()));
        env.push((LAUNCHER_PID.into(), std::process::id().to_string().into()));
        env.extend(recipe.unproven.map(|list| (UNPROVEN.into(), list.into())));
        let mut args = vec!["run".into()];
        args.extend(recipe.auto.then(|| "--auto".into()));
        let child = spawner.spawn(Command {
            args,
            env,
            cwd: Some(recipe.data_dir.to_owned()),
            stdin: Stdio::Fd(stdin),
            stderr: Stdio::Inherit,
            inherit,
            ..Command::new(Program::Path(recipe.program.to_owned()))
        })?;
        Ok(Self { child, readiness: Readiness::new(readable), _lifeline: lifeline })
    }
}
