//! Bad input: each a clear error, and nothing lost or begun.

use support::Home;

#[test]
fn what_cannot_be_accepted_is_refused_with_its_code() {
    let mut home = Home::new();
    home.up();
    let huge = "x".repeat(100_000);
    let many: Vec<&str> = std::iter::once("echo").chain(std::iter::repeat_n(huge.as_str(), 12)).collect();
    let mut too_much = vec!["run", "--detach", "--"];
    too_much.extend(many);
    for (arguments, word) in [
        (vec!["run", "--detach", "--cwd", "/no/such/dir", "--", "true"], "bad_directory"),
        (vec!["run", "--detach", "--after", "999", "--", "true"], "unknown_"),
        (vec!["show", "999"], "unknown_task"),
        (vec!["cancel", "999"], "unknown_task"),
        (too_much, "argv_too_large"),
    ] {
        let ran = home.run(&arguments);
        assert_ne!(ran.code, 0, "{word}");
        assert!(ran.err.contains(word), "{word}: {}", ran.err);
    }
    let tasks = home.run(&["tasks", "--json"]);
    assert!(!tasks.out.contains("\"number\""), "{tasks:?}");
}

#[test]
fn unknown_verbs_and_flags_are_usage_errors() {
    let home = Home::new();
    for arguments in [&["frobnicate"][..], &["run", "--frobnicate", "--", "true"], &["run", "something"]] {
        let ran = home.run(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {ran:?}");
    }
    assert!(home.run(&["run", "true", "or", "false"]).err.contains("run -- true"));
    assert!(home.alive().is_empty());
}

#[test]
fn a_bad_configuration_is_named_with_its_line_and_nothing_starts() {
    let home = Home::new();
    home.configure("[queue]\nslots = 9999\n");
    let up = home.run(&["up"]);
    assert_eq!(up.code, 78, "{up:?}");
    assert!(up.err.contains("config.toml:2"), "{up:?}");
    home.is_empty();
}

#[test]
fn a_damaged_database_is_refused_with_a_way_out() {
    let mut home = Home::new();
    home.up();
    assert_eq!(home.run(&["stop"]).code, 0);
    assert_eq!(home.launcher_ends(), 0);
    std::fs::write(home.data().join("store.db"), vec![7_u8; 100_000]).unwrap();
    let up = home.run(&["up"]);
    assert_eq!(up.code, 65, "{up:?}");
    home.is_empty();
}
