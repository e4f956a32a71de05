//! Where the identity that opens the sealed file is kept, as the store sees it.

use crate::secret::Secret;

/// A place outside our own directory that keeps identities for us. One user has one such place for all installations, so
/// there may be several identities in it.
///
/// Calls block for a bounded time and ask nobody anything: they never raise a prompt.
pub trait Keyring: Send + Sync {
    /// Every identity that was kept.
    ///
    /// # Errors
    /// When there is no keyring, or it does not answer as it should.
    fn identities(&self) -> Result<Vec<Secret>, KeyringError>;

    /// Keeps one more identity; durable when it returns.
    ///
    /// # Errors
    /// As [`Keyring::identities`].
    fn keep(&self, identity: &Secret) -> Result<(), KeyringError>;
}

/// Why a keyring did not help.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyringError {
    /// This session has none.
    #[error("this session has no keyring")]
    Absent,
    /// It is there, but closed, and opening it would ask the user.
    #[error("the session's keyring is locked")]
    Locked,
    /// It did not answer in time.
    #[error("the session's keyring did not answer in time")]
    Silent,
    /// It answered with an error, or with something else than an answer.
    #[error("the session's keyring failed: {0}")]
    Failed(String),
}

/// No keyring at all: on a machine without a session, or where the owner wants none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoKeyring;

impl Keyring for NoKeyring {
    fn identities(&self) -> Result<Vec<Secret>, KeyringError> {
        Err(KeyringError::Absent)
    }

    fn keep(&self, _: &Secret) -> Result<(), KeyringError> {
        Err(KeyringError::Absent)
    }
}
