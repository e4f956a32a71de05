//! The log. Under the journal it goes to standard error with priorities; otherwise to a file of bounded size, with a bounded
//! number of older ones beside it. Keys are hidden in every line.

use ouroboros_process::durable;
use ouroboros_secrets::{MaskingWriter, SharedMasker};
use ouroboros_settings::{LogLevel, Settings};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::prelude::*;
use tracing_subscriber::reload::{self, Handle};
use tracing_subscriber::{Registry, fmt};

/// Changes the level and the bounds while the log is in use.
#[derive(Clone)]
pub struct Logging {
    level: Handle<LevelFilter, Registry>,
    file: Option<Rotated>,
}

impl Logging {
    /// Starts the log of this process.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn start(path: &Path, settings: &Settings, masker: SharedMasker) -> io::Result<Self> {
        let (filter, level) = reload::Layer::new(filter(settings.log_level));
        if std::env::var_os("JOURNAL_STREAM").is_some() {
            let layer =
                fmt::layer().with_writer(Masked(Journal, masker)).without_time().with_ansi(false).with_level(false);
            // A second start in one process keeps the first log.
            let _ = tracing_subscriber::registry().with(filter).with(layer).try_init();
            return Ok(Self { level, file: None });
        }
        let file = Rotated::open(path, settings.log_max_size.get(), settings.log_keep)?;
        let layer = fmt::layer().with_writer(Masked(file.clone(), masker)).with_ansi(false).with_target(false);
        let _ = tracing_subscriber::registry().with(filter).with(layer).try_init();
        Ok(Self { level, file: Some(file) })
    }

    /// Takes over the level and the bounds.
    pub fn configure(&self, settings: &Settings) {
        // It fails only when the subscriber is gone, at the very end.
        let _ = self.level.modify(|level| *level = filter(settings.log_level));
        if let Some(file) = &self.file {
            let mut state = file.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.max = settings.log_max_size.get();
            state.keep = settings.log_keep;
        }
    }
}

fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}

/// A file that is renamed to `NAME.1` when it is full; older ones move up, and the oldest goes.
#[derive(Clone)]
pub struct Rotated {
    state: Arc<Mutex<State>>,
}

struct State {
    path: PathBuf,
    file: File,
    size: u64,
    max: u64,
    keep: u32,
}

impl Rotated {
    fn open(path: &Path, max: u64, keep: u32) -> io::Result<Self> {
        if let Some(parent) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        }
        let file = append(path)?;
        let size = file.metadata()?.len();
        let state = State { path: path.to_owned(), file, size, max, keep };
        Ok(Self { state: Arc::new(Mutex::new(state)) })
    }
}

impl State {
    fn rotate(&mut self) -> io::Result<()> {
        let numbered = |number: u32| PathBuf::from(format!("{}.{number}", self.path.display()));
        if self.keep == 0 {
            self.file.set_len(0)?;
        } else {
            for number in (1..self.keep).rev() {
                match durable::rename(&numbered(number), &numbered(number.saturating_add(1))) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            durable::rename(&self.path, &numbered(1))?;
        }
        self.file = append(&self.path)?;
        self.size = 0;
        Ok(())
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

impl Write for Rotated {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let length = u64::try_from(line.len()).unwrap_or(u64::MAX);
        if state.size > 0 && state.size.saturating_add(length) > state.max {
            state.rotate()?;
        }
        state.file.write_all(line)?;
        state.size = state.size.saturating_add(length);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Rotated {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// A log without keys.
struct Masked<M>(M, SharedMasker);

impl<'a, M: MakeWriter<'a>> MakeWriter<'a> for Masked<M> {
    type Writer = MaskingWriter<M::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        self.1.writer(self.0.make_writer())
    }

    fn make_writer_for(&'a self, meta: &tracing::Metadata<'_>) -> Self::Writer {
        self.1.writer(self.0.make_writer_for(meta))
    }
}

/// Standard error with a priority in front of each line, as the journal reads it (sd-daemon(3)).
struct Journal;

struct JournalLine {
    priority: u8,
}

impl<'a> MakeWriter<'a> for Journal {
    type Writer = JournalLine;

    fn make_writer(&'a self) -> JournalLine {
        JournalLine { priority: 6 }
    }

    fn make_writer_for(&'a self, meta: &tracing::Metadata<'_>) -> JournalLine {
        let priority = match *meta.level() {
            tracing::Level::ERROR => 3,
            tracing::Level::WARN => 4,
            tracing::Level::INFO => 6,
            tracing::Level::DEBUG | tracing::Level::TRACE => 7,
        };
        JournalLine { priority }
    }
}

impl Write for JournalLine {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut stderr = io::stderr().lock();
        write!(stderr, "<{}>", self.priority)?;
        stderr.write_all(line)?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
