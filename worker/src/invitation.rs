//! What the server tells a worker it starts, by its environment. None of it reaches a child: a command's environment is exactly
//! the one its task names.

use ouroboros_proto::kind::{Generation, WorkerId};
use ouroboros_proto::wire::Token;
use std::ffi::OsString;
use std::path::PathBuf;

/// The contents of `OUROBOROS_WORKER_*` and `OUROBOROS_SERVER_PID`.
#[derive(Debug)]
pub struct Invitation {
    /// Path of the server's socket.
    pub socket: PathBuf,
    /// Which worker this is.
    pub worker: WorkerId,
    /// The generation that started it.
    pub generation: Generation,
    /// Shown once, in the first frame.
    pub token: Token,
    /// The server's process number, where the worker can see it.
    pub server: Option<i32>,
}

/// The environment is not that of a worker.
#[derive(Debug, thiserror::Error)]
pub enum InvitationError {
    /// A variable is missing.
    #[error("{0} is not set; workers are started by ouroboros-server")]
    Missing(&'static str),
    /// A variable does not hold what it should.
    #[error("{0} is not valid")]
    Invalid(&'static str),
}

impl Invitation {
    /// Reads it.
    ///
    /// # Errors
    /// When a variable is missing or malformed.
    pub fn from_environment() -> Result<Self, InvitationError> {
        Ok(Self {
            socket: variable("OUROBOROS_WORKER_SOCKET")?.into(),
            worker: parsed("OUROBOROS_WORKER_ID")?,
            generation: parsed("OUROBOROS_WORKER_GENERATION")?,
            token: token("OUROBOROS_WORKER_TOKEN")?,
            server: Some(parsed("OUROBOROS_SERVER_PID")?).filter(|pid| *pid != 0),
        })
    }
}

fn variable(name: &'static str) -> Result<OsString, InvitationError> {
    std::env::var_os(name).ok_or(InvitationError::Missing(name))
}

fn parsed<T: std::str::FromStr>(name: &'static str) -> Result<T, InvitationError> {
    variable(name)?.to_str().and_then(|text| text.parse().ok()).ok_or(InvitationError::Invalid(name))
}

fn token(name: &'static str) -> Result<Token, InvitationError> {
    let text = variable(name)?;
    text.to_str().and_then(token_from_hex).ok_or(InvitationError::Invalid(name))
}

fn token_from_hex(text: &str) -> Option<Token> {
    let digits: Vec<u8> = text.chars().map(|c| c.to_digit(16)?.try_into().ok()).collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    let bytes: Vec<u8> = pairs.iter().map(|[high, low]| (high << 4) | low).collect();
    bytes.try_into().ok().filter(|_| rest.is_empty()).map(Token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_64_hexadecimal_digits() {
        let token = token_from_hex(&format!("0aF{}", "1".repeat(61))).unwrap();
        assert_eq!((token.0[0], token.0[1], token.0[31]), (0x0a, 0xf1, 0x11));
        assert!(token_from_hex(&"1".repeat(63)).is_none());
        assert!(token_from_hex(&"1".repeat(65)).is_none());
        assert!(token_from_hex(&"g".repeat(64)).is_none());
    }
}
