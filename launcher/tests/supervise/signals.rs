//! Signals that are not stops, and what a terminal changes.

use crate::support::{Home, terminal};
use ouroboros_process::{PidFd, Signal};

#[test]
fn a_hang_up_stops_a_launcher_on_a_terminal() {
    let home = Home::new("trap 'note hup' HUP; trap 'note term; exit 0' TERM; ready; linger");
    let (keyboard, slave) = terminal();
    let mut up = home.up_on(slave);
    up.ready();
    // The terminal goes away: the kernel hangs up on the leader of its session.
    drop(keyboard);
    up.exits(0);
    assert_eq!(home.notes(), ["term"]);
}

#[test]
fn hang_ups_never_add_up_to_a_hard_stop() {
    let home = Home::new("trap '' TERM USR2; note $$; ready; linger");
    let (_keyboard, slave) = terminal();
    let mut up = home.up_on(slave);
    up.ready();
    for _ in 0..2 {
        up.signal(Signal::HUP);
        up.signal(Signal::USR2);
        up.err.until("state of the launcher");
    }
    let server = PidFd::open(home.notes()[0].parse().unwrap()).unwrap().expect("the server was killed");
    server.signal(Signal::KILL).unwrap();
    let said = up.exits(0);
    assert!(!said.contains("at once"), "{said}");
}

#[test]
fn without_a_terminal_a_hang_up_is_a_reload() {
    let home = Home::new("trap 'note hup; exit 0' HUP; trap 'note term; exit 0' TERM; ready; linger");
    let mut up = home.up(&[]);
    up.ready();
    up.signal(Signal::HUP);
    up.exits(0);
    assert_eq!(home.notes(), ["hup"]);
}

#[test]
fn a_restart_and_a_dump_go_to_the_server() {
    let home = Home::new(
        "[ $nth = 2 ] && exit 0; trap 'note usr2; kill -USR1 $PPID' USR2; trap 'note usr1; exit 42' USR1; ready; linger",
    );
    let mut up = home.up(&[]);
    up.ready();
    up.signal(Signal::USR2);
    let said = up.exits(0);
    assert!(said.contains("state of the launcher") && said.contains("restarting the server"), "{said}");
    assert_eq!(home.notes(), ["usr2", "usr1"]);
    assert_eq!(home.lives(), 2);
}

#[test]
fn a_restart_that_hangs_is_enforced() {
    let mut home = Home::new("[ $nth = 2 ] && exit 0; trap 'note usr1' USR1; ready; linger");
    home.set("OUROBOROS_SERVER_STOP_TIMEOUT", "1s");
    let mut up = home.up(&[]);
    up.ready();
    up.signal(Signal::USR1);
    let said = up.exits(0);
    assert!(said.contains("the bound has passed") && !said.contains("next start is in"), "{said}");
    assert_eq!(home.lives(), 2);
}

#[test]
fn what_is_asked_of_a_server_that_is_not_ready_waits() {
    // Without handlers it would die of the signal, and be started a second time.
    let home =
        Home::new("read go <\"$OUROBOROS_TEST_DIR/go\"; trap '' USR2; trap 'note hup; exit 0' HUP; ready; linger");
    let go = home.path("go");
    rustix::fs::mknodat(rustix::fs::CWD, &go, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let mut up = home.up(&[]);
    // Opens when the server reads.
    let mut gate = std::fs::OpenOptions::new().write(true).open(&go).unwrap();
    up.signal(Signal::HUP);
    up.signal(Signal::USR2);
    up.err.until("state of the launcher");
    std::io::Write::write_all(&mut gate, b"go\n").unwrap();
    up.exits(0);
    assert_eq!((home.lives(), home.notes()), (1, vec!["hup".to_owned()]));
}

#[test]
fn an_ignored_hang_up_stays_ignored() {
    let home = Home::new("trap '' USR2; trap 'note term; exit 0' TERM; ready; linger");
    let mut up = home.shell("trap '' HUP; exec \"$0\" up", Vec::new());
    up.ready();
    up.signal(Signal::HUP);
    up.signal(Signal::USR2);
    assert!(up.err.until("state of the launcher").contains("stopping false"));
    up.signal(Signal::TERM);
    up.exits(0);
    assert_eq!(home.notes(), ["term"]);
}
