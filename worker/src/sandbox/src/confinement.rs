//! What is wanted for one command, and its way from the worker to exec mode.
//!
//! It travels as JSON in a sealed memory file, not in the arguments: those have a bound that the command's own need.

use ouroboros_proto::agent::{Guarantee, Profile};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// Bytes that one may take on its way.
const MOST: u64 = 256 << 10;

/// What one command gets. Paths are absolute; one that does not exist gives nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// How much.
    pub profile: Profile,
    /// The folder of the work: read, and written in `Workspace`.
    pub folder: PathBuf,
    /// A private directory of the attempt, which exists: home and temporary files lie in it.
    pub scratch: PathBuf,
    /// The owner's home, of which only programs are given.
    #[serde(default)]
    pub home: Option<PathBuf>,
    /// Further places to read.
    #[serde(default)]
    pub readable: Vec<PathBuf>,
    /// Further places to read and write.
    #[serde(default)]
    pub writable: Vec<PathBuf>,
    /// Places that are only read where they lie in the folder, or the folder in them.
    #[serde(default)]
    pub readonly: Vec<PathBuf>,
    /// Places that are not to be seen wherever they lie; only `scratch` may lie in one.
    #[serde(default)]
    pub hidden: Vec<PathBuf>,
    /// Whether it may use the network.
    #[serde(default)]
    pub network: bool,
    /// Limits of resources.
    #[serde(default)]
    pub limits: Limits,
    /// What may be missing.
    #[serde(default)]
    pub accept: Vec<Guarantee>,
    /// Does without a file system view of its own. One that was begun and failed leaves a process that cannot become the command:
    /// whoever accepts that `modes` are missing starts another one with this set.
    #[serde(default)]
    pub without_view: bool,
}

/// Limits that a command inherits to all it starts. The number of processes is none of them: the kernel counts it for the owner as a
/// whole, so that it would hit what is not ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Limits {
    /// Open descriptors.
    #[serde(default)]
    pub open_files: Option<u64>,
    /// Bytes of one file.
    #[serde(default)]
    pub file_bytes: Option<u64>,
    /// Bytes of address space.
    #[serde(default)]
    pub address_space: Option<u64>,
}

impl Confinement {
    /// Writes it where exec mode reads it.
    ///
    /// # Errors
    /// No memory file is to be had, or it is too large.
    pub fn hand_over(&self) -> io::Result<OwnedFd> {
        let bytes = serde_json::to_vec(self)?;
        if u64::try_from(bytes.len()).is_ok_and(|length| length > MOST) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let file = memfd_create(c"confinement", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        let mut file = File::from(file);
        file.write_all(&bytes)?;
        file.seek(SeekFrom::Start(0))?;
        let file = OwnedFd::from(file);
        fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
        Ok(file)
    }

    /// Reads it.
    ///
    /// # Errors
    /// It is too large, or none.
    pub fn take_over(from: OwnedFd) -> io::Result<Self> {
        let mut bytes = Vec::with_capacity(4 << 10);
        File::from(from).take(MOST.saturating_add(1)).read_to_end(&mut bytes)?;
        if u64::try_from(bytes.len()).is_ok_and(|length| length > MOST) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(serde_json::from_slice(&bytes)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> Confinement {
        Confinement {
            profile: Profile::Workspace,
            folder: "/folder".into(),
            scratch: "/scratch".into(),
            home: Some("/home/x".into()),
            readable: vec!["/a".into()],
            writable: Vec::new(),
            readonly: vec!["/folder/kept".into()],
            hidden: vec!["/folder/.ssh".into()],
            network: true,
            limits: Limits { open_files: Some(9), ..Limits::default() },
            accept: vec![Guarantee::Modes],
            without_view: false,
        }
    }

    #[test]
    fn it_survives_the_way() {
        let fd = wanted().hand_over().unwrap();
        assert!(rustix::io::write(&fd, b"x").is_err());
        assert_eq!(Confinement::take_over(fd).unwrap(), wanted());
    }

    #[test]
    fn the_way_has_a_bound() {
        let wide = Confinement { hidden: vec!["/x".repeat(1000).into(); 1000], ..wanted() };
        assert!(wide.hand_over().is_err());
    }
}
