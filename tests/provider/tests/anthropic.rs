//! Messages: blocks and their events.

use super::{Ended, Site};
use serde_json::{Value, json};

fn body(text: &str) -> Value {
    json!({
        "model": "m", "stream": true, "max_tokens": 100, "system": "be brief",
        "messages": [{ "role": "user", "content": [{ "type": "text", "text": text }] }],
    })
}

#[tokio::test]
async fn blocks_open_grow_and_close() {
    let site = Site::new(
        "[[rule]]\nmatch = { text = 'weather' }\nreasoning = 'let me see'\nsay = 'Looking.'\nchunk = 5
         call = { tool = 'weather', arguments = '{\"city\":1}' }
         usage = { input = 100, output = 7, cached = 20, cache_write = 30 }",
    )
    .await;
    let got = site.post("/anthropic/v1/messages", &body("weather")).await;
    assert_eq!((got.status, got.ended), (200, Ended::Whole));
    let events = got.events();
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds[..3], ["message_start", "content_block_start", "ping"]);
    assert_eq!(kinds[kinds.len() - 3..], ["content_block_stop", "message_delta", "message_stop"]);
    assert_eq!(got.text("/delta/thinking"), "let me see");
    assert!(!got.text("/delta/signature").is_empty(), "thinking is signed");
    assert_eq!(got.text("/delta/text"), "Looking.");
    assert_eq!(got.text("/delta/partial_json"), "{\"city\":1}");
    let tool = events.iter().find(|event| event["content_block"]["type"] == "tool_use").unwrap();
    assert_eq!((&tool["index"], &tool["content_block"]["input"]), (&json!(2), &json!({})));
    let start = &events[0]["message"]["usage"];
    assert_eq!((&start["input_tokens"], &start["cache_read_input_tokens"]), (&json!(50), &json!(20)));
    assert_eq!(start["cache_creation"]["ephemeral_5m_input_tokens"], 30);
    let delta = &events[events.len() - 2];
    assert_eq!((&delta["delta"]["stop_reason"], &delta["usage"]["output_tokens"]), (&json!("tool_use"), &json!(7)));
}

#[tokio::test]
async fn errors_carry_the_id_of_their_request() {
    let site = Site::new(
        "[[rule]]\nmatch = { text = 'busy' }\nstatus = 529
         [[rule]]\nmatch = { text = 'large' }\noverflow = 10
         [[rule]]\nmatch = { text = 'breaks' }\nerror_frame = { status = 529, message = 'Overloaded' }",
    )
    .await;
    let got = site.post("/anthropic/v1/messages", &body("busy")).await;
    assert_eq!(got.status, 529);
    assert_eq!(got.json()["error"]["type"], "overloaded_error");
    assert_eq!(got.json()["request_id"], json!(got.headers["request-id"]));
    let got = site.post("/anthropic/v1/messages", &body("large")).await;
    assert_eq!(got.json()["error"]["message"], "prompt is too long: 11 tokens > 10 maximum");
    let got = site.post("/v1/messages", &body("breaks")).await;
    assert!(got.body.contains("event: error\n"));
    assert_eq!(got.events().last().unwrap()["error"]["type"], "overloaded_error");
}

#[tokio::test]
async fn a_refusal_and_a_catalogue() {
    let site = Site::new("[models.m]\nwindow = 200000\nmax_output = 64000\n[[rule]]\nrefuse = 'No.'").await;
    let mut whole = body("anything");
    whole["stream"] = json!(false);
    let got = site.post("/anthropic/v1/messages", &whole).await.json();
    assert_eq!((&got["stop_reason"], &got["content"][0]["text"]), (&json!("refusal"), &json!("No.")));
    let models = site.get("/anthropic/v1/models").await.json();
    assert_eq!(models["data"][0]["max_input_tokens"], 200_000);
    assert_eq!(models["has_more"], false);
}
