//! Random secrets and how they are compared.

use ouroboros_proto::api::{ApiError, Code};
use ouroboros_proto::kind::hex::hex;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The SHA-256 of a secret: what is kept of one, so that memory does not hold it.
#[derive(Debug, Clone, Copy)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Of this text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }

    /// Whether it is the digest of `text`, in a time that does not depend on either.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        self.0.ct_eq(&Self::of(text).0).into()
    }
}

/// 32 random bytes in hex.
///
/// # Errors
/// The system gives no random bytes.
pub fn random() -> Result<String, ApiError> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| ApiError::new(Code::Internal, format!("the system gives no random bytes: {error}")))?;
    Ok(hex(&bytes))
}
