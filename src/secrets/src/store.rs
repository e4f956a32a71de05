//! The sealed file of keys that were given to us.
//!
//! `secrets.age` holds them; the identity that opens it is in the session's keyring or, where there is none, in
//! `secrets.identity` beside it. Nothing is made before the first key is set. One process at a time may have a store of a
//! directory; whoever opens it holds the directory's lock.

use crate::files::{Unread, read_private};
use crate::identity::{self, Unusable};
use crate::keyring::{Keyring, KeyringError};
use crate::sealed::{self, Content, Kept, MAX_ENTRIES, MAX_SOURCE_BYTES, Sealed};
use crate::secret::{Name, Secret};
use age::x25519::Identity;
use ouroboros_process::durable;
use ouroboros_proto::kind::UtcMicros;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The sealed file's name.
pub const FILE: &str = "secrets.age";

/// The name of the identity's file.
pub const IDENTITY_FILE: &str = "secrets.identity";

/// The keys of one installation.
pub struct SecretStore {
    dir: PathBuf,
    keyring: Arc<dyn Keyring>,
    state: State,
}

enum State {
    /// There is no file.
    Nothing,
    /// The file is open.
    Open { content: Content, identity: Box<Identity>, protection: Protection },
    /// The file is there and does not open.
    Shut(Arc<Trouble>),
}

/// What may be told about a kept key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: Name,
    /// Where it came from, in the words of who set it.
    pub source: String,
    /// When it was set.
    pub set_at: UtcMicros,
    /// Its last four characters; empty for a short one.
    pub fingerprint: String,
}

/// How the keys are protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// There is nothing to protect.
    Nothing,
    /// The identity is in the session's keyring.
    Keyring,
    /// The identity is in a file beside the sealed one.
    Beside,
    /// The file does not open, so nobody knows.
    Unknown,
}

impl fmt::Display for Protection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Nothing => "nothing is kept yet",
            Self::Keyring => "sealed; identity in the keyring",
            Self::Beside => {
                "sealed; identity beside it: protects backups that leave it out, not against another program of the same user"
            }
            Self::Unknown => "the sealed file does not open",
        })
    }
}

/// Why the sealed file does not open. It is kept as it is; unless the trouble may pass, the next key that is set moves it aside.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The file is not one that we would have made, or cannot be read.
    #[error("{}: {why}. The file is kept as it is and its keys are not used; {}", path.display(), remedy(path, "correct that"))]
    File {
        /// The sealed file.
        path: PathBuf,
        /// What is wrong with it.
        why: Unread,
    },
    /// The file is not whole.
    #[error(
        "{}: it is damaged, or no file of ours. It is kept as it is; {}",
        path.display(), remedy(path, "put back a copy of it")
    )]
    Damaged {
        /// The sealed file.
        path: PathBuf,
    },
    /// No identity that we have opens it.
    #[error(
        "{}: it was sealed for an identity that is neither in {IDENTITY_FILE} nor in the keyring. It is kept as it is; {}",
        path.display(), remedy(path, "put back the identity")
    )]
    Foreign {
        /// The sealed file.
        path: PathBuf,
    },
    /// The file that should hold the identity cannot be used.
    #[error(
        "{}: {why}. It and {} are kept as they are; {}",
        path.display(), sealed.display(), remedy(sealed, "correct that")
    )]
    Identity {
        /// The identity's file.
        path: PathBuf,
        /// The sealed file.
        sealed: PathBuf,
        /// What is wrong with it.
        why: Unusable,
    },
    /// The identity may be in a keyring that does not help now.
    #[error(
        "{}: the identity that opens it may be in the keyring, but {why}. The file is kept as it is; \
        unlock the keyring and start again",
        path.display()
    )]
    Keyring {
        /// The sealed file.
        path: PathBuf,
        /// Why.
        why: KeyringError,
    },
}

fn remedy(sealed: &Path, first: &str) -> String {
    format!("{first} and start again, or set the keys again: it is then moved to {}.unreadable-<n>", sealed.display())
}

