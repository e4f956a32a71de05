//! What a command may do, and what was really put in its way.

use serde::{Deserialize, Serialize};

/// How much of the machine a command gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Reads its folder; writes only what is thrown away with its attempt.
    Readonly,
    /// Reads and writes its folder.
    Workspace,
    /// Whatever the owner may do.
    Full,
}

/// What a confined command is kept from. Each may rest on several means; what counts is that one of them holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guarantee {
    /// Nothing is read or written but what is given.
    Files,
    /// Modes, owners and times of files outside cannot be changed.
    Modes,
    /// Memory, environment and descriptors of processes outside are out of reach.
    Processes,
    /// No signal reaches a process outside.
    Signals,
    /// System calls that a build does not need are refused, the network among them when it is off.
    Calls,
}

impl Guarantee {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Files, Self::Modes, Self::Processes, Self::Signals, Self::Calls];
}

/// What holds for a command, as it was read back from the kernel or tried out before the command ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confined {
    /// What was asked for.
    pub profile: Profile,
    /// Whether it may use the network.
    pub network: bool,
    /// What does not hold although the profile asks for it, because the owner accepted that.
    #[serde(default)]
    pub missing: Vec<Guarantee>,
    /// Landlock's version as it is enforced; 0 when it is not.
    pub landlock: u32,
    /// Mode of the system call filter: 2 when one is in force.
    pub seccomp: u32,
    /// Whether set-uid bits and file capabilities do nothing.
    pub no_new_privs: bool,
    /// Whether it has a file system view of its own, where what is not given is absent.
    pub view: bool,
    /// Whether it may use sockets of the machine's own kind; only in a view of its own.
    pub local_sockets: bool,
    /// The inodes of its namespaces.
    pub namespaces: Namespaces,
    /// Capabilities that are left, a bit each.
    pub capabilities: u64,
    /// Limits that are in force.
    pub limits: Limits,
}

/// Inodes of namespaces; 0 is one that could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Namespaces {
    /// Of mounts.
    pub mount: u64,
    /// Of users.
    pub user: u64,
    /// Of process numbers.
    pub pid: u64,
    /// Of System V objects and message queues.
    pub ipc: u64,
}

/// Limits of resources, each as it is; `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of a core file.
    pub core: Option<u64>,
    /// Open descriptors.
    pub open_files: Option<u64>,
    /// Bytes of one file.
    pub file_bytes: Option<u64>,
    /// Bytes of address space.
    pub address_space: Option<u64>,
}

/// Why a command was not started confined, and so not at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Unconfined {
    /// This machine cannot give these, and nobody accepted that.
    Missing {
        /// Which.
        guarantees: Vec<Guarantee>,
    },
    /// The folder is, or lies in, a place that is hidden.
    Hidden,
    /// More entries would have to be given one by one than is bearable.
    TooManyEntries,
    /// A step failed that was to work.
    Failed {
        /// Which.
        step: ConfineStep,
        /// The errno; 0 when there is none.
        errno: i32,
    },
}

/// A step of confining.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfineStep {
    /// Reading what is asked for.
    Request,
    /// The folder, or the directory of the attempt.
    Places,
    /// A limit.
    Limits,
    /// Namespaces of its own.
    Namespaces,
    /// The file system view.
    View,
    /// Giving up capabilities.
    Privileges,
    /// Landlock.
    Landlock,
    /// The filter of system calls.
    Seccomp,
    /// The death signal, again.
    DeathSignal,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_have_words() {
        let missing = Unconfined::Missing { guarantees: vec![Guarantee::Modes] };
        assert_eq!(serde_json::to_string(&missing).unwrap(), r#"{"reason":"missing","guarantees":["modes"]}"#);
        let failed = r#"{"reason":"failed","step":"view","errno":22}"#;
        assert_eq!(
            serde_json::from_str::<Unconfined>(failed).unwrap(),
            Unconfined::Failed { step: ConfineStep::View, errno: 22 }
        );
    }
}
