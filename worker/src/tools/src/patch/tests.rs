use crate::outcome::Code;
use crate::testing::Desk;
use serde_json::json;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

const TEN: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

fn apply(before: &str, patch: &str) -> String {
    let desk = Desk::new();
    desk.put("f", before);
    desk.ok("apply_patch", json!({ "patch": patch }));
    desk.text("f")
}

#[test]
fn hunks_change_lines_wherever_they_fit() {
    for (patch, after) in [
        ("--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n", "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n10\n"),
        // Two hunks, the second with the shift of the first.
        ("--- f\n+++ f\n@@ -1,0 +2,2 @@\n+a\n+b\n@@ -9,2 +11,1 @@\n 9\n-10\n", "1\na\nb\n2\n3\n4\n5\n6\n7\n8\n9\n"),
        // What the first was off by, the second is too.
        ("--- f\n+++ f\n@@ -1 +1 @@\n-a\n+A\n@@ -4 +4 @@\n-=\n+!\n", "0\n0\n0\nA\n=\nb\n!\nc\n=\n"),
        // Wrong numbers, of the place and of the lines.
        ("--- f\n+++ f\n@@ -90,17 +3,1 @@\n 4\n-5\n+five\n 6\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n"),
        ("--- f\n+++ f\n@@ -4,1 +4,1 @@\n 4\n-5\n+five\n 6\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n"),
        // No numbers at all.
        ("--- f\n+++ f\n@@ @@\n-10\n+ten\n", "1\n2\n3\n4\n5\n6\n7\n8\n9\nten\n"),
        ("--- f\n+++ f\n@@ fn x @@\n+eleven\n", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\neleven\n"),
        // What mail adds around it.
        (
            "From: me\nSubject: x\n---\n f | 2 +-\n\ndiff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n\
             @@ -10 +10 @@\n-10\n+ten\n-- \n2.39.2\n",
            "1\n2\n3\n4\n5\n6\n7\n8\n9\nten\n",
        ),
    ] {
        let before = if patch.contains("-=") { "0\n0\n0\na\n=\nb\n=\nc\n=\n" } else { TEN };
        assert_eq!(apply(before, patch), after, "{patch}");
    }
}

#[test]
fn lines_that_look_like_marks_and_empty_lines_are_read_by_the_numbers() {
    let sql = "-- one\n\n-- two\n";
    assert_eq!(apply(sql, "--- f\n+++ f\n@@ -1,3 +1,3 @@\n--- one\n+++ one\n\n -- two\n"), "++ one\n\n-- two\n");
    assert_eq!(apply("a\n\nb\n", "--- f\n+++ f\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n\n"), "a\n\nc\n");
    assert_eq!(apply("a\n\nb\n", "--- f\n+++ f\n@@ @@\n a\n\n-b\n+c\n\n"), "a\n\nc\n");
}

#[test]
fn ends_of_lines_and_of_files_stay_or_change_as_the_patch_says() {
    assert_eq!(apply("a\r\nb\r\n", "--- f\n+++ f\n@@ -1,2 +1,3 @@\n a\n-b\n+B\n+c\n"), "a\r\nB\r\nc\r\n");
    assert_eq!(apply("a\n", "--- f\r\n+++ f\r\n@@ -1 +1,2 @@\r\n a\r\n+b\r\n"), "a\nb\n");
    assert_eq!(apply("", "--- /dev/null\n+++ f\n@@ -0,0 +1,2 @@\n+a\r\n+b\r\n"), "a\r\nb\r\n");
    assert_eq!(apply("a\nb", "--- f\n+++ f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n"), "A\nb");
    let open_to_closed = "--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n";
    assert_eq!(apply("a\nb", open_to_closed), "a\nb\n");
    let closed_to_open = "--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n";
    assert_eq!(apply("a\nb\n", closed_to_open), "a\nb");
    assert_eq!(apply("a", "--- f\n+++ f\n@@ -1 +1,2 @@\n a\n+b\n"), "a\nb\n");
}

#[test]
fn files_are_created_deleted_and_moved_together() {
    let desk = Desk::new();
    desk.put("old/name.sh", "1\n2\n");
    std::fs::set_permissions(desk.path("old/name.sh"), Permissions::from_mode(0o750)).unwrap();
    desk.put("gone", "x\n");
    desk.put("tool", "x\n");
    let patch = "diff --git a/old/name.sh b/new/name.sh\nsimilarity index 50%\nrename from old/name.sh\nrename to new/name.sh\n\
                 --- a/old/name.sh\n+++ b/new/name.sh\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n\
                 diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
                 diff --git a/made b/made\nnew file mode 100755\n--- /dev/null\n+++ b/made\n@@ -0,0 +1,2 @@\n+1\n+2\n\
                 diff --git a/empty b/empty\nnew file mode 100644\nindex 0000000..e69de29\n\
                 diff --git a/tool b/tool\nold mode 100644\nnew mode 100755\n";
    let outcome = desk.ok("apply_patch", json!({ "patch": patch }));
    assert_eq!(
        outcome.text,
        "Created new/name.sh: 2 lines.\nCreated made: 2 lines.\nCreated empty: 0 lines.\nReplaced tool: 1 line before, 1 now.\n\
         Deleted old/name.sh: 2 lines before.\nDeleted gone: 1 line before."
    );
    let mode = |path: &str| desk.path(path).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((desk.text("new/name.sh"), mode("new/name.sh")), ("1\ntwo\n".to_owned(), 0o750));
    assert_eq!((mode("made"), mode("tool"), desk.text("empty")), (0o755, 0o755, String::new()));
    assert!(!desk.path("old/name.sh").exists() && !desk.path("gone").exists());
}

#[test]
fn a_hunk_that_does_not_fit_is_named_with_the_nearest_place_and_nothing_is_changed() {
    let desk = Desk::new();
    desk.put("f", "fn one() {}\nfn two() {}\n");
    desk.put("g", "x\n");
    let patch = "--- g\n+++ g\n@@ -1 +1 @@\n-x\n+y\n--- f\n+++ f\n@@ -1 +1 @@\n-fn one() {}\n+fn eins() {}\n\
                 @@ -2 +2 @@ here\n-fn two(a: u8) {}\n+fn zwei() {}\n";
    let miss = desk.not_ok("apply_patch", json!({ "patch": patch }), Code::HunkNotFound);
    assert_eq!(
        miss.text,
        "Hunk 2 (@@ -2 +2 @@ here) does not fit in f: its lines are not there one after the other. Nothing was changed.\n\
         The nearest place:\n     2\tfn two() {}\n"
    );
    assert_eq!((desk.text("f"), desk.text("g")), ("fn one() {}\nfn two() {}\n".to_owned(), "x\n".to_owned()));
    desk.put("twice", "a\nb\na\n");
    let twice =
        desk.not_ok("apply_patch", json!({ "patch": "--- twice\n+++ twice\n@@\n-a\n+c\n" }), Code::HunkNotFound);
    assert!(twice.text.contains("fits at 2 places"), "{}", twice.text);
    let moved = desk.ok("apply_patch", json!({ "patch": "--- twice\n+++ twice\n@@ -4 +4 @@\n-a\n+c\n" }));
    assert!(moved.text.ends_with("1 of 1 hunks fitted at other lines than they said."), "{}", moved.text);
    assert_eq!(desk.text("twice"), "a\nb\nc\n");
    assert!(desk.versions.history().unwrap().len() == 1);
}

#[test]
fn what_is_there_or_is_not_and_what_leads_out_is_told() {
    let desk = Desk::new();
    desk.put("f", "1\n2\n");
    for (patch, code) in [
        ("--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n", Code::AlreadyExists),
        ("--- a/no\n+++ b/no\n@@ -1 +1 @@\n-x\n+y\n", Code::NotFound),
        ("--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n", Code::HunkNotFound),
        ("--- a/../outside/secret\n+++ b/../outside/secret\n@@ -1 +1 @@\n-OUTSIDE\n+x\n", Code::Outside),
        ("--- /dev/null\n+++ b/../outside/new\n@@ -0,0 +1 @@\n+x\n", Code::Outside),
        ("diff --git a/f b/g\nrename from f\nrename to ../outside/new\n", Code::Outside),
    ] {
        desk.not_ok("apply_patch", json!({ "patch": patch }), code);
    }
    assert_eq!(desk.text("f"), "1\n2\n");
    assert_eq!(std::fs::read_dir(desk.outside()).unwrap().count(), 1);
}

#[test]
fn a_patch_that_cannot_be_read_says_where_and_shows_one_that_can() {
    let desk = Desk::new();
    desk.put("f", "1\n");
    for (patch, words) in [
        ("", "no --- and +++ lines"),
        (
            "*** Begin Patch\n*** Update File: f\n@@\n-1\n+2\n*** End Patch\n",
            "line 3: a hunk before the --- and +++ lines",
        ),
        ("--- f\n+++ f\n", "it has no hunks"),
        ("--- f\n+++ f\n@@ -1 +1 @@\n 1\n", "the hunk changes nothing"),
        ("--- f\n+++ f\n@@ -1 +1 @@\n-1\n+2\nwhat is this\n", "line 6: expected a line that begins with"),
        ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-1\n+2\n", "both names are /dev/null"),
        ("diff --git a/f b/f\nGIT binary patch\n", "line 2: it changes a binary file"),
        ("diff --git a/f b/g\ncopy from f\ncopy to g\n", "line 2: it copies a file"),
        ("diff --git a/l b/l\nnew file mode 120000\n", "line 2: it creates a symbolic link"),
    ] {
        let outcome = desk.not_ok("apply_patch", json!({ "patch": patch }), Code::BadPatch);
        assert!(outcome.text.contains(words) && outcome.text.contains("Example: {"), "{patch}: {}", outcome.text);
    }
    assert_eq!(desk.text("f"), "1\n");
}

/// Text made of the pieces of patches, in every order, is refused or applied, and nothing panics.
#[test]
fn no_text_is_too_odd() {
    let pieces = [
        "--- a/f\n",
        "+++ b/f\n",
        "@@ -1 +1 @@\n",
        "@@ -99999999999999999999,1 +0 @@\n",
        "-1\n",
        "+é\n",
        " 1\n",
        "\n",
        "\\ No\n",
        "diff --git a/f b/f\n",
        "rename to g\n",
        "--- \"a/\\3\n",
        "+++ /dev/null\n",
        "é\n",
        "-",
        "@@ -18446744073709551615 +1 @@\n",
    ];
    let desk = Desk::new();
    let mut seed = 1_u64;
    for _ in 0..3_000 {
        let mut patch = String::new();
        for _ in 0..8 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            patch.push_str(pieces[usize::try_from(seed >> 33).unwrap() % pieces.len()]);
        }
        std::fs::write(desk.path("f"), "1\n2\n").unwrap();
        let outcome = desk.run_until("apply_patch", &json!({ "patch": patch }).to_string(), &|| false);
        assert_ne!(outcome.class, crate::outcome::CallOutcome::Unknown, "{patch}");
    }
}
