//! The content of the sealed file, in and out of its encryption.
//!
//! Sealed with age (age-encryption.org/v1) for one X25519 recipient. Inside are lines: a head, then two for each secret, what
//! is known about it as JSON and the secret itself. A secret is visible ASCII, so it needs no escaping and passes through no
//! parser that would leave copies of it in memory.

use crate::secret::{MAX_BYTES, MAX_NAME_BYTES, Name, Secret};
use age::secrecy::ExposeSecret as _;
use age::x25519::Identity;
use ouroboros_proto::kind::UtcMicros;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use zeroize::Zeroizing;

/// Most secrets in one file.
pub const MAX_ENTRIES: usize = 64;

/// Longest account of where a secret came from, in bytes.
pub const MAX_SOURCE_BYTES: usize = 256;

/// Room for what is known about one secret; a source may be escaped to six times its length.
const MAX_FACTS_BYTES: usize = 6 * MAX_SOURCE_BYTES + MAX_NAME_BYTES + 256;

/// Largest content.
const MAX_CONTENT: usize = MAX_ENTRIES * (MAX_BYTES + MAX_FACTS_BYTES) + 64;

/// Largest sealed file: the encryption adds a head and 16 bytes to each 64 KiB.
pub const MAX_FILE: usize = MAX_CONTENT + (64 << 10);

const HEAD: &str = "ouroboros secrets 1";

/// One secret with what is known about it.
#[derive(Clone)]
pub struct Kept {
    /// The secret.
    pub secret: Secret,
    /// Where it came from, in the words of who set it.
    pub source: String,
    /// When it was set.
    pub set_at: UtcMicros,
}

/// Every secret by its name.
pub type Content = BTreeMap<Name, Kept>;

#[derive(Serialize, Deserialize)]
struct Facts {
    name: String,
    source: String,
    set_at: UtcMicros,
}

/// Why a sealed file does not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sealed {
    /// It was sealed for another identity.
    Foreign,
    /// It is not whole, or not a sealed file of ours.
    Damaged,
}

/// The bytes of a sealed file; `None` when the encryption fails, for which there is no known reason.
pub fn seal(content: &Content, identity: &Identity) -> Option<Vec<u8>> {
    age::encrypt(&identity.to_public(), &write(content)?).ok()
}

/// Opens a sealed file with the one of the identities that fits.
pub fn open(bytes: &[u8], identity: &Identity) -> Result<Content, Sealed> {
    let plain = match age::decrypt(identity, bytes) {
        Ok(plain) => Zeroizing::new(plain),
        Err(age::DecryptError::NoMatchingKeys) => return Err(Sealed::Foreign),
        Err(_) => return Err(Sealed::Damaged),
    };
    read(&plain).ok_or(Sealed::Damaged)
}

/// The text of an identity.
pub fn text_of(identity: &Identity) -> Option<Secret> {
    Secret::new(identity.to_string().expose_secret().to_owned()).ok()
}

fn write(content: &Content) -> Option<Zeroizing<Vec<u8>>> {
    let room = content.values().map(|kept| kept.secret.expose().len().saturating_add(MAX_FACTS_BYTES));
    // All room at once, so that growing leaves no unwiped copy behind.
    let mut plain = Zeroizing::new(Vec::with_capacity(room.sum::<usize>().saturating_add(HEAD.len() + 1)));
    plain.extend_from_slice(HEAD.as_bytes());
    plain.push(b'\n');
    for (name, kept) in content {
        let facts = Facts { name: name.to_string(), source: kept.source.clone(), set_at: kept.set_at };
        plain.extend_from_slice(&serde_json::to_vec(&facts).ok()?);
        plain.push(b'\n');
        plain.extend_from_slice(kept.secret.expose().as_bytes());
        plain.push(b'\n');
    }
    Some(plain)
}

fn read(plain: &[u8]) -> Option<Content> {
    let mut lines = std::str::from_utf8(plain).ok()?.lines();
    (lines.next()? == HEAD).then_some(())?;
    let mut content = Content::new();
    while let Some(facts) = lines.next() {
        let facts: Facts = serde_json::from_str(facts).ok()?;
        let secret = Secret::new(lines.next()?.to_owned()).ok()?;
        let kept = Kept { secret, source: facts.source, set_at: facts.set_at };
        content.insert(Name::new(&facts.name).ok()?, kept);
    }
    (content.len() <= MAX_ENTRIES).then_some(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(count: usize) -> Content {
        let kept = |secret: String| Kept {
            secret: Secret::new(secret).ok().unwrap(),
            source: "typed, with a \"quote\"\nand a line".to_owned(),
            set_at: UtcMicros::new(7),
        };
        (0..count).map(|n| (Name::new(&format!("n{n}")).unwrap(), kept(format!("{{\"k\":\\{n}}}")))).collect()
    }

    #[test]
    fn what_was_sealed_opens_with_its_identity_only() {
        let identity = Identity::generate();
        let sealed = seal(&content(3), &identity).unwrap();
        assert!(!sealed.windows(4).any(|part| part == b"\"k\":"));
        let opened = open(&sealed, &identity).unwrap_or_default();
        assert_eq!(opened.len(), 3);
        for ((name, was), (same, is)) in content(3).iter().zip(&opened) {
            assert!(name == same && was.secret == is.secret && was.source == is.source && was.set_at == is.set_at);
        }
        assert_eq!(open(&sealed, &Identity::generate()).err(), Some(Sealed::Foreign));
    }

    #[test]
    fn a_torn_or_changed_file_is_damaged() {
        let identity = Identity::generate();
        let sealed = seal(&content(1), &identity).unwrap();
        for length in [0, 10, sealed.len() / 2, sealed.len() - 1] {
            assert_eq!(open(&sealed[..length], &identity).err(), Some(Sealed::Damaged), "{length}");
        }
        let mut changed = sealed.clone();
        *changed.last_mut().unwrap() ^= 1;
        assert_eq!(open(&changed, &identity).err(), Some(Sealed::Damaged));
        let foreign = age::encrypt(&identity.to_public(), b"something else").unwrap();
        assert_eq!(open(&foreign, &identity).err(), Some(Sealed::Damaged));
    }
}
