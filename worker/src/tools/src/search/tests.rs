use crate::outcome::Code;
use crate::testing::{Desk, MARK, SECRET};
use serde_json::json;
use std::cell::Cell;

#[test]
fn matches_say_where_they_are_with_lines_around_them() {
    let desk = Desk::new();
    desk.put("src/a.rs", "one\ntwo\nthree\nfour\nfive\nsix\nthree\n");
    desk.put("b.md", "THREE (3)\n");
    let plain = desk.ok("search_code", json!({ "pattern": "^thr.e$" }));
    assert_eq!(plain.text, "2 matching lines in 1 of 2 files in .\nsrc/a.rs:3: three\nsrc/a.rs:7: three\n");
    let facts = json!([plain.facts["files_searched"], plain.facts["files_with_matches"], plain.facts["matches"]]);
    assert_eq!(facts, json!([2, 1, 2]));
    let around = desk.ok("search_code", json!({ "pattern": "three", "context": 1 }));
    assert_eq!(
        around.text,
        "2 matching lines in 1 of 2 files in .\nsrc/a.rs-2- two\nsrc/a.rs:3: three\nsrc/a.rs-4- four\n--\n\
         src/a.rs-6- six\nsrc/a.rs:7: three\n"
    );
    let any_case = desk.ok("search_code", json!({ "pattern": "three", "ignore_case": true, "glob": "*.md" }));
    assert_eq!(any_case.text, "1 matching line in 1 of 1 file that match *.md in .\nb.md:1: THREE (3)\n");
    let literal = desk.ok("search_code", json!({ "pattern": "(3)", "literal": true, "path": "b.md" }));
    assert!(literal.text.contains("b.md:1: THREE (3)"));
    let none = desk.ok("search_code", json!({ "pattern": "seven", "path": "src" }));
    assert_eq!(none.text, "No match in 1 file in src\n");
}

#[test]
fn wrong_patterns_and_globs_say_why() {
    let desk = Desk::new();
    for (pattern, words) in [("(", "unclosed group"), ("", "it is empty"), ("a\\nb", "literal: true")] {
        let outcome = desk.not_ok("search_code", json!({ "pattern": pattern }), Code::BadPattern);
        assert!(outcome.text.contains(words), "{}", outcome.text);
    }
    desk.not_ok("search_code", json!({ "pattern": "x".repeat(5_000) }), Code::BadPattern);
    desk.not_ok("search_code", json!({ "pattern": "(a{1000}){1000}" }), Code::BadPattern);
    desk.not_ok("search_code", json!({ "pattern": "x", "glob": "{" }), Code::BadGlob);
    desk.not_ok("search_code", json!({ "pattern": "x", "path": "nowhere" }), Code::NotFound);
}

#[test]
fn ignored_and_binary_files_are_left_out_and_said() {
    let desk = Desk::new();
    desk.put(".gitignore", "out\n");
    desk.put("out/x", "needle\n");
    desk.put("bin", b"needle\0");
    let outcome = desk.ok("search_code", json!({ "pattern": "needle" }));
    assert_eq!(
        outcome.text,
        "No match in 1 file in .\n[Not searched: 1 binary file.]\n[1 path left out as ignored; ignored: true shows them.]\n"
    );
    let all = desk.ok("search_code", json!({ "pattern": "needle", "ignored": true }));
    assert!(all.text.contains("out/x:1: needle"));
}

#[test]
fn a_line_has_the_same_bytes_read_or_found() {
    let mut desk = Desk::new();
    desk.limits.window_bytes = 16 << 10;
    let mut text = String::new();
    for line in 0..4_000 {
        text.push_str(&match line % 1_000 {
            7 => format!("needle {line} {SECRET} é\r\n"),
            8 => "-----BEGIN KEY-----\nneedle\n-----END KEY-----\n".to_owned(),
            9 => format!("needle {line} {}\n", "y".repeat(3_000)),
            _ => format!("line {line}\n"),
        });
    }
    desk.put("file", text.as_bytes());
    let found = desk.ok("search_code", json!({ "pattern": "needle" }));
    assert_eq!(found.facts["matches"], 8, "{}", found.text);
    assert!(found.text.contains(MARK) && !found.text.contains(SECRET));
    for line in found.text.lines().filter(|line| line.starts_with("file:")) {
        let (number, content) = line.strip_prefix("file:").unwrap().split_once(": ").unwrap();
        let offset: usize = number.parse().unwrap();
        let read = desk.ok("read_file", json!({ "path": "file", "offset": offset, "limit": 1 }));
        assert!(read.text.contains(&format!("{offset:>6}\t{content}\n")), "{content}\n{}", read.text);
    }
    assert!(desk.ok("search_code", json!({ "pattern": "sk-live" })).text.starts_with("No match"), "no oracle");
}

