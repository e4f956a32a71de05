use crate::outcome::Code;
use crate::testing::{Desk, MARK, SECRET};
use serde_json::json;

#[test]
fn lines_come_with_their_numbers_and_say_where_they_are() {
    let desk = Desk::new();
    desk.put("src/a.rs", "one\ntwo\nthree\nfour\n");
    let outcome = desk.ok("read_file", json!({ "path": "src/a.rs" }));
    let all = "src/a.rs, lines 1-4 of 4\n     1\tone\n     2\ttwo\n     3\tthree\n     4\tfour\n[End of file.]\n";
    assert_eq!(outcome.text, all);
    let part = desk.ok("read_file", json!({ "path": "src/a.rs", "offset": 2, "limit": 2 }));
    assert_eq!(
        part.text,
        "src/a.rs, lines 2-3 of 4\n     2\ttwo\n     3\tthree\n[More follows: read on with offset 4.]\n"
    );
    let facts = json!({
        "path": "src/a.rs", "bytes": 19, "start_line": 2, "end_line": 3, "total_lines": 4, "eof": false,
        "cut_lines": 0, "lossy": false, "hidden": false,
    });
    assert_eq!(part.facts, facts);
    let last = desk.ok("read_file", json!({ "path": "src/a.rs", "offset": 4, "limit": 1_000_000 }));
    assert!(last.text.contains("lines 4-4 of 4") && last.facts["eof"] == true, "{}", last.text);
}

#[test]
fn an_empty_file_one_without_a_last_newline_and_a_line_past_the_end_are_said() {
    let desk = Desk::new();
    desk.put("empty", "");
    desk.put("open", "one\ntwo");
    assert_eq!(desk.ok("read_file", json!({ "path": "empty" })).text, "empty is empty.");
    let open = desk.ok("read_file", json!({ "path": "open" }));
    assert!(open.text.ends_with("     2\ttwo\n[End of file, without a newline.]\n"), "{}", open.text);
    let past = desk.not_ok("read_file", json!({ "path": "open", "offset": 3 }), Code::PastEnd);
    assert_eq!(past.text, "open has 2 lines, so line 3 is past its end.");
    desk.not_ok("read_file", json!({ "path": "open", "offset": 0 }), Code::BadArguments);
}

