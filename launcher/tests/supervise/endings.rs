//! What becomes of the launcher when its server ends.

use crate::support::Home;

#[test]
fn an_ending_before_the_first_readiness_is_final_when_it_has_a_reason() {
    for (code, remedy) in [
        (64, "one build side by side"),
        (65, "ouroboros restore"),
        (69, "ouroboros doctor"),
        (73, "free space"),
        (74, "Check the disk"),
        (77, "OUROBOROS_HOME"),
        (78, "ouroboros config check"),
    ] {
        let home = Home::new(&format!("echo last words >&2; exit {code}"));
        let said = home.up(&[]).exits(code);
        assert!(
            said.contains("last words") && said.contains(remedy) && said.contains("tasks are kept"),
            "{code}: {said}"
        );
        assert_eq!(home.lives(), 1, "{code}");
    }
}

#[test]
fn a_server_that_stopped_or_panicked_is_not_started_again() {
    let home = Home::new("ready; exit 0");
    let mut up = home.up(&[]);
    up.ready();
    assert!(up.exits(0).contains("stopped"));
    assert_eq!(home.lives(), 1);

    let home = Home::new("ready; exit 99");
    let said = home.up(&[]).exits(99);
    assert!(said.contains("release --all"), "{said}");
    assert_eq!(home.lives(), 1);
}

#[test]
fn what_is_wrong_with_files_and_settings_is_final_after_readiness_too() {
    for code in [64, 65, 77, 78] {
        let home = Home::new(&format!("ready; exit {code}"));
        home.up(&[]).exits(code);
        assert_eq!(home.lives(), 1, "{code}");
    }
}

#[test]
fn every_other_ending_after_readiness_is_tried_again() {
    for ending in ["exit 69", "exit 73", "exit 74", "exit 1", "exit 100", "exit 137", "kill -9 $$", "kill -11 $$"] {
        let home = Home::new(&format!("[ $nth = 2 ] && exit 0; ready; {ending}"));
        let said = home.up(&[]).exits(0);
        assert!(said.contains("the next start is in") && said.contains("tasks are kept"), "{ending}: {said}");
        assert_eq!(home.lives(), 2, "{ending}");
    }
}

#[test]
fn a_planned_restart_is_no_crash_however_often() {
    let home = Home::new("[ $nth = 6 ] && exit 0; ready; exit 42");
    let said = home.up(&[]).exits(0);
    assert_eq!(home.lives(), 6);
    assert_eq!(said.matches("starting the server again").count(), 5, "{said}");
    assert!(!said.contains("next start is in"), "{said}");
}

#[test]
fn crashes_in_a_row_raise_an_alarm_and_are_not_given_up() {
    let home = Home::new("[ $nth = 6 ] && ready && exit 0; kill -9 $$");
    let said = home.up(&[]).exits(0);
    assert_eq!(home.lives(), 6);
    let alarms: Vec<&str> = said.lines().filter(|line| line.contains("ALARM")).collect();
    assert_eq!(alarms.len(), 3, "{said}");
    assert!(alarms[0].contains("signal 9 (SIGKILL)") && alarms[0].contains("3 crashes in a row"), "{said}");
    assert!(said.contains("server.log"), "{said}");
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let mut home = Home::new("");
    home.set("OUROBOROS_TEST_SERVER", "/nowhere/ouroboros-server");
    let said = home.up(&[]).exits(69);
    assert!(said.contains("/nowhere/ouroboros-server") && said.contains("side by side"), "{said}");
}

#[test]
fn a_server_that_vanishes_during_an_upgrade_is_waited_for() {
    let mut home = Home::new("[ $nth = 2 ] && exit 0; rm \"$OUROBOROS_TEST_SERVER\"; ready; exit 42");
    let program = home.path("server");
    std::os::unix::fs::symlink(crate::support::FAKE, &program).unwrap();
    home.set("OUROBOROS_TEST_SERVER", program.clone());
    let mut up = home.up(&[]);
    up.err.until("cannot be started");
    std::os::unix::fs::symlink(crate::support::FAKE, &program).unwrap();
    up.exits(0);
    assert_eq!(home.lives(), 2);
}

#[test]
fn a_server_for_another_launcher_is_refused_and_gone() {
    let home = Home::new("note $$; say hello; linger");
    let said = home.up(&[]).exits(69);
    assert!(said.contains("hello") && said.contains("one build"), "{said}");
    crate::support::wait_gone(home.notes()[0].parse().unwrap());
}
