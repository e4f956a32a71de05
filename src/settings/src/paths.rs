//! Where every file we keep is.
//!
//! XDG base directories, with one override: `OUROBOROS_HOME` holds data and configuration together. Sockets are in the
//! data directory unless their path would not fit a socket address; then in a directory of their own, named by a hash of
//! the data directory, so that two installations never share one.
//!
//! Nothing here is created: who creates the runtime directory must make it 0700 and check that it is its own, since
//! `/tmp` is everybody's.

use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Longest path of the API socket, in bytes. `sun_path` holds 108 with its end (unix(7)); our longest name is 4 longer.
const SOCKET_PATH_BYTES: usize = 100;

const API_SOCKET: &str = "api.sock";

/// The environment does not say where our files are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathsError {
    /// The override is not a place that is the same from everywhere.
    #[error("OUROBOROS_HOME is {value:?}; it must be an absolute path without `..`, such as /srv/ouroboros")]
    BadOverride {
        /// What it is.
        value: PathBuf,
    },
    /// There is neither a home directory nor an override.
    #[error("there is no home directory; set HOME, or OUROBOROS_HOME to the directory that shall hold everything")]
    NoHome,
}

/// The places of one installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    data: PathBuf,
    config: PathBuf,
    runtime: PathBuf,
}

impl Paths {
    /// The places that this environment names. `variable` looks up an environment variable, `home` is the user's home
    /// directory, and `uid` the user's number.
    ///
    /// XDG variables that are empty or relative are passed over, as their specification asks.
    ///
    /// # Errors
    ///
    /// [`PathsError`] when the override is empty, relative or has `..` in it, or when there is no home directory.
    pub fn resolve(
        variable: impl Fn(&str) -> Option<OsString>,
        home: Option<&Path>,
        uid: u32,
    ) -> Result<Self, PathsError> {
        let xdg = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let below_home = |name: &str, rest: &str| {
            let home = home.filter(|home| home.is_absolute()).ok_or(PathsError::NoHome);
            xdg(name).map_or_else(|| home.map(|home| home.join(rest)), Ok).map(|base| base.join("ouroboros"))
        };
        let (data, config) = match variable("OUROBOROS_HOME").map(PathBuf::from) {
            Some(value) => {
                let data = tidy(&value).ok_or(PathsError::BadOverride { value })?;
                let config = data.join("config.toml");
                (data, config)
            }
            None => {
                let data = below_home("XDG_DATA_HOME", ".local/share")?;
                (data.components().collect(), below_home("XDG_CONFIG_HOME", ".config")?.join("config.toml"))
            }
        };
        let runtime = runtime(&data, xdg("XDG_RUNTIME_DIR"), uid);
        Ok(Self { data, config, runtime })
    }

    /// Everything durable.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.data
    }

    /// The configuration; need not exist.
    #[must_use]
    pub fn config_file(&self) -> &Path {
        &self.config
    }

    /// Sockets.
    #[must_use]
    pub fn runtime_dir(&self) -> &Path {
        &self.runtime
    }

    /// The socket of the HTTP API, for the command line.
    #[must_use]
    pub fn api_socket(&self) -> PathBuf {
        self.runtime.join(API_SOCKET)
    }

    /// The socket that workers connect to.
    #[must_use]
    pub fn worker_socket(&self) -> PathBuf {
        self.runtime.join("workers.sock")
    }
}

