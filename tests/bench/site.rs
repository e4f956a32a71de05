//! An installation of its own for each scenario.

use crate::api::{Api, LONG};
use crate::run::Bench;
use crate::sample::{micros, seconds_since};
use anyhow::{Context as _, bail};
use ouroboros_process::{Child, Command, PidFd, Program, Signal, Stdio};
use ouroboros_settings::Paths;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// A data directory, and what runs on it. Dropping it ends everything in it.
pub struct Site<'a> {
    bench: &'a Bench,
    dir: TempDir,
    paths: Paths,
    launcher: PathBuf,
    variables: Vec<(OsString, OsString)>,
    running: Option<Child>,
}

impl<'a> Site<'a> {
    /// An empty one with this many slots and spares.
    pub fn new(bench: &'a Bench, slots: u32, spares: u32) -> anyhow::Result<Self> {
        let dir = tempfile::Builder::new().prefix("ouro").tempdir()?;
        let home = dir.path().join("data");
        std::fs::create_dir(&home)?;
        std::fs::create_dir(dir.path().join("work"))?;
        let text = format!("[server]\nlisten = \"127.0.0.1:0\"\n[queue]\nslots = {slots}\nspares = {spares}\n");
        std::fs::write(home.join("config.toml"), text)?;
        let variable = |name: &str| (name == "OUROBOROS_HOME").then(|| home.clone().into_os_string());
        let paths = Paths::resolve(variable, None, nix::unistd::geteuid().as_raw())?;
        Ok(Self { bench, dir, paths, launcher: support::program("ouroboros"), variables: Vec::new(), running: None })
    }

    /// Uses other programs.
    pub fn with_launcher(mut self, launcher: PathBuf) -> Self {
        self.launcher = launcher;
        self
    }

    /// Puts these settings (TOML lines with whole names) before its own.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn with_settings(self, text: &str) -> anyhow::Result<Self> {
        let file = self.data().join("config.toml");
        std::fs::write(&file, format!("{text}{}", std::fs::read_to_string(&file)?))?;
        Ok(self)
    }

    /// Its commands have these variables too.
    pub fn with_variables(mut self, variables: &[(&str, String)]) -> Self {
        self.variables.extend(variables.iter().map(|(name, value)| ((*name).into(), value.into())));
        self
    }

    /// The directory that everything of it is below.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Its data directory.
    pub fn data(&self) -> &Path {
        self.paths.data_dir()
    }

    /// A command line in it.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let set = |name: &str, value: OsString| (OsString::from(name), value);
        let mut command = Command::new(Program::Path(self.launcher.clone()));
        command.args = arguments.iter().map(Into::into).collect();
        command.env = vec![
            set("PATH", "/usr/local/bin:/usr/bin:/bin".into()),
            set("HOME", self.path().into()),
            set("LANG", "C.UTF-8".into()),
            set("OUROBOROS_HOME", self.data().into()),
        ];
        command.env.extend(self.variables.iter().cloned());
        command.cwd = Some(self.path().join("work"));
        command
    }

    /// Starts the launcher and waits until the server says it is ready. The time from start to ready, microseconds.
    pub fn up(&mut self) -> anyhow::Result<u64> {
        let said = std::fs::OpenOptions::new().create(true).append(true).open(self.path().join("launcher.out"))?;
        let mut command = self.command(&["up"]);
        command.stdout = Stdio::Fd(said.try_clone()?.into());
        command.stderr = Stdio::Fd(said.into());
        let start = micros();
        let launcher = self.bench.spawner.spawn(command).context("start the launcher")?;
        loop {
            if self.is_ready() {
                break;
            }
            if launcher.try_wait()?.is_some() || seconds_since(start) > LONG.as_secs_f64() {
                let said = std::fs::read_to_string(self.path().join("launcher.out"))?;
                bail!("the launcher did not come up: {said}");
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        let took = micros().saturating_sub(start);
        self.running = Some(launcher);
        Ok(took)
    }

    /// Whether a task accepted now can run now, or could if the queue were not held.
    pub fn is_ready(&self) -> bool {
        let health = self.api().and_then(|mut api| api.get("/api/health"));
        health.is_ok_and(|health| health["ready"] == true || health["degraded"][0]["code"] == "queue_held")
    }

    /// A new connection.
    pub fn api(&self) -> anyhow::Result<Api<'a>> {
        Api::open(&self.bench.runtime, &self.socket())
    }

    /// The API's socket.
    pub fn socket(&self) -> PathBuf {
        self.paths.api_socket()
    }

    /// Process number of the launcher.
    pub fn launcher(&self) -> anyhow::Result<i32> {
        Ok(self.running.as_ref().context("it does not run")?.pid())
    }

    /// Process number of the server.
    pub fn server(&self) -> anyhow::Result<i32> {
        let state = self.api()?.state()?;
        state["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).context("no pid")
    }

    /// Stops it in order and waits for its end.
    pub fn down(&mut self) -> anyhow::Result<()> {
        let launcher = self.running.take().context("it does not run")?;
        launcher.pidfd().signal(Signal::TERM)?;
        launcher.wait()?;
        Ok(())
    }

    /// Kills launcher and server at once and waits until nothing of it is left.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        let server = self.server().map(PidFd::open);
        if let Some(launcher) = self.running.take() {
            launcher.pidfd().signal(Signal::KILL)?;
            launcher.wait()?;
        }
        if let Ok(Ok(Some(server))) = server {
            // It may be gone with its launcher.
            let _ = server.signal(Signal::KILL);
        }
        self.sweep();
        Ok(())
    }

    /// Everything of it that is alive.
    pub fn alive(&self) -> Vec<i32> {
        support::strays(self.path()).into_iter().map(|found| found.pid).collect()
    }

    fn sweep(&self) {
        for _ in 0..1_000 {
            let left = self.alive();
            if left.is_empty() {
                return;
            }
            for pid in left {
                if let Ok(Some(process)) = PidFd::open(pid) {
                    let _ = process.signal(Signal::KILL);
                }
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Site<'_> {
    fn drop(&mut self) {
        if let Some(launcher) = self.running.take() {
            let _ = launcher.pidfd().signal(Signal::KILL);
            let _ = launcher.wait();
        }
        self.sweep();
    }
}
