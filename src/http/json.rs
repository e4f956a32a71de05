//! JSON from outside: UTF-8, bounded nesting, known fields.

use ouroboros_proto::api::{ApiError, Code};
use ouroboros_proto::limits;
use serde::de::DeserializeOwned;

/// Reads a value.
///
/// # Errors
/// `bad_json` for what is not JSON or nested too deeply, `bad_field` for JSON of another shape.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        ApiError::new(
            Code::BadJson,
            format!("The body is not UTF-8 after byte {}; nothing was accepted.", error.valid_up_to()),
        )
        .remedy("Send standard input that is not text as `stdin_base64`.")
    })?;
    let depth = depth(bytes);
    if depth > limits::JSON_DEPTH.max {
        return Err(ApiError::limit(&limits::JSON_DEPTH, depth));
    }
    serde_json::from_str(text).map_err(|error| {
        let place = serde_json::json!({ "line": error.line(), "column": error.column() });
        let code = if error.is_data() { Code::BadField } else { Code::BadJson };
        ApiError::new(code, format!("The body cannot be used: {error}; nothing was accepted.")).detail(place)
    })
}

/// How deep brackets nest outside of strings. Of text that is not JSON it says something too, which then does not matter.
fn depth(bytes: &[u8]) -> u64 {
    let (mut now, mut deepest, mut in_string, mut escaped) = (0_u64, 0_u64, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                now += 1;
                deepest = deepest.max(now);
            }
            b']' | b'}' if !in_string => now = now.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_is_counted_outside_of_strings_only() {
        assert_eq!(depth(br#"{"a":["[[[[","\"[[",{}]}"#), 3);
        assert_eq!(depth(b"1"), 0);
    }

    #[test]
    fn broken_input_is_told_from_wrong_input() {
        let code = |bytes: &[u8]| parse::<Vec<u32>>(bytes).unwrap_err().code;
        assert_eq!(code(b"[1,"), Code::BadJson);
        assert_eq!(code(b"[1] x"), Code::BadJson);
        assert_eq!(code(b""), Code::BadJson);
        assert_eq!(code(b"[\xff]"), Code::BadJson);
        assert_eq!(code(br#"["1"]"#), Code::BadField);
        let deep = "[".repeat(33);
        assert_eq!(parse::<serde_json::Value>(deep.as_bytes()).unwrap_err().detail.unwrap()["limit"], "JSON_DEPTH");
    }
}
