//! The settings in force.

use super::StartError;
use crate::supervisor::work::AttemptSettings;
use ouroboros_domain::{Limits, Settings as CoreSettings, request_timeout};
use ouroboros_proto::kind::{ExitCode, Millis};
use ouroboros_proto::limits;
use ouroboros_settings::{Paths, Problem, Reload, Revision, Settings, Sources, Warning, reload};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::watch;

/// Holds the settings and where they come from.
pub struct Configuration {
    paths: Paths,
    environment: Vec<(OsString, OsString)>,
    current: watch::Sender<Arc<Settings>>,
}

impl Configuration {
    /// Reads the settings for a new life; the warnings go to the log once there is one.
    ///
    /// # Errors
    /// When a value is not valid: the server does not start with settings that its owner did not mean.
    pub fn load(paths: Paths) -> Result<(Self, Vec<Warning>), StartError> {
        let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let text = read(paths.config_file()).map_err(|error| {
            StartError::new(
                ExitCode::Config,
                format!("the configuration {} cannot be read: {error}", paths.config_file().display()),
                "Make it readable, or remove it to use the defaults.",
            )
        })?;
        let sources = Sources {
            flags: &[],
            environment: &environment,
            file: (paths.config_file(), &text),
            processors: processors(),
        };
        let loaded = Settings::load(&sources, Revision::default()).map_err(|problems| {
            StartError::new(
                ExitCode::Config,
                format!("the configuration is not valid:\n{}", lines(&problems)),
                "Correct it with `ouroboros config edit`; `ouroboros config check` tells when it is right.",
            )
        })?;
        let current = watch::Sender::new(Arc::new(loaded.settings));
        Ok((Self { paths, environment, current }, loaded.warnings))
    }

    /// Reads the file again. The environment is that of the start.
    ///
    /// # Errors
    /// Every problem, as a line each; the settings stay as they are.
    pub fn reload(&self) -> Result<Reload, String> {
        let text = read(self.paths.config_file())
            .map_err(|error| format!("{} cannot be read: {error}", self.paths.config_file().display()))?;
        let sources = Sources {
            flags: &[],
            environment: &self.environment,
            file: (self.paths.config_file(), &text),
            processors: processors(),
        };
        // One at a time: each goes by the settings of the one before.
        let mut outcome = Err(String::new());
        self.current.send_if_modified(|current| {
            outcome = reload(current, &sources).map_err(|problems| lines(&problems));
            if let Ok(reloaded) = &outcome {
                *current = Arc::new(reloaded.settings.clone());
            }
            outcome.is_ok()
        });
        outcome
    }

    /// The settings in force, and a way to wait for others.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<Arc<Settings>> {
        self.current.subscribe()
    }

    /// The settings in force.
    #[must_use]
    pub fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.current.borrow())
    }

    /// Where everything lies.
    #[must_use]
    pub fn paths(&self) -> &Paths {
        &self.paths
    }
}

/// The settings that the core decides by.
#[must_use]
pub fn core_settings(settings: &Settings) -> CoreSettings {
    CoreSettings {
        slots: settings.queue_slots,
        spares: settings.queue_spares,
        max_tasks: u64::from(settings.queue_max_tasks),
        cancel_grace: settings.task_cancel_grace,
        ready_bound: Millis::new(limits::READY_MILLIS.max),
        request_timeout: request_timeout(settings.approvals_timeout),
        limits: Limits {
            total: settings.limits_total.0,
            hour: settings.limits_hour.0,
            tree: settings.limits_tree.0,
            task: settings.limits_task.0,
            soft_percent: u8::try_from(settings.limits_notice).unwrap_or(100),
        },
    }
}

/// What stands between commas.
fn origins(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|origin| !origin.is_empty()).map(str::to_owned).collect()
}

/// The settings that attempts are started with.
#[must_use]
pub fn attempt_settings(settings: &Settings) -> AttemptSettings {
    AttemptSettings {
        output_limit: settings.task_output_limit.get(),
        no_new_privs: settings.task_no_new_privs,
        require_confinement: settings.tools_require_confinement,
        private_origins: origins(&settings.tools_private_origins),
    }
}

fn processors() -> u32 {
    std::thread::available_parallelism().map_or(2, |count| u32::try_from(count.get()).unwrap_or(u32::MAX))
}

fn read(path: &Path) -> std::io::Result<String> {
    match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        read => read,
    }
}

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
