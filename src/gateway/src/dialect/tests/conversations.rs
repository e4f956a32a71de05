//! Conversations with loose ends, on every format.

use super::{asked, assistant, body, call, image, result, route, user};
use crate::dialect::conversation::INTERRUPTED;
use crate::dialect::{Dialect, EncodeError};
use ouroboros_proto::agent::{Message, Part};
use serde_json::{Value, json};

fn bodies(messages: &[Message]) -> impl Iterator<Item = (Dialect, Value)> {
    Dialect::ALL.into_iter().map(|dialect| (dialect, body(&route(dialect, "m"), &asked(messages.to_vec()))))
}

#[test]
fn a_call_without_its_result_gets_one() {
    let calls = assistant(vec![call("a", "one", "{}"), call("b", "two", "{}")]);
    let half = user(vec![result("b", "two", "fine"), Part::text("Go on.")]);
    for (dialect, body) in bodies(&[Message::user("Start"), calls.clone(), half]) {
        let text = body.to_string();
        assert_eq!(text.matches(INTERRUPTED).count(), 1, "{dialect:?}");
        assert!(text.find(INTERRUPTED) < text.find("fine"), "{dialect:?}: in the order of the calls");
        assert!(text.find("fine") < text.find("Go on."), "{dialect:?}: results come first");
    }
    for (dialect, body) in bodies(&[Message::user("Start"), calls]) {
        assert_eq!(body.to_string().matches(INTERRUPTED).count(), 2, "{dialect:?}: at the end too");
    }
}

#[test]
fn results_without_calls_are_dropped() {
    let orphans = user(vec![result("x", "gone", "orphan")]);
    let messages =
        [Message::user("Start"), assistant(vec![Part::text("A")]), orphans, assistant(vec![Part::text("B")])];
    for (dialect, body) in bodies(&messages) {
        assert!(!body.to_string().contains("orphan"), "{dialect:?}");
    }
    let twice = user(vec![result("a", "one", "first"), result("a", "one", "second")]);
    for (dialect, body) in bodies(&[Message::user("Start"), assistant(vec![call("a", "one", "{}")]), twice]) {
        let text = body.to_string();
        assert!(text.contains("first") && !text.contains("second"), "{dialect:?}");
    }
}

#[test]
fn turns_of_one_side_become_one() {
    let messages =
        [Message::user("One"), Message::user("Two"), assistant(vec![Part::text("A")]), Message::user("Three")];
    let anthropic = body(&route(Dialect::AnthropicMessages, "m"), &asked(messages.to_vec()));
    let roles: Vec<&str> =
        anthropic["messages"].as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    assert_eq!(anthropic["messages"][0]["content"].as_array().unwrap().len(), 2);
}

#[test]
fn empty_texts_are_left_out_and_an_empty_conversation_is_none() {
    let messages = [Message::user("Start"), assistant(vec![Part::text(" \n")]), user(vec![Part::text("")])];
    for (dialect, body) in bodies(&messages) {
        let list = ["messages", "input", "contents"].into_iter().find_map(|name| body[name].as_array()).unwrap();
        assert_eq!(list.len(), 1, "{dialect:?}: {list:?}");
    }
    for dialect in Dialect::ALL {
        let nothing = asked(vec![Message::user("")]);
        assert_eq!(dialect.encode(&route(dialect, "m"), &nothing), Err(EncodeError::Empty));
        let wrong = asked(vec![assistant(vec![image()])]);
        assert!(matches!(dialect.encode(&route(dialect, "m"), &wrong), Err(EncodeError::Misplaced(_))));
    }
}

#[test]
fn an_id_that_was_used_before_or_does_not_fit_is_replaced_with_its_result() {
    let turn = |id: &str| [assistant(vec![call(id, "one", "{}")]), user(vec![result(id, "one", "done")])];
    let mut messages = vec![Message::user("Start")];
    messages.extend(turn("call_0"));
    messages.extend(turn("call_0"));
    messages.extend(turn("functions.one:2"));
    let anthropic = body(&route(Dialect::AnthropicMessages, "m"), &asked(messages));
    let content = anthropic["messages"].as_array().unwrap().iter().flat_map(|m| m["content"].as_array().unwrap());
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    for block in content {
        calls.extend(block["id"].as_str());
        results.extend(block["tool_use_id"].as_str());
    }
    assert_eq!(calls, ["call_0", "call_n2", "call_n3"]);
    assert_eq!(calls, results);
}

#[test]
fn arguments_that_are_no_object_become_one() {
    let messages = |arguments: &str| [Message::user("Start"), assistant(vec![call("a", "one", arguments)])];
    for (arguments, sent) in
        [("", json!({})), ("{\"a\":", json!({ "malformed_arguments": "{\"a\":" })), ("{\"a\":1}", json!({ "a": 1 }))]
    {
        let anthropic = body(&route(Dialect::AnthropicMessages, "m"), &asked(messages(arguments).to_vec()));
        assert_eq!(anthropic["messages"][1]["content"][0]["input"], sent);
        let gemini = body(&route(Dialect::Gemini, "m"), &asked(messages(arguments).to_vec()));
        assert_eq!(gemini["contents"][1]["parts"][0]["functionCall"]["args"], sent);
        let ollama = body(&route(Dialect::Ollama, "m"), &asked(messages(arguments).to_vec()));
        assert_eq!(ollama["messages"][1]["tool_calls"][0]["function"]["arguments"], sent);
        let chat = body(&route(Dialect::OpenaiChat, "m"), &asked(messages(arguments).to_vec()));
        let text = chat["messages"][1]["tool_calls"][0]["function"]["arguments"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), sent);
    }
}

#[test]
fn what_a_tool_shows_reaches_the_model() {
    let mut shown = result("a", "screenshot", "taken");
    if let Part::ToolResult { parts, .. } = &mut shown {
        parts.push(image());
    }
    let messages = [Message::user("Start"), assistant(vec![call("a", "screenshot", "{}")]), user(vec![shown])];
    for (dialect, body) in bodies(&messages) {
        assert!(body.to_string().contains("iVBORw0KGgo="), "{dialect:?}");
    }
}

#[test]
fn a_failed_tool_is_told_as_failed() {
    let mut failed = result("a", "one", "no such file");
    if let Part::ToolResult { is_error, .. } = &mut failed {
        *is_error = true;
    }
    let messages = [Message::user("Start"), assistant(vec![call("a", "one", "{}")]), user(vec![failed])];
    for (dialect, body) in bodies(&messages) {
        assert!(body.to_string().contains("error"), "{dialect:?}");
    }
}
