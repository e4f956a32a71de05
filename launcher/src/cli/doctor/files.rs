//! Checks of directories, files and configuration.

use super::Finding;
use crate::cli::{Context, Failure, config, program, service};
use crate::render::size;
use ouroboros_settings::Settings;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Runs them.
pub fn check(context: &Context) -> Vec<Finding> {
    let paths = context.paths();
    let (configuration, settings) = configuration(context);
    let mut findings = vec![
        directory("data directory", paths.data_dir()),
        directory("runtime directory", paths.runtime_dir()),
        space(paths.data_dir(), settings.as_ref()),
        configuration,
        programs(),
    ];
    findings.extend(unit());
    findings.extend(panic_marker(paths.panic_marker().as_path()));
    findings
}

/// A directory of ours: a directory, ours alone, writable. One that is not there yet is made at the first start.
fn directory(check: &'static str, path: &Path) -> Finding {
    let shown = path.display();
    let data = match std::fs::metadata(path) {
        Ok(data) => data,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Finding::ok(check, format!("{shown} is not there yet; the first start makes it"));
        }
        Err(error) => {
            return Finding::fail(
                check,
                format!("{shown} cannot be looked at: {error}"),
                "Check the directories above it.",
            );
        }
    };
    let (owner, own) = (data.uid(), rustix::process::geteuid().as_raw());
    if !data.is_dir() {
        return Finding::fail(
            check,
            format!("{shown} is not a directory"),
            "Move it away; the first start makes a directory.",
        );
    }
    if owner != own {
        return Finding::fail(
            check,
            format!("{shown} belongs to user {owner}, and you are user {own}"),
            "Work as that user, or set OUROBOROS_HOME to a directory of your own.",
        );
    }
    if rustix::fs::access(path, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).is_err() {
        return Finding::fail(
            check,
            format!("{shown} is not writable"),
            format!("`chmod u+rwx {shown}`, or mount it writable."),
        );
    }
    if data.mode() & 0o077 != 0 {
        let mode = data.mode() & 0o777;
        return Finding::warn(
            check,
            format!("others may look into {shown} (mode {mode:o})"),
            format!("`chmod 700 {shown}`"),
        );
    }
    Finding::ok(check, shown.to_string())
}

fn space(path: &Path, settings: Option<&Settings>) -> Finding {
    const CHECK: &str = "free space";
    // Of the nearest directory that is there: the file system that the data will be on.
    let found = path.ancestors().find_map(|dir| rustix::fs::statvfs(dir).ok());
    let Some(disk) = found else {
        return Finding::warn(CHECK, "it is not known", "Check that the file system answers.");
    };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let shown = size(free);
    if disk.f_bavail == 0 || settings.is_some_and(|settings| free < settings.disk_low_water.get()) {
        return Finding::fail(
            CHECK,
            format!("{shown} is below disk.low_water; no task is accepted"),
            "Make room, for example by `ouroboros gc`; what counts as low is the setting disk.low_water.",
        );
    }
    Finding::ok(CHECK, shown)
}

fn configuration(context: &Context) -> (Finding, Option<Settings>) {
    const CHECK: &str = "configuration";
    match config::load(context) {
        Ok(loaded) if loaded.warnings.is_empty() => {
            let file = context.paths().config_file();
            let words = if file.exists() { "is valid" } else { "is not there; defaults are in force" };
            (Finding::ok(CHECK, format!("{} {words}", file.display())), Some(loaded.settings))
        }
        Ok(loaded) => {
            let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
            let finding =
                Finding::warn(CHECK, warnings.join("; "), "It is ignored; `ouroboros config list` shows the names.");
            (finding, Some(loaded.settings))
        }
        Err(Failure::Told(report)) => (Finding::fail(CHECK, report.message, report.remedy.unwrap_or_default()), None),
        Err(Failure::Closed) => (Finding::ok(CHECK, String::new()), None),
    }
}

/// The three programs are side by side.
fn programs() -> Finding {
    const CHECK: &str = "programs";
    const REMEDY: &str = "Install Ouroboros again: its three programs belong side by side.";
    let missing: Vec<String> = ["ouroboros-server", "ouroboros-worker"]
        .into_iter()
        .filter(|name| !program::beside(name).is_ok_and(|path| program::is_executable(&path)))
        .map(ToOwned::to_owned)
        .collect();
    if missing.is_empty() {
        Finding::ok(CHECK, "server and worker are beside this program")
    } else {
        Finding::fail(CHECK, format!("not beside this program, or not executable: {}", missing.join(", ")), REMEDY)
    }
}

fn unit() -> Option<Finding> {
    Some(match service::unit_state()? {
        Ok(file) => Finding::ok("service", format!("{} is up to date", file.display())),
        Err(why) => Finding::warn("service", why, "`ouroboros service install` writes it again."),
    })
}

fn panic_marker(path: &Path) -> Option<Finding> {
    path.exists().then(|| {
        Finding::warn(
            "emergency stop",
            "the last server was ended by `panic`",
            "`ouroboros release --all` lets the queue go.",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{directory, space};
    use crate::cli::doctor::Level;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn directories_are_ours_alone() {
        let dir = tempfile::tempdir().unwrap();
        let mode = |mode| std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        mode(0o700);
        assert_eq!(directory("x", dir.path()).level, Level::Ok);
        mode(0o755);
        assert_eq!(directory("x", dir.path()).level, Level::Warn);
        assert_eq!(directory("x", &dir.path().join("later")).level, Level::Ok);
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(directory("x", &file).level, Level::Fail);
        assert_eq!(directory("x", &file.join("below")).level, Level::Fail);
        if !rustix::process::geteuid().is_root() {
            assert_eq!(directory("x", std::path::Path::new("/")).level, Level::Fail);
        }
        assert_eq!(space(&dir.path().join("not/yet"), None).level, Level::Ok);
    }
}
