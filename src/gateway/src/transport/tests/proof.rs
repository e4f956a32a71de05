//! What is proven unsent, and what is not known.

use super::*;
use crate::testing::{Received, Server, nowhere, response};
use tokio::net::TcpListener;

#[tokio::test]
async fn a_refused_connection_is_proof() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let mut ear = Ear::default();
    let (sent, _) = send(&transport(), &url, &mut ear).await;
    assert!(matches!(&sent, Sent::Unsent { cause: Unsent::Network, .. }), "{sent:?}");
    assert_eq!(ear.left, 1);
}

#[tokio::test]
async fn a_name_that_leads_nowhere_is_proof() {
    let (sent, _) = send(&transport(), &nowhere(), &mut Ear::default()).await;
    assert!(matches!(&sent, Sent::Unsent { cause: Unsent::Network, .. }), "{sent:?}");
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_does_not_become_secure_is_proof() {
    let plain = Server::answering(|_| vec![Act::Stall]).await;
    for server in [Server::deaf().await, plain] {
        let start = tokio::time::Instant::now();
        let url = server.url.replace("http://", "https://");
        let (sent, _) = send(&transport(), &url, &mut Ear::default()).await;
        assert!(matches!(&sent, Sent::Unsent { cause: Unsent::Network, .. }), "{sent:?}");
        assert!(start.elapsed().as_secs() <= 10, "the deadline of a connection");
        assert!(server.requests().is_empty());
    }
}

#[tokio::test]
async fn what_is_held_back_opens_no_connection() {
    let server = Server::scripted([hello()]).await;
    let mut ear = Ear { leave: Leave::Stay, ..Ear::default() };
    let (sent, _) = send(&transport(), &server.url, &mut ear).await;
    assert!(matches!(&sent, Sent::Unsent { cause: Unsent::Held, .. }), "{sent:?}");
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_key_that_is_no_header_is_never_sent() {
    let server = Server::scripted([hello()]).await;
    let (route, wire) = (route(&server.url), wire());
    let sending = Sending { route: &route, wire: &wire, key: Some("sk-a\nsk-b"), timing: Timing::REMOTE };
    let mut ear = Ear::default();
    let (sent, _) = transport().send(&sending, &mut ear).await;
    let Sent::Unsent { cause: Unsent::Invalid, reason } = sent else { panic!("{sent:?}") };
    assert!(!reason.contains("sk-"), "{reason}");
    assert_eq!((ear.left, server.connections()), (0, 0));
}

#[tokio::test]
async fn a_connection_that_breaks_once_it_was_there_proves_nothing() {
    let server = Server::deaf().await;
    let (sent, _) = send(&transport(), &server.url, &mut Ear::default()).await;
    assert!(is_unknown(&sent), "before the request was read: {sent:?}");

    for end in [Act::Reset, Act::Close] {
        let server = Server::scripted([vec![end.clone()], hello()]).await;
        let (sent, _) = send(&transport(), &server.url, &mut Ear::default()).await;
        assert!(is_unknown(&sent), "{end:?} after the request was read: {sent:?}");
        assert_eq!(server.requests().len(), 1, "it is not sent again");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_proves_nothing() {
    let server = Server::scripted([vec![Act::Stall]]).await;
    let start = tokio::time::Instant::now();
    let (sent, _) = send(&transport(), &server.url, &mut Ear::default()).await;
    assert!(is_unknown(&sent), "{sent:?}");
    assert_eq!(start.elapsed().as_secs(), 130, "connect and first byte");
    server.gone(1).await;
}

#[tokio::test(start_paused = true)]
async fn comments_alone_are_no_answer() {
    let ping = Act::Repeat(b"e\r\n: still here\n\n\r\n".to_vec(), Duration::from_secs(10));
    let server = Server::scripted([vec![stream_head(), ping]]).await;
    let start = tokio::time::Instant::now();
    let (sent, exchange) = send(&transport(), &server.url, &mut Ear::default()).await;
    assert!(is_unknown(&sent), "{sent:?}");
    assert_eq!(start.elapsed().as_secs(), 130);
    assert!(exchange.bytes > 0 && exchange.pieces == 0);
}

#[tokio::test]
async fn an_answer_that_is_cut_is_not_known_and_keeps_its_id() {
    let start = || vec![stream_head(), chunk(&said("hel")), chunk(COUNTS)];
    let cuts = [("close", vec![Act::Close]), ("reset", vec![Act::Reset]), ("clean end", vec![stream_end()])];
    for (name, end) in cuts {
        let server = Server::scripted([[start(), end].concat(), hello()]).await;
        let mut ear = Ear::default();
        let (sent, exchange) = send(&transport(), &server.url, &mut ear).await;
        assert!(is_unknown(&sent), "{name}: {sent:?}");
        // A reset can take what was not read with it.
        if name != "reset" {
            assert_eq!(ear.pieces, [Piece::Text("hel".to_owned())], "{name}");
            assert_eq!(exchange.provider_request.as_deref(), Some("req-7"), "{name}");
        }
        assert_eq!(server.requests().len(), 1, "{name}: it is not sent again");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_stands_still_is_given_up() {
    let server = Server::scripted([vec![stream_head(), chunk(&said("hel")), Act::Stall]]).await;
    let start = tokio::time::Instant::now();
    let (sent, _) = send(&transport(), &server.url, &mut Ear::default()).await;
    let Sent::Unknown { reason, .. } = &sent else { panic!("{sent:?}") };
    assert!(reason.contains("60 s"), "{reason}");
    assert_eq!(start.elapsed().as_secs(), 60);
    server.gone(1).await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_without_end_is_given_up() {
    let text = said("more");
    let bytes = format!("{:x}\r\n{text}\r\n", text.len()).into_bytes();
    let server = Server::scripted([vec![stream_head(), Act::Repeat(bytes, Duration::from_secs(30))]]).await;
    let start = tokio::time::Instant::now();
    let (sent, _) = send(&transport(), &server.url, &mut Ear::default()).await;
    assert!(is_unknown(&sent), "{sent:?}");
    assert_eq!(start.elapsed().as_secs(), 3_600);
}

#[tokio::test]
async fn an_error_that_is_cut_is_not_known() {
    let half = "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 100\r\n\r\n{\"err";
    let server = Server::scripted([vec![Act::Write(half.as_bytes().to_vec()), Act::Close]]).await;
    let (sent, _) = send(&transport(), &server.url, &mut Ear::default()).await;
    assert!(is_unknown(&sent), "{sent:?}");
}

#[tokio::test]
async fn an_idle_connection_that_was_closed_loses_and_doubles_nothing() {
    let one_each = |_: &Received| [hello(), vec![Act::Close]].concat();
    let server = Server::answering(one_each).await;
    let transport = transport();
    for count in 1..=5 {
        let (sent, _) = send(&transport, &server.url, &mut Ear::default()).await;
        assert!(matches!(sent, Sent::Answered(_)), "{count}: {sent:?}");
        assert_eq!(server.requests().len(), count);
        // The close is on its way: the connection's task has to see it.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(server.connections(), 5);
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let server = Server::answering(|_| hello()).await;
    let transport = transport();
    for _ in 0..3 {
        let (sent, _) = send(&transport, &server.url, &mut Ear::default()).await;
        assert!(matches!(sent, Sent::Answered(_)), "{sent:?}");
    }
    assert_eq!((server.connections(), server.requests().len()), (1, 3));
}

#[tokio::test]
async fn dropping_a_send_closes_its_connection() {
    for script in [vec![Act::Stall], vec![stream_head(), chunk(&said("hel")), Act::Stall]] {
        let server = Server::scripted([script]).await;
        let (transport, url) = (transport(), server.url.clone());
        let sending = tokio::spawn(async move { send(&transport, &url, &mut Ear::default()).await });
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        sending.abort();
        server.gone(1).await;
    }
}

#[tokio::test]
async fn a_redirect_is_an_error_and_takes_the_key_nowhere() {
    let elsewhere = Server::scripted([hello()]).await;
    for status in ["301 Moved Permanently", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let headers = format!("location: {}/v1/chat/completions\r\n", elsewhere.url);
        let server = Server::scripted([vec![response(status, &headers, "")]]).await;
        let (sent, _) = send(&transport(), &server.url, &mut Ear::default()).await;
        let Sent::Rejected(rejection) = sent else { panic!("{status}: {sent:?}") };
        assert!(rejection.message.contains("redirect"), "{}", rejection.message);
        assert_eq!((server.requests().len(), elsewhere.connections()), (1, 0));
    }
}
