//! An ordered stop: the server ends its own children in order, within a bound.

use ouroboros_proto::kind::{BootMicros, Millis};
use ouroboros_settings::source::MAX_FILE_BYTES;
use ouroboros_settings::{Key, Paths, Revision, Settings, Sources, Variable};
use std::fs::File;
use std::io::Read;

/// What the server gets on top of its own bound before everything is killed.
const MARGIN: Millis = Millis::seconds(2);
/// The server's bound when the configuration cannot be read.
const FALLBACK: Millis = Millis::seconds(10);
/// When somebody who waits wants to know why. Every further report takes twice as long to come.
const FIRST_REPORT: Millis = Millis::seconds(1);

/// A stop under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopping {
    /// Whether the next server is started afterwards.
    pub restarts: bool,
    /// When patience ends.
    pub deadline: BootMicros,
    /// When it is time to say what blocks.
    pub report_at: BootMicros,
    gap: Millis,
}

impl Stopping {
    /// A stop that begins now.
    pub fn begin(now: BootMicros, bound: Millis, restarts: bool) -> Self {
        Self { restarts, deadline: now.plus(bound), report_at: now.plus(FIRST_REPORT), gap: FIRST_REPORT }
    }

    /// Whether a report is due; if so the next one is set.
    pub fn report_due(&mut self, now: BootMicros) -> bool {
        if now < self.report_at {
            return false;
        }
        self.gap = Millis::new(self.gap.get().saturating_mul(2));
        self.report_at = now.plus(self.gap);
        true
    }
}

/// How long the server may take, by the settings as they are now.
pub fn bound(paths: &Paths, flags: &[(Key, String)], environment: &[Variable]) -> Millis {
    let allowed = configured(paths, flags, environment).unwrap_or(FALLBACK);
    Millis::new(allowed.get().saturating_add(MARGIN.get()))
}

fn configured(paths: &Paths, flags: &[(Key, String)], environment: &[Variable]) -> Option<Millis> {
    let mut text = String::new();
    if let Ok(file) = File::open(paths.config_file()) {
        let limit = u64::try_from(MAX_FILE_BYTES).unwrap_or(u64::MAX);
        file.take(limit.saturating_add(1)).read_to_string(&mut text).ok()?;
    }
    // The number of processors decides nothing that is asked here.
    let sources = Sources { flags, environment, file: (paths.config_file(), &text), processors: 1 };
    Some(Settings::load(&sources, Revision::default()).ok()?.settings.server_stop_timeout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_follows_the_settings_and_a_broken_file_has_a_default() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().as_os_str().to_owned();
        let paths = Paths::resolve(|name| (name == "OUROBOROS_HOME").then(|| home.clone()), None, 0).unwrap();
        let bound = |environment: &[Variable]| super::bound(&paths, &[], environment);
        assert_eq!(bound(&[]), Millis::seconds(12));
        std::fs::write(paths.config_file(), "[server]\nstop_timeout = \"3s\"\n").unwrap();
        assert_eq!(bound(&[]), Millis::seconds(5));
        assert_eq!(bound(&[("OUROBOROS_SERVER_STOP_TIMEOUT".into(), "1s".into())]), Millis::seconds(3));
        std::fs::write(paths.config_file(), "[server\n").unwrap();
        assert_eq!(bound(&[]), Millis::seconds(12));
    }

    #[test]
    fn reports_come_ever_less_often() {
        let at = |seconds: u64| BootMicros::new(seconds * 1_000_000);
        let mut stopping = Stopping::begin(at(0), Millis::seconds(60), false);
        let due: Vec<u64> = (0..60).filter(|second| stopping.report_due(at(*second))).collect();
        assert_eq!(due, [1, 3, 7, 15, 31]);
    }
}
