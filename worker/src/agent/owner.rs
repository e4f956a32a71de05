//! Asking the owner: a tool that waits for a person.
//!
//! The number of a request is the place of its call among all calls of the task, so an attempt that goes on after an interruption asks
//! the same again and is told what was answered meanwhile.

use super::steps::{Asked, not_done};
use crate::model::{Line, Speech};
use ouroboros_proto::agent::{CallOutcome, CallResult, OwnerAnswer, OwnerRequest, ToolSpec};
use ouroboros_proto::kind::{Ending, clock};
use serde::Deserialize;
use serde_json::json;

/// The tool's name.
pub const NAME: &str = "ask_owner";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    question: String,
    #[serde(default)]
    options: Vec<String>,
}

/// The tool as the model is told of it.
pub fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description: "Asks the person whose task this is, and waits for the answer. It may take hours, and there may be none: ask \
            only what the person alone can say and what matters for the result, with everything needed to answer it, and ask it at \
            once instead of bit by bit."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "question": { "type": "string", "description": "What you need to know, in words that can be understood alone." },
                "options": {
                    "type": "array",
                    "items": { "type": "string" },
                    "maxItems": 8,
                    "description": "Answers to choose from, when there are a few. The person may always answer in other words.",
                },
            },
            "required": ["question"],
            "additionalProperties": false,
        }),
    }
}

/// Asks what a call says, and waits. The error is why the attempt ends while it waits: then nothing came of the call yet.
pub fn ask(call: &Asked<'_>, number: u32, line: &mut Line<'_>, speech: &mut Speech) -> Result<CallResult, Ending> {
    let since = clock::boot();
    let request = match request(call.arguments) {
        Ok(request) => request,
        Err(why) => return Ok(not_done(call, CallOutcome::ArgumentError, "bad_arguments", &why)),
    };
    speech.say(&format!("? it asks its owner: {}", first_line(request.text())));
    let answer = line.ask_owner(number, &request, speech)?;
    if line.is_cancelled(number) {
        return Ok(not_done(
            call,
            CallOutcome::Refusal,
            "cancelled",
            "The person cancelled this call. Go on without an answer.",
        ));
    }
    Ok(CallResult { millis: clock::boot().since(since).get(), ..result(call, &answer) })
}

/// Asks again what an attempt before asked and did not hear the answer to. `results` stand for the calls, one each; `first` is the
/// number of the first call.
pub fn ask_again(
    calls: &[Asked<'_>],
    results: &mut [CallResult],
    first: u32,
    line: &mut Line<'_>,
    speech: &mut Speech,
) -> Result<(), Ending> {
    for ((number, call), result) in (first..).zip(calls).zip(results) {
        if call.name == NAME && result.outcome == CallOutcome::Unknown {
            *result = ask(call, number, line, speech)?;
        }
    }
    Ok(())
}

fn request(arguments: &str) -> Result<OwnerRequest, String> {
    let Arguments { question, options } =
        serde_json::from_str(arguments).map_err(|error| format!("The arguments cannot be read: {error}"))?;
    let request = OwnerRequest::Question { text: question, options };
    match request.fault() {
        None => Ok(request),
        Some(fault) => Err(format!("It was not asked: {fault}.")),
    }
}

fn result(call: &Asked<'_>, answer: &OwnerAnswer) -> CallResult {
    let told = |text: String| CallResult { code: None, ..not_done(call, CallOutcome::Ok, "", &text) };
    match answer {
        OwnerAnswer::Option { number, text } => told(format!("The owner chose option {number}: {text}")),
        OwnerAnswer::Text { text } => told(format!("The owner answered: {text}")),
        OwnerAnswer::Expired => not_done(
            call,
            CallOutcome::Miss,
            "expired",
            "Nobody answered within the time. Do what is right without an answer, and say in the end what you assumed.",
        ),
        OwnerAnswer::Once
        | OwnerAnswer::Task
        | OwnerAnswer::Always
        | OwnerAnswer::Deny { .. }
        | OwnerAnswer::Withdrawn => not_done(
            call,
            CallOutcome::Refusal,
            "withdrawn",
            "The owner cannot be asked this. Go on without an answer.",
        ),
    }
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_read_and_what_is_none_is_said() {
        let asked = request(r#"{"question":"Which?","options":["a","b"]}"#).expect("a question");
        assert_eq!(asked, OwnerRequest::Question { text: "Which?".to_owned(), options: vec!["a".into(), "b".into()] });
        for bad in ["{}", "nothing", r#"{"question":" "}"#, r#"{"question":"?","more":1}"#] {
            assert!(request(bad).is_err(), "{bad}");
        }
        let many = json!({ "question": "?", "options": vec!["x"; 9] }).to_string();
        assert!(request(&many).is_err());
    }

    #[test]
    fn each_answer_is_told_in_words_and_only_real_ones_are_answers() {
        let call = Asked { id: "c", name: NAME, arguments: "{}" };
        let told = |answer| {
            let result = result(&call, &answer);
            (result.outcome, result.code, result.text)
        };
        let (outcome, code, text) = told(OwnerAnswer::Text { text: "the left one".to_owned() });
        assert_eq!((outcome, code), (CallOutcome::Ok, None));
        assert!(text.contains("the left one"));
        let option = OwnerAnswer::Option { number: 2, text: "right".to_owned() };
        assert!(told(option).2.contains("option 2: right"));
        assert_eq!(told(OwnerAnswer::Expired).0, CallOutcome::Miss);
        assert_eq!(told(OwnerAnswer::Withdrawn).0, CallOutcome::Refusal);
    }
}
