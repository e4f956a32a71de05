//! Whole answers, errors, and what is kept of them.

use super::*;
use crate::dialect::{Hint, RejectionClass, StreamFault};
use crate::testing::{Server, json, nowhere, response};
use ouroboros_proto::agent::StopReason;

#[tokio::test]
async fn a_whole_answer_is_read_and_recorded() {
    let server = Server::scripted([hello()]).await;
    let mut ear = Ear::default();
    let (sent, exchange) = send(&transport(), &server.url, &mut ear).await;
    let Sent::Answered(answer) = sent else { panic!("{sent:?}") };
    assert_eq!((answer.message.text().as_str(), &answer.stop), ("hello", &StopReason::End));
    assert_eq!((answer.usage.input, answer.usage.output), (Some(3), Some(2)));
    assert_eq!(ear.pieces, [Piece::Text("hello".to_owned())]);
    assert_eq!(exchange.pieces, 1);
    assert_eq!(exchange.provider_request.as_deref(), Some("req-7"));
    assert!(exchange.response.ends_with(DONE.as_bytes()), "{exchange:?}");

    let requests = server.requests();
    let [request] = requests.as_slice() else { panic!("{requests:?}") };
    assert_eq!(request.target(), "POST /v1/chat/completions");
    assert_eq!(request.header("authorization").as_deref(), Some("Bearer sk-secret"));
    assert_eq!(request.header("user-agent").as_deref(), Some("ouroboros-test"));
    assert_eq!(request.body, wire().body);
}

#[tokio::test]
async fn a_connection_that_breaks_after_the_terminal_frame_does_no_harm() {
    let script = vec![stream_head(), chunk(&said("hello")), chunk(STOP), chunk(DONE), Act::Close];
    let server = Server::scripted([script]).await;
    let (sent, _) = send(&transport(), &server.url, &mut Ear::default()).await;
    assert!(matches!(sent, Sent::Answered(_)), "{sent:?}");
}

