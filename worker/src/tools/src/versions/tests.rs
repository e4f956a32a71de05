use super::*;
use crate::testing::Desk;
use serde_json::json;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

fn write(desk: &Desk, path: &str, content: &str) {
    // What somebody else wrote is read before.
    desk.run("read_file", json!({ "path": path }));
    desk.ok("write_file", json!({ "path": path, "content": content }));
}

fn undo(desk: &Desk, scope: Scope<'_>) -> Vec<(String, Undo)> {
    desk.versions.undo(&desk.folder, scope, Manner::default(), &desk.limits).unwrap()
}

fn one(path: &str, undo: Undo) -> Vec<(String, Undo)> {
    vec![(path.to_owned(), undo)]
}

#[test]
fn a_file_goes_back_to_what_it_was_before_all_changes_and_an_undo_can_be_undone_by_hand() {
    let desk = Desk::new();
    let path = desk.put("a", "first\n");
    std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    write(&desk, "a", "second\n");
    write(&desk, "a", "third\n");
    assert_eq!(undo(&desk, Scope::Path("a")), one("a", Undo::Restored));
    assert_eq!(desk.text("a"), "first\n");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(undo(&desk, Scope::Path("a")), one("a", Undo::Unchanged));
    let last = desk.versions.history().unwrap().pop().unwrap();
    assert_eq!(desk.versions.content(&last.before.unwrap().hash).unwrap(), b"third\n", "what it replaced is kept");
}

#[test]
fn a_mode_goes_back_and_one_that_somebody_else_gave_stays() {
    let desk = Desk::new();
    let path = desk.put("tool", "x\n");
    let mode = || path.metadata().unwrap().permissions().mode() & 0o777;
    std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    let patch = "diff --git a/tool b/tool\nold mode 100640\nnew mode 100755\n";
    desk.ok("apply_patch", json!({ "patch": patch }));
    assert_eq!(mode(), 0o755);
    assert_eq!(undo(&desk, Scope::All), one("tool", Undo::Restored));
    assert_eq!(mode(), 0o640);
    write(&desk, "tool", "y\n");
    std::fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
    assert_eq!(undo(&desk, Scope::All), one("tool", Undo::Restored));
    assert_eq!((desk.text("tool"), mode()), ("x\n".to_owned(), 0o700));
    std::fs::set_permissions(&path, Permissions::from_mode(0o711)).unwrap();
    assert_eq!(undo(&desk, Scope::All), one("tool", Undo::Unchanged));
    assert_eq!(mode(), 0o711);
}

