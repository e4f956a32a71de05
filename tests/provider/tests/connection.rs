//! How answers fare: stalls, cuts, resets, many at once.

use super::{DEADLINE, Ended, Site, unchunk};
use ouroboros_proto::kind::clock;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

const PATH: &str = "/openai/v1/chat/completions";

fn body(text: &str) -> Value {
    json!({ "model": "m", "stream": true, "messages": [{ "role": "user", "content": text }] })
}

#[tokio::test]
async fn an_answer_breaks_off_in_three_ways() {
    let site = Site::new(
        "[[rule]]\nmatch = { text = 'ends' }\ncut = 'end'\n[[rule]]\nmatch = { text = 'closes' }\ncut_after_bytes = 300
         [[rule]]\nmatch = { text = 'resets' }\ncut_after_bytes = 300\ncut = 'reset'",
    )
    .await;
    let got = site.post(PATH, &body("ends")).await;
    assert_eq!(got.ended, Ended::Whole);
    assert_eq!(got.text("/choices/0/delta/content"), "ends", "all of the text comes");
    assert!(got.text("/choices/0/finish_reason").is_empty() && !got.body.contains("[DONE]"), "and nothing after it");
    for (text, ended) in [("closes", Ended::Closed), ("resets", Ended::Reset)] {
        let got = site.post(PATH, &body(text)).await;
        assert_eq!((got.status, got.body.len(), got.ended), (200, 300, ended), "{text}");
        let record = site.requests().await.pop().unwrap();
        assert_eq!((&record["ended"], &record["bytes_sent"]), (&json!("cut"), &json!(300)));
        assert_eq!(record["finished"], false);
    }
}

#[tokio::test]
async fn an_answer_shorter_than_its_cut_is_whole() {
    let site = Site::new("[[rule]]\ncut_after_bytes = 100000").await;
    assert_eq!(site.post(PATH, &body("hello")).await.ended, Ended::Whole);
    assert_eq!(site.requests().await[0]["finished"], true);
}

#[tokio::test]
async fn a_body_that_is_not_streamed_breaks_off_too() {
    let site = Site::new("[[rule]]\ncut_after_bytes = 10").await;
    let whole = json!({ "model": "m", "messages": [{ "role": "user", "content": "hello" }] });
    let got = site.post(PATH, &whole).await;
    assert_eq!((got.body.len(), got.ended), (10, Ended::Closed));
}

#[tokio::test]
async fn a_connection_hangs_up_without_an_answer() {
    let site = Site::new("[[rule]]\nmatch = { text = 'closes' }\nhang_up = 'close'\n[[rule]]\nhang_up = 'reset'").await;
    for (text, ended) in [("closes", Ended::Closed), ("resets", Ended::Reset)] {
        let got = site.post(PATH, &body(text)).await;
        assert_eq!((got.status, got.ended), (0, ended));
        let record = site.requests().await.pop().unwrap();
        assert_eq!((&record["ended"], &record["status"]), (&json!("cut"), &Value::Null));
    }
}

#[tokio::test]
async fn a_stream_stalls_at_its_byte_until_the_client_leaves() {
    let site = Site::new("[[rule]]\nstall_after_bytes = 50").await;
    let mut stream = site.open("POST", PATH, "", &body("hello").to_string()).await;
    let mut bytes = vec![];
    let read = async {
        loop {
            stream.read_buf(&mut bytes).await.unwrap();
            let head = bytes.windows(4).position(|window| window == b"\r\n\r\n");
            if head.is_some_and(|head| unchunk(&bytes[head + 4..]).0.len() >= 50) {
                break;
            }
        }
    };
    tokio::time::timeout(DEADLINE, read).await.expect("what comes before the stall arrives");
    let record = site.requests().await.pop().unwrap();
    assert_eq!((&record["ended"], &record["bytes_sent"]), (&json!("open"), &json!(50)));
    drop(stream);
    site.until(|record| record["ended"] == "client_gone").await;
}

#[tokio::test]
async fn a_request_is_recorded_before_a_stall_and_when_it_is_never_answered() {
    let site =
        Site::new("[[rule]]\nmatch = { text = 'stalls' }\nstall_before_ms = 'forever'\n[[rule]]\nhalf_open = true")
            .await;
    for text in ["stalls", "half open"] {
        let stream = site.open("POST", PATH, "", &body(text).to_string()).await;
        site.until(|record| record["body"]["messages"][0]["content"] == text && record["ended"] == "open").await;
        drop(stream);
        site.until(|record| record["ended"] == "client_gone" && record["bytes_sent"] == 0).await;
    }
}

#[tokio::test]
async fn stalls_and_gaps_take_the_time_that_the_script_says() {
    let site = Site::new(
        "[[rule]]\nsay = 'abcd'\nchunk = 1\ngap_ms = 5\nstall_before_ms = 20\nstall_after_bytes = 10\nstall_ms = 20",
    )
    .await;
    let begun = clock::boot();
    assert_eq!(site.post(PATH, &body("hello")).await.text("/choices/0/delta/content"), "abcd");
    assert!(clock::boot().since(begun).get() >= 60);
}

#[tokio::test]
async fn a_word_is_repeated_until_the_client_leaves_and_billed_by_what_was_sent() {
    let site = Site::new("[prices.m]\noutput = 10\n[[rule]]\nrepeat = 'again '").await;
    let mut stream = site.open("POST", PATH, "", &body("hello").to_string()).await;
    let mut bytes = vec![0; 200_000];
    tokio::time::timeout(DEADLINE, stream.read_exact(&mut bytes)).await.expect("it goes on").unwrap();
    drop(stream);
    let record = site.until(|record| record["ended"] == "client_gone").await;
    let words = record["usage"]["output"].as_u64().unwrap();
    assert!(words > 500, "{words}");
    assert_eq!(record["cost_nanos"], json!(words * 10));
}

#[tokio::test]
async fn small_writes_change_nothing_but_where_a_stream_is_split() {
    let site = Site::new("[[rule]]\nmatch = { nth = 2 }\nwrite_bytes = 3").await;
    let (first, second) = (site.post(PATH, &body("größer")).await, site.post(PATH, &body("größer")).await);
    assert_eq!(first.text("/choices/0/delta/content"), second.text("/choices/0/delta/content"));
    assert_eq!(first.body.len(), second.body.len());
}

#[tokio::test]
async fn many_streams_at_once_are_each_answered_whole() {
    let site = std::sync::Arc::new(Site::new("[[rule]]\nsay = 'abcdefgh'\nchunk = 1\ngap_ms = 5").await);
    let mut streams = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let site = std::sync::Arc::clone(&site);
        streams.spawn(async move { site.post(PATH, &body("hello")).await.text("/choices/0/delta/content") });
    }
    let texts = streams.join_all().await;
    assert!(texts.len() == 64 && texts.iter().all(|text| text == "abcdefgh"));
    let mut ids: Vec<String> = site.requests().await.iter().map(|record| record["id"].to_string()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 64, "no id comes twice");
}
