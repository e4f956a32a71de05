//! What a task in words changed, as a patch.

use super::screen::Screen;
use super::{Look, Tone, clean};
use ouroboros_proto::api::{ChangeKind, ChangesView, UndoAnswer, Undone};

/// All differences, coloured on a terminal. Nothing in them steers it.
pub fn diff(changes: &ChangesView, look: Look) -> String {
    let mut shown = String::new();
    for text in changes.files.iter().filter_map(|file| file.diff.as_ref()) {
        if !look.terminal {
            // Also what is no patch for people is one for programs: as it is.
            shown.push_str(text);
            continue;
        }
        for line in Screen::default().show(text.as_bytes()).split_inclusive('\n') {
            let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
            shown.push_str(&look.paint(tone(line), line));
            shown.push_str(end);
        }
    }
    shown
}

fn tone(line: &str) -> Tone {
    match line.as_bytes() {
        [b'-', b'-', b'-', b' ', ..] | [b'+', b'+', b'+', b' ', ..] => Tone::Strong,
        [b'-', ..] => Tone::Bad,
        [b'+', ..] => Tone::Good,
        [b'@', ..] => Tone::Busy,
        _ => Tone::Plain,
    }
}

/// What is to be said of files beside their differences.
pub fn notes(changes: &ChangesView) -> Vec<String> {
    let mut notes = Vec::new();
    for file in &changes.files {
        let path = clean(&file.path);
        if let Some(note) = &file.note {
            notes.push(format!("{path} ({}): {}", file.change.as_str(), clean(note)));
        }
        if file.change == ChangeKind::Same {
            notes.push(format!("{path} is what it was before"));
        } else if file.foreign {
            notes.push(format!("{path}: somebody else has changed it since; that is in the differences too"));
        }
    }
    notes
}

/// What became of each file, a line each.
pub fn undone(answer: &UndoAnswer) -> String {
    let line = |path: &str, words: &str| format!("{words:<10} {}\n", clean(path));
    let lines = answer.files.iter().map(|file| match (file.done, &file.why) {
        (Undone::Restored, _) => line(&file.path, "restored"),
        (Undone::Removed, _) => line(&file.path, "removed"),
        (Undone::Unchanged, _) => line(&file.path, "unchanged"),
        (Undone::Refused, why) => {
            let why = why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
            line(&format!("{}{why}", file.path), "refused")
        }
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::{Look, diff};
    use ouroboros_proto::api::{ChangeKind, ChangeView, ChangesView};

    #[test]
    fn a_patch_is_itself_in_a_pipe_and_harmless_on_a_terminal() {
        let text = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+\u{1b}[2Jb\n";
        let (path, change, diff_of) = ("x".to_owned(), ChangeKind::Changed, Some(text.to_owned()));
        let file = ChangeView { path, change, foreign: false, diff: diff_of, note: None };
        let changes = ChangesView { folder: "/f".to_owned(), files: vec![file] };
        assert_eq!(diff(&changes, Look::PLAIN), text);
        let shown = diff(&changes, Look { terminal: true, color: true, width: None });
        assert!(!shown.contains("\u{1b}[2J") && shown.contains("\\u{1b}[2Jb"), "{shown:?}");
        assert!(shown.contains("\u{1b}[31m-a\u{1b}[0m\n"), "{shown:?}");
    }
}