impl Trouble {
    /// Whether the file may open later without anybody changing it. It is then never moved aside.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Keyring { .. } => true,
            Self::File { why, .. } | Self::Identity { why: Unusable::Unread(why), .. } => matches!(why, Unread::Io(_)),
            Self::Identity { why: Unusable::NoIdentity, .. } | Self::Damaged { .. } | Self::Foreign { .. } => false,
        }
    }
}

/// Why a key was not set or removed. What was kept before is kept.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// The file does not open at present, and may again.
    #[error(transparent)]
    Shut(Arc<Trouble>),
    /// There is no room.
    #[error("{MAX_ENTRIES} secrets are kept, and more are not allowed; remove one first")]
    Full,
    /// The account of where it came from is not one short line.
    #[error("the source of a secret is one line of at most {MAX_SOURCE_BYTES} bytes")]
    BadSource,
    /// The encryption failed.
    #[error("the secrets could not be sealed; nothing was changed")]
    Unsealed,
    /// A file could not be written or moved.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl SecretStore {
    /// The store in `dir`. It asks the keyring only when there is a sealed file that the identity beside it does not open, and
    /// then blocks for as long as the keyring may. A file that does not open is told by [`SecretStore::trouble`].
    #[must_use]
    pub fn open(dir: &Path, keyring: Arc<dyn Keyring>) -> Self {
        let state = load(dir, keyring.as_ref());
        Self { dir: dir.to_owned(), keyring, state }
    }

    /// Why the sealed file does not open, when it does not.
    #[must_use]
    pub fn trouble(&self) -> Option<&Trouble> {
        match &self.state {
            State::Shut(trouble) => Some(trouble),
            State::Nothing | State::Open { .. } => None,
        }
    }

    /// How the keys are protected; its `Display` says it in a sentence.
    #[must_use]
    pub fn protection(&self) -> Protection {
        match &self.state {
            State::Nothing => Protection::Nothing,
            State::Open { protection, .. } => *protection,
            State::Shut(_) => Protection::Unknown,
        }
    }

    /// Every kept key, by name, without its content.
    #[must_use]
    pub fn list(&self) -> Vec<Entry> {
        let entry = |(name, kept): (&Name, &Kept)| Entry {
            name: name.clone(),
            source: kept.source.clone(),
            set_at: kept.set_at,
            fingerprint: kept.secret.fingerprint(),
        };
        self.content().into_iter().flatten().map(entry).collect()
    }

    /// The key of this name.
    #[must_use]
    pub fn get(&self, name: &Name) -> Option<Secret> {
        self.content()?.get(name).map(|kept| kept.secret.clone())
    }

    /// Every kept key with its name.
    pub fn secrets(&self) -> impl Iterator<Item = (&Name, &Secret)> {
        self.content().into_iter().flatten().map(|(name, kept)| (name, &kept.secret))
    }

    /// Keeps a key under this name, in place of one that was there; durable when it returns. A file that does not open is
    /// tried once more, then moved aside, and its new path returned.
    ///
    /// # Errors
    /// When the trouble of the file may pass, when there is no room, or when a step failed.
    pub fn set(
        &mut self,
        name: Name,
        secret: Secret,
        source: &str,
        at: UtcMicros,
    ) -> Result<Option<PathBuf>, SetError> {
        if source.len() > MAX_SOURCE_BYTES || source.chars().any(char::is_control) {
            return Err(SetError::BadSource);
        }
        self.retry();
        if self.content().is_some_and(|content| content.len() >= MAX_ENTRIES && !content.contains_key(&name)) {
            return Err(SetError::Full);
        }
        let aside = self.clear_trouble()?;
        if matches!(self.state, State::Nothing) {
            let (identity, protection) = identity::choose(&self.dir.join(IDENTITY_FILE), self.keyring.as_ref())?;
            self.state = State::Open { content: Content::new(), identity: Box::new(identity), protection };
        }
        self.change(|content| content.insert(name, Kept { secret, source: source.to_owned(), set_at: at }))?;
        Ok(aside)
    }

    /// Forgets the key of this name, and says whether there was one; durable when it returns.
    ///
    /// # Errors
    /// When the file does not open, or a step failed.
    pub fn remove(&mut self, name: &Name) -> Result<bool, SetError> {
        self.retry();
        if let State::Shut(trouble) = &self.state {
            return Err(SetError::Shut(Arc::clone(trouble)));
        }
        if self.get(name).is_none() {
            return Ok(false);
        }
        self.change(|content| content.remove(name))?;
        Ok(true)
    }

    fn content(&self) -> Option<&Content> {
        match &self.state {
            State::Open { content, .. } => Some(content),
            State::Nothing | State::Shut(_) => None,
        }
    }

    /// The keyring may have been unlocked, or the file put right, since it did not open.
    fn retry(&mut self) {
        if matches!(self.state, State::Shut(_)) {
            self.state = load(&self.dir, self.keyring.as_ref());
        }
    }

    fn clear_trouble(&mut self) -> Result<Option<PathBuf>, SetError> {
        let State::Shut(trouble) = &self.state else { return Ok(None) };
        if trouble.may_pass() {
            return Err(SetError::Shut(Arc::clone(trouble)));
        }
        let aside = move_aside(&self.dir.join(FILE))?;
        self.state = State::Nothing;
        Ok(Some(aside))
    }

    fn change<T>(&mut self, change: impl FnOnce(&mut Content) -> T) -> Result<(), SetError> {
        let State::Open { content, identity, .. } = &mut self.state else { return Ok(()) };
        let mut changed = content.clone();
        change(&mut changed);
        let bytes = sealed::seal(&changed, identity).ok_or(SetError::Unsealed)?;
        let path = self.dir.join(FILE);
        match durable::replace(&path, &bytes) {
            Ok(()) => {
                *content = changed;
                Ok(())
            }
            Err(source) => {
                // It may have failed on either side of the replacement: the file tells.
                self.state = load(&self.dir, self.keyring.as_ref());
                Err(SetError::Io { path, source })
            }
        }
    }
}

