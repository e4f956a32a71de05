//! Ollama's lines, and its models.

use super::{Ended, Site};
use serde_json::{Value, json};

fn body(text: &str) -> Value {
    json!({ "model": "m", "messages": [{ "role": "user", "content": text }] })
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn every_line_is_an_object_and_the_last_one_counts() {
    let site = Site::new(
        "[[rule]]\nmatch = { text = 'weather' }\nreasoning = 'let me see'\nsay = 'Looking.'\nchunk = 3
         call = { tool = 'weather', arguments = '{\"city\":1}' }\nusage = { input = 9, output = 7 }",
    )
    .await;
    let got = site.post("/ollama/api/chat", &body("weather")).await;
    assert_eq!((got.status, got.ended), (200, Ended::Whole));
    assert_eq!(got.headers["content-type"], "application/x-ndjson");
    let lines = lines(&got.body);
    let text = |name: &str| lines.iter().filter_map(|line| line["message"][name].as_str()).collect::<String>();
    assert_eq!((text("thinking").as_str(), text("content").as_str()), ("let me see", "Looking."));
    let call = lines.iter().find_map(|line| line.pointer("/message/tool_calls/0")).unwrap();
    assert_eq!(call["function"]["arguments"], json!({ "city": 1 }));
    let last = lines.last().unwrap();
    assert_eq!((&last["done"], &last["done_reason"]), (&json!(true), &json!("stop")));
    assert_eq!((&last["prompt_eval_count"], &last["eval_count"]), (&json!(9), &json!(7)));
}

#[tokio::test]
async fn errors_are_one_field_before_and_within_a_stream() {
    let site =
        Site::new("[[rule]]\nmatch = { text = 'gone' }\nstatus = 404\n[[rule]]\nerror_frame = { message = 'killed' }")
            .await;
    let got = site.post("/api/chat", &body("gone")).await;
    assert_eq!((got.status, got.json()), (404, json!({ "error": "model 'm' not found" })));
    let got = site.post("/api/chat", &body("anything")).await;
    assert_eq!((got.status, lines(&got.body).pop().unwrap()), (200, json!({ "error": "killed" })));
}

#[tokio::test]
async fn models_are_listed_and_shown() {
    let site = Site::new("[models.m]\nwindow = 4096\nimages = false").await;
    assert_eq!(site.get("/ollama/api/tags").await.json()["models"][0]["name"], "m");
    let shown = site.post("/ollama/api/show", &json!({ "model": "m" })).await.json();
    assert_eq!(shown["model_info"]["scripted.context_length"], 4096);
    assert_eq!(shown["capabilities"], json!(["completion", "tools", "thinking"]));
    assert_eq!(site.post("/ollama/api/show", &json!({ "model": "other" })).await.status, 404);
    let whole = json!({ "model": "m", "stream": false, "messages": [{ "role": "user", "content": "hello" }] });
    assert_eq!(site.post("/ollama/api/chat", &whole).await.json()["message"]["content"], "hello");
}
