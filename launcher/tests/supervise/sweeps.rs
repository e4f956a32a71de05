//! What a dead server leaves is gone before the next one starts; what is not ours is left alone.

use crate::support::{Home, lives, skip};
use ouroboros_process::{PidFd, Signal};

const STRAY: &str = "setsid sh -c 'echo $$ >\"$OUROBOROS_TEST_DIR/stray\"; exec sleep 600' <&- &
    while ! [ -s \"$OUROBOROS_TEST_DIR/stray\" ]; do :; done;";

fn have_setsid() -> bool {
    let found =
        std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).any(|dir| dir.join("setsid").exists());
    if !found {
        skip("there is no setsid(1)");
    }
    found
}

#[test]
fn a_grandchild_in_a_session_of_its_own_does_not_outlive_its_server() {
    if !have_setsid() {
        return;
    }
    for ending in ["kill -9 $$", "exit 42", "exit 1"] {
        let second = "kill -0 $(cat \"$OUROBOROS_TEST_DIR/stray\") && note alive; note second; exit 0";
        let home = Home::new(&format!("[ $nth = 2 ] && {{ {second}; }}; {STRAY} ready; {ending}"));
        let said = home.up(&[]).exits(0);
        assert_eq!(home.notes(), ["second"], "{ending}");
        assert!(said.contains("ended 1 process that the server left"), "{said}");
    }
}

#[test]
fn the_last_sweep_is_as_thorough() {
    if !have_setsid() {
        return;
    }
    for (ending, code) in [("exit 0", 0), ("exit 99", 99), ("exit 78", 78)] {
        let home = Home::new(&format!("{STRAY} {ending}"));
        home.up(&[]).exits(code);
        let stray = home.lines("stray")[0].parse().unwrap();
        assert!(!lives(stray), "{ending}");
    }
}

#[test]
fn children_from_before_are_somebody_elses() {
    let home = Home::new("exit 0");
    let up = home.shell("sleep 600 >&- 2>&- & echo $! >\"$OUROBOROS_TEST_DIR/stranger\"; exec \"$0\" up", Vec::new());
    up.exits(0);
    let stranger = home.lines("stranger")[0].parse().unwrap();
    let held = PidFd::open(stranger).unwrap().expect("it was killed");
    assert!(!held.is_dead());
    held.signal(Signal::KILL).unwrap();
}
