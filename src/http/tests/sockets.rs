//! Sockets: bound, replaced, handed over, removed.

use super::harness::{Harness, PATIENCE};
use crate::http::{BindError, Listener, bind_tcp, bind_unix, inherit};
use std::net::{TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::time::Duration;

#[test]
fn only_loopback_is_served_and_a_taken_port_is_told() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:1"] {
        assert!(matches!(bind_tcp(address.parse().unwrap(), true), Err(BindError::NotLoopback(_))), "{address}");
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    assert!(matches!(bind_tcp(address, false), Err(BindError::InUse(_))));
    let Ok(Listener::Tcp(other)) = bind_tcp(address, true) else { panic!("another port is free") };
    assert_ne!(other.local_addr().unwrap().port(), address.port());
}

#[test]
fn a_dead_socket_file_is_replaced_and_a_live_one_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    drop(UnixListener::bind(&path).unwrap());
    let listener = bind_unix(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(matches!(bind_unix(&path), Err(BindError::InUse(_))));
    drop(listener);
    assert!(!path.exists(), "it went with its listener");

    std::fs::write(&path, "precious").unwrap();
    assert!(matches!(bind_unix(&path), Err(BindError::NotASocket(_))));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    let long = directory.path().join("x".repeat(120));
    assert!(matches!(bind_unix(&long), Err(BindError::System { .. })));
}

#[test]
fn somebody_elses_socket_file_is_left_alone() {
    let mut harness = Harness::new();
    let path = harness.socket_path();
    std::fs::remove_file(&path).unwrap();
    let _other = UnixListener::bind(&path).unwrap();
    harness.stop(PATIENCE);
    assert!(path.exists());
}

#[test]
fn sockets_are_taken_over_when_they_are_what_we_serve() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    assert!(matches!(inherit(OwnedFd::from(tcp)), Ok(Listener::Tcp(_))));
    let directory = tempfile::tempdir().unwrap();
    let unix = UnixListener::bind(directory.path().join("socket")).unwrap();
    assert!(matches!(inherit(OwnedFd::from(unix)), Ok(Listener::Unix { file: None, .. })));
    let everywhere = TcpListener::bind("0.0.0.0:0").unwrap();
    assert!(matches!(inherit(OwnedFd::from(everywhere)), Err(BindError::NotLoopback(_))));
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    assert!(matches!(inherit(OwnedFd::from(datagrams)), Err(BindError::NotListening)));
}

#[test]
fn a_stop_leaves_nothing() {
    let mut harness = Harness::new();
    harness.submit();
    let idle = harness.unix();
    let mut stream = super::harness::Messages::open(harness.unix(), "/api/events", &[]);
    assert_eq!(stream.next().unwrap().event, "caught_up");
    harness.stop(PATIENCE);
    assert!(stream.next().is_none(), "the stream ended in order");
    assert!(!harness.socket_path().exists());
    assert!(std::net::TcpStream::connect_timeout(&harness.tcp, Duration::from_secs(5)).is_err());
    drop(idle);
}

#[test]
fn a_stop_does_not_wait_for_a_request_that_does_not_end() {
    let mut harness = Harness::new();
    harness.world.end();
    use std::io::Write as _;
    let mut stuck = harness.unix();
    stuck
        .write_all(b"POST /api/command HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{")
        .unwrap();
    harness.runtime.block_on(async { harness.clients().wait_for(|open| *open == 1).await.map(|_| ()) }).unwrap();
    harness.stop(Duration::from_millis(50));
}
