use super::*;
use crate::outcome::{CallOutcome, Code};
use crate::testing::Desk;
use rustix::fs::{CWD, FileType, RenameFlags, mknodat, renameat_with};
use rustix::process::{Uid, geteuid};
use rustix::thread::set_thread_res_uid;
use serde_json::json;
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};

/// A folder with links of every kind.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.put("a/file", "inside\n");
    desk.put("b/other", "other\n");
    symlink("file", desk.path("a/link")).unwrap();
    symlink("../b", desk.path("a/dir")).unwrap();
    symlink(desk.path("a/file"), desk.path("absolute")).unwrap();
    symlink("../outside", desk.path("out")).unwrap();
    symlink("../outside/secret", desk.path("out-file")).unwrap();
    symlink(desk.outside(), desk.path("out-absolute")).unwrap();
    symlink(desk.outside().join("secret"), desk.path("out-absolute-file")).unwrap();
    symlink("round", desk.path("round")).unwrap();
    symlink("nowhere", desk.path("dangling")).unwrap();
    desk
}

fn read(desk: &Desk, path: &str) -> Result<String, Code> {
    let outcome = desk.run("read_file", json!({ "path": path }));
    assert!(!outcome.text.contains("OUTSIDE"), "{path}: {}", outcome.text);
    outcome.code.map_or(Ok(outcome.text), Err)
}

#[test]
fn paths_inside_are_read_whatever_their_spelling_and_others_refused() {
    let desk = desk();
    let inside = desk.path("a/file").display().to_string();
    let via_absolute = format!("{}/../outside/secret", desk.path("").display());
    for (path, shown) in [
        ("a/file", "a/file"),
        ("./a/./file", "a/file"),
        ("a/../a/file", "a/file"),
        ("a//file", "a/file"),
        (inside.as_str(), "a/file"),
        ("a/link", "a/file"),
        ("absolute", "a/file"),
        ("a/dir/other", "b/other"),
        ("a/dir/../a/file", "a/file"),
    ] {
        let text = read(&desk, path).unwrap();
        assert!(text.starts_with(&format!("{shown}, lines 1-1 of 1\n")), "{path}: {text}");
    }
    let long = "x".repeat(5_000);
    for (path, code) in [
        ("../outside/secret", Code::Outside),
        ("a/../../outside/secret", Code::Outside),
        ("..", Code::IsADirectory),
        ("../..", Code::IsADirectory),
        ("/etc/passwd", Code::Outside),
        (via_absolute.as_str(), Code::Outside),
        ("out/secret", Code::Outside),
        ("out-file", Code::Outside),
        ("out-absolute/secret", Code::Outside),
        ("out-absolute-file", Code::Outside),
        ("out", Code::Outside),
        ("/proc/self/cwd", Code::Outside),
        ("round", Code::LinkRefused),
        ("round/file", Code::LinkRefused),
        ("dangling", Code::NotFound),
        ("a/nothing", Code::NotFound),
        ("nothing/at/all", Code::NotFound),
        ("a/file/below", Code::NotADirectory),
        ("a", Code::IsADirectory),
        (".", Code::IsADirectory),
        ("", Code::BadPath),
        ("a\0b", Code::BadPath),
        (long.as_str(), Code::BadPath),
    ] {
        assert_eq!(read(&desk, path), Err(code), "{path}");
        assert_ne!(code.class(), CallOutcome::Failure);
    }
}

#[test]
fn without_openat2_links_are_refused_and_the_rest_is_the_same() {
    let mut desk = desk();
    desk.folder = Folder::open(&desk.path(""), Fence::none()).unwrap().without_openat2();
    for path in ["a/file", "a/../a/file", "b/../a/./file"] {
        assert!(read(&desk, path).is_ok(), "{path}");
    }
    for (path, code) in [
        ("a/link", Code::LinkRefused),
        ("a/dir/other", Code::LinkRefused),
        ("absolute", Code::LinkRefused),
        ("out/secret", Code::LinkRefused),
        ("out-file", Code::LinkRefused),
        ("../outside/secret", Code::Outside),
        ("a/../../outside/secret", Code::Outside),
        ("a/file/below", Code::NotADirectory),
        ("a/nothing", Code::NotFound),
    ] {
        assert_eq!(read(&desk, path), Err(code), "{path}");
    }
    desk.ok("write_file", json!({ "path": "new/deep/file", "content": "x" }));
    desk.not_ok("write_file", json!({ "path": "out/new", "content": "x" }), Code::LinkRefused);
    assert!(desk.ok("search_code", json!({ "pattern": "inside" })).text.contains("a/file:1: inside"));
}

