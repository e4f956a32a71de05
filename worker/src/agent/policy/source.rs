//! The source of this program as a folder to work in: what of it a task may change.
//!
//! Recognised once an attempt, by what the root's `Cargo.toml` says. The same places are guarded for tools on files and given to programs
//! to read only.

use ouroboros_proto::agent::Mode;
use ouroboros_tools::Code;
use std::collections::VecDeque;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// What keeps this program safe, and why each is part of that.
const PROTECTED: &[(&str, &str)] = &[
    ("Cargo.toml", "by it the source is recognised; it says which lints hold"),
    ("deny.toml", "which dependencies may come in"),
    (".ci", "what is checked before a change is taken"),
    ("scripts/test", "the same, as one command"),
    ("src/custody", "who is ended, and by what proof"),
    ("src/domain/src/cancel.rs", "how work is ended"),
    ("src/domain/src/custody.rs", "what must be proven before a task goes on"),
    ("src/domain/src/money", "what may be spent"),
    ("src/domain/src/request", "what the owner is asked, and what answers allow"),
    ("src/domain/src/settle.rs", "what an ending means"),
    ("src/domain/tests", "the tests of these"),
    ("src/process", "how processes are recognised and ended"),
    ("tests/e2e/custody.rs", "the tests of custody with real programs"),
    ("tests/e2e/money.rs", "the tests of limits with real programs"),
    ("tests/e2e/safety.rs", "the tests of what is refused with real programs"),
    ("worker/prompts/safety.md", "what the second look is told"),
    ("worker/src/agent/policy", "what agents may do: this list too"),
    ("worker/src/link/lifeline.rs", "the end of a worker without its server"),
    ("worker/src/sandbox", "what programs are kept from"),
];

/// Directories beneath a folder in which a checkout is looked for, and how deep.
const LOOKED_AT: usize = 256;
const DEPTH: usize = 2;
/// Bytes of a `Cargo.toml` that are read.
const MANIFEST: u64 = 64 << 10;

/// A place that is guarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarded {
    /// Absolute, without links.
    pub path: PathBuf,
    /// How a change is refused; without it a change is only noticed.
    pub code: Option<Code>,
}

/// What is guarded in a folder, absolute and without links.
pub fn guarded(folder: &Path, mode: Mode) -> Vec<Guarded> {
    let code = match mode {
        // Nothing changes anyway, or everything may.
        Mode::Observe | Mode::CyberPro => return Vec::new(),
        Mode::Light => Some(Code::LightModeBlocked),
        Mode::Advanced => Some(Code::CoreProtectionBlocked),
        Mode::Pro => None,
    };
    let roots = checkouts(folder);
    if mode == Mode::Light {
        return roots.into_iter().map(|path| Guarded { path, code }).collect();
    }
    let places = roots.iter().flat_map(|root| PROTECTED.iter().map(|(place, _)| root.join(place)));
    places.map(|path| Guarded { path, code }).collect()
}

/// Checkouts that the folder is, lies in, or holds.
fn checkouts(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = folder.ancestors().filter(|path| is_checkout(path)).map(Path::to_owned).collect();
    let mut waiting = VecDeque::from([(folder.to_owned(), 0_usize)]);
    let mut looked_at = 0_usize;
    while let Some((path, depth)) = waiting.pop_front() {
        if depth >= DEPTH || looked_at >= LOOKED_AT {
            continue;
        }
        for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            looked_at = looked_at.saturating_add(1);
            let inner = entry.path();
            if is_checkout(&inner) {
                found.push(inner);
            } else if looked_at < LOOKED_AT {
                waiting.push_back((inner, depth.saturating_add(1)));
            }
        }
    }
    found
}

/// Whether this is the root of a checkout of this program.
fn is_checkout(root: &Path) -> bool {
    let mut text = String::new();
    let read = fs::File::open(root.join("Cargo.toml")).and_then(|file| file.take(MANIFEST).read_to_string(&mut text));
    read.is_ok() && is_ours(&text)
}

fn is_ours(manifest: &str) -> bool {
    let Some((_, workspace)) = manifest.split_once("[workspace]") else { return false };
    let Some((_, members)) = workspace.split_once("members") else { return false };
    let members = members.split(']').next().unwrap_or_default();
    let has = |member: &str| members.contains(&format!("\"{member}\""));
    ["launcher", "worker", "proto"].into_iter().all(has) && manifest.contains("ouroboros-proto")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the root").canonicalize().expect("it is there")
    }

    #[test]
    fn this_very_source_is_recognised_and_every_protected_place_is_there() {
        let root = own();
        assert!(is_checkout(&root) && !is_checkout(&root.join("worker")));
        for (place, _) in PROTECTED {
            assert!(root.join(place).exists(), "{place}");
        }
        assert!(!is_ours("[workspace]\nmembers = [\"launcher\", \"worker\"]\n# \"proto\" ouroboros-proto"));
        assert!(!is_ours("[package]\nname = \"ouroboros-proto\"\nmembers = [\"launcher\", \"worker\", \"proto\"]"));
    }

    #[test]
    fn a_checkout_is_found_above_here_and_below() {
        let dir = tempfile::tempdir().expect("a directory");
        let top = dir.path().canonicalize().expect("it is there");
        let root = top.join("a/checkout");
        fs::create_dir_all(root.join("worker/src")).expect("directories");
        fs::copy(own().join("Cargo.toml"), root.join("Cargo.toml")).expect("a copy");
        for folder in [root.join("worker/src"), root.clone(), top.clone()] {
            assert_eq!(checkouts(&folder), std::slice::from_ref(&root), "{folder:?}");
        }
        assert!(checkouts(&top.join("a/other")).is_empty());
        let paths = |mode| guarded(&top, mode).into_iter().map(|one| (one.path, one.code)).collect::<Vec<_>>();
        assert_eq!(paths(Mode::Light), [(root.clone(), Some(Code::LightModeBlocked))]);
        let sandbox = root.join("worker/src/sandbox");
        assert!(paths(Mode::Advanced).contains(&(sandbox.clone(), Some(Code::CoreProtectionBlocked))));
        assert!(paths(Mode::Pro).contains(&(sandbox, None)));
        assert!(paths(Mode::CyberPro).is_empty() && paths(Mode::Observe).is_empty());
    }
}
