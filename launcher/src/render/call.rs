//! A call of a tool and what came of it, on one line.

use super::{Look, Tone, clean, count, width};
use ouroboros_proto::agent::{CallOutcome, CallResult, Judgement, TOLD_CALL};
use serde_json::Value;

/// Fields of arguments that say most of what a call is about, the first of them first.
const SUBJECTS: [&str; 15] = [
    "path", "argv", "script", "pattern", "query", "url", "claim", "name", "rev", "text", "question", "paths", "folder",
    "id", "entry",
];
/// Columns of arguments that are shown.
const SHOWN: usize = 100;
/// Columns of a field that is shown beside the subject.
const BESIDE: usize = 24;

/// `· read_file src/main.rs — 212 lines, 3 ms`, cut to the width of the terminal.
pub fn line(look: Look, name: &str, arguments: &str, result: &CallResult) -> String {
    let about = about(name, arguments);
    let facts = facts(result);
    let most = look.width.map_or(usize::MAX, |width| usize::from(width).saturating_sub(1));
    let head = format!("{TOLD_CALL}{}", clean(name));
    let end = format!(" — {facts}");
    // What came of it is worth more than the end of the arguments.
    let room = most.saturating_sub(width::of(&head)).saturating_sub(width::of(&end)).saturating_sub(1);
    let about = if about.is_empty() || room < 4 { String::new() } else { format!(" {}", width::cut(&about, room)) };
    let line = width::cut(&format!("{head}{about}{end}"), most);
    look.paint(if result.outcome == CallOutcome::Ok { Tone::Faint } else { Tone::Warn }, &line)
}

/// What a call is about, in few words.
pub fn about(name: &str, arguments: &str) -> String {
    let read: Result<Value, _> = serde_json::from_str(arguments);
    let Ok(Value::Object(fields)) = read else { return width::cut(&flat(arguments), SHOWN) };
    if let Some(patch) = fields.get("patch").and_then(Value::as_str) {
        return width::cut(&patched(patch), SHOWN);
    }
    if name == "deliver" {
        // What it delivers is the output.
        return fields.get("objective").map(shown).unwrap_or_default();
    }
    let subject = SUBJECTS.iter().find(|field| fields.contains_key(**field));
    let of_changes = matches!(name, "write_file" | "edit_text" | "edit_batch");
    let mut words: Vec<String> = subject.and_then(|field| fields.get(*field)).map(shown).into_iter().collect();
    words.extend(fields.iter().filter(|(field, _)| subject.is_none_or(|subject| *field != subject)).filter_map(
        |(field, value)| {
            let value = shown(value);
            let short = !of_changes && !value.is_empty() && width::of(&value) <= BESIDE;
            short.then(|| format!("{}={value}", clean(field)))
        },
    ));
    width::cut(&words.join(" "), SHOWN)
}

/// A value without quotes and brackets where it can be read without.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => flat(text),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(" "),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => flat(&value.to_string()),
    }
}

/// The names of the files that a patch is about.
fn patched(patch: &str) -> String {
    let names = patch.lines().filter_map(|line| {
        let begins = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "+++ b/", "+++ "];
        begins.iter().find_map(|begin| line.strip_prefix(begin))
    });
    flat(&names.collect::<Vec<_>>().join(" "))
}