#[test]
fn writing_outside_is_refused_and_through_a_link_inside_it_keeps_the_link() {
    let desk = desk();
    for path in ["../outside/new", "out/new", "out-file", "out-absolute/new", "out-absolute-file", "/tmp/ouroboros-new"]
    {
        desk.not_ok("write_file", json!({ "path": path, "content": "x" }), Code::Outside);
    }
    desk.not_ok("write_file", json!({ "path": "nothing/../../outside/new", "content": "x" }), Code::NotFound);
    assert_eq!(std::fs::read_dir(desk.outside()).unwrap().count(), 1);
    assert_eq!(std::fs::read_to_string(desk.outside().join("secret")).unwrap(), "OUTSIDE\n");
    desk.ok("write_file", json!({ "path": "a/link", "content": "new\n" }));
    assert_eq!(desk.text("a/file"), "new\n");
    assert!(desk.path("a/link").is_symlink());
    desk.ok("write_file", json!({ "path": "dangling", "content": "there\n" }));
    assert_eq!(desk.text("nowhere"), "there\n");
}

#[test]
fn pipes_sockets_and_devices_hold_nobody_up() {
    let desk = Desk::new();
    mknodat(CWD, desk.path("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    mknodat(CWD, desk.path(".gitignore"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let _listener = UnixListener::bind(desk.path("socket")).unwrap();
    for path in ["pipe", "socket"] {
        let outcome = desk.not_ok("read_file", json!({ "path": path }), Code::NotARegularFile);
        assert!(outcome.text.contains(path), "{}", outcome.text);
        desk.not_ok("write_file", json!({ "path": path, "content": "x" }), Code::NotARegularFile);
        desk.not_ok("search_code", json!({ "pattern": "x", "path": path }), Code::NotARegularFile);
    }
    let outcome = desk.ok("search_code", json!({ "pattern": "x" }));
    assert!(outcome.text.contains("[Not searched, since they are pipes, sockets or devices: 3.]"), "{}", outcome.text);
    assert!(desk.ok("list_files", json!({})).text.contains("pipe  [not a regular file]"));
}

#[test]
fn a_fence_holds_for_every_name_of_a_place_and_is_said() {
    let desk = Desk::new();
    desk.put(".ssh/id", "PRIVATE\n");
    desk.put(".ssh/deep/er", "PRIVATE\n");
    desk.put("vault", "PRIVATE\n");
    desk.put("open", "public\n");
    symlink(".ssh/id", desk.path("link")).unwrap();
    symlink(".ssh", desk.path("keys")).unwrap();
    std::fs::hard_link(desk.path("vault"), desk.path("hard")).unwrap();
    let desk = desk.fenced(&[".ssh", "vault", "absent"]);
    for path in [".ssh/id", ".ssh/deep/er", "link", "keys/id", "keys/deep/er", "vault", "hard", ".ssh/deep/../id"] {
        let outcome = desk.not_ok("read_file", json!({ "path": path }), Code::Fenced);
        assert!(outcome.text.contains("is fenced off"), "{}", outcome.text);
        desk.not_ok("write_file", json!({ "path": path, "content": "x" }), Code::Fenced);
        desk.not_ok("edit_text", json!({ "path": path, "old": "P", "new": "x" }), Code::Fenced);
    }
    desk.not_ok("write_file", json!({ "path": ".ssh/new/file", "content": "x" }), Code::Fenced);
    for path in [".ssh", "keys", ".ssh/deep"] {
        desk.not_ok("list_files", json!({ "path": path }), Code::Fenced);
        desk.not_ok("search_code", json!({ "path": path, "pattern": "P" }), Code::Fenced);
    }
    let listing = desk.ok("list_files", json!({ "depth": 9 }));
    for words in
        [".ssh/  [fenced]", "vault  8  [fenced]", "hard  8  [fenced]", "[Fenced off, not entered: .ssh, hard, vault.]"]
    {
        assert!(listing.text.contains(words), "{words}: {}", listing.text);
    }
    assert!(!listing.text.contains("deep"), "{}", listing.text);
    let found = desk.ok("search_code", json!({ "pattern": "PRIVATE" }));
    assert!(found.text.starts_with("No match in 1 file in .\n"), "{}", found.text);
    assert_eq!(found.facts["fenced"], 3);
    assert!(read(&desk, "open").is_ok());
}

#[test]
fn what_is_fenced_stays_closed_when_it_is_not_there_yet_or_is_replaced() {
    let desk = Desk::new();
    desk.put("config.toml", "key\n");
    desk.put("a/file", "open\n");
    desk.put("c/config.toml", "open\n");
    symlink(".ssh", desk.path("keys")).unwrap();
    symlink("nowhere", desk.path("dangling")).unwrap();
    let desk = desk.fenced(&[".ssh", "config.toml", "a/b/c", "dangling", "a/file/below"]);
    let patch = |old: &str, new: &str| json!({ "patch": format!("--- {old}\n+++ {new}\n@@ -0,0 +1 @@\n+x\n") });
    let rename = |from: &str, to: &str| json!({ "patch": format!("diff --git a/{from} b/{to}\nrename from {from}\nrename to {to}\n") });
    for path in [
        ".ssh",
        ".ssh/authorized_keys",
        ".ssh/deep/er",
        "c/../.ssh/id",
        "keys",
        "a/b",
        "a/b/c",
        "a/b/other",
        "dangling",
        "nowhere",
        "a/file",
    ] {
        desk.not_ok("write_file", json!({ "path": path, "content": "x" }), Code::Fenced);
        desk.not_ok("apply_patch", patch("/dev/null", path), Code::Fenced);
        desk.not_ok("apply_patch", rename("c/config.toml", path), Code::Fenced);
        desk.not_ok("read_file", json!({ "path": path }), Code::Fenced);
    }
    for path in [".ssh", ".ssh/deep", "a/b", "nowhere", "dangling"] {
        desk.not_ok("list_files", json!({ "path": path }), Code::Fenced);
        desk.not_ok("search_code", json!({ "path": path, "pattern": "x" }), Code::Fenced);
    }
    // Through a link that leads to where nothing is, no directory is made either.
    assert!(desk.run("write_file", json!({ "path": "keys/id", "content": "x" })).code.is_some());
    assert_eq!(desk.names(""), ["a", "c", "config.toml", "dangling", "keys"]);
    assert_eq!((desk.names("a"), desk.names("c")), (vec!["file".to_owned()], vec!["config.toml".to_owned()]));

    desk.put("new", "SECRET\n");
    renameat_with(CWD, desk.path("new"), CWD, desk.path("config.toml"), RenameFlags::empty()).unwrap();
    desk.put(".ssh/deep/id", "SECRET\n");
    desk.put("a/b/other", "SECRET\n");
    for path in ["config.toml", ".ssh/deep/id", "keys/deep/id", "a/b/other"] {
        desk.not_ok("read_file", json!({ "path": path }), Code::Fenced);
        desk.not_ok("search_code", json!({ "path": path, "pattern": "SECRET" }), Code::Fenced);
        desk.not_ok("write_file", json!({ "path": path, "content": "x" }), Code::Fenced);
        desk.not_ok("edit_text", json!({ "path": path, "old": "SECRET", "new": "x" }), Code::Fenced);
        desk.not_ok("apply_patch", rename(path, "moved"), Code::Fenced);
    }
    desk.not_ok("write_file", json!({ "path": "keys/id", "content": "x" }), Code::Fenced);
    desk.not_ok("list_files", json!({ "path": "keys/deep" }), Code::Fenced);
    let found = desk.ok("search_code", json!({ "pattern": "SECRET" }));
    assert!(found.text.starts_with("No match in 1 file in .\n"), "{}", found.text);
    let listing = desk.ok("list_files", json!({ "depth": 9 }));
    let told = "[Fenced off, not entered: .ssh, a/b, a/file, config.toml, dangling.]";
    assert!(listing.text.contains(told), "{}", listing.text);
    desk.ok("write_file", json!({ "path": "c/config.toml", "content": "x" }));
    desk.ok("write_file", json!({ "path": "a/other", "content": "x" }));
}

#[test]
fn what_could_not_be_looked_at_when_it_was_fenced_is_closed_when_it_can_be() {
    let mut desk = Desk::new();
    for path in ["locked/key", "locked/deep/key", "locked/open"] {
        desk.put(path, "x\n");
    }
    let fence = || {
        let mut fence = Fence::none();
        for place in ["locked/key", "locked/deep/key"] {
            fence.add(&desk.path(place)).unwrap();
        }
        fence
    };
    set_permissions(desk.path("locked"), Permissions::from_mode(0o000)).unwrap();
    let fence = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if geteuid().is_root() {
                let nobody = Uid::from_raw(65_534);
                set_permissions(desk.dir.path(), Permissions::from_mode(0o755)).unwrap();
                // The identity of one thread: the kernel keeps it for each, the C library would change all.
                set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            assert!(desk.path("locked/key").metadata().is_err());
            fence()
        });
        thread.join().unwrap()
    });
    set_permissions(desk.path("locked"), Permissions::from_mode(0o755)).unwrap();
    desk.folder = Folder::open(&desk.path(""), fence).unwrap();
    for path in ["locked/key", "locked/deep/key", "locked/deep/other"] {
        assert_eq!(read(&desk, path), Err(Code::Fenced), "{path}");
    }
    assert!(read(&desk, "locked/open").is_ok());
}

