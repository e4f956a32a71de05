//! `--help` of every verb, and `--version`.

use super::program::Home;

const VERBS: [&str; 47] = [
    "up",
    "stop",
    "restart",
    "panic",
    "status",
    "run",
    "chat",
    "ask",
    "attach",
    "wait",
    "submit",
    "tasks",
    "show",
    "why",
    "replay",
    "diff",
    "undo",
    "send",
    "interrupt",
    "logs",
    "cancel",
    "retry",
    "hold",
    "release",
    "resume",
    "priority",
    "rm",
    "gc",
    "slots",
    "models",
    "keys",
    "costs",
    "requests",
    "answer",
    "rules",
    "ps",
    "events",
    "export",
    "backup",
    "restore",
    "open",
    "config",
    "paths",
    "doctor",
    "service",
    "completions",
    "man",
];

#[test]
fn the_program_explains_itself() {
    let home = Home::new();
    insta::assert_snapshot!("help", home.run(&["--help"]).shown());
    insta::assert_snapshot!("help_without_a_verb", home.run(&[]).code.unwrap());
    insta::assert_snapshot!("version", home.run(&["--version"]).shown());
}

#[test]
fn every_verb_explains_itself() {
    let home = Home::new();
    for verb in VERBS {
        insta::assert_snapshot!(format!("help_{verb}"), home.run(&[verb, "--help"]).shown());
    }
    for (verb, below) in [
        ("config", "list get set unset edit check path"),
        ("service", "install uninstall status"),
        ("models", "test"),
        ("keys", "list set test rm"),
        ("rules", "list remove"),
    ] {
        let all: Vec<String> = below.split(' ').map(|below| home.run(&[verb, below, "--help"]).shown()).collect();
        insta::assert_snapshot!(format!("help_{verb}_verbs"), all.join("\n"));
    }
    let help = home.run(&["--help"]).out();
    let listed = help.lines().filter(|line| line.starts_with("  ") && !line.trim().starts_with('-'));
    let unknown: Vec<&str> = listed
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| word.chars().all(char::is_lowercase) && !VERBS.contains(word) && *word != "help")
        .collect();
    assert!(unknown.is_empty(), "these verbs have no test here: {unknown:?}");
}
