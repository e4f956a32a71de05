//! `deliver`: the agent ends its work by a call, and says whether what was wanted is reached.
//!
//! It ends the work as an answer without calls does. Where the owner gave a schema, what is delivered is a value that satisfies it, in
//! the arguments of the call or as the text of an answer. A call has its result before the work is over, so that the conversation can be
//! continued; an attempt that ended between the two delivers what was taken.

use super::conversation::as_data;
use super::steps::{self, Asked, not_done};
use super::{Agent, must_deliver};
use ouroboros_proto::agent::{Author, CallOutcome, CallResult, Entry, Objective, ToolSpec};
use ouroboros_proto::kind::Ending;
use ouroboros_schema::Schema;
use serde::Deserialize;
use serde_json::{Value, json};

/// The tool's name.
pub const NAME: &str = "deliver";
/// What the call comes to that ends the work.
const TAKEN: &str = "Taken. If something is said to you below, it is not over: go on, and deliver again.";
/// What it comes to when something was said that was not heard.
const UNHEARD: &str = "Not delivered: something was said to you meanwhile. Go on with it, and deliver again.";
/// What it comes to beside other calls.
pub const NOT_ALONE: &str =
    "Not delivered: this must be the only call of a turn. Look at what the others came to, then call it again.";
/// What it comes to when the work ended before it was delivered.
const NOT_DELIVERED: &str = "It was not delivered: the work ended here.";
/// Said with what is wanted, where a value is.
pub const WANTED: &str = "[ouroboros] What is delivered here must be a JSON value that satisfies a schema: call deliver with it when you are done.";
/// Said of an answer in words where a value is wanted.
const NO_VALUE: &str =
    "[ouroboros] What is delivered must be a JSON value that satisfies the schema. Call deliver with it. ";

/// Said beside that no other call is done. No route is told so by the request: some can think only where no tool is forced, others
/// know no such thing, and the tools stay the same ones for their caches. Text that satisfies the schema counts as well.
const BY_CALL: &str = "[ouroboros] Call deliver with the value that is wanted.";

/// What is delivered, and the agent's own word on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// It.
    pub text: String,
    /// Whether what was wanted is reached.
    pub objective: Option<Objective>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InWords {
    text: String,
    objective: Objective,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AsValue {
    value: Value,
    objective: Objective,
}

/// The tool as the model is told of it.
pub fn spec(schema: Option<&Schema>) -> ToolSpec {
    let (field, what, about) = match schema {
        None => (
            "text",
            json!({ "type": "string", "description": "Everything that the person gets." }),
            "Delivers this text as your answer and ends the work",
        ),
        Some(schema) => {
            ("value", schema.embedded_at("/properties/value"), "Delivers this value as your answer and ends the work")
        }
    };
    let mut properties = serde_json::Map::new();
    properties.insert(field.to_owned(), what);
    properties.insert(
        "objective".to_owned(),
        json!({
            "type": "string",
            "enum": Objective::ALL.map(Objective::as_str),
            "description": "Whether what was wanted is reached, honestly.",
        }),
    );
    ToolSpec {
        name: NAME.to_owned(),
        description: format!("{about}. It must be the only call of its turn."),
        parameters: json!({
            "type": "object",
            "properties": properties,
            "required": [field, "objective"],
            "additionalProperties": false,
        }),
    }
}

/// What a call delivers; the error says what is wrong with it.
pub fn read(call: &Asked<'_>, schema: Option<&Schema>) -> Result<Delivery, String> {
    let unreadable =
        |error: serde_json::Error| format!("The arguments cannot be read: {error}. Nothing was delivered.");
    let Some(schema) = schema else {
        let InWords { text, objective } = serde_json::from_str(call.arguments).map_err(unreadable)?;
        if text.trim().is_empty() {
            return Err("The text is empty. Nothing was delivered.".to_owned());
        }
        return Ok(Delivery { text, objective: Some(objective) });
    };
    let AsValue { value, objective } = serde_json::from_str(call.arguments).map_err(unreadable)?;
    match schema.faults(&value).as_slice() {
        [] => Ok(Delivery { text: value.to_string(), objective: Some(objective) }),
        faults => Err(format!("The value does not satisfy the schema. Nothing was delivered.\n{}", faults.join("\n"))),
    }
}

/// What an answer in words delivers; the error says what is wrong with it.
pub fn in_words(text: &str, schema: Option<&Schema>) -> Result<Delivery, String> {
    let Some(schema) = schema else { return Ok(Delivery { text: text.to_owned(), objective: None }) };
    let value: Value = serde_json::from_str(unfenced(text)).map_err(|error| format!("It is no JSON: {error}."))?;
    match schema.faults(&value).as_slice() {
        [] => Ok(Delivery { text: value.to_string(), objective: None }),
        faults => Err(faults.join("\n")),
    }
}

/// What stands in a fence, where the whole text is one.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inner.and_then(|inner| inner.split_once('\n')).map_or(text, |(_, inner)| inner.trim())
}