#[test]
fn a_folder_in_a_fenced_place_is_not_opened() {
    let desk = Desk::new();
    desk.put("vault/deep/file", "x\n");
    desk.put("open/file", "x\n");
    symlink("vault/deep", desk.path("way")).unwrap();
    let mut fence = Fence::none();
    for place in ["vault", "absent/below"] {
        fence.add(&desk.path(place)).unwrap();
    }
    desk.put("absent/file", "x\n");
    for path in ["vault", "vault/deep", "vault/../vault/deep", "way", "absent"] {
        let path = desk.path(path);
        let also = Folder::open(&desk.path("open"), fence.clone()).unwrap().add_readable(&path);
        for error in [Folder::open(&path, fence.clone()).unwrap_err(), also.unwrap_err()] {
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
            assert_eq!(error.to_string(), "it lies in a place that is closed to agents");
        }
    }
    assert!(Folder::open(&desk.path(""), fence).is_ok());
}

#[test]
fn what_belongs_to_version_control_is_read_and_not_changed() {
    let desk = Desk::new();
    desk.put(".git/config", "[core]\n");
    desk.put("sub/.git", "gitdir: ../.git\n");
    desk.put("file", "x\n");
    symlink(".git", desk.path("way")).unwrap();
    symlink(".git/config", desk.path("link")).unwrap();
    for path in [".git/config", "sub/.git", "way/config", "link"] {
        assert!(read(&desk, path).is_ok(), "{path}");
        desk.not_ok("edit_text", json!({ "path": path, "old": "o", "new": "x" }), Code::ReadOnly);
        let delete = format!("--- {path}\n+++ /dev/null\n@@ -1 +0,0 @@\n-[core]\n");
        desk.not_ok("apply_patch", json!({ "patch": delete }), Code::ReadOnly);
        let rename = format!("diff --git a/{path} b/moved\nrename from {path}\nrename to moved\n");
        desk.not_ok("apply_patch", json!({ "patch": rename }), Code::ReadOnly);
    }
    for path in [".git/config", "sub/.git", "way/config", "link", ".git/hooks/pre-commit", "new/.git/x", "new/.git"] {
        let outcome = desk.not_ok("write_file", json!({ "path": path, "content": "x" }), Code::ReadOnly);
        let told = format!(
            "{path} is one of version control's own files, which are not changed by tools on files. Nothing was changed. It may be \
             read."
        );
        assert_eq!(outcome.text, told);
        let rename = format!("diff --git a/file b/{path}\nrename from file\nrename to {path}\n");
        desk.not_ok("apply_patch", json!({ "patch": rename }), Code::ReadOnly);
    }
    assert_eq!(desk.names(""), [".git", "file", "link", "sub", "way"]);
    assert_eq!((desk.names(".git"), desk.text(".git/config")), (vec!["config".to_owned()], "[core]\n".to_owned()));
    desk.ok("write_file", json!({ "path": ".gitignore", "content": "x" }));
}

