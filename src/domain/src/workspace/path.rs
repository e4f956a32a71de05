//! Folders by their canonical paths: absolute, without links, `.`, `..`, or a slash at the end.

/// Whether two folders are the same, or one lies beneath the other.
#[must_use]
pub fn overlap(one: &str, other: &str) -> bool {
    lies_in(one, other) || lies_in(other, one)
}

/// Whether `inner` is `outer` or lies beneath it.
fn lies_in(inner: &str, outer: &str) -> bool {
    inner == outer || inner.starts_with(inside(outer).as_str())
}

/// What the path of everything beneath this folder begins with.
pub fn inside(path: &str) -> String {
    if path.ends_with('/') { path.to_owned() } else { format!("{path}/") }
}

/// The folders that this one lies in, the nearest first.
pub fn above(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(outer(path), |path| outer(path))
}

fn outer(path: &str) -> Option<&str> {
    let (outer, last) = path.rsplit_once('/')?;
    match (outer, last) {
        ("", "") => None,
        ("", _) => Some("/"),
        (outer, _) => Some(outer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_overlap_when_one_lies_in_the_other() {
        let cases = [
            ("/a", "/a", true),
            ("/a", "/a/b", true),
            ("/a/b/c", "/a", true),
            ("/", "/a", true),
            ("/", "/", true),
            ("/a", "/ab", false),
            ("/a/b", "/a/c", false),
            ("/a b", "/a", false),
            ("/a-b/c", "/a", false),
        ];
        for (one, other, expected) in cases {
            assert_eq!(overlap(one, other), expected, "{one} {other}");
            assert_eq!(overlap(other, one), expected, "{other} {one}");
        }
    }

    #[test]
    fn the_folders_above_end_at_the_root() {
        assert_eq!(above("/a/b/c").collect::<Vec<_>>(), ["/a/b", "/a", "/"]);
        assert_eq!(above("/").count(), 0);
    }
}
