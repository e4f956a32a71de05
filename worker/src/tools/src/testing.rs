//! A folder with everything a call needs, for tests.

use crate::outcome::{Code, Outcome};
use crate::registry::{Call, Fetch, Registry};
use crate::{Fence, Folder, Limits, Seen, Versions};
use serde_json::Value;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// What the masker of these tests hides, and what it shows in its place.
pub const SECRET: &str = "sk-live-0123456789";
pub const MARK: &str = "[secret:key]";

/// A folder `work` beside a store of versions and a directory `outside` with a file `secret`.
pub struct Desk {
    pub dir: TempDir,
    pub folder: Folder,
    pub versions: Versions,
    pub limits: Limits,
    pub registry: Registry,
    pub seen: Seen,
    pub images: bool,
}

impl Desk {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["work", "outside"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        std::fs::write(dir.path().join("outside/secret"), "OUTSIDE\n").unwrap();
        let folder = Folder::open(&dir.path().join("work"), Fence::none()).unwrap();
        let versions = Versions::open(&dir.path().join("versions")).unwrap();
        Self {
            dir,
            folder,
            versions,
            limits: Limits::default(),
            registry: Registry::files(),
            seen: Seen::nothing(),
            images: true,
        }
    }

    /// The same with these places, relative to the folder, fenced.
    pub fn fenced(mut self, places: &[&str]) -> Self {
        let mut fence = Fence::none();
        for place in places {
            fence.add(&self.path(place)).unwrap();
        }
        self.folder = Folder::open(&self.path(""), fence).unwrap();
        self
    }

    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join("work").join(path)
    }

    pub fn outside(&self) -> PathBuf {
        self.dir.path().join("outside")
    }

    pub fn put(&self, path: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub fn text(&self, path: &str) -> String {
        String::from_utf8(std::fs::read(self.path(path)).unwrap()).unwrap()
    }

    /// Names in a directory, hidden ones too.
    pub fn names(&self, path: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(path)).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    pub fn run(&self, tool: &str, arguments: Value) -> Outcome {
        self.run_until(tool, &arguments.to_string(), &|| false)
    }

    pub fn run_until(&self, tool: &str, arguments: &str, cancelled: &dyn Fn() -> bool) -> Outcome {
        self.run_with(tool, arguments, cancelled, None)
    }

    pub fn run_with(
        &self,
        tool: &str,
        arguments: &str,
        cancelled: &dyn Fn() -> bool,
        fetch: Option<Fetch<'_>>,
    ) -> Outcome {
        let (folder, versions, limits, seen) = (&self.folder, &self.versions, &self.limits, &self.seen);
        let (images, tools) = (self.images, None);
        let call =
            Call { folder, versions, limits, seen, mask: &hide, fetch, images, tools, cancelled, programs: None };
        self.registry.run(tool, &call, arguments)
    }

    /// Runs what must end well.
    pub fn ok(&self, tool: &str, arguments: Value) -> Outcome {
        let outcome = self.run(tool, arguments);
        assert_eq!(outcome.code, None, "{}", outcome.text);
        outcome
    }

    /// Runs what must not, and gives its text.
    pub fn not_ok(&self, tool: &str, arguments: Value, code: Code) -> Outcome {
        let outcome = self.run(tool, arguments);
        assert_eq!(outcome.code, Some(code), "{}", outcome.text);
        assert_eq!(outcome.class, code.class());
        outcome
    }
}

/// Hides [`SECRET`], and keys in PEM form as a whole.
pub fn hide(text: &str) -> Cow<'_, str> {
    let mut masked = text.replace(SECRET, MARK);
    while let (Some(begin), Some(end)) = (masked.find("-----BEGIN KEY-----"), masked.find("-----END KEY-----")) {
        masked.replace_range(begin..end + "-----END KEY-----".len(), "[secret:pem]");
    }
    Cow::Owned(masked)
}