#[test]
fn other_folders_are_read_by_absolute_paths_and_not_written() {
    let mut desk = Desk::new();
    let path = desk.outside().join("secret").display().to_string();
    desk.not_ok("read_file", json!({ "path": path }), Code::Outside);
    let outside = desk.outside();
    desk.folder.add_readable(&outside).unwrap();
    let outcome = desk.ok("read_file", json!({ "path": path }));
    assert!(outcome.text.starts_with(&format!("{path}, lines 1-1 of 1\n")), "{}", outcome.text);
    desk.not_ok("write_file", json!({ "path": path, "content": "x" }), Code::ReadOnly);
    desk.not_ok("edit_text", json!({ "path": path, "old": "OUT", "new": "x" }), Code::ReadOnly);
    let found = desk.ok("search_code", json!({ "pattern": "OUT", "path": desk.outside() }));
    assert!(found.text.contains(&format!("{path}:1: OUTSIDE")), "{}", found.text);
}

#[test]
fn a_hard_link_is_read_and_writing_it_leaves_the_other_name_alone() {
    let desk = Desk::new();
    let path = desk.put("name", "one\n");
    std::fs::hard_link(&path, desk.path("twin")).unwrap();
    assert!(read(&desk, "twin").unwrap().contains("one"));
    desk.ok("write_file", json!({ "path": "twin", "content": "two\n" }));
    assert_eq!((desk.text("name"), desk.text("twin")), ("one\n".to_owned(), "two\n".to_owned()));
    assert_eq!(path.metadata().unwrap().nlink(), 1);
}