#[test]
fn bounds_stop_a_search_and_are_said() {
    let mut desk = Desk::new();
    desk.put("many", "needle\n".repeat(1_000));
    let outcome = desk.ok("search_code", json!({ "pattern": "needle" }));
    assert!(outcome.text.starts_with("200 matching lines in 1 of 1 file in .\n"), "{}", outcome.text);
    assert!(outcome.text.ends_with("[Stopped early: there may be more. Narrow the pattern, the path or the glob.]\n"));
    assert_eq!(outcome.facts["complete"], false);
    desk.limits.result_bytes = 1_000;
    let small = desk.ok("search_code", json!({ "pattern": "needle" }));
    assert!(small.text.len() < 1_300 && small.text.contains("[Stopped early"), "{}", small.text.len());
    desk.put("wide", format!("{}needle{}\n", "x".repeat(9_000), "y".repeat(9_000)));
    desk.limits.line_chars = 80;
    let wide = desk.ok("search_code", json!({ "pattern": "needle", "path": "wide" }));
    assert!(wide.text.contains("needleyyy") && wide.text.contains("characters cut]"), "{}", wide.text);
    desk.limits.scan_bytes = 8 << 10;
    desk.limits.window_bytes = 8 << 10;
    desk.put("long", "x\n".repeat(10_000) + "needle\n");
    let long = desk.ok("search_code", json!({ "pattern": "needle", "path": "long" }));
    assert!(long.text.contains("[Only the first 8192 bytes of long were searched.]"), "{}", long.text);
    assert_eq!(long.facts["complete"], false);
}

#[test]
fn what_is_found_in_many_files_comes_in_their_order() {
    let desk = Desk::new();
    // Far more than are looked at beside each other, of very different lengths.
    for file in 0..900 {
        let filler = "some line\n".repeat((file * 7_919) % 2_000);
        let text = if file % 11 == 0 { format!("{filler}needle {file}\n") } else { filler };
        desk.put(&format!("f{file:03}"), text);
    }
    desk.put("f055", b"needle\0".as_slice());
    desk.put("f066", [b"needle ".as_slice(), b"\xff\n".as_slice()].concat());
    let outcome = desk.ok("search_code", json!({ "pattern": "needle" }));
    let names: Vec<&str> = outcome
        .text
        .lines()
        .filter(|line| line.starts_with('f'))
        .filter_map(|line| Some(line.split_once(':')?.0))
        .collect();
    let wanted: Vec<String> =
        (0..900).filter(|file| file % 11 == 0 && *file != 55).map(|file| format!("f{file:03}")).collect();
    assert_eq!(names, wanted, "{}", outcome.text);
    assert_eq!((&outcome.facts["files_searched"], &outcome.facts["binary"]), (&json!(899), &json!(1)));
}

#[test]
fn a_search_that_is_cancelled_looks_at_nothing_more() {
    let desk = Desk::new();
    for file in 0..500 {
        desk.put(&format!("d{}/f{file}", file % 10), "text\n");
    }
    let asked = Cell::new(0);
    let cancelled = || {
        asked.set(asked.get() + 1);
        asked.get() > 100
    };
    let outcome = desk.run_until("search_code", &json!({ "pattern": "x" }).to_string(), &cancelled);
    assert_eq!(outcome.code, Some(Code::Cancelled));
    assert!(asked.get() < 110, "{} looks, each before a piece of work", asked.get());
}

#[test]
fn a_line_has_the_same_bytes_whether_it_is_read_or_found_wherever_windows_are_cut() {
    let source = ouroboros_shapes::Source::new().unwrap();
    let token = "ghp_0123456789abcdefABCDEF0123456789abcd";
    let key = format!(
        "-----BEGIN PRIVATE KEY-----\n{}-----END PRIVATE KEY-----",
        format!("{}\n", "MIIEvQIB".repeat(8)).repeat(9)
    );
    let json = format!("{{\"key\": \"{}\", \"end\": 1}}", key.replace('\n', "\\n"));
    let head = crate::text::HEAD_BYTES;
    // Lines of every kind around the end of a window, and in one line that is longer than a window.
    for lead in (head - 1_500..head + 8).step_by(37) {
        for text in [
            format!("{}\nt = \"{token}\" HERE\n{key}\nHERE {}\n", "x".repeat(lead), "y\n".repeat(9_000)),
            format!("{} {token} {json} {token} {}", "w ".repeat(lead / 2), "z ".repeat(9_000)),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("file");
            std::fs::write(&path, &text).unwrap();
            let mask: crate::registry::Mask<'_> = &|text| source.mask(text);
            let crate::text::Content::Text(mut windows) =
                crate::text::open(std::fs::File::open(path).unwrap(), 0, mask, head).unwrap()
            else {
                panic!("no text")
            };
            let cut: String = std::iter::from_fn(|| windows.window().unwrap()).map(|window| window.text).collect();
            let whole = crate::text::masked(text.as_bytes(), mask);
            assert!(cut == whole, "{lead}: {cut:?}");
            assert!(!cut.contains("0123456789abcdef") && !cut.contains("MIIEvQIB"), "{lead}");
            assert_eq!(cut.lines().count(), text.lines().count());
        }
    }
}
