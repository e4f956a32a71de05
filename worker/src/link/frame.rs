//! Reading frames from a blocking stream.

use ouroboros_proto::wire::DecodeError;
use ouroboros_proto::wire::codec::{self, PREFIX};
use serde::de::DeserializeOwned;
use std::io::{self, Read};

/// No frame could be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The stream ended or broke: the server is gone.
    #[error("the server's connection ended")]
    Ended(#[source] io::Error),
    /// What came is no frame.
    #[error("the server sent what is no frame")]
    Malformed(#[from] DecodeError),
}

/// Blocks until a whole frame is there. Allocates no more than the frame's length, which is bounded.
///
/// # Errors
/// When the stream ends, breaks or carries something else.
pub fn read<T: DeserializeOwned>(stream: &mut impl Read) -> Result<T, ReadError> {
    let mut prefix = [0_u8; PREFIX];
    stream.read_exact(&mut prefix).map_err(ReadError::Ended)?;
    let mut body = vec![0_u8; codec::body_length(prefix)?];
    stream.read_exact(&mut body).map_err(ReadError::Ended)?;
    Ok(codec::decode(&body)?)
}