#[test]
fn names_that_are_no_utf8_are_listed_and_searched() {
    use std::os::unix::ffi::OsStrExt as _;
    let desk = Desk::new();
    std::fs::write(desk.path(std::ffi::OsStr::from_bytes(b"caf\xe9")), "found\n").unwrap();
    assert!(desk.ok("list_files", json!({})).text.contains("caf\u{fffd}  6  [not UTF-8: cannot be named]"));
    assert!(desk.ok("search_code", json!({ "pattern": "found" })).text.contains("caf\u{fffd}:1: found"));
}

/// A directory and a file take turns with links that lead out, while tools go through its name.
#[test]
fn names_that_change_meanwhile_never_lead_outside() {
    for with_openat2 in [true, false] {
        let mut desk = Desk::new();
        if !with_openat2 {
            desk.folder = Folder::open(&desk.path(""), Fence::none()).unwrap().without_openat2();
        }
        desk.put("turn/secret", "inside\n");
        symlink(desk.outside(), desk.path("other")).unwrap();
        desk.put("file", "inside\n");
        symlink("../outside/secret", desk.path("link")).unwrap();
        let over = AtomicBool::new(false);
        let swap = |one: &str, other: &str| {
            let (one, other) = (desk.path(one), desk.path(other));
            while !over.load(Ordering::Relaxed) {
                // A file that was just replaced under its name may be gone for the moment.
                let _ = renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE);
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| swap("turn", "other"));
            scope.spawn(|| swap("file", "link"));
            let guard = Over(&over);
            for round in 0..100 {
                for (tool, arguments) in [
                    ("read_file", json!({ "path": "turn/secret" })),
                    ("read_file", json!({ "path": "file" })),
                    ("edit_text", json!({ "path": "file", "old": "OUTSIDE", "new": "x" })),
                    ("search_code", json!({ "pattern": "OUTSIDE" })),
                    ("search_code", json!({ "pattern": "OUTSIDE", "path": "turn" })),
                    ("list_files", json!({ "path": "turn" })),
                    ("write_file", json!({ "path": "turn/secret", "content": format!("inside {round}\n") })),
                    ("write_file", json!({ "path": format!("turn/new/{round}"), "content": "x" })),
                ] {
                    let outcome = desk.run(tool, arguments);
                    assert!(
                        !outcome.text.contains(": OUTSIDE") && !outcome.text.contains("\tOUTSIDE"),
                        "{}",
                        outcome.text
                    );
                    assert_ne!(outcome.class, CallOutcome::Unknown, "{}", outcome.text);
                }
            }
            drop(guard);
        });
        assert_eq!(std::fs::read_to_string(desk.outside().join("secret")).unwrap(), "OUTSIDE\n");
        assert_eq!(std::fs::read_dir(desk.outside()).unwrap().count(), 1);
    }
}

/// Ends the other thread even when an assertion fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