fn load(dir: &Path, keyring: &dyn Keyring) -> State {
    let path = dir.join(FILE);
    let bytes = match read_private(&path, sealed::MAX_FILE) {
        Ok(bytes) => bytes,
        Err(Unread::Missing) => return State::Nothing,
        Err(why) => return State::Shut(Arc::new(Trouble::File { path, why })),
    };
    unseal(dir, path, &bytes, keyring).unwrap_or_else(|trouble| State::Shut(Arc::new(trouble)))
}

fn unseal(dir: &Path, path: PathBuf, bytes: &[u8], keyring: &dyn Keyring) -> Result<State, Trouble> {
    let attempt = |identity: Identity, protection| match sealed::open(bytes, &identity) {
        Ok(content) => Ok(Some(State::Open { content, identity: Box::new(identity), protection })),
        Err(Sealed::Foreign) => Ok(None),
        Err(Sealed::Damaged) => Err(Trouble::Damaged { path: path.clone() }),
    };
    let mut unusable = None;
    match identity::beside(&dir.join(IDENTITY_FILE)) {
        Ok(identity) => {
            if let Some(state) = attempt(identity, Protection::Beside)? {
                return Ok(state);
            }
        }
        Err(Unusable::Unread(Unread::Missing)) => {}
        Err(why) => unusable = Some(why),
    }
    let kept = keyring.identities();
    for identity in kept.iter().flatten().filter_map(|secret| identity::parse(secret.expose())) {
        if let Some(state) = attempt(identity, Protection::Keyring)? {
            return Ok(state);
        }
    }
    Err(match (unusable, kept) {
        (Some(why), _) => Trouble::Identity { path: dir.join(IDENTITY_FILE), sealed: path, why },
        (None, Ok(_) | Err(KeyringError::Absent)) => Trouble::Foreign { path },
        (None, Err(why @ (KeyringError::Locked | KeyringError::Silent | KeyringError::Failed(_)))) => {
            Trouble::Keyring { path, why }
        }
    })
}

/// Moves a file to the first free name after its own, and says which.
pub(crate) fn move_aside(path: &Path) -> Result<PathBuf, SetError> {
    durable::move_aside(path).map_err(|source| SetError::Io { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests;
