//! Which rule answers.

use super::Site;
use crate::script::Script;
use serde_json::{Value, json};

const PATH: &str = "/v1/chat/completions";

fn body(text: &str) -> Value {
    json!({ "model": "m", "messages": [{ "role": "user", "content": text }] })
}

async fn says(site: &Site, text: &str) -> String {
    let got = site.post(PATH, &body(text)).await;
    if got.status != 200 {
        return got.status.to_string();
    }
    got.json()["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn the_first_rule_that_fits_answers_as_often_as_it_may() {
    let site = Site::new(
        "[[rule]]\nmatch = { text = 'a' }\ntimes = 2\nsay = 'twice'\n[[rule]]\nmatch = { text = 'a', nth = 2 }\nstatus = 503
         [[rule]]\nmatch = { text = 'a' }\nsay = 'then'",
    )
    .await;
    let mut said = vec![];
    for _ in 0..5 {
        said.push(says(&site, "a").await);
    }
    assert_eq!(said, ["twice", "twice", "then", "503", "then"]);
    assert_eq!(says(&site, "b").await, "b");
}

#[tokio::test]
async fn rules_look_at_headers_the_last_turn_and_what_is_asked_for() {
    let site = Site::new(
        "[[rule]]\nmatch = { headers = { x-title = 'special' } }\nsay = 'header'
         [[rule]]\nmatch = { last = 'from the tool' }\nsay = 'result'
         [[rule]]\nmatch = { endpoint = 'models' }\nstatus = 401
         [[rule]]\nmatch = { dialect = 'ollama' }\nsay = 'ollama'",
    )
    .await;
    let got = site.call("POST", PATH, "x-title: special\r\n", &body("a").to_string()).await;
    assert_eq!(got.json()["choices"][0]["message"]["content"], "header");
    let mut turns = body("a");
    let result = json!({ "role": "tool", "tool_call_id": "c", "content": "text from the tool" });
    turns["messages"].as_array_mut().unwrap().push(result);
    assert_eq!(site.post(PATH, &turns).await.json()["choices"][0]["message"]["content"], "result");
    assert_eq!(site.get("/v1/models").await.status, 401);
    assert_eq!(says(&site, "a").await, "a");
}

#[tokio::test]
async fn chance_is_the_same_for_the_same_seed() {
    let script = "seed = 3\n[[rule]]\nprobability = 0.5\nstatus = 503";
    let mut runs = vec![];
    for _ in 0..2 {
        let site = Site::new(script).await;
        let mut run = vec![];
        for _ in 0..40 {
            run.push(says(&site, "a").await == "503");
        }
        runs.push(run);
    }
    assert_eq!(runs[0], runs[1]);
    let failed = runs[0].iter().filter(|failed| **failed).count();
    assert!((8..32).contains(&failed), "{failed} of 40");
}

#[tokio::test]
async fn a_script_is_replaced_while_the_server_runs() {
    let site = Site::new("[[rule]]\nsay = 'old'").await;
    assert_eq!(says(&site, "a").await, "old");
    assert_eq!(site.call("POST", "/script", "", "[[rule]]\nsay = 'new'").await.status, 200);
    assert_eq!(says(&site, "a").await, "new");
    let wrong = site.call("POST", "/script", "", "[[rule]]\nsays = 'typo'").await;
    assert!(wrong.status == 400 && wrong.body.contains("says"), "{wrong:?}");
    assert_eq!(says(&site, "a").await, "new", "a script with a mistake changes nothing");
}

#[tokio::test]
async fn parts_come_in_their_own_order_and_a_bound_cuts_text() {
    let site = Site::new(
        "[[rule]]\nmatch = { text = 'parts' }\nsubstitute_model = 'other'\nstop = 'filter'
         parts = [{ say = 'one ' }, { reasoning = 'hm' }, { say = 'two' }]",
    )
    .await;
    let got = site.post(PATH, &body("parts")).await.json();
    assert_eq!(got["choices"][0]["message"]["content"], "one two");
    assert_eq!((&got["model"], &got["choices"][0]["finish_reason"]), (&json!("other"), &json!("content_filter")));
    let mut bounded = body("nine bytes and more");
    bounded["max_tokens"] = json!(2);
    let got = site.post(PATH, &bounded).await.json();
    assert_eq!(got["choices"][0]["message"]["content"], "nine byt");
    assert_eq!(
        (&got["choices"][0]["finish_reason"], &got["usage"]["completion_tokens"]),
        (&json!("length"), &json!(2))
    );
}

#[test]
fn a_misspelt_field_is_named() {
    for wrong in [
        "[[rule]]\nsay_ = 'x'",
        "[[rule]]\nmatch = { modle = 'x' }",
        "[prices.m]\ninputs = 1",
        "[[rule]]\ncut = 'often'",
    ] {
        assert!(Script::parse(wrong).is_err(), "{wrong}");
    }
}
