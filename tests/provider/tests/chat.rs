//! Chat completions, in three accents.

use super::{Ended, Site};
use serde_json::{Value, json};

fn body(text: &str) -> Value {
    json!({
        "model": "m", "stream": true, "stream_options": { "include_usage": true },
        "messages": [{ "role": "system", "content": "be brief" }, { "role": "user", "content": text }],
    })
}

const SCRIPT: &str = r#"
    [models.m]
    window = 1000
    [prices.m]
    input = 2500
    output = 10000
    cached = 250
    [[rule]]
    match = { text = "weather" }
    reasoning = "let me see"
    say = "Looking."
    call = [{ tool = "weather", arguments = '{"city":"Oslo"}' }, { tool = "time", arguments = '{"broken' }]
    chunk = 4
    usage = { input = 100, output = 20, cached = 40, reasoning = 5 }
    [[rule]]
    match = { text = "decline" }
    refuse = "I cannot."
    [[rule]]
    match = { text = "busy" }
    status = 429
    retry_after = 2
    [[rule]]
    match = { text = "large" }
    overflow = 1000
    [[rule]]
    match = { text = "breaks" }
    say = "so far"
    error_frame = { status = 502, message = "gone" }
"#;

#[tokio::test]
async fn openai_streams_text_calls_and_usage_last() {
    let site = Site::new(SCRIPT).await;
    let got = site.post("/openai/v1/chat/completions", &body("weather")).await;
    assert_eq!((got.status, got.ended), (200, Ended::Whole));
    assert!(got.body.ends_with("data: [DONE]\n\n"));
    assert_eq!(got.text("/choices/0/delta/content"), "Looking.");
    let events = got.events();
    let calls: Vec<&Value> = events.iter().filter_map(|event| event.pointer("/choices/0/delta/tool_calls/0")).collect();
    let arguments = |index: u64| -> String {
        let own = calls.iter().filter(|call| call["index"] == index);
        own.filter_map(|call| call["function"]["arguments"].as_str()).collect()
    };
    assert_eq!(arguments(0), r#"{"city":"Oslo"}"#);
    assert_eq!(arguments(1), r#"{"broken"#, "malformed arguments come as they are");
    assert_eq!(calls.iter().filter(|call| call["id"].is_string()).count(), 2, "an id comes with the first piece only");
    let last = events.last().unwrap();
    assert_eq!(last["choices"], json!([]));
    assert_eq!(last["usage"]["prompt_tokens"], 100);
    assert_eq!(last["usage"]["prompt_tokens_details"]["cached_tokens"], 40);
    assert_eq!(last["usage"]["completion_tokens_details"]["reasoning_tokens"], 5);
    assert!(last["usage"].get("cost").is_none());
    assert_eq!(events[events.len() - 2]["choices"][0]["finish_reason"], "tool_calls");
    assert!(!got.body.contains("let me see"), "OpenAI does not show what its models think");
    assert!(got.headers["x-request-id"].starts_with("req_"));
}

#[tokio::test]
async fn usage_is_told_in_a_stream_only_when_it_is_asked_for() {
    let site = Site::new("").await;
    let mut plain = body("hello");
    plain.as_object_mut().unwrap().remove("stream_options");
    let got = site.post("/openai/v1/chat/completions", &plain).await;
    assert_eq!(got.text("/choices/0/delta/content"), "hello", "without a rule the user's last text comes back");
    assert!(!got.body.contains("usage"));
    assert!(site.post("/openrouter/api/v1/chat/completions", &plain).await.body.contains("\"cost\":0}"));
}

#[tokio::test]
async fn an_answer_that_is_not_streamed_is_one_object() {
    let site = Site::new(SCRIPT).await;
    let mut whole = body("weather");
    whole["stream"] = json!(false);
    let got = site.post("/v1/chat/completions", &whole).await.json();
    let message = &got["choices"][0]["message"];
    assert_eq!(message["content"], "Looking.");
    assert_eq!(message["reasoning_content"], "let me see");
    assert_eq!(message["tool_calls"][1]["function"]["arguments"], r#"{"broken"#);
    assert_eq!(got["usage"]["total_tokens"], 120);
}

#[tokio::test]
async fn refusals_and_errors_have_the_shape_of_who_speaks() {
    let site = Site::new(SCRIPT).await;
    let got = site.post("/openai/v1/chat/completions", &body("decline")).await;
    assert_eq!(got.text("/choices/0/delta/refusal"), "I cannot.");

    let got = site.post("/openai/v1/chat/completions", &body("busy")).await;
    assert_eq!((got.status, got.headers["retry-after"].as_str()), (429, "2"));
    assert_eq!(got.json()["error"]["code"], "rate_limit_exceeded");
    let got = site.post("/openrouter/api/v1/chat/completions", &body("busy")).await;
    assert_eq!(got.json()["error"]["code"], 429);

    let large = |got: super::Got| (got.status, got.json()["error"].clone());
    let (status, error) = large(site.post("/openai/v1/chat/completions", &body("large")).await);
    assert_eq!((status, &error["code"]), (400, &json!("context_length_exceeded")));
    let (_, error) = large(site.post("/v1/chat/completions", &body("large")).await);
    assert_eq!((&error["type"], &error["n_ctx"]), (&json!("exceed_context_size_error"), &json!(1000)));

    let got = site.post("/openai/v1/chat/completions", &body("breaks")).await;
    assert_eq!(got.status, 200);
    assert_eq!(got.events().last().unwrap()["error"]["message"], "gone");
    assert!(!got.body.contains("[DONE]"));
    let got = site.post("/openrouter/api/v1/chat/completions", &body("breaks")).await;
    let last = got.events().pop().unwrap();
    assert_eq!(last["choices"][0]["finish_reason"], "error");
    assert_eq!(last["error"]["code"], 502);
}

#[tokio::test]
async fn openrouter_tells_costs_digit_for_digit_and_gives_receipts() {
    let site = Site::new(SCRIPT).await;
    let got = site.post("/openrouter/api/v1/chat/completions", &body("weather")).await;
    assert!(got.body.starts_with(": OPENROUTER PROCESSING\n\n"));
    assert_eq!(got.text("/choices/0/delta/reasoning"), "let me see");
    assert_eq!(got.text("/choices/0/delta/reasoning_details/0/text"), "let me see");
    // 60 tokens at 2,500, 40 at 250, 20 at 10,000.
    assert!(got.body.contains("\"cost\":0.00036}"), "{}", got.body);
    let id = got.headers["x-generation-id"].clone();
    assert_eq!(got.events()[0]["id"], json!(id));
    let receipt = site.get(&format!("/openrouter/api/v1/generation?id={id}")).await;
    assert!(receipt.body.contains("\"total_cost\":0.00036,"));
    assert_eq!(receipt.json()["data"]["native_tokens_cached"], 40);
    assert_eq!(site.get("/openrouter/api/v1/generation?id=gen-other").await.status, 404);

    let models = site.get("/openrouter/api/v1/models").await.json();
    assert_eq!(models["data"][0]["pricing"]["prompt"], "0.0000025");
    assert_eq!(models["data"][0]["pricing"]["input_cache_read"], "0.00000025");
    assert_eq!(models["data"][0]["context_length"], 1000);
}

#[tokio::test]
async fn catalogues_tell_what_their_servers_tell() {
    let site = Site::new(SCRIPT).await;
    let openai = site.get("/openai/v1/models").await.json();
    assert_eq!(openai["data"][0]["id"], "m");
    assert!(openai["data"][0].get("max_model_len").is_none());
    assert_eq!(site.get("/v1/models").await.json()["data"][0]["max_model_len"], 1000);
}
