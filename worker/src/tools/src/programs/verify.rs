//! `verify_and_record`: a check that the host runs and attests. What a model claims is not a receipt; this is one.

use super::{
    Ran, Rights, Seen, Start, argv_schema, checked, cwd_schema, directory, programs, run, timeout, timeout_schema, told,
};
use crate::arguments::{self, Arguments};
use crate::outcome::{Attempt, Code, Outcome};
use crate::registry::{Access, Call, Tool};
use ouroboros_proto::agent::ToolSpec;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The tool.
pub struct VerifyAndRecord;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    claim: String,
    argv: Vec<String>,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    expected: Option<String>,
    #[serde(default)]
    expected_match: Match,
    #[serde(default)]
    expected_exit: Option<u8>,
    #[serde(default)]
    timeout_s: Option<u64>,
}

impl Arguments for Asked {
    const EXAMPLE: &'static str =
        r#"{"claim":"the tests pass","argv":["cargo","test","--offline"],"expected":"test result: ok"}"#;
}

/// How standard output is held against what is expected. Always against the bytes as they came, before anything is hidden in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    /// It contains it.
    #[default]
    Substring,
    /// It is it, but for white space at both ends.
    Exact,
    /// One of its lines is it.
    ExactLine,
    /// Both are the same JSON value.
    JsonEquals,
    /// It is it, byte for byte.
    BytesEqual,
}

impl Tool for VerifyAndRecord {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "verify_and_record".to_owned(),
            description:
                "Runs a check and records what came of it, as a receipt that the person sees. Use it to prove a claim \
                          before you make it. It holds when the exit code and the output are as expected."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "claim": { "type": "string", "description": "What the check is to prove, in a few words." },
                    "argv": argv_schema(),
                    "cwd": cwd_schema(),
                    "expected": { "type": "string", "description": "What its standard output is held against." },
                    "expected_match": {
                        "type": "string", "enum": ["substring", "exact", "exact_line", "json_equals", "bytes_equal"],
                        "description": "How; substring when absent."
                    },
                    "expected_exit": { "type": "integer", "minimum": 0, "maximum": 255, "description": "0 when absent." },
                    "timeout_s": timeout_schema()
                },
                "required": ["claim", "argv"],
                "additionalProperties": false
            }),
        }
    }

    fn access(&self) -> Access {
        Access::Run
    }

    fn run(&self, call: &Call<'_>, arguments: &str) -> Outcome {
        verify(call, arguments).unwrap_or_else(|outcome| outcome)
    }
}

fn verify(call: &Call<'_>, arguments: &str) -> Attempt<Outcome> {
    let asked: Asked = arguments::read(arguments, call.limits.argument_bytes)?;
    if asked.claim.trim().is_empty() {
        return Err(Outcome::not_ok(
            Code::BadArguments,
            "claim is empty. Say what the check proves. Nothing was done.",
        ));
    }
    if let (Match::JsonEquals, Some(expected)) = (asked.expected_match, &asked.expected)
        && serde_json::from_str::<Value>(expected).is_err()
    {
        return Err(Outcome::not_ok(Code::BadArguments, "expected is not JSON. Nothing was done."));
    }
    let argv = checked(asked.argv)?;
    let start = Start {
        argv: argv.clone(),
        script: None,
        cwd: directory(call, asked.cwd.as_deref())?,
        stdin: Vec::new(),
        env: Vec::new(),
        timeout: timeout(asked.timeout_s)?,
        rights: Rights::Usual { network: false },
        apart: true,
    };
    let cwd = start.cwd.display().to_string();
    let ran = programs(call)?.run(start)?;
    let wanted_exit = asked.expected_exit.unwrap_or(0);
    let exit_holds = ran.end == super::End::Exited(wanted_exit);
    let output = asked.expected.as_deref().map(|expected| holds(asked.expected_match, expected, &ran.stdout));
    let held = match (exit_holds, output) {
        (false, _) | (_, Some(Some(false))) => Some(false),
        (true, Some(None)) => None,
        (true, None | Some(Some(true))) => Some(true),
    };
    let receipt = json!({
        "claim": asked.claim.trim(),
        "argv": argv,
        "cwd": cwd,
        "expected_exit": wanted_exit,
        "match": asked.expected.as_ref().map(|_| asked.expected_match),
        "matched": output.flatten(),
        "holds": held,
    });
    let mut facts = told::facts(&ran);
    facts.insert("receipt".to_owned(), receipt);
    let told = told::ran(&ran, call.mask);
    Ok(verdict(&ran, held, &told, facts.into()))
}