macro_rules! files {
    ($($(#[doc = $line:literal])+ $method:ident = $label:literal, $name:literal;)+) => {
        impl Paths {
            $($(#[doc = $line])+
            #[must_use]
            pub fn $method(&self) -> PathBuf {
                self.data.join($name)
            })+

            /// Every place with the words for it, in the order of the `paths` verb.
            #[must_use]
            pub fn all(&self) -> Vec<(&'static str, PathBuf)> {
                vec![
                    ("configuration", self.config.clone()),
                    ("data directory", self.data.clone()),
                    ("runtime directory", self.runtime.clone()),
                    ("API socket", self.api_socket()),
                    ("worker socket", self.worker_socket()),
                    $(($label, self.$method()),)+
                ]
            }
        }
    };
}

files! {
    /// The database.
    database = "database", "store.db";
    /// Held by the launcher for as long as it lives.
    launcher_lock = "launcher lock", "launcher.lock";
    /// Held by the server from before it opens the database until it exits.
    server_lock = "server lock", "server.lock";
    /// Holds the port that is really listened on.
    port_file = "port file", "port";
    /// Exists after an emergency stop, until somebody releases the queue.
    panic_marker = "panic marker", "panic";
    /// Space set aside for a full disk.
    reserve_file = "reserve file", "reserve";
    /// One file for each output stream of each attempt.
    output_dir = "task output", "output";
    /// Large bodies, named by their content.
    content_dir = "content", "content";
    /// Copies of the database.
    backups_dir = "backups", "backups";
    /// Log files.
    log_dir = "logs", "logs";
    /// The server's current log file.
    server_log = "server log", "logs/server.log";
}

/// The path without `.` and doubled or trailing slashes; `None` when it is not the same place from everywhere.
fn tidy(path: &Path) -> Option<PathBuf> {
    let climbs = path.components().any(|part| part == Component::ParentDir);
    (path.is_absolute() && !climbs).then(|| path.components().collect())
}

fn runtime(data: &Path, session: Option<PathBuf>, uid: u32) -> PathBuf {
    let fits = |dir: &Path| dir.join(API_SOCKET).as_os_str().len() <= SOCKET_PATH_BYTES;
    let hash: String =
        Sha256::digest(data.as_os_str().as_bytes()).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    [Some(data.join("run")), session.map(|dir| dir.join(format!("ouroboros-{hash}")))]
        .into_iter()
        .flatten()
        .find(|dir| fits(dir))
        .unwrap_or_else(|| PathBuf::from(format!("/tmp/ouroboros-{uid}-{hash}")))
}

#[cfg(test)]
mod tests {
    use super::{Paths, PathsError};
    use std::path::{Path, PathBuf};

    fn resolve(variables: &[(&str, &str)], home: Option<&str>) -> Result<Paths, PathsError> {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        Paths::resolve(find, home.map(Path::new), 1000)
    }

    #[test]
    fn the_home_directory_is_enough() {
        let paths = resolve(&[], Some("/home/ada")).unwrap();
        assert_eq!(paths.data_dir(), Path::new("/home/ada/.local/share/ouroboros"));
        assert_eq!(paths.config_file(), Path::new("/home/ada/.config/ouroboros/config.toml"));
        assert_eq!(paths.api_socket(), Path::new("/home/ada/.local/share/ouroboros/run/api.sock"));
        assert_eq!(paths.database(), Path::new("/home/ada/.local/share/ouroboros/store.db"));
    }

    #[test]
    fn xdg_variables_count_when_they_are_absolute() {
        let set = [("XDG_DATA_HOME", "/d"), ("XDG_CONFIG_HOME", "/c")];
        let paths = resolve(&set, None).unwrap();
        assert_eq!(paths.data_dir(), Path::new("/d/ouroboros"));
        assert_eq!(paths.config_file(), Path::new("/c/ouroboros/config.toml"));
        let ignored = [("XDG_DATA_HOME", "d"), ("XDG_CONFIG_HOME", "")];
        assert_eq!(resolve(&ignored, Some("/h")), resolve(&[], Some("/h")));
    }

    #[test]
    fn the_override_moves_everything_and_needs_no_home() {
        let paths = resolve(&[("OUROBOROS_HOME", "/srv//o/./"), ("XDG_DATA_HOME", "/d")], None).unwrap();
        assert_eq!(paths, resolve(&[("OUROBOROS_HOME", "/srv/o")], None).unwrap());
        for (name, path) in paths.all() {
            assert!(path.starts_with("/srv/o"), "{name}: {path:?}");
        }
    }

    #[test]
    fn an_unclear_place_is_refused() {
        for value in ["", "o", "./o", "../o", "/srv/../o"] {
            let error = resolve(&[("OUROBOROS_HOME", value)], Some("/h")).unwrap_err();
            assert_eq!(error, PathsError::BadOverride { value: PathBuf::from(value) });
            assert!(error.to_string().contains("absolute"), "{error}");
        }
        assert_eq!(resolve(&[], None), Err(PathsError::NoHome));
        assert_eq!(resolve(&[], Some("h")), Err(PathsError::NoHome));
    }

    #[test]
    fn sockets_of_a_deep_data_directory_are_elsewhere() {
        let room = 100 - "/run/api.sock".len();
        let fits = format!("/{}", "x".repeat(room - 1));
        let deep = format!("{fits}x");
        let runtime = |home: &str, session: &str| {
            let set = [("OUROBOROS_HOME", home), ("XDG_RUNTIME_DIR", session)];
            resolve(&set, None).unwrap().runtime_dir().to_owned()
        };
        assert_eq!(runtime(&fits, "/run/user/1000"), Path::new(&fits).join("run"));
        let first = runtime(&deep, "/run/user/1000");
        assert_eq!(first.parent(), Some(Path::new("/run/user/1000")));
        assert_ne!(first, runtime(&format!("{deep}y"), "/run/user/1000"));
        for session in ["", &deep] {
            let name = runtime(&deep, session).to_str().unwrap().to_owned();
            assert!(name.starts_with("/tmp/ouroboros-1000-") && name.len() == 28, "{name}");
        }
    }

    #[test]
    fn every_place_has_a_name_and_a_path_of_its_own() {
        let all = resolve(&[], Some("/h")).unwrap().all();
        for (index, (name, path)) in all.iter().enumerate() {
            assert!(all[index + 1..].iter().all(|(other, place)| other != name && place != path), "{name}");
        }
    }
}
