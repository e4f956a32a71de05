//! The token of programs: 32 random bytes in hex, in a file that only the owner can read.

use super::secret::{self, Digest};
use ouroboros_proto::api::ApiError;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

/// What is kept of the token.
#[derive(Debug, Clone, Copy)]
pub struct Token(Digest);

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read or made.
    #[error("the token file {path}: {source}")]
    File {
        /// Which.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// Others can read the file.
    #[error("the token file {path} can be read by others (mode {mode:o}); remove it and start again")]
    Exposed {
        /// Which.
        path: String,
        /// Its mode.
        mode: u32,
    },
    /// No random bytes.
    #[error(transparent)]
    Random(#[from] ApiError),
}

impl Token {
    /// The token with this text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(Digest::of(text))
    }

    /// Reads the token from `path`, or makes one. A file that does not hold one (its writer died half-way) is replaced.
    ///
    /// # Errors
    /// The file cannot be read or made, or others can read it.
    pub fn load_or_create(path: &Path) -> Result<Self, TokenError> {
        let shown = || path.display().to_string();
        let failed = |source| TokenError::File { path: shown(), source };
        match File::open(path) {
            Ok(mut file) => {
                let mode = file.metadata().map_err(failed)?.mode() & 0o777;
                if mode & 0o077 != 0 {
                    return Err(TokenError::Exposed { path: shown(), mode });
                }
                let mut text = String::new();
                (&mut file).take(256).read_to_string(&mut text).map_err(failed)?;
                let text = text.trim();
                if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    return Ok(Self::new(text));
                }
                std::fs::remove_file(path).map_err(failed)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        let text = secret::random()?;
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
        file.write_all(format!("{text}\n").as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        Ok(Self::new(&text))
    }

    /// Whether `text` is it.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        self.0.matches(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_token_lasts_and_a_broken_or_exposed_file_does_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        let made = Token::load_or_create(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(made.is(text.trim()) && Token::load_or_create(&path).unwrap().is(text.trim()));
        assert!(!made.is("") && !made.is(&text));

        std::fs::write(&path, "half").unwrap();
        assert!(!Token::load_or_create(&path).unwrap().is("half"));
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);

        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(Token::load_or_create(&path), Err(TokenError::Exposed { mode: 0o644, .. })));
    }
}
