//! What is recorded, and what is billed.

use super::Site;
use crate::record::Key;
use serde_json::{Value, json};

const PATH: &str = "/openai/v1/chat/completions";

fn body(text: &str) -> Value {
    json!({
        "model": "m", "stream": true, "stream_options": { "include_usage": true },
        "messages": [{ "role": "user", "content": text }],
    })
}

#[tokio::test]
async fn a_record_shows_the_request_and_never_the_key() {
    let site = Site::new("[prices.m]\ninput = 10\noutput = 100").await;
    let got = site
        .call("POST", PATH, "authorization: Bearer sk-secret-9876\r\nx-title: t\r\n", &body("12345678").to_string())
        .await;
    let record = site.requests().await.pop().unwrap();
    assert_eq!(record["request_id"], json!(got.headers["x-request-id"]));
    assert_eq!(record["id"], got.events()[0]["id"]);
    assert_eq!((&record["dialect"], &record["model"], &record["route"]), (&json!("openai"), &json!("m"), &json!(PATH)));
    assert_eq!(record["body"], body("12345678"));
    assert_eq!(record["headers"]["x-title"], "t");
    assert_eq!(record["key"], json!(Key::of("sk-secret-9876")));
    assert_eq!(record["key"]["last4"], "9876");
    assert!(!record.to_string().contains("sk-secret"));
    // `user` and eight letters are three tokens; the echo is two.
    assert_eq!((&record["usage"]["input"], &record["usage"]["output"]), (&json!(3), &json!(2)));
    assert_eq!((&record["cost_nanos"], &record["finished"]), (&json!(230), &json!(true)));
    assert_eq!(record["bytes_sent"], json!(got.body.len()));

    site.call("POST", "/gemini/v1beta/models/m:generateContent?key=sk-secret-9876", "", "{}").await;
    let record = site.requests().await.pop().unwrap();
    assert_eq!((&record["key"]["last4"], record.to_string().contains("sk-secret")), (&json!("9876"), false));

    assert_eq!(site.call("DELETE", "/record", "", "").await.status, 200);
    assert_eq!(site.requests().await.len(), 0);
}

#[tokio::test]
async fn what_is_told_may_differ_from_what_is_billed() {
    let site = Site::new(
        "[prices.m]\ninput = 10\noutput = 100
         [[rule]]\nmatch = { text = 'both' }\nusage = { input = 5, output = 1 }\nwrong_usage = { input = 7 }\nduplicate_usage = true
         [[rule]]\nmatch = { text = 'wrong' }\nusage = { input = 5, output = 1 }\nwrong_usage = { input = 7 }
         [[rule]]\nmatch = { text = 'none' }\nusage = { input = 5, output = 1 }\nno_usage = true
         [[rule]]\nmatch = { text = 'free' }\nusage = { input = 5, output = 1 }\nbill = 'nothing'
         [[rule]]\nmatch = { text = 'fixed' }\ncost = '0.0000005'
         [[rule]]\nmatch = { text = 'cut' }\nusage = { input = 5, output = 1 }\ncut_after_bytes = 0
         [[rule]]\nmatch = { text = 'error' }\nstatus = 500
         [[rule]]\nmatch = { text = 'hangs' }\nhang_up = 'close'",
    )
    .await;
    let cases: [(&str, &[u64], u64); 8] = [
        ("both", &[7, 5], 150),
        ("wrong", &[7], 150),
        ("none", &[], 150),
        ("free", &[5], 0),
        ("fixed", &[3], 500),
        ("cut", &[], 150),
        ("error", &[], 0),
        ("hangs", &[], 0),
    ];
    for (text, told, billed) in cases {
        let got = site.post(PATH, &body(text)).await;
        let events = if got.status == 200 { got.events() } else { vec![] };
        let inputs: Vec<u64> =
            events.iter().filter_map(|event| event.pointer("/usage/prompt_tokens")?.as_u64()).collect();
        assert_eq!(inputs, told, "{text}");
        assert_eq!(site.requests().await.pop().unwrap()["cost_nanos"], json!(billed), "{text}");
    }
}

#[tokio::test]
async fn a_record_is_in_the_journal_before_the_answer_and_again_at_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let file = std::fs::File::options().create(true).append(true).open(&path).unwrap();
    let site =
        Site::with_journal("[[rule]]\nmatch = { text = 'stalls' }\nstall_before_ms = 'forever'", Some(file)).await;
    let lines = || -> Vec<Value> {
        std::fs::read_to_string(&path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let stream = site.open("POST", PATH, "", &body("stalls").to_string()).await;
    site.until(|record| record["ended"] == "open").await;
    assert_eq!(lines().len(), 1, "nothing of the answer has been sent");
    drop(stream);
    site.until(|record| record["ended"] == "client_gone").await;
    site.post(PATH, &body("hello")).await;
    let ends: Vec<(u64, String)> = lines()
        .iter()
        .map(|line| (line["number"].as_u64().unwrap(), line["ended"].as_str().unwrap().to_owned()))
        .collect();
    let wanted = [(1, "open"), (1, "client_gone"), (2, "open"), (2, "finished")];
    assert_eq!(ends, wanted.map(|(number, end)| (number, end.to_owned())));
}
