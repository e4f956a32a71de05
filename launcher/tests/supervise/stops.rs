//! Ordered stops, hard stops, and the end of a launcher that has no time for either.

use crate::support::{Home, lives, terminal, wait_gone};
use ouroboros_process::Signal;
use std::io::Write;

const POLITE: &str = "trap 'note term; exit 0' TERM; trap 'note int' INT; trap 'note hup' HUP; note $$; ready; linger";
const DEAF: &str = "trap 'note term' TERM; note $$; sleep 600 & note $!; ready; linger";

#[test]
fn a_stop_goes_through_the_server() {
    for signal in [Signal::TERM, Signal::INT] {
        let home = Home::new(POLITE);
        let mut up = home.up(&[]);
        up.ready();
        up.signal(signal);
        let said = up.exits(0);
        assert!(said.contains("stopping") && said.contains("stopped"), "{said}");
        assert_eq!(home.notes()[1..], ["term"], "{signal:?}");
    }
}

#[test]
fn a_ctrl_c_on_the_terminal_counts_once() {
    let home = Home::new(POLITE);
    let (mut keyboard, slave) = terminal();
    let mut up = home.up_on(slave);
    up.ready();
    keyboard.write_all(b"\x03").unwrap();
    up.exits(0);
    assert_eq!(home.notes()[1..], ["term"]);
}

#[test]
fn the_second_ctrl_c_kills_everything_at_once() {
    let mut home = Home::new(DEAF);
    // Far beyond the deadline: only the second one can end it in time.
    home.set("OUROBOROS_SERVER_STOP_TIMEOUT", "9m");
    let (mut keyboard, slave) = terminal();
    let mut up = home.up_on(slave);
    up.ready();
    keyboard.write_all(b"\x03").unwrap();
    up.err.until("stopping");
    keyboard.write_all(b"\x03").unwrap();
    let said = up.exits(0);
    assert!(said.contains("killing everything at once"), "{said}");
    for pid in &home.notes()[..2] {
        assert!(!lives(pid.parse().unwrap()), "{pid}");
    }
}

#[test]
fn a_server_that_does_not_stop_is_reported_and_killed() {
    let mut home = Home::new(DEAF);
    home.set("OUROBOROS_SERVER_STOP_TIMEOUT", "1s");
    let mut up = home.up(&[]);
    up.ready();
    up.signal(Signal::TERM);
    let said = up.exits(0);
    let sleeper: i32 = home.notes()[1].parse().unwrap();
    assert!(said.contains(&format!("pid {sleeper}, age")) && said.contains("sleep 600"), "{said}");
    assert!(said.contains("the bound has passed"), "{said}");
    assert!(!lives(sleeper));
}

#[test]
fn a_stop_ends_the_pause_between_crashes() {
    let home = Home::new("kill -9 $$");
    let mut up = home.up(&[]);
    up.err.until("ALARM: 5 crashes");
    up.signal(Signal::TERM);
    up.exits(0);
    assert_eq!(home.lives(), 5);
}

#[test]
fn what_was_asked_to_stop_is_not_restarted_by_its_exit_code() {
    for ending in ["exit 42", "exit 1", "kill -9 $$"] {
        let home = Home::new(&format!("trap '{ending}' TERM; ready; linger"));
        let mut up = home.up(&[]);
        up.ready();
        up.signal(Signal::TERM);
        up.exits(0);
        assert_eq!(home.lives(), 1, "{ending}");
    }
}

#[test]
fn a_killed_launcher_takes_its_server_along() {
    let home = Home::new(POLITE);
    let mut up = home.up(&[]);
    up.ready();
    up.signal(Signal::KILL);
    up.end();
    wait_gone(home.notes()[0].parse().unwrap());
    assert_eq!(home.notes()[1..], ["gone"]);
    // The lock went with it.
    let mut next = home.up(&[]);
    next.ready();
}

#[test]
fn closed_outputs_do_not_end_it() {
    let home = Home::new("trap '' USR2; trap 'note term; exit 0' TERM; ready; linger");
    let mut up = home.up(&[]);
    up.ready();
    up.stop_reading();
    up.signal(Signal::USR2);
    up.signal(Signal::TERM);
    assert_eq!(up.end(), ouroboros_process::Status::Exited(0));
    assert_eq!(home.notes(), ["term"]);
}
