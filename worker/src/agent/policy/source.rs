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
    ("proto/src/agent/policy.rs", "what modes mean"),
    ("proto/src/agent/safety.rs", "what a second look says"),
    ("proto/src/limits.rs", "what is bounded"),
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
    ("worker/src/agent/desk.rs", "which tools see which folder"),
    ("worker/src/agent/policy", "what agents may do: this list too"),
    ("worker/src/agent/programs", "that programs are asked about before they run, and run confined"),
    ("worker/src/agent/steps.rs", "that calls are held against the policy"),
    ("worker/src/exec", "where a program's confinement begins"),
    ("worker/src/link/lifeline.rs", "the end of a worker without its server"),
    ("worker/src/sandbox", "what programs are kept from"),
    ("worker/src/tools/src/folder", "which files tools may change"),
];

/// Directories beneath a folder in which a checkout is looked for at most, and how deep.
const LOOKED_AT: usize = 4_096;
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

/// What is guarded in a folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Guards {
    places: Vec<Guarded>,
    /// How a program that could change what was not found is refused, when not all was looked at.
    unseen: Option<Code>,
}

impl Guards {
    /// The places.
    pub fn places(&self) -> &[Guarded] {
        &self.places
    }

    /// How a program outside any confinement is refused, and why, where it is.
    pub fn against_unconfined(&self) -> Option<(Code, &'static str)> {
        let found = self.places.iter().find_map(|place| place.code);
        found.map(|code| (code, "The folder holds source of Ouroboros itself")).or_else(|| {
            self.unseen.map(|code| {
                (code, "The folder has too many directories to rule out that it holds source of Ouroboros itself")
            })
        })
    }
}

impl<'a> IntoIterator for &'a Guards {
    type Item = &'a Guarded;
    type IntoIter = std::slice::Iter<'a, Guarded>;

    fn into_iter(self) -> Self::IntoIter {
        self.places.iter()
    }
}

/// What is guarded in a folder, absolute and without links.
pub fn guarded(folder: &Path, mode: Mode) -> Guards {
    within(folder, mode, LOOKED_AT)
}

fn within(folder: &Path, mode: Mode, most: usize) -> Guards {
    let code = match mode {
        // Nothing changes anyway, or everything may.
        Mode::Observe | Mode::CyberPro => return Guards::default(),
        Mode::Light => Some(Code::LightModeBlocked),
        Mode::Advanced => Some(Code::CoreProtectionBlocked),
        Mode::Pro => None,
    };
    let (roots, is_whole) = checkouts(folder, most);
    let paths = if mode == Mode::Light {
        roots
    } else {
        roots.iter().flat_map(|root| PROTECTED.iter().map(|(place, _)| root.join(place))).collect()
    };
    let places = paths.into_iter().map(|path| Guarded { path, code }).collect();
    Guards { places, unseen: code.filter(|_| !is_whole) }
}

/// Checkouts that the folder is, lies in, or holds; and whether no more than `most` directories had to be looked at for that.
fn checkouts(folder: &Path, most: usize) -> (Vec<PathBuf>, bool) {
    let mut found: Vec<PathBuf> = folder.ancestors().filter(|path| is_checkout(path)).map(Path::to_owned).collect();
    let mut waiting = VecDeque::from([(folder.to_owned(), 0_usize)]);
    let mut looked_at = 0_usize;
    while let Some((path, depth)) = waiting.pop_front() {
        let depth = depth.saturating_add(1);
        for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if looked_at >= most {
                return (found, false);
            }
            looked_at = looked_at.saturating_add(1);
            let inner = entry.path();
            if is_checkout(&inner) {
                found.push(inner);
            } else if depth < DEPTH {
                waiting.push_back((inner, depth));
            }
        }
    }
    (found, true)
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
            assert_eq!(checkouts(&folder, LOOKED_AT), (vec![root.clone()], true), "{folder:?}");
        }
        assert!(checkouts(&top.join("a/other"), LOOKED_AT).0.is_empty());
        let paths = |mode| guarded(&top, mode).places.into_iter().map(|one| (one.path, one.code)).collect::<Vec<_>>();
        assert_eq!(paths(Mode::Light), [(root.clone(), Some(Code::LightModeBlocked))]);
        let sandbox = root.join("worker/src/sandbox");
        assert!(paths(Mode::Advanced).contains(&(sandbox.clone(), Some(Code::CoreProtectionBlocked))));
        assert!(paths(Mode::Pro).contains(&(sandbox, None)));
        assert!(paths(Mode::CyberPro).is_empty() && paths(Mode::Observe).is_empty());
    }

    #[test]
    fn what_was_not_looked_at_whole_lets_no_program_out_of_confinement() {
        let dir = tempfile::tempdir().expect("a directory");
        let top = dir.path().canonicalize().expect("it is there");
        for name in ["a/b", "a/c", "d"] {
            fs::create_dir_all(top.join(name)).expect("directories");
        }
        let refused = |mode, most| within(&top, mode, most).against_unconfined().map(|(code, _)| code);
        assert_eq!(refused(Mode::Advanced, 4), None, "all of it was looked at");
        assert_eq!(refused(Mode::Advanced, 3), Some(Code::CoreProtectionBlocked));
        assert_eq!((refused(Mode::Pro, 3), refused(Mode::CyberPro, 3)), (None, None));
        fs::copy(own().join("Cargo.toml"), top.join("Cargo.toml")).expect("a copy");
        assert_eq!(refused(Mode::Advanced, 4), Some(Code::CoreProtectionBlocked));
        let found = within(&top, Mode::Advanced, 0);
        assert_eq!(found.places.len(), PROTECTED.len(), "what was found is guarded all the same");
    }

    #[test]
    fn what_enforces_the_policy_is_protected() {
        let root = own();
        let mut waiting = vec![root.join("worker/src")];
        let mut enforcing = 0;
        while let Some(path) = waiting.pop() {
            if path.is_dir() {
                waiting.extend(fs::read_dir(&path).expect("it is read").map(|entry| entry.expect("an entry").path()));
                continue;
            }
            let text = fs::read_to_string(&path).unwrap_or_default();
            if ["Gate::new(", "gate.pass(", "gate.lacks(", ".guard(", "fn guard("]
                .iter()
                .any(|word| text.contains(word))
            {
                enforcing += 1;
                let covered = PROTECTED.iter().any(|(place, _)| path.starts_with(root.join(place)));
                assert!(covered, "{}", path.display());
            }
        }
        assert!(enforcing >= 5, "{enforcing}");
    }
}
