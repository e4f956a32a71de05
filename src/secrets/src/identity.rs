//! Finding the identity that a sealed file was made for, and choosing one for a new file.

use crate::files::{Unread, read_private};
use crate::keyring::Keyring;
use crate::sealed::text_of;
use crate::secret::Secret;
use crate::store::{Protection, SetError, move_aside};
use age::x25519::Identity;
use ouroboros_process::durable;
use std::path::Path;
use zeroize::Zeroizing;

/// Largest identity file: one line of 74 characters, and room for a comment that somebody put above it.
const MAX_FILE: usize = 4 << 10;

/// Why the identity beside the sealed file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// It cannot be read.
    #[error(transparent)]
    Unread(#[from] Unread),
    /// It holds no identity.
    #[error("it holds no identity")]
    NoIdentity,
}

/// The identity in this text; lines that begin with `#` are comments.
pub fn parse(text: &str) -> Option<Identity> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.next()?.parse().ok()
}

/// The identity in the file beside the sealed one.
pub fn beside(path: &Path) -> Result<Identity, Unusable> {
    let bytes = read_private(path, MAX_FILE)?;
    std::str::from_utf8(&bytes).ok().and_then(parse).ok_or(Unusable::NoIdentity)
}

/// The identity for a new sealed file, and where it is kept. One that is there is used again: the keyring then holds one for
/// all installations of a user, and does not gather those of directories that are gone.
pub fn choose(path: &Path, keyring: &dyn Keyring) -> Result<(Identity, Protection), SetError> {
    match beside(path) {
        Ok(identity) => return Ok((identity, Protection::Beside)),
        Err(Unusable::Unread(Unread::Missing)) => {}
        Err(Unusable::Unread(Unread::Io(source))) => return Err(SetError::Io { path: path.to_owned(), source }),
        Err(Unusable::Unread(_) | Unusable::NoIdentity) => {
            move_aside(path)?;
        }
    }
    let kept = keyring.identities();
    if let Some(identity) = kept.iter().flatten().find_map(|secret| parse(secret.expose())) {
        return Ok((identity, Protection::Keyring));
    }
    let identity = Identity::generate();
    let text = text_of(&identity).ok_or(SetError::Unsealed)?;
    if kept.is_ok() && keyring.keep(&text).is_ok() {
        return Ok((identity, Protection::Keyring));
    }
    write(path, &text)?;
    Ok((identity, Protection::Beside))
}

fn write(path: &Path, text: &Secret) -> Result<(), SetError> {
    let line = Zeroizing::new(format!("{}\n", text.expose()));
    durable::replace(path, line.as_bytes()).map_err(|source| SetError::Io { path: path.to_owned(), source })
}
