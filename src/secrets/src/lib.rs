//! The keys of providers: kept sealed, found where the owner put them, and hidden in everything that leaves.
//!
//! | module | what it is for | it does not know |
//! | --- | --- | --- |
//! | [`secret`] | a key in memory: wiped when dropped, shown by nothing | where it came from |
//! | [`store`] | the sealed file of keys that were given to us | who uses them |
//! | [`keyring`], [`session`] | where the identity that opens the file is kept | what it opens |
//! | [`sources`] | which key each provider gets, and where it was found | how the store keeps its own |
//! | [`mask`] | taking secrets out of text, those we know and those that look like one | where text goes |
//!
//! Invariants:
//! - The content of a secret is reached by [`secret::Secret::expose`] only; nothing here logs, prints or serialises it.
//! - A file that cannot be opened is never overwritten: it is kept under another name, and the error says so.
//! - Nothing here reads the process's environment: whoever starts the server passes it in.

pub mod keyring;
pub mod mask;
pub mod secret;
pub mod session;
pub mod sources;
pub mod store;

mod files;
mod identity;
mod sealed;

pub use keyring::{Keyring, KeyringError, NoKeyring};
pub use mask::{Masker, MaskingWriter, SharedMasker};
pub use secret::{Name, Secret};
pub use session::SessionKeyring;
pub use store::SecretStore;
