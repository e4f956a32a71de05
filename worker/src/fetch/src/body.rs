//! A body within its bounds: as it comes, and unpacked.

use crate::message::{Refusal, Why};
use flate2::read::MultiGzDecoder;
use reqwest::Response;
use reqwest::header::{CONTENT_ENCODING, HeaderMap};
use std::io::Read as _;

/// Reads a whole body, of at most so many bytes.
///
/// # Errors
/// It is longer, packed in a way that is not understood, or broke off.
pub async fn read(mut response: Response, most: u64) -> Result<Vec<u8>, Refusal> {
    let packed = packed(response.headers())?;
    if response.content_length().is_some_and(|length| length > most) {
        return Err(too_large(most));
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| crate::hops::failed(&error))? {
        if length(&bytes).saturating_add(length(&chunk)) > most {
            return Err(too_large(most));
        }
        bytes.extend_from_slice(&chunk);
    }
    if packed { unpacked(&bytes, most) } else { Ok(bytes) }
}

/// Whether it is packed. Only what was offered is understood.
fn packed(headers: &HeaderMap) -> Result<bool, Refusal> {
    let Some(encoding) = headers.get(CONTENT_ENCODING) else { return Ok(false) };
    match encoding.to_str().unwrap_or("?").trim().to_ascii_lowercase().as_str() {
        "" | "identity" => Ok(false),
        "gzip" | "x-gzip" => Ok(true),
        other => {
            let other: String = other.chars().take(40).collect();
            Err(Refusal::new(Why::NotText, format!("it is packed as {other:?}, which was not asked for")))
        }
    }
}

fn unpacked(bytes: &[u8], most: u64) -> Result<Vec<u8>, Refusal> {
    let mut whole = Vec::new();
    let read = MultiGzDecoder::new(bytes).take(most.saturating_add(1)).read_to_end(&mut whole);
    if length(&whole) > most {
        return Err(too_large(most));
    }
    read.map_err(|error| Refusal::new(Why::Unreachable, format!("what came cannot be unpacked: {error}")))?;
    Ok(whole)
}

fn too_large(most: u64) -> Refusal {
    Refusal::new(Why::TooLarge, format!("it has more than {most} bytes"))
}

/// How many bytes.
#[must_use]
pub fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