/// Whether these calls are one that delivers.
pub fn is_alone(calls: &[Asked<'_>]) -> bool {
    matches!(calls, [call] if call.name == NAME)
}

/// What calls come to that nobody did and nobody was to do, when the work was interrupted or ended before they had results: one that
/// delivers, and those of a turn that was to deliver. `before` is what stands before them.
pub fn left(calls: &[Asked<'_>], before: &[Entry]) -> Option<Vec<CallResult>> {
    if is_alone(calls) {
        Some(steps::refused(calls, "not_delivered", NOT_DELIVERED))
    } else {
        must_deliver(before).then(|| steps::refused(calls, "must_deliver", super::MUST_DELIVER))
    }
}

/// Whether the last two entries are a call that delivers and that it was taken.
pub fn is_taken(entries: &[Entry]) -> bool {
    let [.., Entry::Answered { answer }, Entry::Results { results }] = entries else { return false };
    is_alone(&steps::calls(&answer.message))
        && matches!(results.as_slice(), [result] if result.outcome == CallOutcome::Ok)
}

impl Agent<'_, '_> {
    /// Does a call that delivers, the only one of its turn.
    pub(super) fn delivers(&mut self, call: &Asked<'_>, may_call: bool) -> Option<Ending> {
        let delivery = match read(call, self.schema.as_ref()) {
            Ok(delivery) => delivery,
            Err(why) => {
                self.comes_to(call, not_done(call, CallOutcome::ArgumentError, "bad_arguments", &why));
                return if may_call { None } else { self.odd_at_end("what it delivered is not as it must be") };
            }
        };
        if self.line.message().is_some() || self.line.is_held() {
            self.comes_to(call, not_done(call, CallOutcome::Refusal, "unheard", UNHEARD));
            return None;
        }
        let taken = CallResult { code: None, ..not_done(call, CallOutcome::Ok, "", TAKEN) };
        self.transcript.record(Entry::Results { results: vec![taken] }, self.line, self.speech);
        if self.transcript.is_broken() {
            return None;
        }
        let author = if may_call { Author::Model } else { self.author_at_end() };
        self.deliver(delivery, author)
    }

    /// Delivers what was taken, when the attempt before ended between the two.
    pub(super) fn take_up_delivery(&mut self) -> Option<Ending> {
        let [before @ .., Entry::Answered { answer }, Entry::Results { .. }] = self.transcript.entries() else {
            return None;
        };
        let author = if must_deliver(before) { self.author_at_end() } else { Author::Model };
        let calls = steps::calls(&answer.message);
        let delivery = calls.first().and_then(|call| read(call, self.schema.as_ref()).ok())?;
        self.deliver(delivery, author)
    }

    /// Delivers an answer in words, where it is what was wanted.
    pub(super) fn delivers_words(&mut self, text: &str, may_call: bool) -> Option<Ending> {
        match in_words(text, self.schema.as_ref()) {
            Ok(delivery) => {
                let author = if may_call { Author::Model } else { self.author_at_end() };
                self.deliver(delivery, author)
            }
            Err(why) => {
                self.speech.say(text.trim());
                let notice = format!("{NO_VALUE}{}", as_data(&why));
                if may_call {
                    return self.odd(Some(&notice), "its answer is not the value that was wanted", may_call);
                }
                self.note(notice);
                self.odd_at_end("its answer is not the value that was wanted")
            }
        }
    }

    /// The last answer was not what had to be delivered. Where a value is wanted it is asked for once more, a few times.
    pub(super) fn odd_at_end(&mut self, words: &str) -> Option<Ending> {
        let end = self.odd(None, words, self.schema.is_some());
        if end.is_none() {
            let is_circle = self.author_at_end() == Author::ModelInCircles;
            self.must_deliver(if is_circle { super::IN_CIRCLES } else { super::LAST_ROUND });
        }
        end
    }

    /// Tells it that no other call is done.
    pub(super) fn must_deliver(&mut self, notice: &str) {
        self.note(notice.to_owned());
        if self.schema.is_some() {
            self.note(BY_CALL.to_owned());
        }
    }

    fn comes_to(&mut self, call: &Asked<'_>, result: CallResult) {
        self.speech.say(&steps::told(call, &result));
        self.transcript.record(Entry::Results { results: vec![result] }, self.line, self.speech);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::heard::tests::with;
    use crate::agent::testing::{self, answered, delivers};
    use ouroboros_proto::wire::Order;

    fn asked(arguments: &str) -> Asked<'_> {
        Asked { id: "a", name: NAME, arguments }
    }

    const DONE: &str = r#"{"text":"done","objective":"partly"}"#;

    fn taken_up(entries: Vec<Entry>, said: Vec<Order>) -> (Option<Ending>, Vec<Entry>, bool) {
        with(entries, said, |agent| agent.take_up())
    }

    fn objective(entries: &[Entry]) -> Option<Objective> {
        entries.iter().find_map(|entry| match entry {
            Entry::Delivered { objective, .. } => *objective,
            _ => None,
        })
    }

    #[test]
    fn a_call_has_its_result_before_it_delivers_and_nothing_is_done_past_a_message() {
        let entries = || vec![testing::asked(), answered("", &[delivers("a", DONE)])];
        let (ending, recorded, written) = taken_up(entries(), Vec::new());
        assert!(ending == Some(Ending::Answered) && written, "{recorded:?}");
        assert!(matches!(recorded.as_slice(), [_, _, Entry::Results { .. }, Entry::Delivered { .. }]), "{recorded:?}");
        assert_eq!(objective(&recorded), Some(Objective::Partly));
        let message = Order::Message { number: 1, text: "More.".to_owned() };
        let (ending, recorded, written) = taken_up(entries(), vec![message]);
        assert!(ending.is_none() && !written && objective(&recorded).is_none(), "{recorded:?}");
        let [.., Entry::Results { results }] = recorded.as_slice() else { panic!("no result: {recorded:?}") };
        assert_eq!((results[0].outcome, results[0].code.as_deref()), (CallOutcome::Refusal, Some("unheard")));
    }

    #[test]
    fn what_was_taken_is_delivered_by_the_next_attempt() {
        let results = testing::results(&["a"]);
        let entries = vec![testing::asked(), answered("", &[delivers("a", DONE)]), results];
        let (ending, recorded, _) = taken_up(entries, Vec::new());
        assert_eq!(
            (ending, recorded.len(), objective(&recorded)),
            (Some(Ending::Answered), 4, Some(Objective::Partly))
        );
    }

    #[test]
    fn who_goes_on_from_a_call_that_was_not_done_is_told_so() {
        let calls = [asked(DONE)];
        let results = left(&calls, &[]).expect("results");
        assert_eq!((results[0].outcome, results[0].code.as_deref()), (CallOutcome::Refusal, Some("not_delivered")));
        let other = [Asked { name: "look", ..asked("{}") }];
        assert_eq!(left(&other, &[]), None);
    }

    #[test]
    fn a_text_and_a_word_on_it_are_read() {
        let delivery = read(&asked(r#"{"text":"Done.","objective":"not_met"}"#), None);
        assert_eq!(delivery, Ok(Delivery { text: "Done.".to_owned(), objective: Some(Objective::NotMet) }));
        for wrong in
            ["{", r#"{"text":"Done."}"#, r#"{"text":" ","objective":"met"}"#, r#"{"text":"x","objective":"fully"}"#]
        {
            assert!(read(&asked(wrong), None).is_err(), "{wrong}");
        }
        assert_eq!(spec(None).parameters["required"], json!(["text", "objective"]));
    }

    #[test]
    fn a_value_is_held_against_its_schema() {
        let schema =
            Schema::read(&json!({ "type": "object", "required": ["n"], "properties": { "n": { "type": "integer" } } }));
        let schema = schema.expect("a schema");
        let read = |arguments: &str| read(&asked(arguments), Some(&schema));
        let delivery = read(r#"{ "value": { "n": 1,  "m": [] }, "objective": "met" }"#).expect("a delivery");
        assert_eq!(delivery.text, r#"{"m":[],"n":1}"#);
        let why = read(r#"{"value":{"n":"1"},"objective":"met"}"#).expect_err("a fault");
        assert!(why.contains("at /n: "), "{why}");
        assert!(read(r#"{"text":"x","objective":"met"}"#).is_err());
        assert_eq!(spec(Some(&schema)).parameters["properties"]["value"]["required"], json!(["n"]));
    }

    #[test]
    fn words_are_a_value_when_they_are_nothing_else() {
        let schema = Schema::read(&json!({ "type": "array" })).expect("a schema");
        for text in ["[1, 2]", " \n[1,2]\n", "```json\n[1,\n2]\n```", "```\n[1,2]```"] {
            assert_eq!(in_words(text, Some(&schema)).map(|delivery| delivery.text), Ok("[1,2]".to_owned()), "{text}");
        }
        for text in ["Here: [1,2]", "{}", "", "```[1]```"] {
            assert!(in_words(text, Some(&schema)).is_err(), "{text}");
        }
        assert_eq!(in_words("Here.", None).map(|delivery| delivery.text), Ok("Here.".to_owned()));
    }
}
