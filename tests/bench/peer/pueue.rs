//! pueue, when it is installed: the same commands through its own queue.

use crate::run::Bench;
use crate::sample::{micros, seconds_since};
use anyhow::{Context as _, ensure};
use ouroboros_process::{Child, Command, Program, Signal, Status, Stdio};
use serde_json::Value;
use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// A daemon of its own.
pub struct Pueue<'a> {
    bench: &'a Bench,
    client: PathBuf,
    dir: TempDir,
    daemon: Child,
}

/// Where it is: in `PUEUE_BIN`, else on the `PATH`.
pub fn find() -> Option<PathBuf> {
    let places = std::env::var_os("PUEUE_BIN").into_iter().chain(std::env::var_os("PATH"));
    let mut dirs = places.flat_map(|place| std::env::split_paths(&place).collect::<Vec<_>>());
    dirs.find(|dir| dir.join("pueue").is_file() && dir.join("pueued").is_file())
}

impl<'a> Pueue<'a> {
    /// Starts the daemon that is in `bin`.
    ///
    /// # Errors
    /// It does not come up.
    pub fn start(bench: &'a Bench, bin: &Path) -> anyhow::Result<Self> {
        let dir = tempfile::tempdir()?;
        let shown = dir.path().display();
        let config = format!(
            "client: {{}}\ndaemon: {{}}\nshared:\n  pueue_directory: {shown}\n  runtime_directory: {shown}\n  use_unix_socket: true\n"
        );
        std::fs::write(dir.path().join("pueue.yml"), config)?;
        let daemon = bench.spawner.spawn(command(&bin.join("pueued"), dir.path(), &[])).context("start pueued")?;
        let pueue = Self { bench, client: bin.join("pueue"), dir, daemon };
        let start = micros();
        while pueue.run(&["status", "--json"]).is_err() {
            ensure!(seconds_since(start) < 20.0, "pueued does not answer");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(pueue)
    }

    /// Runs `true` this many times, as many at once as it has slots. Tasks a second.
    pub fn rate(&self, tasks: usize, slots: u32) -> anyhow::Result<f64> {
        self.run(&["parallel", &slots.to_string()])?;
        self.run(&["pause"])?;
        for _ in 0..tasks {
            self.run(&["add", "true"])?;
        }
        let start = micros();
        self.run(&["start"])?;
        loop {
            let status: Value = serde_json::from_str(&self.run(&["status", "--json"])?)?;
            let listed = status["tasks"].as_object().context("no tasks")?;
            if listed.len() >= tasks && listed.values().all(|task| task["status"].get("Done").is_some()) {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let rate = tasks as f64 / seconds_since(start);
        self.run(&["clean"])?;
        Ok(rate)
    }

    fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let (mut reader, writer) = std::io::pipe()?;
        let mut command = command(&self.client, self.dir.path(), arguments);
        command.stdout = Stdio::Fd(writer.into());
        let child = self.bench.spawner.spawn(command)?;
        let mut said = String::new();
        reader.read_to_string(&mut said)?;
        ensure!(child.wait()?.status == Status::Exited(0), "pueue {arguments:?} failed");
        Ok(said)
    }
}

impl Drop for Pueue<'_> {
    fn drop(&mut self) {
        let _ = self.daemon.kill_group(Signal::KILL);
        let _ = self.daemon.wait();
    }
}

fn command(program: &Path, dir: &Path, arguments: &[&str]) -> Command {
    let set = |name: &str, value: OsString| (OsString::from(name), value);
    let mut command = Command::new(Program::Path(program.to_owned()));
    command.args = vec!["--config".into(), dir.join("pueue.yml").into()];
    command.args.extend(arguments.iter().map(OsString::from));
    command.env = vec![set("PATH", "/usr/local/bin:/usr/bin:/bin".into()), set("HOME", dir.into())];
    command.cwd = Some(dir.to_owned());
    command
}
