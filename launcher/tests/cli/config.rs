//! `config` and `paths`, on the file alone.

use super::program::Home;
use super::server::{Reply, Server};
use serde_json::json;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;

#[test]
fn settings_are_read_and_changed_in_the_file() {
    let home = Home::new();
    std::fs::write(home.file("config.toml"), "# mine\n[queue]\nslots = 2 # two\n").unwrap();
    let mut text = String::new();
    for line in [
        "config get queue.slots",
        "config set queue.slots 4",
        "config set log.level loud",
        "config set queue.slot 4",
        "config set task.cancel_grace 5s",
        "config get task.cancel_grace",
        "config unset task.cancel_grace",
        "config unset task.cancel_grace",
        "config check",
        "config path",
        "config list --json --verbose --quiet",
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        write!(text, "$ ouroboros {line}\n{}\n", home.run(&arguments).shown()).unwrap();
    }
    insta::assert_snapshot!("config", text);
    let file = std::fs::read_to_string(home.file("config.toml")).unwrap();
    assert!(file.starts_with("# mine\n[queue]\nslots = 4 # two\n"), "{file}");
}

#[test]
fn the_list_says_where_values_come_from() {
    let home = Home::new();
    std::fs::write(home.file("config.toml"), "[queue]\nslots = 3\nslot = 1\n").unwrap();
    let child = home.command(&["config", "list"]).env("OUROBOROS_LOG_LEVEL", "debug").spawn().unwrap();
    let ran = home.finish(child);
    let row = |key: &str| {
        ran.out().lines().find(|line| line.starts_with(key)).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("queue.slots"), "queue.slots 3 immediate file, line 2");
    assert_eq!(row("log.level"), "log.level debug immediate OUROBOROS_LOG_LEVEL");
    assert!(row("disk.reserve").ends_with("default"));
    assert_eq!(
        ran.err(),
        "ouroboros: [HOME]/config.toml:3: unknown setting queue.slot; did you mean queue.slots?; it is ignored\n"
    );
}

#[test]
fn a_bad_file_is_named_by_line_and_left_alone() {
    let home = Home::new();
    std::fs::write(home.file("config.toml"), "[queue]\nslots = 2000\n").unwrap();
    let ran = home.run(&["config", "check"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err().contains("[HOME]/config.toml:2: queue.slots: found 2000"), "{}", ran.err());
    let before = std::fs::read(home.file("config.toml")).unwrap();
    assert_eq!(home.run(&["config", "set", "queue.spares", "1"]).code, Some(1));
    assert_eq!(std::fs::read(home.file("config.toml")).unwrap(), before);
    assert_eq!(home.run(&["config", "set", "queue.slots", "20"]).code, Some(0));
}

#[test]
fn a_live_server_takes_the_change_over() {
    let home = Home::new();
    let server =
        Server::start(&home, |_| Reply::json(200, &json!({ "message": "Done.", "needs_restart": ["server.listen"] })));
    let ran = home.run(&["config", "set", "server.listen", "127.0.0.1:9000"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.err().contains("in force after `ouroboros restart --drain`: server.listen"), "{}", ran.err());
    assert_eq!(server.requests()[0].body, json!({ "command": "reload" }));
    assert_eq!(std::fs::metadata(home.file("config.toml")).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_linked_file_stays_linked() {
    let home = Home::new();
    std::fs::write(home.file("dotfiles.toml"), "").unwrap();
    std::os::unix::fs::symlink(home.file("dotfiles.toml"), home.file("config.toml")).unwrap();
    home.run(&["config", "set", "queue.slots", "5"]);
    assert!(std::fs::symlink_metadata(home.file("config.toml")).unwrap().is_symlink());
    assert!(std::fs::read_to_string(home.file("dotfiles.toml")).unwrap().contains("slots = 5"));
}

#[test]
fn an_edit_counts_only_when_it_is_valid() {
    let home = Home::new();
    std::fs::write(home.file("config.toml"), "[queue]\nslots = 2\n").unwrap();
    let edit = |editor: &str| {
        let child = home.command(&["config", "edit"]).env("EDITOR", editor).spawn().unwrap();
        home.finish(child)
    };
    let kept = || std::fs::read_to_string(home.file("config.toml")).unwrap();
    assert_eq!(edit("false").code, Some(1));
    assert_eq!(edit("true").code, Some(0));
    assert_eq!(kept(), "[queue]\nslots = 2\n");
    let ran = edit("sed -i s/2/2000/");
    assert_eq!(ran.code, Some(1));
    assert!(ran.err().contains("goes on with it"), "{}", ran.err());
    assert_eq!(kept(), "[queue]\nslots = 2\n");
    let ran = edit("sed -i s/2000/7/");
    assert_eq!(ran.code, Some(0), "{}", ran.err());
    assert_eq!(kept(), "[queue]\nslots = 7\n");
    assert!(!home.file("config.edit.toml").exists());
}

#[test]
fn paths_are_below_the_home() {
    let home = Home::new();
    insta::assert_snapshot!("paths", home.run(&["paths"]).shown());
}
