//! Gemini: chunks, reasons, keys.

use super::{Ended, Site};
use serde_json::{Value, json};

const PATH: &str = "/gemini/v1beta/models/m:streamGenerateContent?alt=sse";

fn body(text: &str) -> Value {
    json!({ "contents": [{ "role": "user", "parts": [{ "text": text }] }] })
}

#[tokio::test]
async fn chunks_carry_parts_and_the_last_one_the_counts() {
    let site = Site::new(
        "[[rule]]\nmatch = { model = 'm', text = 'weather' }\nreasoning = 'let me see'\nsay = 'Looking.'\nchunk = 3
         call = { tool = 'weather', arguments = '{\"city\":1}' }\nusage = { input = 9, output = 7, cached = 2, reasoning = 3 }",
    )
    .await;
    let got = site.post(PATH, &body("weather")).await;
    assert_eq!((got.status, got.ended), (200, Ended::Whole));
    assert!(got.body.ends_with("\r\n\r\n"));
    let events = got.events();
    let parts = || events.iter().filter_map(|event| event.pointer("/candidates/0/content/parts/0"));
    let text = |thought: bool| -> String {
        let own = parts().filter(|part| part["thought"].as_bool().unwrap_or(false) == thought);
        own.filter_map(|part| part["text"].as_str()).collect()
    };
    assert_eq!((text(true).as_str(), text(false).as_str()), ("let me see", "Looking."));
    let call = parts().find(|part| part["functionCall"].is_object()).unwrap();
    assert_eq!(call["functionCall"]["args"], json!({ "city": 1 }));
    assert!(call["functionCall"].get("id").is_none() && call["thoughtSignature"].is_string());
    let last = events.last().unwrap();
    assert_eq!(last["candidates"][0]["finishReason"], "STOP");
    let usage = &last["usageMetadata"];
    assert_eq!((&usage["candidatesTokenCount"], &usage["thoughtsTokenCount"]), (&json!(4), &json!(3)));
    assert_eq!((&usage["totalTokenCount"], &usage["cachedContentTokenCount"]), (&json!(16), &json!(2)));
}

#[tokio::test]
async fn what_cannot_be_said_is_a_reason_of_the_end() {
    let site = Site::new(
        "[[rule]]\nmatch = { text = 'broken' }\ncall = { tool = 'weather', arguments = '{\"city' }
         [[rule]]\nmatch = { text = 'decline' }\nrefuse = 'No.'\n[[rule]]\nmatch = { text = 'busy' }\nstatus = 429\nretry_after = 7",
    )
    .await;
    let finish = |got: super::Got| got.events().pop().unwrap()["candidates"][0]["finishReason"].clone();
    assert_eq!(finish(site.post(PATH, &body("broken")).await), "MALFORMED_FUNCTION_CALL");
    assert_eq!(finish(site.post(PATH, &body("decline")).await), "SAFETY");
    let got = site.post(PATH, &body("busy")).await;
    assert_eq!((got.status, &got.json()["error"]["status"]), (429, &json!("RESOURCE_EXHAUSTED")));
    assert_eq!(got.json()["error"]["details"][0]["retryDelay"], "7s");
}

#[tokio::test]
async fn its_key_is_asked_for_in_its_own_way() {
    let site = Site::new("keys = ['good']\n[models.m]\nwindow = 1000").await;
    let got = site.call("POST", PATH, "x-goog-api-key: bad\r\n", &body("hello").to_string()).await;
    assert_eq!((got.status, &got.json()["error"]["details"][0]["reason"]), (400, &json!("API_KEY_INVALID")));
    let whole = "/gemini/v1beta/models/m:generateContent";
    let got = site.call("POST", whole, "x-goog-api-key: good\r\n", &body("hello").to_string()).await;
    assert_eq!(got.json()["candidates"][0]["content"]["parts"][0]["text"], "hello");
    let models = site.get("/gemini/v1beta/models?key=good").await.json();
    assert_eq!(
        (&models["models"][0]["name"], &models["models"][0]["inputTokenLimit"]),
        (&json!("models/m"), &json!(1000))
    );
}
