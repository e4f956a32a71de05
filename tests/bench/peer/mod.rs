//! Others to compare with, measured in the same run by the same client.

pub mod pueue;
pub mod ripgrep;
mod serve;

use crate::api::Connection;
use crate::run::Bench;
use crate::sample::{micros, seconds_since};
use anyhow::{Context as _, bail};
use ouroboros_process::{Child, Command, Program, Signal, Stdio};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

pub use serve::serve;

/// One of this program's own servers, in a process of its own like the product's.
pub struct Peer {
    dir: TempDir,
    child: Child,
}

impl Peer {
    /// Starts it and waits until it listens. `kind` is `bare` or `commit`.
    ///
    /// # Errors
    /// It does not come up.
    pub fn start(bench: &Bench, kind: &str) -> anyhow::Result<Self> {
        let dir = tempfile::tempdir()?;
        let mut command = Command::new(Program::Path(std::env::current_exe()?));
        command.args = vec!["serve-peer".into(), kind.into(), dir.path().into()];
        command.stderr = Stdio::Inherit;
        let child = bench.spawner.spawn(command).context("start a peer")?;
        let peer = Self { dir, child };
        let start = micros();
        while bench.runtime.block_on(Connection::open(&peer.socket())).is_err() {
            if peer.child.try_wait()?.is_some() || seconds_since(start) > 10.0 {
                bail!("the peer {kind} did not come up");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(peer)
    }

    /// Where it listens.
    pub fn socket(&self) -> PathBuf {
        socket(self.dir.path())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.pidfd().signal(Signal::KILL);
        let _ = self.child.wait();
    }
}

fn socket(dir: &Path) -> PathBuf {
    dir.join("peer.sock")
}
