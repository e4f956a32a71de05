//! Request targets: paths and queries, percent-encoded (RFC 3986).

/// One path segment, encoded.
pub fn segment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// The path with those parameters that have a value.
pub fn query(path: &str, parameters: &[(&str, Option<String>)]) -> String {
    let mut out = path.to_owned();
    let given = parameters.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    for (index, (name, value)) in given.enumerate() {
        out.push(if index == 0 { '?' } else { '&' });
        out.push_str(&format!("{name}={}", segment(value)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{query, segment};

    #[test]
    fn nothing_in_a_value_can_change_the_request() {
        assert_eq!(segment("../x y\r\n?é"), "..%2Fx%20y%0D%0A%3F%C3%A9");
        let target =
            query("/api/tasks", &[("name", Some("a&b=c".into())), ("cursor", None), ("limit", Some("5".into()))]);
        assert_eq!(target, "/api/tasks?name=a%26b%3Dc&limit=5");
        assert_eq!(query("/api/state", &[("x", None)]), "/api/state");
    }
}
