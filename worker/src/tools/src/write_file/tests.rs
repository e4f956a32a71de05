use crate::outcome::{CallOutcome, Code};
use crate::testing::Desk;
use rustix::process::{Uid, geteuid};
use rustix::thread::set_thread_res_uid;
use serde_json::json;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, chown};

#[test]
fn a_file_is_created_with_its_directories_and_replaced_as_a_whole() {
    let desk = Desk::new();
    let created = desk.ok("write_file", json!({ "path": "a/b/c.txt", "content": "one\ntwo\n" }));
    assert_eq!(created.text, "Created a/b/c.txt: 2 lines.");
    let fact = json!({ "path": "a/b/c.txt", "change": "created", "lines_before": null, "lines_after": 2 });
    assert_eq!(created.facts["files"], json!([fact]));
    let replaced = desk.ok("write_file", json!({ "path": "a/b/c.txt", "content": "three" }));
    assert_eq!(replaced.text, "Replaced a/b/c.txt: 2 lines before, 1 now.");
    assert_eq!(desk.text("a/b/c.txt"), "three");
    let same = desk.ok("write_file", json!({ "path": "a/b/c.txt", "content": "three" }));
    assert_eq!(same.text, "Everything is as it should be already. Nothing was changed.");
    desk.ok("write_file", json!({ "path": "empty", "content": "" }));
    assert_eq!(desk.text("empty"), "");
    assert_eq!(desk.names("a/b"), ["c.txt"], "nothing is left beside it");
}

#[test]
fn a_path_that_ends_as_a_directorys_does_is_no_file() {
    let desk = Desk::new();
    desk.put("there/file", "x");
    for path in ["new/", "new/.", "a/new//", "there/", "there/file/"] {
        let outcome = desk.not_ok("write_file", json!({ "path": path, "content": "x" }), Code::BadPath);
        let told =
            format!("{path:?} is not a path: it ends as that of a directory. Use a relative path such as src/main.rs.");
        assert_eq!(outcome.text, told);
    }
    assert_eq!(desk.names(""), ["there"]);
}

#[test]
fn mode_and_owner_stay() {
    let desk = Desk::new();
    let path = desk.put("run.sh", "old\n");
    std::fs::set_permissions(&path, Permissions::from_mode(0o751)).unwrap();
    desk.ok("write_file", json!({ "path": "run.sh", "content": "new\n" }));
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o751);
    if geteuid().is_root() {
        use std::os::unix::fs::MetadataExt as _;
        chown(&path, Some(65_534), Some(65_534)).unwrap();
        desk.ok("write_file", json!({ "path": "run.sh", "content": "newer\n" }));
        assert_eq!((path.metadata().unwrap().uid(), path.metadata().unwrap().gid()), (65_534, 65_534));
    }
}

#[test]
fn a_directory_a_wrong_parent_and_a_bound_are_told() {
    let mut desk = Desk::new();
    desk.put("dir/file", "x");
    desk.not_ok("write_file", json!({ "path": "dir", "content": "x" }), Code::IsADirectory);
    desk.not_ok("write_file", json!({ "path": "dir/file/below", "content": "x" }), Code::NotADirectory);
    let long = desk.not_ok("write_file", json!({ "path": "n".repeat(300), "content": "x" }), Code::BadPath);
    assert!(long.text.contains("too long"), "{}", long.text);
    desk.limits.edit_bytes = 10;
    let large = desk.not_ok("write_file", json!({ "path": "a/big", "content": "x".repeat(11) }), Code::TooLarge);
    assert!(large.text.contains("more than 10 bytes"));
    desk.put("big", "x".repeat(11));
    desk.not_ok("edit_text", json!({ "path": "big", "old": "x", "new": "y" }), Code::TooLarge);
    assert_eq!(desk.names(""), ["big", "dir"], "no directory was made for what was refused");
}

#[test]
fn what_may_not_be_written_is_told_and_left() {
    if !geteuid().is_root() {
        let desk = Desk::new();
        locked(&desk);
        return;
    }
    let desk = Desk::new();
    for path in ["", "../versions", "../versions/content"] {
        chown(desk.path(path), Some(65_534), Some(65_534)).unwrap();
    }
    std::fs::set_permissions(desk.dir.path(), Permissions::from_mode(0o755)).unwrap();
    // The identity of one thread: the kernel keeps it for each, the C library would change all.
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let nobody = Uid::from_raw(65_534);
            set_thread_res_uid(nobody, nobody, nobody).unwrap();
            locked(&desk);
        });
        thread.join().unwrap();
    });
}

fn locked(desk: &Desk) {
    desk.put("dir/file", "old\n");
    std::fs::set_permissions(desk.path("dir"), Permissions::from_mode(0o555)).unwrap();
    desk.put("marked", "old\n");
    std::fs::set_permissions(desk.path("marked"), Permissions::from_mode(0o444)).unwrap();
    desk.put("unreadable", "old\n");
    std::fs::set_permissions(desk.path("unreadable"), Permissions::from_mode(0o000)).unwrap();
    for path in ["dir/file", "dir/new", "marked", "unreadable"] {
        let outcome = desk.not_ok("write_file", json!({ "path": path, "content": "new\n" }), Code::PermissionDenied);
        assert_eq!(outcome.class, CallOutcome::Failure);
        assert!(outcome.text.contains(path), "{}", outcome.text);
    }
    desk.not_ok("edit_text", json!({ "path": "marked", "old": "old", "new": "new" }), Code::PermissionDenied);
    desk.not_ok("read_file", json!({ "path": "unreadable" }), Code::PermissionDenied);
    assert_eq!((desk.text("dir/file"), desk.text("marked")), ("old\n".to_owned(), "old\n".to_owned()));
    assert_eq!(desk.names("dir"), ["file"]);
    let found = desk.ok("search_code", json!({ "pattern": "old" }));
    assert!(found.text.contains("[Could not be read: unreadable"), "{}", found.text);
    std::fs::set_permissions(desk.path("dir"), Permissions::from_mode(0o755)).unwrap();
}