#[test]
fn created_files_go_and_deleted_ones_come_back() {
    let desk = Desk::new();
    let path = desk.put("gone.sh", "x\n");
    std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    desk.ok("apply_patch", json!({ "patch": "--- gone.sh\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n" }));
    write(&desk, "dir/new", "y\n");
    let undone = undo(&desk, Scope::All);
    assert_eq!(undone, [("dir/new".to_owned(), Undo::Removed), ("gone.sh".to_owned(), Undo::Restored)]);
    assert!(!desk.path("dir/new").exists());
    assert_eq!(desk.text("gone.sh"), "x\n");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn what_somebody_else_wrote_since_is_left_and_said() {
    let desk = Desk::new();
    desk.put("a", "first\n");
    desk.put("b", "first\n");
    write(&desk, "a", "second\n");
    write(&desk, "b", "second\n");
    desk.put("a", "the owner's\n");
    let undone = undo(&desk, Scope::All);
    assert_eq!(undone.iter().find(|(path, _)| path == "b").unwrap().1, Undo::Restored);
    let (_, Undo::Refused(why)) = undone.iter().find(|(path, _)| path == "a").unwrap() else { panic!("{undone:?}") };
    assert_eq!(why, "a is not what was written there: something else changed it. It was left as it is.");
    assert_eq!(desk.text("a"), "the owner's\n");
    std::fs::remove_file(desk.path("a")).unwrap();
    assert!(matches!(undo(&desk, Scope::Path("a"))[0].1, Undo::Refused(_)));
    let unheard = undo(&desk, Scope::Path("c"));
    assert_eq!(unheard, one("c", Undo::Refused("No change of c is recorded.".to_owned())));
}

#[test]
fn an_undo_stops_at_what_somebody_else_wrote_in_between() {
    let desk = Desk::new();
    desk.put("a", "first\n");
    write(&desk, "a", "second\n");
    desk.put("a", "the owner's\n");
    write(&desk, "a", "fourth\n");
    assert_eq!(undo(&desk, Scope::Path("a")), one("a", Undo::Restored));
    assert_eq!(desk.text("a"), "the owner's\n");
}

#[test]
fn a_line_that_was_cut_short_is_passed_over_and_later_ones_are_read() {
    let desk = Desk::new();
    desk.put("a", "first\n");
    write(&desk, "a", "second\n");
    let index = desk.dir.path().join("versions/index.jsonl");
    let mut text = std::fs::read(&index).unwrap();
    text.extend_from_slice(b"{\"path\":\"a\",\"befo");
    std::fs::write(&index, text).unwrap();
    write(&desk, "a", "third\n");
    assert_eq!(desk.versions.history().unwrap().len(), 2);
    assert_eq!(undo(&desk, Scope::All), one("a", Undo::Restored));
    assert_eq!(desk.text("a"), "first\n");
}

#[test]
fn a_damaged_version_is_not_put_back() {
    let desk = Desk::new();
    desk.put("a", "first\n");
    write(&desk, "a", "second\n");
    std::fs::write(desk.dir.path().join("versions/content").join(digest(b"first\n")), "f1rst\n").unwrap();
    let undone = undo(&desk, Scope::All);
    assert!(matches!(&undone[0].1, Undo::Refused(why) if why.contains("damaged")), "{undone:?}");
    assert_eq!(desk.text("a"), "second\n");
}

#[test]
fn the_store_is_for_its_owner_only_and_holds_a_content_once() {
    let desk = Desk::new();
    for path in ["a", "b"] {
        desk.put(path, "same\n");
        write(&desk, path, "other\n");
    }
    let store = desk.dir.path().join("versions");
    assert_eq!(store.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let mut names: Vec<_> = std::fs::read_dir(&store).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["content", "index.jsonl"]);
    let contents: Vec<_> = std::fs::read_dir(store.join("content")).unwrap().map(|entry| entry.unwrap()).collect();
    assert_eq!(contents.len(), 1);
    assert_eq!(contents[0].metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(store.join("index.jsonl").metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn what_somebody_else_changed_is_put_back_by_force_only_and_a_dry_run_changes_nothing() {
    let desk = Desk::new();
    desk.put("a", "first\n");
    write(&desk, "a", "second\n");
    write(&desk, "new", "x\n");
    let how =
        |force, dry_run| desk.versions.undo(&desk.folder, Scope::All, Manner { force, dry_run }, &desk.limits).unwrap();
    let both = vec![("new".to_owned(), Undo::Removed), ("a".to_owned(), Undo::Restored)];
    assert_eq!(how(false, true), both);
    assert_eq!((desk.text("a"), desk.text("new")), ("second\n".to_owned(), "x\n".to_owned()));
    desk.put("a", "foreign\n");
    assert!(matches!(how(false, true).as_slice(), [_, (_, Undo::Refused(_))]));
    assert_eq!(how(true, true), both);
    assert_eq!(how(true, false), both);
    assert_eq!(desk.text("a"), "first\n");
    assert!(!desk.folder.path().join("new").exists());
    let unchanged = vec![("new".to_owned(), Undo::Unchanged), ("a".to_owned(), Undo::Unchanged)];
    let mut again = how(true, false);
    again.sort_by_key(|(path, _)| std::cmp::Reverse(path.clone()));
    assert_eq!(again, unchanged);
}

#[test]
fn files_are_compared_with_what_they_were_before_the_first_change() {
    let desk = Desk::new();
    let path = desk.put("a", "first\n");
    std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    write(&desk, "a", "second\n");
    write(&desk, "a", "third\n");
    write(&desk, "b", "new\n");
    let files = desk.versions.by_path().unwrap();
    let compare = |path: &str| desk.versions.compare(&desk.folder, path, &files[path], &desk.limits).unwrap();
    let text = |side: &Option<Side>| side.as_ref().map(|side| String::from_utf8(side.bytes.clone().unwrap()).unwrap());
    let a = compare("a");
    assert_eq!((text(&a.before).as_deref(), a.before.unwrap().mode, a.foreign), (Some("first\n"), 0o640, false));
    assert_eq!(text(&a.now.unwrap()).as_deref(), Some("third\n"));
    let b = compare("b");
    assert!(b.before.is_none() && !b.foreign);
    std::fs::remove_file(desk.put("b", "")).unwrap();
    let b = compare("b");
    assert_eq!((b.now, b.foreign), (Ok(None), false), "as before its creation: it may never have been made");
    desk.put("a", "fourth\n");
    assert!(compare("a").foreign);
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert!(compare("a").now.is_err());
}

#[test]
fn a_store_that_cannot_be_looked_at_is_not_taken_for_an_empty_one() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(Versions::at(&dir.path().join("none")).history().unwrap(), []);
    let around = dir.path().join("around");
    std::os::unix::fs::symlink(&around, &around).unwrap();
    let versions = Versions::at(&around.join("versions"));
    versions.history().unwrap_err();
    versions.sweep(&Desk::new().folder).unwrap_err();
}
