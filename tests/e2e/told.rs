//! A task in words as a program follows it.

use super::agent::{folder, start};
use super::rig::{PRICED, Rig};
use serde_json::Value;
use std::io::Read as _;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use support::until;

/// `run --json` while it works.
struct Program {
    child: Child,
    out: Arc<Mutex<String>>,
    reader: std::thread::JoinHandle<()>,
}

impl Program {
    fn run(rig: &Rig, text: &str) -> Self {
        let mut command = rig.home.command(support::program("ouroboros"));
        command.args(["run", "--json", "-C"]).arg(folder(rig)).arg(text);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut stdout, out) = (child.stdout.take().unwrap(), Arc::new(Mutex::new(String::new())));
        let into = Arc::clone(&out);
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4_096];
            while let Ok(count @ 1..) = stdout.read(&mut bytes) {
                into.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Self { child, out, reader }
    }

    #[track_caller]
    fn shows(&self, words: &str) {
        until(&format!("{words:?} is printed"), || self.out.lock().unwrap().contains(words).then_some(()));
    }

    /// Its exit code and its lines.
    #[track_caller]
    fn end(mut self) -> (Option<i32>, Vec<Value>) {
        let code = self.child.wait().unwrap().code();
        self.reader.join().unwrap();
        let out = self.out.lock().unwrap();
        (code, out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect())
    }
}

fn of<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["type"] == kind).collect()
}

fn text(lines: &[Value], round: u64) -> String {
    let of = of(lines, "text").into_iter().filter(|line| line["round"] == round);
    of.map(|line| line["text"].as_str().unwrap()).collect()
}

#[test]
fn text_comes_while_it_is_written_and_every_line_is_json() {
    let script = format!(
        "{PRICED}[[rule]]\nmatch = {{ nth = 1 }}\nsay = 'I look at it.'\n\
         call = {{ tool = 'read_file', arguments = '{{\"path\":\"README.md\"}}' }}\n\
         [[rule]]\nsay = '{}'\nstall_after_bytes = 4000\nstall_ms = 'forever'\n",
        "Half of it is here. ".repeat(600)
    );
    let rig = start(&script);
    let program = Program::run(&rig, "what is it about?");
    program.shows("Half of it");
    assert!(!program.out.lock().unwrap().contains("\"round\":2,\"route\""), "the answer is not whole");
    assert_eq!(rig.home.run(&["cancel", "last"]).code, 0);
    let (code, lines) = program.end();
    assert_eq!(code, Some(130), "{lines:#?}");
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!((kinds[0], *kinds.last().unwrap()), ("task", "end"), "{kinds:?}");
    assert_eq!(text(&lines, 1), "I look at it.");
    assert!(text(&lines, 2).starts_with("Half of it is here. "), "{lines:#?}");
    let (call, result) = (of(&lines, "call")[0], of(&lines, "result")[0]);
    assert_eq!((&call["arguments"]["path"], &call["id"]), (&"README.md".into(), &result["id"]));
    assert_eq!((&result["outcome"], &result["number"]), (&"ok".into(), &1.into()));
    assert!(of(&lines, "usage")[0]["cost_nanos"].as_u64().is_some_and(|cost| cost > 0), "{lines:#?}");
    let end = lines.last().unwrap();
    assert_eq!((&end["exit_code"], &end["state"], &end["output"]), (&130.into(), &"settled".into(), &Value::Null));
}

#[test]
fn a_server_that_dies_in_the_middle_loses_and_repeats_no_line() {
    let script = format!(
        "{PRICED}[[rule]]\nmatch = {{ nth = 1 }}\nsay = 'I look.'\n\
         call = {{ tool = 'read_file', arguments = '{{\"path\":\"README.md\"}}' }}\n\
         [[rule]]\nmatch = {{ last = 'interrupted' }}\nsay = 'It went on.'\n\
         [[rule]]\nstall_before_ms = 'forever'\n"
    );
    let rig = start(&script);
    let program = Program::run(&rig, "read it");
    rig.asked(2);
    program.shows("\"type\":\"result\"");
    rig.kill_server();
    let (code, lines) = program.end();
    assert_eq!(code, Some(0), "{lines:#?}");
    for (kind, count) in [("task", 1), ("call", 1), ("result", 1), ("usage", 2), ("notice", 1), ("end", 1)] {
        assert_eq!(of(&lines, kind).len(), count, "{kind}: {lines:#?}");
    }
    assert_eq!((text(&lines, 1), text(&lines, 2)), ("I look.".to_owned(), "It went on.".to_owned()));
    let seqs: Vec<u64> = lines.iter().filter_map(|line| line["seq"].as_u64()).collect();
    assert!(seqs.is_sorted_by(|one, next| one < next), "{seqs:?}");
    assert_eq!(lines.last().unwrap()["output"], "It went on.");
}

#[test]
fn calls_have_one_number_wherever_they_are_told() {
    let script = format!(
        "{PRICED}[[rule]]\nmatch = {{ last = 'Again' }}\ncall = {{ tool = 'list_files', arguments = '{{}}' }}\n\
         [[rule]]\nmatch = {{ nth = 1 }}\ncall = [{{ tool = 'read_file', arguments = '{{\"path\":\"README.md\"}}' }},\
         {{ tool = 'list_files', arguments = '{{\"path\":\"src\"}}' }}]\n\
         [[rule]]\nsay = 'Seen.'\n"
    );
    let rig = start(&script);
    let folder = folder(&rig);
    assert_eq!(rig.home.run(&["run", "-C", folder.to_str().unwrap(), "Look at it"]).code, 0);
    let lines_of = |arguments: &[&str]| -> Vec<Value> {
        let ran = rig.home.run(arguments);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let (continued, forked) =
        (["run", "--json", "--continue", "1", "Again, please"], ["run", "--json", "--fork", "1@1", "Again, please"]);
    for (arguments, task) in [(continued, "2"), (forked, "3")] {
        let lines = lines_of(&arguments);
        let (calls, results) = (of(&lines, "call"), of(&lines, "result"));
        let number = |line: &&Value| (line["id"].clone(), line["number"].clone());
        let own = calls.last().unwrap();
        assert_eq!((calls.len(), &own["name"]), (1, &"list_files".into()), "{lines:#?}");
        assert!(results.iter().map(number).any(|result| result == number(own)), "{lines:#?}");
        let why = lines_of(&["why", "--json", task, &own["number"].to_string()]);
        assert_eq!((&own["number"], &why[0]["items"][0]["tool"]), (&3.into(), &"list_files".into()), "{why:#?}");
        assert_eq!(why[0]["items"][0]["arguments"], "{}", "{why:#?}");
        assert_eq!(lines.last().unwrap()["output"], "Seen.");
        let again = lines_of(&["attach", "--json", task]);
        assert_eq!(of(&again, "call"), calls);
    }
}