#[tokio::test]
async fn what_comes_after_the_terminal_frame_does_not_spoil_the_answer() {
    let huge = "x".repeat(1 << 20);
    let script = [chunk(STOP), chunk(DONE), chunk("data: <html>\n\n"), chunk("data: ")];
    let script =
        [vec![stream_head(), chunk(&said("hello"))], script.to_vec(), vec![chunk(&huge); 9], vec![stream_end()]];
    let server = Server::scripted([script.concat()]).await;
    let (sent, _) = send(&transport(), &server.url, &mut Ear::default()).await;
    assert!(matches!(sent, Sent::Answered(_)), "{sent:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_close_after_the_terminal_frame_is_not_waited_for() {
    let script = vec![stream_head(), chunk(&said("hello")), chunk(STOP), chunk(DONE), Act::Stall];
    let server = Server::scripted([script]).await;
    let start = tokio::time::Instant::now();
    let (sent, _) = send(&transport(), &server.url, &mut Ear::default()).await;
    assert!(matches!(sent, Sent::Answered(_)), "{sent:?}");
    assert!(start.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_goes_on_after_the_terminal_frame_is_not_waited_for_either() {
    let goes_on = Act::Repeat(b"e\r\n: still here\n\n\r\n".to_vec(), Duration::from_millis(400));
    let server =
        Server::scripted([vec![stream_head(), chunk(&said("hello")), chunk(STOP), chunk(DONE), goes_on]]).await;
    let (transport, mut ear) = (transport(), Ear::default());
    let read = tokio::time::timeout(Duration::from_secs(2), send(&transport, &server.url, &mut ear)).await;
    assert!(matches!(read, Ok((Sent::Answered(_), _))), "{read:?}");
}

#[tokio::test(start_paused = true)]
async fn what_arrived_together_is_shown_together_and_waits_for_nothing_more() {
    let both = format!("{}{}", said("one "), said("two "));
    let script =
        vec![stream_head(), chunk(&both), Act::Wait(Duration::from_secs(1)), chunk(&said("three")), Act::Stall];
    let server = Server::scripted([script]).await;
    let (mut ear, transport) = (Ear::default(), transport());
    let read = send(&transport, &server.url, &mut ear);
    assert!(tokio::time::timeout(Duration::from_secs(2), read).await.is_err(), "it stalls");
    assert_eq!(ear.pieces, ["one two ", "three"].map(|text| Piece::Text(text.to_owned())));
}

#[tokio::test(start_paused = true)]
async fn a_slow_listener_is_not_the_providers_fault() {
    let mut script = vec![stream_head()];
    script.extend((0..3).map(|_| chunk(&said("hello"))));
    script.extend([chunk(STOP), chunk(DONE), stream_end()]);
    let server = Server::scripted([script]).await;
    let mut ear = Ear { slow: Duration::from_secs(600), ..Ear::default() };
    let (sent, exchange) = send(&transport(), &server.url, &mut ear).await;
    assert!(matches!(sent, Sent::Answered(_)), "{sent:?}");
    assert_eq!((ear.text().as_str(), exchange.pieces), ("hellohellohello", 3));
}

#[tokio::test(start_paused = true)]
async fn comments_between_events_keep_a_stream_alive() {
    let mut script = vec![stream_head(), chunk(&said("hello"))];
    script.extend((0..20).flat_map(|_| [Act::Wait(Duration::from_secs(50)), chunk(": still here\n\n")]));
    script.extend([chunk(STOP), chunk(DONE), stream_end()]);
    let server = Server::scripted([script]).await;
    let (sent, _) = send(&transport(), &server.url, &mut Ear::default()).await;
    assert!(matches!(sent, Sent::Answered(_)), "{sent:?}");
}

#[tokio::test]
async fn a_rate_limit_says_how_long_to_wait() {
    let headers = "retry-after: 7\r\nx-should-retry: false\r\nset-cookie: no\r\n";
    let body = r#"{"error":{"message":"slow down","type":"rate_limit_error","code":"rate_limit_exceeded"}}"#;
    let server = Server::scripted([vec![response("429 Too Many Requests", headers, body)]]).await;
    let (sent, exchange) = send(&transport(), &server.url, &mut Ear::default()).await;
    let Sent::Rejected(rejection) = sent else { panic!("{sent:?}") };
    assert_eq!(rejection.class, RejectionClass::RateLimited);
    assert_eq!((rejection.retry_after, rejection.hint), (Some(Millis::seconds(7)), Some(Hint::NoRetry)));
    assert_eq!(exchange.response.as_slice(), body.as_bytes());
}

#[tokio::test]
async fn an_error_inside_the_stream_tells_what_was_counted_and_whether_the_answer_had_begun() {
    let error = "data: {\"error\":{\"message\":\"busy\",\"code\":502}}\n\n";
    let begun = vec![stream_head(), chunk(COUNTS), chunk(&said("hel")), chunk(error), stream_end()];
    let server = Server::scripted([begun, vec![stream_head(), chunk(error), stream_end()]]).await;
    let mut ear = Ear::default();
    let (sent, exchange) = send(&transport(), &server.url, &mut ear).await;
    let Sent::BrokenOff(rejection) = sent else { panic!("{sent:?}") };
    assert_eq!(rejection.class, RejectionClass::Overloaded);
    let usage = rejection.usage.map(|usage| (usage.input, usage.output));
    assert_eq!(usage, Some((Some(3), None)), "how much was answered is not known before the end");
    assert_eq!((ear.text().as_str(), exchange.pieces), ("hel", 1));
    let (sent, exchange) = send(&transport(), &server.url, &mut Ear::default()).await;
    assert!(matches!(sent, Sent::Rejected(_)) && exchange.pieces == 0, "{sent:?}");
}

#[tokio::test]
async fn a_good_status_can_hold_an_error_instead_of_a_stream() {
    let server = Server::scripted([vec![json("{\n\n\"error\":{\"message\":\"no credit\",\"code\":402}}")]]).await;
    let (sent, _) = send(&transport(), &server.url, &mut Ear::default()).await;
    let Sent::Rejected(rejection) = sent else { panic!("{sent:?}") };
    assert_eq!(rejection.class, RejectionClass::Quota);
}

#[tokio::test]
async fn what_is_not_the_format_is_unusable() {
    let server = Server::scripted([vec![stream_head(), chunk("data: <html>\n\n"), stream_end()]]).await;
    let (sent, _) = send(&transport(), &server.url, &mut Ear::default()).await;
    assert!(matches!(sent, Sent::Unusable { fault: StreamFault::Malformed(_), .. }), "{sent:?}");
}

#[tokio::test]
async fn a_proxy_is_used_for_others_and_never_for_this_machine() {
    let proxy = Server::answering(|_| hello()).await;
    let here = Server::answering(|_| hello()).await;
    let proxies =
        Proxies { http: Some(proxy.url.clone()), except: Some(nowhere().replace("http://", "")), https: None };
    let transport = Transport::new(TransportOptions { proxies, ..TransportOptions::default() });
    let (sent, _) = send(&transport, "http://provider.invalid", &mut Ear::default()).await;
    assert!(matches!(sent, Sent::Answered(_)), "{sent:?}");
    assert_eq!(proxy.requests()[0].target(), "POST http://provider.invalid/v1/chat/completions");
    let (sent, _) = send(&transport, &here.url, &mut Ear::default()).await;
    assert!(matches!(sent, Sent::Answered(_)), "{sent:?}");
    let (sent, _) = send(&transport, &nowhere(), &mut Ear::default()).await;
    assert!(matches!(sent, Sent::Unsent { .. }), "{sent:?}");
    assert_eq!((proxy.requests().len(), here.requests().len()), (1, 1));
}

#[test]
fn secure_connections_are_prepared_without_opening_any() {
    let transport = transport();
    let provider = route("https://provider.invalid").provider;
    assert!(transport.clients.of(&provider, Millis::seconds(1)).is_ok());
    let options = TransportOptions { roots: vec![b"no certificate".to_vec()], ..TransportOptions::default() };
    assert!(Transport::new(options).clients.of(&provider, Millis::seconds(1)).is_err());
}
