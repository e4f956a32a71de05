use crate::outcome::Code;
use crate::testing::Desk;
use serde_json::json;

fn tree() -> Desk {
    let desk = Desk::new();
    for (path, bytes) in [
        (".gitignore", "target/\n*.log\n!keep.log\n"),
        (".git/config", "x"),
        ("src/main.rs", "fn main() {}\n"),
        ("src/deep/mod.rs", ""),
        ("src/deep/.gitignore", "generated.rs\n"),
        ("src/deep/generated.rs", ""),
        ("target/debug/out.rs", ""),
        ("a.log", ""),
        ("keep.log", ""),
        ("Cargo.toml", "[package]\n"),
    ] {
        desk.put(path, bytes);
    }
    desk
}

#[test]
fn a_directory_is_listed_in_order_with_sizes_and_without_what_is_ignored() {
    let desk = tree();
    let outcome = desk.ok("list_files", json!({}));
    let expected = ".: 4 entries\n.gitignore  24\nCargo.toml  10\nkeep.log  0\nsrc/\n\
                    [3 paths left out as ignored; ignored: true shows them.]\n";
    assert_eq!(outcome.text, expected);
    assert_eq!(outcome.facts["ignored"], 3);
    let all = desk.ok("list_files", json!({ "ignored": true }));
    assert!(all.text.contains("\n.git/\n") && all.text.contains("\na.log  0\n") && all.text.contains("\ntarget/\n"));
    let deep = desk.ok("list_files", json!({ "path": "src", "depth": 2 }));
    assert_eq!(
        deep.text,
        "src: 4 entries\nsrc/deep/\nsrc/deep/.gitignore  13\nsrc/deep/mod.rs  0\nsrc/main.rs  13\n\
         [1 path left out as ignored; ignored: true shows them.]\n"
    );
}

#[test]
fn rules_from_above_hold_where_a_listing_begins_below() {
    let desk = tree();
    desk.put("src/x.log", "");
    let outcome = desk.ok("list_files", json!({ "path": "src/deep", "depth": 1 }));
    assert!(!outcome.text.contains("generated.rs"), "{}", outcome.text);
    assert!(!desk.ok("list_files", json!({ "path": "src" })).text.contains("x.log"));
    assert!(desk.ok("list_files", json!({ "path": "target" })).text.contains("target/debug/"), "it was asked for");
}

#[test]
fn a_glob_lists_files_at_any_depth() {
    let desk = tree();
    let outcome = desk.ok("list_files", json!({ "glob": "*.{rs,toml}" }));
    assert!(
        outcome
            .text
            .starts_with(".: 3 entries that match *.{rs,toml}\nCargo.toml  10\nsrc/deep/mod.rs  0\nsrc/main.rs  13\n")
    );
    let shallow = desk.ok("list_files", json!({ "glob": "src/*.rs" }));
    assert!(shallow.text.starts_with(".: 1 entry that match src/*.rs\nsrc/main.rs  13\n"), "{}", shallow.text);
    assert!(desk.ok("list_files", json!({ "glob": "*.py" })).text.starts_with(".: 0 entries that match *.py\n"));
    desk.not_ok("list_files", json!({ "glob": "[" }), Code::BadGlob);
}

#[test]
fn what_was_left_out_is_counted_and_misses_are_misses() {
    let mut desk = Desk::new();
    for file in 0..30 {
        desk.put(&format!("f{file:02}"), "");
    }
    desk.limits.listed_entries = 10;
    let outcome = desk.ok("list_files", json!({}));
    assert!(outcome.text.starts_with(".: 30 entries\nf00  0\n"), "{}", outcome.text);
    assert!(
        outcome.text.ends_with("f09  0\n[20 more are not shown. List a directory below, or use a narrower glob.]\n")
    );
    assert_eq!((&outcome.facts["shown"], &outcome.facts["left_out"]), (&json!(10), &json!(20)));
    desk.limits.walked_entries = 20;
    let stopped = desk.ok("list_files", json!({}));
    assert!(stopped.text.contains("[Stopped early: too many entries."), "{}", stopped.text);
    assert_eq!(stopped.facts["complete"], false);
    let miss = desk.not_ok("list_files", json!({ "path": "no/such" }), Code::NotFound);
    assert_eq!(miss.text, "no/such does not exist. List its directory with list_files to see what is there.");
    desk.not_ok("list_files", json!({ "path": "f00" }), Code::NotADirectory);
    desk.not_ok("list_files", json!({ "path": ".." }), Code::Outside);
}

#[test]
fn names_with_line_breaks_are_one_entry_and_links_are_shown_not_followed() {
    let desk = Desk::new();
    desk.put("two\nlines", "");
    std::os::unix::fs::symlink(desk.outside(), desk.path("out")).unwrap();
    let outcome = desk.ok("list_files", json!({ "depth": 5 }));
    let link = format!("out -> {}\n", desk.outside().display());
    assert_eq!(outcome.text, format!(".: 2 entries\n{link}\"two\\nlines\"  0\n"));
}

#[test]
fn what_lies_too_deep_is_said() {
    let mut desk = Desk::new();
    desk.limits.depth = 3;
    desk.put("a/b/c/d/e/f", "");
    let outcome = desk.ok("list_files", json!({ "depth": 100 }));
    assert!(outcome.text.contains("a/b/c/d/\n[Too deep, not entered: 1.]"), "{}", outcome.text);
}
