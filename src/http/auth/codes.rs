//! One-use codes that log a browser in.

use super::secret::{self, Digest};
use ouroboros_proto::api::ApiError;
use ouroboros_proto::kind::{BootMicros, Millis, clock};
use ouroboros_proto::limits;
use std::sync::{Mutex, PoisonError};

/// How long a code waits to be used.
const LIFE: Millis = Millis::seconds(300);

/// Codes that wait to be used. In memory only: a restart ends them.
#[derive(Debug, Default)]
pub struct LoginCodes(Mutex<Vec<(Digest, BootMicros)>>);

impl LoginCodes {
    /// A new code.
    ///
    /// # Errors
    /// Too many wait, or the system gives no random bytes.
    pub fn mint(&self) -> Result<String, ApiError> {
        let code = secret::random()?;
        let now = clock::boot();
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|(_, until)| *until > now);
        let waiting = u64::try_from(codes.len()).unwrap_or(u64::MAX);
        if waiting >= limits::LOGIN_CODES.max {
            return Err(ApiError::limit(&limits::LOGIN_CODES, waiting.saturating_add(1))
                .remedy("Use one of those that were made, or wait five minutes."));
        }
        codes.push((Digest::of(&code), now.plus(LIFE)));
        Ok(code)
    }

    /// Uses a code up; false when it is none.
    pub fn redeem(&self, code: &str) -> bool {
        self.redeem_at(code, clock::boot())
    }

    fn redeem_at(&self, code: &str, now: BootMicros) -> bool {
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|(_, until)| *until > now);
        let before = codes.len();
        codes.retain(|(digest, _)| !digest.matches(code));
        codes.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_works_once_and_not_for_ever() {
        let codes = LoginCodes::default();
        let code = codes.mint().unwrap();
        assert!(!codes.redeem("guess"));
        assert!(codes.redeem(&code));
        assert!(!codes.redeem(&code));
        let late = codes.mint().unwrap();
        assert!(!codes.redeem_at(&late, clock::boot().plus(LIFE)));
    }
}
