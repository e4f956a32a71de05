//! Length prefix and bincode. The only module that names the encoding.

use crate::limits::FRAME_BYTES;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes of the length prefix.
pub const PREFIX: usize = 4;

const MAX: usize = 8 << 20;

fn config() -> impl bincode::config::Config {
    bincode::config::legacy().with_limit::<MAX>()
}

/// A value could not be put into a frame.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// It does not fit [`FRAME_BYTES`].
    #[error("a frame of {bytes} bytes is over the limit of {} bytes", FRAME_BYTES.max)]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// It has a shape that cannot be encoded.
    #[error("cannot encode a frame")]
    Shape(#[source] bincode::error::EncodeError),
}

/// Bytes are not a frame of the expected type.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The prefix names more than [`FRAME_BYTES`].
    #[error("the peer announces a frame of {bytes} bytes; the limit is {} bytes", FRAME_BYTES.max)]
    TooLarge {
        /// What it names.
        bytes: u64,
    },
    /// The body does not decode.
    #[error("a frame of {bytes} bytes does not decode")]
    Malformed {
        /// Its size.
        bytes: usize,
        /// Why.
        #[source]
        source: bincode::error::DecodeError,
    },
    /// The body decodes and bytes are left.
    #[error("{left} bytes are left after a frame's content")]
    Trailing {
        /// How many.
        left: usize,
    },
}

/// Appends prefix and body of `value` to `buffer`; leaves it as it was on an error.
///
/// # Errors
/// When the value does not fit a frame.
pub fn encode_into<T: Serialize>(value: &T, buffer: &mut Vec<u8>) -> Result<(), EncodeError> {
    let body = bincode::serde::encode_to_vec(value, config()).map_err(EncodeError::Shape)?;
    let length = u32::try_from(body.len())
        .ok()
        .filter(|_| body.len() <= MAX)
        .ok_or(EncodeError::TooLarge { bytes: body.len() })?;
    buffer.reserve(PREFIX + body.len());
    buffer.extend_from_slice(&length.to_be_bytes());
    buffer.extend_from_slice(&body);
    Ok(())
}

/// Prefix and body of `value`.
///
/// # Errors
/// When the value does not fit a frame.
pub fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, EncodeError> {
    let mut buffer = Vec::new();
    encode_into(value, &mut buffer)?;
    Ok(buffer)
}

/// The length of the body that follows this prefix. Check before reading it.
///
/// # Errors
/// When it is over the limit of a frame.
pub fn body_length(prefix: [u8; PREFIX]) -> Result<usize, DecodeError> {
    let bytes = u64::from(u32::from_be_bytes(prefix));
    usize::try_from(bytes).ok().filter(|length| *length <= MAX).ok_or(DecodeError::TooLarge { bytes })
}

/// The value in a frame's body, which must be used up by it. A length that the body names and does not have costs no memory:
/// what is held is the value so far, and a list's room to grow.
///
/// # Errors
/// When the bytes are not such a value.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, DecodeError> {
    let bytes = body.len();
    let (value, used) =
        bincode::serde::decode_from_slice(body, config()).map_err(|source| DecodeError::Malformed { bytes, source })?;
    match bytes.saturating_sub(used) {
        0 => Ok(value),
        left => Err(DecodeError::Trailing { left }),
    }
}