/// On one line.
fn flat(text: &str) -> String {
    clean(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// What came of it: how it ended where that was not well, a fact or two, and the time it took.
fn facts(result: &CallResult) -> String {
    let mut facts = Vec::new();
    let exits =
        |line: &str| line.strip_prefix("Exit ").and_then(|rest| rest.split_whitespace().next().map(str::to_owned));
    // What it is warned of stands before it.
    let exit = result.text.lines().find(|line| !line.starts_with("[ouroboros]")).and_then(exits);
    match (result.outcome, &result.code) {
        (CallOutcome::Ok, _) => {}
        (_, Some(code)) => facts.push(clean(&code.replace('_', " "))),
        (CallOutcome::Miss | CallOutcome::Refusal | CallOutcome::ArgumentError | CallOutcome::Failure, None) => {
            facts.push("not done".to_owned());
        }
        (CallOutcome::Unknown, None) => facts.push("not known".to_owned()),
    }
    match exit.and_then(|code| code.parse::<u8>().ok()) {
        Some(code) => facts.push(format!("exit {code}")),
        None if result.outcome == CallOutcome::Ok => {
            let lines = result.text.lines().count();
            if lines > 1 {
                facts.push(count(u64::try_from(lines).unwrap_or(u64::MAX), "line"));
            }
        }
        None => {}
    }
    match result.decided.as_ref().and_then(|decided| decided.judged.as_ref()) {
        Some(Judgement::Suspicious { .. }) => facts.push("suspicious".to_owned()),
        Some(Judgement::Dangerous { .. }) => facts.push("dangerous".to_owned()),
        Some(
            Judgement::Safe { .. }
            | Judgement::WavedThrough { .. }
            | Judgement::Failed { .. }
            | Judgement::Unavailable { .. }
            | Judgement::TooLarge { .. }
            | Judgement::NoRoute { .. },
        )
        | None => {}
    }
    facts.push(took(result.millis));
    facts.join(", ")
}

fn took(millis: u64) -> String {
    if millis < 1_000 { format!("{millis} ms") } else { format!("{}.{} s", millis / 1_000, millis % 1_000 / 100) }
}

#[cfg(test)]
mod tests {
    use super::{about, line};
    use crate::render::{Look, width};
    use ouroboros_proto::agent::{CallOutcome, CallResult};

    fn result(outcome: CallOutcome, code: Option<&str>, text: &str, millis: u64) -> CallResult {
        let json = serde_json::json!({ "call": "a", "name": "x", "outcome": outcome, "code": code, "text": text, "millis": millis });
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn arguments_are_short_and_readable() {
        let cases = [
            ("read_file", r#"{"path":"src/main.rs","from":3}"#, "src/main.rs from=3"),
            ("run_command", r#"{"argv":["cargo","test"],"network":true}"#, "cargo test network=true"),
            ("write_file", r#"{"path":"a","content":"x"}"#, "a"),
            (
                "apply_patch",
                r#"{"patch":"*** Begin Patch\n*** Update File: a.rs\n+x\n*** Add File: b.rs\n"}"#,
                "a.rs b.rs",
            ),
            ("list_files", "{}", ""),
            ("deliver", r#"{"text":"Red.","objective":"met"}"#, "met"),
            ("note", r#"{"text":"Half is\n done. \u001b[31m"}"#, "Half is done. \\u{1b}[31m"),
            ("odd", "no\x1b json", "no\\u{1b} json"),
        ];
        for (name, arguments, words) in cases {
            assert_eq!(about(name, arguments), words, "{name}");
        }
    }

    #[test]
    fn a_line_says_what_came_of_it_and_is_cut_where_the_terminal_ends() {
        let ok = result(CallOutcome::Ok, None, "one\ntwo\n", 3);
        let shown = |width, name, arguments, result| {
            line(Look { terminal: true, color: false, width }, name, arguments, result)
        };
        assert_eq!(shown(None, "read_file", r#"{"path":"a"}"#, &ok), "· read_file a — 2 lines, 3 ms");
        let failed = result(CallOutcome::Failure, Some("exit_code"), "Exit 3 after 1.5 s.", 1_530);
        assert_eq!(
            shown(None, "run_command", r#"{"argv":["make"]}"#, &failed),
            "· run_command make — exit code, exit 3, 1.5 s"
        );
        let path = format!(r#"{{"path":"{}"}}"#, "長い名前/".repeat(20));
        for columns in 1..60 {
            let line = shown(Some(columns), "read_file", &path, &ok);
            assert!(width::of(&line) < usize::from(columns).max(2), "{columns}: {line}");
        }
        assert!(shown(Some(40), "read_file", &path, &ok).ends_with("… — 2 lines, 3 ms"));
    }
}