fn verdict(ran: &Ran, held: Option<bool>, told: &str, facts: Value) -> Outcome {
    let refused = |code, words: &str| Outcome::not_ok(code, format!("{words} {told}")).with(facts.clone());
    match (run::code(&ran.end), held) {
        (Some(code), _) => refused(code, "The check came to no end of its own, so nothing is proven."),
        (None, Some(true)) => Outcome::ok(format!("It holds, and is recorded. {told}"), facts.clone()),
        (None, Some(false)) => refused(Code::NotVerified, "It does not hold. That is recorded."),
        (None, None) => {
            refused(Code::NotVerified, "It wrote more than is kept, so its output cannot be judged. That is recorded.")
        }
    }
}

/// Whether the output is as expected; `None` when too little of it is kept to say.
fn holds(how: Match, expected: &str, seen: &Seen) -> Option<bool> {
    let mut bytes = seen.head.clone();
    bytes.extend_from_slice(&seen.tail);
    if seen.lost > 0 {
        // What is found in a part of it is in the whole; what is not found there may be.
        let found = || [&seen.head, &seen.tail].iter().any(|part| contains(part, expected.as_bytes()));
        return (how == Match::Substring && found()).then_some(true);
    }
    let text = || String::from_utf8_lossy(&bytes);
    Some(match how {
        Match::Substring => contains(&bytes, expected.as_bytes()),
        Match::Exact => text().trim() == expected.trim(),
        Match::ExactLine => text().lines().any(|line| line == expected),
        Match::JsonEquals => {
            let value = |text: &str| serde_json::from_str::<Value>(text).ok();
            value(expected).is_some_and(|expected| value(&text()) == Some(expected))
        }
        Match::BytesEqual => bytes == expected.as_bytes(),
    })
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    wanted.is_empty() || bytes.windows(wanted.len()).any(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> Seen {
        Seen { head: text.as_bytes().to_vec(), ..Seen::default() }
    }

    #[test]
    fn each_way_to_match_says_yes_and_no() {
        for (how, expected, output, holds_) in [
            (Match::Substring, "ok", "all ok\n", true),
            (Match::Substring, "OK", "all ok\n", false),
            (Match::Exact, "ok", "  ok\n", true),
            (Match::Exact, "ok", "ok ok", false),
            (Match::ExactLine, "ok", "a\nok\nb", true),
            (Match::ExactLine, "ok", "a ok", false),
            (Match::JsonEquals, "{\"a\":1,\"b\":2}", "{ \"b\": 2, \"a\": 1 }", true),
            (Match::JsonEquals, "{}", "no JSON", false),
            (Match::BytesEqual, "ok\n", "ok\n", true),
            (Match::BytesEqual, "ok", "ok\n", false),
        ] {
            assert_eq!(holds(how, expected, &seen(output)), Some(holds_), "{how:?} {expected:?} {output:?}");
        }
    }

    #[test]
    fn what_is_not_all_kept_proves_nothing_but_what_is_seen() {
        let cut = Seen { lost: 5, ..seen("all ok") };
        assert_eq!(holds(Match::Substring, "ok", &cut), Some(true));
        assert_eq!(holds(Match::Substring, "no", &cut), None);
        assert_eq!(holds(Match::Exact, "all ok", &cut), None);
    }
}
