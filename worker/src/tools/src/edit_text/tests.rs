use crate::outcome::Code;
use crate::testing::{Desk, MARK, SECRET};
use serde_json::json;

#[test]
fn one_text_takes_the_place_of_another() {
    let desk = Desk::new();
    desk.put("a.rs", "fn a() {}\nfn b() {}\nfn c() {}\n");
    let outcome = desk.ok("edit_text", json!({ "path": "a.rs", "old": "fn b() {}\n", "new": "fn b() {\n}\n" }));
    assert_eq!(outcome.text, "Replaced a.rs: 3 lines before, 4 now. 1 replacement, the first at line 2.");
    assert_eq!(desk.text("a.rs"), "fn a() {}\nfn b() {\n}\nfn c() {}\n");
    desk.ok("edit_text", json!({ "path": "a.rs", "old": "fn c() {}\n", "new": "" }));
    assert_eq!(desk.text("a.rs"), "fn a() {}\nfn b() {\n}\n");
}

#[test]
fn a_text_that_is_not_there_is_a_miss_that_shows_the_nearest_lines() {
    let desk = Desk::new();
    desk.put("a.rs", "use std::io;\n\nfn total(items: &[u32]) -> u32 {\n    items.iter().sum()\n}\n");
    let old = "fn total(items: &[u64]) -> u64 {\n    items.iter().sum()\n";
    let miss = desk.not_ok("edit_text", json!({ "path": "a.rs", "old": old, "new": "x" }), Code::TextNotFound);
    assert_eq!(
        miss.text,
        "The text to replace is not in a.rs. Nothing was changed. It must be the same to the letter.\n\
         The nearest place:\n     3\tfn total(items: &[u32]) -> u32 {\n     4\t    items.iter().sum()\n"
    );
    let nothing = desk.not_ok("edit_text", json!({ "path": "a.rs", "old": "§§§§", "new": "x" }), Code::TextNotFound);
    assert!(nothing.text.ends_with("No line is like it. Read the file again to see what is there."));
    desk.not_ok("edit_text", json!({ "path": "b.rs", "old": "a", "new": "x" }), Code::NotFound);
}

#[test]
fn several_places_are_named_and_replaced_only_when_all_are_meant() {
    let desk = Desk::new();
    desk.put("a", "x = 1\ny\nx = 1\nx = 1");
    let several =
        desk.not_ok("edit_text", json!({ "path": "a", "old": "x = 1", "new": "x = 2" }), Code::SeveralMatches);
    assert!(several.text.contains("3 times in a, at lines 1, 3, 4."), "{}", several.text);
    assert_eq!(several.facts["lines"], json!([1, 3, 4]));
    let all = desk.ok("edit_text", json!({ "path": "a", "old": "x = 1", "new": "x = 2", "all": true }));
    assert_eq!(all.facts["replacements"], 3);
    assert_eq!(desk.text("a"), "x = 2\ny\nx = 2\nx = 2");
}

#[test]
fn ends_of_lines_stay_as_they_are() {
    let desk = Desk::new();
    desk.put("crlf", "one\r\ntwo\r\nthree\r\n");
    desk.ok("edit_text", json!({ "path": "crlf", "old": "one\ntwo", "new": "1\n2\n2.5" }));
    assert_eq!(desk.text("crlf"), "1\r\n2\r\n2.5\r\nthree\r\n");
    desk.ok("edit_text", json!({ "path": "crlf", "old": "three\r\n", "new": "3\r\n4\n" }));
    assert_eq!(desk.text("crlf"), "1\r\n2\r\n2.5\r\n3\r\n4\r\n");
    desk.put("mixed", "one\r\ntwo\n");
    desk.not_ok("edit_text", json!({ "path": "mixed", "old": "one\ntwo", "new": "x" }), Code::TextNotFound);
    desk.ok("edit_text", json!({ "path": "mixed", "old": "two\n", "new": "three" }));
    assert_eq!(desk.text("mixed"), "one\r\nthree");
}

#[test]
fn bytes_that_are_no_utf8_stay_and_binary_files_are_refused() {
    let desk = Desk::new();
    desk.put("latin", b"caf\xe9 one\n");
    desk.ok("edit_text", json!({ "path": "latin", "old": "one", "new": "two" }));
    assert_eq!(std::fs::read(desk.path("latin")).unwrap(), b"caf\xe9 two\n");
    desk.put("bin", b"one\0");
    desk.not_ok("edit_text", json!({ "path": "bin", "old": "one", "new": "two" }), Code::Binary);
}

#[test]
fn calls_that_mean_nothing_are_told() {
    let desk = Desk::new();
    desk.put("a", "one\n");
    desk.not_ok("edit_text", json!({ "path": "a", "old": "", "new": "x" }), Code::BadArguments);
    desk.not_ok("edit_text", json!({ "path": "a", "old": "one", "new": "one" }), Code::NoChange);
}

#[test]
fn the_mark_of_a_secret_never_takes_its_place() {
    let desk = Desk::new();
    let env = format!("user = \"me\"\nkey = \"{SECRET}\"\n");
    desk.put("env", &env);
    let shown = desk.ok("read_file", json!({ "path": "env" })).text;
    assert!(shown.contains(MARK) && !shown.contains(SECRET));
    let whole = format!("user = \"you\"\nkey = \"{MARK}\"\n");
    let refused = desk.not_ok("write_file", json!({ "path": "env", "content": whole }), Code::HiddenValue);
    assert!(refused.text.contains("Line 2"), "{}", refused.text);
    let patch = format!("--- env\n+++ env\n@@ -1 +1,2 @@\n-user = \"me\"\n+user = \"you\"\n+key = \"{MARK}\"\n");
    desk.not_ok("apply_patch", json!({ "patch": patch }), Code::HiddenValue);
    assert_eq!(desk.text("env"), env);
    let seen = format!("key = \"{MARK}\"");
    let told = desk.not_ok("edit_text", json!({ "path": "env", "old": seen, "new": "" }), Code::HiddenValue);
    assert!(told.text.contains("Leave the lines with marks out"), "{}", told.text);
    let around = format!("--- env\n+++ env\n@@ -1,2 +1,2 @@\n-user = \"me\"\n+user = \"you\"\n {seen}\n");
    desk.not_ok("apply_patch", json!({ "patch": around }), Code::HiddenValue);
    let near = desk.not_ok("edit_text", json!({ "path": "env", "old": "key = x", "new": "" }), Code::TextNotFound);
    assert!(!near.text.contains(SECRET), "{}", near.text);
    desk.ok("edit_text", json!({ "path": "env", "old": "\"me\"", "new": "\"you\"" }));
    assert_eq!(desk.text("env"), env.replace("me", "you"));
}