#[test]
fn what_is_no_text_is_said_with_its_kind_and_size() {
    let desk = Desk::new();
    desk.put("image.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    desk.put("latin", b"caf\xe9\n");
    let image = desk.ok("read_file", json!({ "path": "image.txt" }));
    assert_eq!(
        image.text,
        "image.txt is not text: a PNG image, 16 bytes. Its content is not shown. Use view_image to look at it."
    );
    assert_eq!(image.facts["binary"], "a PNG image");
    let latin = desk.ok("read_file", json!({ "path": "latin" }));
    assert!(latin.text.contains("caf\u{fffd}\n[Some bytes are not UTF-8"), "{}", latin.text);
    assert_eq!(latin.facts["lossy"], true);
}

#[test]
fn bounds_on_lines_and_bytes_are_said_and_reading_goes_on_behind_them() {
    let mut desk = Desk::new();
    desk.put("long", "x".repeat(5_000) + "\nshort\n");
    let long = desk.ok("read_file", json!({ "path": "long" }));
    assert!(long.text.contains("[3000 characters cut]\n     2\tshort\n[1 line longer than 2000 characters]"));
    desk.put("many", "line of some length\n".repeat(5_000));
    let many = desk.ok("read_file", json!({ "path": "many" }));
    assert!(many.text.ends_with("[More follows: read on with offset 2001.]\n"));
    assert_eq!(many.facts["total_lines"], 5_000);
    desk.limits.read_bytes = 1_000;
    let cut = desk.ok("read_file", json!({ "path": "many", "offset": 4_000 }));
    let end = cut.facts["end_line"].as_u64().unwrap();
    assert_eq!(end, 4_036);
    assert!(cut.text.ends_with(&format!("[More follows: read on with offset {}.]\n", end + 1)));
    assert_eq!(cut.facts["total_lines"], 5_000);
}

#[test]
fn a_huge_file_is_read_anywhere_and_its_lines_are_not_counted_past_a_bound() {
    let mut desk = Desk::new();
    desk.limits.read_window_bytes = 64 << 10;
    desk.limits.count_bytes = 256 << 10;
    let text: String = (1..=200_000).map(|line| format!("line {line}\n")).collect();
    desk.put("huge", &text);
    let head = desk.ok("read_file", json!({ "path": "huge", "limit": 1 }));
    // Where the count ends, a line goes on.
    assert!(head.text.contains("lines 1-1 of at least "), "{}", head.text);
    assert!(head.facts["total_lines"].is_null() && head.facts["eof"] == false);
    let deep = desk.ok("read_file", json!({ "path": "huge", "offset": 199_999, "limit": 9 }));
    assert!(deep.text.contains("199999\tline 199999\n200000\tline 200000\n[End of file.]"), "{}", deep.text);
    let past = desk.not_ok("read_file", json!({ "path": "huge", "offset": 200_001 }), Code::PastEnd);
    assert!(past.text.contains("200000 lines"));
}

#[test]
fn secrets_are_hidden_before_anything_is_cut() {
    let mut desk = Desk::new();
    desk.limits.line_chars = 20;
    desk.put("env", format!("a=1\n{}{SECRET}\nb=2\n", "x".repeat(15)));
    desk.put("pem", "before\n-----BEGIN KEY-----\nMIIEvQ\n-----END KEY-----\nafter\n");
    let cut = desk.ok("read_file", json!({ "path": "env", "offset": 2, "limit": 1 }));
    assert!(!cut.text.contains("sk-live") && cut.text.contains("xxxxx[secr"), "{}", cut.text);
    assert!(cut.text.contains("[Secrets are hidden in this file."));
    assert_eq!(cut.facts["hidden"], true);
    let key = desk.ok("read_file", json!({ "path": "pem", "offset": 2, "limit": 1 }));
    assert!(!key.text.contains("MIIEvQ"), "{}", key.text);
    let after = desk.ok("read_file", json!({ "path": "pem", "offset": 5 }));
    assert!(after.text.starts_with("pem, lines 5-5 of 5\n     5\tafter\n"), "{}", after.text);
    let all = desk.ok("read_file", json!({ "path": "env" }));
    assert!(!all.text.contains(SECRET) && !all.text.contains(MARK), "the line is cut inside the mark");
}

#[test]
fn a_line_longer_than_a_window_is_one_line() {
    let mut desk = Desk::new();
    (desk.limits.window_bytes, desk.limits.read_window_bytes) = (64 << 10, 64 << 10);
    let long = 50 * (64 << 10);
    desk.put("one", "x".repeat(long));
    desk.put("three", "first\n".to_owned() + &"é".repeat(long) + "\nlast FOUND\n");
    for arguments in [json!({ "path": "one" }), json!({ "path": "one", "limit": 1 })] {
        let one = desk.ok("read_file", arguments);
        let told = format!(
            "one, lines 1-1 of 1\n     1\t{}[{} characters cut]\n[1 line longer than 2000 characters]\n[End of file, without a \
             newline.]\n",
            "x".repeat(2_000),
            long - 2_000
        );
        assert_eq!(one.text, told);
        assert_eq!((&one.facts["total_lines"], &one.facts["cut_lines"]), (&json!(1), &json!(1)));
    }
    let all = desk.ok("read_file", json!({ "path": "three" }));
    assert!(all.text.starts_with("three, lines 1-3 of 3\n     1\tfirst\n     2\té"), "{}", all.text);
    let end = format!("é[{} characters cut]\n     3\tlast FOUND\n[1 line longer", long - 2_000);
    assert!(all.text.contains(&end), "{}", all.text);
    let head = desk.ok("read_file", json!({ "path": "three", "limit": 1 }));
    assert_eq!(head.text, "three, lines 1-1 of 3\n     1\tfirst\n[More follows: read on with offset 2.]\n");
    let tail = desk.ok("read_file", json!({ "path": "three", "offset": 3 }));
    assert_eq!(tail.text, "three, lines 3-3 of 3\n     3\tlast FOUND\n[End of file.]\n");
    let past = desk.not_ok("read_file", json!({ "path": "one", "offset": 2 }), Code::PastEnd);
    assert_eq!(past.text, "one has 1 line, so line 2 is past its end.");
    let found = desk.ok("search_code", json!({ "pattern": "FOUND" }));
    assert!(found.text.contains("three:3: last FOUND"), "{}", found.text);
}
