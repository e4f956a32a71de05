//! ripgrep, when it is installed: the same search over the same files.

use crate::run::Bench;
use anyhow::ensure;
use ouroboros_process::{Command, Program, Status};
use std::path::{Path, PathBuf};

/// Where it is: in `RIPGREP_BIN`, else on the `PATH`.
pub fn find() -> Option<PathBuf> {
    let places = std::env::var_os("RIPGREP_BIN").into_iter().chain(std::env::var_os("PATH"));
    let mut dirs = places.flat_map(|place| std::env::split_paths(&place).collect::<Vec<_>>());
    dirs.find(|dir| dir.join("rg").is_file()).map(|dir| dir.join("rg"))
}

/// Finds a pattern below a folder.
///
/// # Errors
/// It cannot be run, or finds nothing.
pub fn search(bench: &Bench, ripgrep: &Path, pattern: &str, folder: &Path) -> anyhow::Result<()> {
    let mut command = Command::new(Program::Path(ripgrep.to_owned()));
    command.args = ["--no-config", "--line-number", pattern, "."].map(Into::into).into();
    command.cwd = Some(folder.to_owned());
    let exit = bench.spawner.spawn(command)?.wait()?;
    ensure!(exit.status == Status::Exited(0), "ripgrep found nothing: {exit:?}");
    Ok(())
}
