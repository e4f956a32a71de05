//! Responses: items and their events.

use super::{Ended, Site};
use serde_json::{Value, json};

fn body(text: &str) -> Value {
    json!({ "model": "m", "stream": true, "input": [{ "role": "user", "content": [{ "type": "input_text", "text": text }] }] })
}

#[tokio::test]
async fn items_open_grow_and_close_in_numbered_events() {
    let site = Site::new(
        "[[rule]]\nmatch = { dialect = 'responses', text = 'weather' }\nreasoning = 'let me see'\nsay = 'Looking around.'\nchunk = 5
         call = { tool = 'weather', arguments = '{\"city\":1}' }\nusage = { input = 9, output = 7, cached = 2, reasoning = 3 }",
    )
    .await;
    let got = site.post("/openai/v1/responses", &body("weather")).await;
    assert_eq!((got.status, got.ended), (200, Ended::Whole));
    let events = got.events();
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], json!(number));
    }
    let names = got.body.lines().filter_map(|line| line.strip_prefix("event: "));
    assert!(names.eq(events.iter().map(|event| event["type"].as_str().unwrap())), "an event is named as its type");
    let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).collect::<Vec<_>>();
    let delta = |kind: &str| of(kind).iter().map(|event| event["delta"].as_str().unwrap()).collect::<String>();
    assert_eq!(delta("response.reasoning_summary_text.delta"), "let me see");
    assert_eq!(delta("response.output_text.delta"), "Looking around.");
    assert_eq!(delta("response.function_call_arguments.delta"), "{\"city\":1}");
    assert_eq!(of("response.output_item.added")[2]["item"]["arguments"], "");
    let whole = &of("response.completed")[0]["response"];
    let kinds: Vec<&str> =
        whole["output"].as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["reasoning", "message", "function_call"]);
    assert!(whole["output"][0]["encrypted_content"].is_string());
    assert_eq!(whole["usage"]["input_tokens_details"]["cached_tokens"], 2);
    assert_eq!(whole["usage"]["output_tokens_details"]["reasoning_tokens"], 3);
    assert_eq!(of("response.output_item.done")[2]["item"], whole["output"][2]);
}

#[tokio::test]
async fn a_bound_a_failure_and_an_error_have_their_events() {
    let site = Site::new(
        "[[rule]]\nmatch = { text = 'breaks' }\nerror_frame = { message = 'gone' }
         [[rule]]\nmatch = { text = 'large' }\noverflow = 10
         [[rule]]\nmatch = { text = 'decline' }\nrefuse = 'No.'",
    )
    .await;
    let mut bounded = body("a text of more than four bytes");
    bounded["max_output_tokens"] = json!(1);
    let last = site.post("/openai/v1/responses", &bounded).await.events().pop().unwrap();
    assert_eq!(last["type"], "response.incomplete");
    assert_eq!(last["response"]["incomplete_details"]["reason"], "max_output_tokens");
    assert_eq!(last["response"]["output"][0]["content"][0]["text"], "a te");

    let last = site.post("/openai/v1/responses", &body("breaks")).await.events().pop().unwrap();
    assert_eq!((&last["type"], &last["response"]["error"]["message"]), (&json!("response.failed"), &json!("gone")));

    let got = site.post("/openai/v1/responses", &body("large")).await;
    assert_eq!((got.status, &got.json()["error"]["code"]), (400, &json!("context_length_exceeded")));

    let mut whole = body("decline");
    whole["stream"] = json!(false);
    let got = site.post("/v1/responses", &whole).await.json();
    assert_eq!(got["output"][0]["content"][0]["refusal"], "No.");
}
