//! Paths as diffs write them: with a prefix, a time behind a tab, or quoted.

/// The path in a `---` or `+++` line; `None` for `/dev/null`. The prefix stays.
pub fn header(text: &str) -> Option<String> {
    let path = path(text);
    (path != "/dev/null").then_some(path)
}

/// A path that stands alone in a line.
pub fn path(text: &str) -> String {
    let text = text.trim_end_matches('\r');
    match text.strip_prefix('"') {
        Some(quoted) => unquote(quoted),
        None => text.split('\t').next().unwrap_or(text).trim_end().to_owned(),
    }
}

/// Both paths of a `diff --git` line, without prefixes; only where they can be told apart.
pub fn pair(text: &str) -> Option<(String, String)> {
    if text.starts_with('"') {
        return None;
    }
    let text = text.trim_end();
    let middle = text.match_indices(" b/").map(|(at, _)| at);
    let mut same = middle.filter_map(|at| {
        let (old, new) = text.split_at_checked(at)?;
        let (old, new) = (old.strip_prefix("a/")?, new.strip_prefix(" b/")?);
        (old == new).then(|| (old.to_owned(), new.to_owned()))
    });
    same.next()
}

/// Takes `a/` and `b/` off, where both have them.
pub fn without_prefixes(old: Option<String>, new: Option<String>) -> (Option<String>, Option<String>) {
    let bare = |path: &Option<String>, prefix: &str| match path {
        None => Some(None),
        Some(path) => path.strip_prefix(prefix).map(|bare| Some(bare.to_owned())),
    };
    match (bare(&old, "a/"), bare(&new, "b/")) {
        (Some(old), Some(new)) => (old, new),
        (Some(_) | None, Some(_) | None) => (old, new),
    }
}

fn unquote(quoted: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = quoted.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'"' => break,
            b'\\' => match rest.next() {
                Some(b'n') => bytes.push(b'\n'),
                Some(b't') => bytes.push(b'\t'),
                Some(b'r') => bytes.push(b'\r'),
                Some(first @ b'0'..=b'3') => {
                    let digits = [Some(first), rest.next(), rest.next()];
                    let value = digits.into_iter().flatten().fold(0_u32, |value, digit| {
                        value.wrapping_mul(8).wrapping_add(u32::from(digit.wrapping_sub(b'0') & 7))
                    });
                    bytes.push(u8::try_from(value & 0xff).unwrap_or(b'?'));
                }
                Some(other) => bytes.push(other),
                None => break,
            },
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_as_diffs_write_them() {
        assert_eq!(header("a/src/x.rs\t2026-01-01 00:00:00"), Some("a/src/x.rs".to_owned()));
        assert_eq!(header("/dev/null"), None);
        assert_eq!(header("\"a/caf\\303\\251 \\\"x\\\".md\""), Some("a/café \"x\".md".to_owned()));
        assert_eq!(pair("a/x y b/x y"), Some(("x y".to_owned(), "x y".to_owned())));
        assert_eq!(pair("a/x b/y"), None);
        let two = |old: &str, new: &str| without_prefixes(Some(old.to_owned()), Some(new.to_owned()));
        assert_eq!(two("a/x", "b/x"), (Some("x".to_owned()), Some("x".to_owned())));
        assert_eq!(two("a/x", "a/x"), (Some("a/x".to_owned()), Some("a/x".to_owned())));
        assert_eq!(without_prefixes(None, Some("b/x".to_owned())), (None, Some("x".to_owned())));
    }
}
