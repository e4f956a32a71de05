//! Starting processes.
//!
//! Every process starts from one thread that lives as long as the process, because a child's parent-death signal fires when the
//! *thread* that started it ends. The child shares our memory until it executes (`CLONE_VM | CLONE_VFORK`), so the size of the
//! caller does not matter; everything it needs is laid out beforehand and it calls nothing but the kernel.

mod command;
mod error;
mod inside;
mod launch;
mod plan;
mod thread;

pub use command::{Command, Lead, Program, Stdio};
pub use error::{SpawnError, Step};
pub use thread::Spawner;

pub(crate) use plan::environment;
