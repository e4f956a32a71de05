//! One installation in a directory of its own.

use crate::census::{Found, strays};
use crate::wait::until;
use std::io::Write;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A program of the workspace, beside the one that runs the tests.
///
/// # Panics
/// When it was not built.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    let mut dir = std::env::current_exe().unwrap();
    dir.pop();
    if dir.ends_with("deps") {
        dir.pop();
    }
    let path = dir.join(name);
    assert!(path.exists(), "{} is not built; run ./scripts/test, which builds every program first", path.display());
    path
}

/// What a command came to.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Its exit code; 128 and the signal when a signal ended it.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Ran {
    /// The output as JSON.
    ///
    /// # Panics
    /// When it is not.
    #[track_caller]
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("not JSON ({error}): {self:?}"))
    }
}

/// An installation. Dropping it ends everything in it.
pub struct Home {
    dir: TempDir,
    launcher: Option<Child>,
}

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

impl Home {
    /// An empty one.
    ///
    /// # Panics
    /// When there is no room for it.
    #[must_use]
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("ouro").tempdir().unwrap();
        std::fs::create_dir(dir.path().join("work")).unwrap();
        let home = Self { dir, launcher: None };
        home.configure("[server]\nlisten = \"127.0.0.1:0\"\nstop_timeout = \"30s\"\n[queue]\nslots = 4\n");
        home
    }

    /// Replaces its configuration.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn configure(&self, text: &str) {
        std::fs::create_dir_all(self.data()).unwrap();
        std::fs::write(self.data().join("config.toml"), text).unwrap();
    }

    /// The directory that everything of it is below.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Its data directory.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Where its commands run.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// A command in it.
    #[must_use]
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.path())
            .env("LANG", "C.UTF-8")
            .env("OUROBOROS_HOME", self.data())
            .current_dir(self.work());
        for name in ["OUROBOROS_TEST_FAILPOINT"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
    }

    /// Starts the launcher and waits until it is ready.
    ///
    /// # Panics
    /// When it ends instead.
    pub fn up(&mut self) {
        self.up_with(&[]);
    }

    /// The same with more variables.
    ///
    /// # Panics
    /// When it ends instead.
    pub fn up_with(&mut self, variables: &[(&str, &str)]) {
        let log = std::fs::File::create(self.path().join("launcher.out")).unwrap();
        let mut command = self.command(program("ouroboros"));
        command.arg("up").stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).process_group(0);
        command.envs(variables.iter().copied());
        let mut child = command.spawn().unwrap();
        let said = self.path().join("launcher.out");
        until("the launcher is ready", || {
            if let Some(status) = child.try_wait().unwrap() {
                panic!("the launcher ended with {status}: {}", std::fs::read_to_string(&said).unwrap());
            }
            (self.run(&["status", "--json"]).code == 0).then_some(())
        });
        self.launcher = Some(child);
    }

    /// Process number of the launcher that [`Home::up`] started.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn launcher(&self) -> i32 {
        self.launcher.as_ref().unwrap().id().cast_signed()
    }

    /// Process number of the server.
    ///
    /// # Panics
    /// When it does not answer.
    #[must_use]
    pub fn server(&self) -> i32 {
        let state = self.run(&["status", "--json"]).json();
        i32::try_from(find(&state, "pid").unwrap().as_i64().unwrap()).unwrap()
    }

    /// Waits for the launcher's end: its exit code, 128 and the signal when a signal ended it.
    ///
    /// # Panics
    /// When it does not end.
    pub fn launcher_ends(&mut self) -> i32 {
        let mut child = self.launcher.take().unwrap();
        let status = until("the launcher ends", || child.try_wait().unwrap());
        status.code().unwrap_or_else(|| 128 + status.signal().unwrap())
    }

    /// Runs the command line to its end.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with_input(arguments, b"")
    }

    /// The same with standard input.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Ran {
        let mut command = self.command(program("ouroboros"));
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program that reads nothing may be gone already.
        let _ = child.stdin.take().unwrap().write_all(input);
        let output = child.wait_with_output().unwrap();
        Ran {
            code: output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap()),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Submits a command and gives its number.
    ///
    /// # Panics
    /// When it is not accepted.
    #[track_caller]
    #[must_use]
    pub fn submit(&self, options: &[&str], argv: &[&str]) -> String {
        let mut arguments = vec!["run", "--detach"];
        arguments.extend(options);
        arguments.push("--");
        arguments.extend(argv);
        let ran = self.run(&arguments);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.out.trim().to_owned()
    }

    /// The status word of a task.
    ///
    /// # Panics
    /// When it is not shown.
    #[track_caller]
    #[must_use]
    pub fn status(&self, task: &str) -> String {
        let shown = self.run(&["show", task, "--json"]);
        assert_eq!(shown.code, 0, "{shown:?}");
        find(&shown.json(), "status").unwrap().as_str().unwrap().to_owned()
    }

    /// Waits until a task has this status.
    #[track_caller]
    pub fn reaches(&self, task: &str, status: &str) {
        until(&format!("task {task} is {status}"), || {
            let shown = self.run(&["show", task, "--json"]);
            (shown.code == 0 && find(&shown.json(), "status")?.as_str()? == status).then_some(())
        });
    }

    /// Waits until the program of a task may run: before that an interruption is not one.
    #[track_caller]
    pub fn begins(&self, task: &str) {
        until(&format!("task {task} has begun"), || {
            let shown = self.run(&["show", task, "--json"]);
            (shown.code == 0 && find(&shown.json(), "released")?.as_bool()?).then_some(())
        });
    }

    /// Every process of it that is alive.
    #[must_use]
    pub fn alive(&self) -> Vec<Found> {
        strays(self.path())
    }

    /// Waits until nothing of it is alive.
    #[track_caller]
    pub fn is_empty(&self) {
        until("nothing of the installation is alive", || self.alive().is_empty().then_some(()));
    }
}

/// The first value under this name, wherever it stands.
#[must_use]
pub fn find<'a>(value: &'a serde_json::Value, name: &str) -> Option<&'a serde_json::Value> {
    match value {
        serde_json::Value::Object(map) => map.get(name).or_else(|| map.values().find_map(|inner| find(inner, name))),
        serde_json::Value::Array(items) => items.iter().find_map(|inner| find(inner, name)),
        _ => None,
    }
}

/// Kills a process of this test's installation.
///
/// # Panics
/// When the number is not a process.
pub fn kill(pid: i32) {
    use nix::sys::signal::{Signal, kill};
    let _ = kill(nix::unistd::Pid::from_raw(pid), Signal::SIGKILL);
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Some(launcher) = &mut self.launcher {
            let _ = launcher.kill();
            let _ = launcher.wait();
        }
        for _ in 0..500 {
            let left = self.alive();
            if left.is_empty() {
                return;
            }
            for found in left {
                kill(found.pid);
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}
