//! What is handed on: to the server, to a second launcher, to a service manager, to whoever started us.

use crate::support::Home;
use ouroboros_process::Signal;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixListener};

const POLITE: &str =
    "trap 'note term; exit 0' TERM; trap 'note hup' HUP; env >\"$OUROBOROS_TEST_DIR/env\"; ready; linger";

fn env(home: &Home, name: &str) -> Option<String> {
    home.lines("env").iter().find_map(|line| line.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
}

#[test]
fn a_second_launcher_says_where_the_first_is() {
    let mut home = Home::new(POLITE);
    let mut first = home.up(&[]);
    first.ready();
    std::fs::write(home.data().join("port"), "{\"pid\":1,\"url\":\"http://127.0.0.1:4242\"}\n").unwrap();
    let mut second = home.up(&[]);
    let mut auto = home.up(&["--auto"]);
    home.set("NOTIFY_SOCKET", "/nowhere");
    let mut service = home.up(&[]);
    let line = second.out.next().unwrap();
    assert!(line.contains(&format!("pid {}", first.pid())) && line.contains("http://127.0.0.1:4242"), "{line}");
    second.exits(0);
    // Whoever started one in the background hears that it was not needed; a service manager that it has to try again.
    assert_eq!(auto.out.next().unwrap(), format!("{{\"outcome\":\"beside\",\"pid\":{}}}", first.pid()));
    auto.exits(0);
    assert_eq!(service.out.next().unwrap(), line);
    let said = service.exits(69);
    assert!(said.contains("the service cannot run beside it") && said.contains("ouroboros stop"), "{said}");
    assert_eq!(home.lives(), 1);
    first.signal(Signal::TERM);
    first.exits(0);
}

#[test]
fn the_first_words_say_where_and_how_to_stop() {
    let home = Home::new(POLITE);
    let mut up = home.up(&[]);
    assert!(up.out.next().unwrap().contains("http://127.0.0.1:1"));
    assert!(up.out.next().unwrap().contains(home.data().to_str().unwrap()));
    assert!(up.out.next().unwrap().contains("ouroboros stop"));
    assert_eq!(std::fs::metadata(home.data()).unwrap().permissions().mode() & 0o777, 0o700);
    up.signal(Signal::TERM);
    up.exits(0);
}

#[test]
fn after_an_emergency_stop_the_release_is_named() {
    let home = Home::new("ready; exit 0");
    std::fs::create_dir(home.data()).unwrap();
    std::fs::write(home.data().join("panic"), "").unwrap();
    let said = home.up(&[]).exits(0);
    assert!(said.contains("ouroboros release --all"), "{said}");
}

#[test]
fn the_server_knows_its_launcher_and_its_settings_and_speaks_for_nobody() {
    let mut home = Home::new(POLITE);
    home.set("NOTIFY_SOCKET", "/nowhere");
    home.set("WATCHDOG_USEC", "1000000000");
    home.set("LISTEN_FDS", "1");
    home.set("LISTEN_PID", "1");
    let mut up = home.up(&["--set", "queue.slots=7"]);
    up.ready();
    assert_eq!(env(&home, "OUROBOROS_LAUNCHER_PID"), Some(up.pid().to_string()));
    assert_eq!(env(&home, "OUROBOROS_QUEUE_SLOTS").as_deref(), Some("7"));
    assert_eq!(env(&home, "OUROBOROS_READY_FD").as_deref(), Some("3"));
    for private in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID", "OUROBOROS_UNPROVEN"] {
        assert_eq!(env(&home, private), None, "{private}");
    }
    up.signal(Signal::TERM);
    up.exits(0);
}

#[test]
fn sockets_of_a_service_manager_reach_every_server() {
    let home = Home::new(
        "note $LISTEN_FDS $LISTEN_PID $OUROBOROS_LAUNCHER_PID $OUROBOROS_READY_FD $(readlink /proc/$$/fd/3);
        [ $nth = 2 ] && exit 0; ready; exit 42",
    );
    let socket = UnixListener::bind(home.path("listen")).unwrap();
    let up = home.shell("LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" up", vec![(socket.into(), 3)]);
    let pid = up.pid();
    up.exits(0);
    let notes = home.notes();
    assert_eq!(notes.len(), 2);
    assert_eq!(notes[0], notes[1]);
    assert!(notes[0].starts_with(&format!("1 {pid} {pid} 4 socket:[")), "{notes:?}");
}

#[test]
fn a_service_manager_hears_how_things_are() {
    let mut home = Home::new(POLITE);
    let manager = UnixDatagram::bind(home.path("notify")).unwrap();
    manager.set_read_timeout(Some(crate::support::DEADLINE)).unwrap();
    home.set("NOTIFY_SOCKET", home.path("notify"));
    let heard = || {
        let mut buffer = [0; 4096];
        let length = manager.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    };
    let mut up = home.up(&[]);
    up.ready();
    let ready = heard();
    assert!(ready.starts_with("READY=1\nSTATUS=server pid") && ready.contains("http://"), "{ready}");
    up.signal(Signal::HUP);
    assert_eq!(heard(), "RELOADING=1");
    assert!(heard().starts_with("READY=1\n"));
    up.signal(Signal::TERM);
    let stopping = heard();
    assert!(stopping.starts_with("STOPPING=1\nEXTEND_TIMEOUT_USEC=16000000\n"), "{stopping}");
    up.exits(0);
}

#[test]
fn a_launcher_without_a_terminal_tells_its_starter_one_thing() {
    let word = |home: &Home| {
        let mut up = home.up(&["--auto"]);
        let line = up.out.next().unwrap();
        (serde_json::from_str::<serde_json::Value>(&line).unwrap(), up)
    };
    let home = Home::new("note \"$@\"; [ $nth = 2 ] && exit 0; ready; exit 42");
    let (said, mut up) = word(&home);
    assert_eq!((&said["outcome"], &said["url"]), (&"ready".into(), &"http://127.0.0.1:1".into()));
    assert_eq!(up.out.next(), None);
    up.exits(0);
    assert_eq!(home.notes(), ["run --auto", "run --auto"]);

    let (said, up) = word(&Home::new("exit 78"));
    assert_eq!((&said["outcome"], &said["code"]), (&"refused".into(), &78.into()));
    up.exits(78);

    let (said, up) = word(&Home::new("kill -9 $$"));
    assert_eq!((&said["outcome"], &said["crashes"]), (&"crashing".into(), &3.into()));
    up.signal(Signal::TERM);
    up.exits(0);
}

#[test]
fn a_verb_that_starts_it_repeats_the_last_words_of_a_failure() {
    let home = Home::new("echo the moon is full >&2; exit 78");
    let said = home.start(&["restart"]).exits(1);
    assert!(said.contains("the moon is full") && said.contains("ouroboros config check"), "{said}");
    let log = std::fs::read_to_string(home.data().join("logs/launcher.log")).unwrap();
    assert!(log.contains("the moon is full"), "{log}");
}
