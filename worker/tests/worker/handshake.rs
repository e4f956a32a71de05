use crate::support::{Desk, GENERATION, Worker, exit_code, start, welcome};
use ouroboros_process::{Status, identity};
use ouroboros_proto::kind::{ExitCode, Generation, WorkerId};
use ouroboros_proto::wire::{PROTOCOL, ServerHello, Token, encode};
use std::io::Write;

fn code(code: ExitCode) -> Status {
    Status::Exited(code.code())
}

#[test]
fn the_first_frame_shows_who_the_worker_is() {
    let worker = Worker::new();
    let hello = &worker.hello;
    assert_eq!((hello.protocol, hello.worker, hello.generation), (PROTOCOL, WorkerId::new(3), GENERATION));
    assert_eq!(hello.token, Token([0xab; 32]));
    assert_eq!(hello.namespace, identity::of_self().unwrap().namespace);
    assert!(hello.build.starts_with(env!("CARGO_PKG_VERSION")));
}

fn answered(answer: &ServerHello) -> Status {
    let desk = Desk::new();
    let child = desk.start(false).unwrap();
    let (mut stream, _) = desk.accept();
    stream.write_all(&encode(answer).unwrap()).unwrap();
    exit_code(&child)
}

#[test]
fn another_protocol_another_generation_or_a_refusal_ends_it() {
    let mismatch = code(ExitCode::Mismatch);
    assert_eq!(answered(&ServerHello { protocol: PROTOCOL + 1, ..welcome() }), mismatch);
    assert_eq!(answered(&ServerHello { refused: Some("no".to_owned()), ..welcome() }), mismatch);
    assert_eq!(answered(&ServerHello { generation: Generation::new(8), ..welcome() }), mismatch);
}

#[test]
fn bytes_that_are_no_frame_end_it() {
    let desk = Desk::new();
    let child = desk.start(false).unwrap();
    let (mut stream, _) = desk.accept();
    stream.write_all(&[0xff; 64]).unwrap();
    assert_eq!(exit_code(&child), code(ExitCode::Mismatch));

    let worker = Worker::new();
    (&worker.stream).write_all(&[0xff; 64]).unwrap();
    assert_eq!(exit_code(&worker.child), code(ExitCode::Mismatch));
}

#[test]
fn a_server_that_is_gone_at_any_moment_ends_it() {
    let orphaned = code(ExitCode::Orphaned);
    let desk = Desk::new();
    let child = desk.start(false).unwrap();
    drop(desk.accept());
    assert_eq!(exit_code(&child), orphaned);

    let Worker { child, stream, .. } = Worker::new();
    drop(stream);
    assert_eq!(exit_code(&child), orphaned);

    let Desk { dir, listener } = Desk::new();
    drop(listener);
    let desk = Desk { listener: std::os::unix::net::UnixListener::bind(dir.path().join("other")).unwrap(), dir };
    assert_eq!(exit_code(&desk.start(false).unwrap()), orphaned);
    std::fs::remove_file(desk.dir.path().join("socket")).unwrap();
    assert_eq!(exit_code(&desk.start(false).unwrap()), orphaned);
}

#[test]
fn a_parent_that_is_not_the_server_ends_it() {
    let desk = Desk::new();
    let mut env = desk.environment(false);
    env.retain(|(name, _)| name != "OUROBOROS_SERVER_PID");
    env.push(("OUROBOROS_SERVER_PID".into(), "1".into()));
    assert_eq!(exit_code(&start(&["serve"], env, false).unwrap()), code(ExitCode::Orphaned));
}

#[test]
fn a_start_by_hand_explains_itself() {
    let usage = code(ExitCode::Usage);
    assert_eq!(exit_code(&start(&[], Vec::new(), false).unwrap()), usage);
    assert_eq!(exit_code(&start(&["dance"], Vec::new(), false).unwrap()), usage);
    assert_eq!(exit_code(&start(&["serve"], Vec::new(), false).unwrap()), usage);
    assert_eq!(exit_code(&start(&["exec", "1", "", "/", "true"], Vec::new(), false).unwrap()), usage);
    assert_eq!(exit_code(&start(&["probe"], Vec::new(), false).unwrap()), Status::Exited(0));
}
