//! Completions and manual pages.

use super::program::{Home, skip};
use super::sample;
use super::server::{Reply, Server};
use serde_json::json;
use std::process::Stdio;

#[test]
fn there_is_a_script_for_every_shell() {
    let home = Home::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = home.run(&["completions", shell]);
        assert_eq!(ran.code, Some(0), "{shell}");
        assert!(ran.out().contains("ouroboros"), "{shell}: {}", ran.out());
    }
}

#[test]
fn verbs_settings_and_task_numbers_are_completed() {
    let home = Home::new();
    let complete = |words: &[&str]| {
        let mut command = home.command(&["--"]);
        command.args(words).env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string());
        command.env("_CLAP_IFS", "\n").env("_CLAP_COMPLETE_COMP_TYPE", "9").env("_CLAP_COMPLETE_SPACE", "true");
        home.finish(command.spawn().unwrap()).out()
    };
    assert_eq!(complete(&["ouroboros", "resta"]).trim(), "restart");
    assert_eq!(complete(&["ouroboros", "config", "get", "queue.sl"]).trim(), "queue.slots");
    assert_eq!(complete(&["ouroboros", "show", ""]).lines().next(), Some("last"));
    let page = json!({ "tasks": [sample::running()], "next": null });
    let _server = Server::start(&home, move |_| Reply::json(200, &page));
    let offered = complete(&["ouroboros", "show", ""]);
    assert!(offered.lines().any(|line| line.starts_with('7')), "{offered}");
}

#[test]
fn there_is_a_page_for_the_program_and_each_verb() {
    let home = Home::new();
    let ran = home.run(&["man", "--dir", home.file("man1").to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    for page in ["ouroboros.1", "ouroboros-run.1", "ouroboros-config-set.1"] {
        let text = std::fs::read_to_string(home.file("man1").join(page)).unwrap();
        assert!(text.contains(".TH") && text.contains(".SH"), "{page}: {text}");
    }
    let names = std::fs::read_dir(home.file("man1")).unwrap().map(|page| page.unwrap().file_name());
    let of_help: Vec<_> = names.filter(|name| name.to_string_lossy().contains("-help")).collect();
    assert!(of_help.is_empty(), "{of_help:?}");
    for verb in [None, Some("run")] {
        let arguments: Vec<&str> = ["man"].into_iter().chain(verb).collect();
        let page = home.run(&arguments);
        assert!(page.out().contains(".SH NAME"), "{}", page.shown());
        let mut roff = std::process::Command::new("man");
        roff.args(["--warnings", "-l", "-"]).env("LC_ALL", "C.UTF-8").env("MANPAGER", "cat");
        let Ok(mut reader) = roff.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() else {
            return skip("man is not installed");
        };
        std::io::Write::write_all(&mut reader.stdin.take().unwrap(), &page.stdout).unwrap();
        let read = reader.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&read.stdout).into_owned();
        let name = verb.map_or_else(|| "ouroboros".to_owned(), |verb| format!("ouroboros-{verb}"));
        assert!(text.contains(&name), "{text}");
    }
}
