//! The tools against programs that only seem to run: what is asked for, and what is told.

use super::*;
use crate::registry::Registry;
use crate::testing::{Desk, SECRET, hide};
use serde_json::json;
use std::cell::RefCell;

/// Remembers what was asked for, and gives what it was told to.
struct Fake {
    asked: RefCell<Vec<Start>>,
    end: End,
    out: Seen,
    err: Seen,
    left: usize,
}

fn seen(text: &str) -> Seen {
    Seen { head: text.as_bytes().to_vec(), ..Seen::default() }
}

fn fake(end: End, out: &str) -> Fake {
    Fake { asked: RefCell::default(), end, out: seen(out), err: Seen::default(), left: 0 }
}

impl Programs for Fake {
    fn run(&self, start: Start) -> Attempt<Ran> {
        self.asked.borrow_mut().push(start);
        let took = Duration::from_millis(1_240);
        Ok(Ran { end: self.end.clone(), took, stdout: self.out.clone(), stderr: self.err.clone(), left: self.left })
    }

    fn start(&self, name: &str, start: Start, ready: &Ready) -> Attempt<(Service, bool)> {
        let is_ready = ready.says.as_deref().is_none_or(|text| self.out.head == text.as_bytes());
        let service = Service {
            name: name.to_owned(),
            pid: 7,
            end: None,
            took: Duration::from_secs(1),
            output: self.out.clone(),
        };
        self.asked.borrow_mut().push(start);
        Ok((service, is_ready))
    }

    fn services(&self) -> Vec<Service> {
        Vec::new()
    }

    fn stop(&self, name: &str) -> Attempt<Service> {
        Err(service::missing(name, &["web".to_owned()]))
    }

    fn scratch(&self, name: &str, bytes: &[u8]) -> Attempt<PathBuf> {
        Ok(format!("/scratch/{name}-{}", bytes.len()).into())
    }
}

fn run(desk: &Desk, programs: Option<&dyn Programs>, tool: &str, arguments: &Value) -> Outcome {
    let (folder, versions, limits, seen) = (&desk.folder, &desk.versions, &desk.limits, &desk.seen);
    let (fetch, images, tools, cancelled) = (None, true, None, &|| false);
    let call = Call { folder, versions, limits, seen, mask: &hide, fetch, images, tools, cancelled, programs };
    Registry::all().run(tool, &call, &arguments.to_string())
}

#[test]
fn a_command_is_asked_for_once_as_it_is_and_its_exit_is_a_result() {
    let (desk, programs) = (Desk::new(), fake(End::Exited(3), &format!("key {SECRET}\n")));
    desk.put("sub/file", "x");
    let arguments = json!({ "argv": ["make", "a b"], "cwd": "sub", "stdin": "in", "timeout_s": 5, "network": true });
    let outcome = run(&desk, Some(&programs), "run_command", &arguments);
    assert_eq!((outcome.code, &outcome.facts["exit"]), (None, &json!(3)), "{outcome:?}");
    assert_eq!(outcome.text, "Exit 3 after 1.2 s.\nkey [secret:key]\n");
    let asked = programs.asked.borrow();
    let [start] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!(start.argv, ["make", "a b"]);
    assert_eq!(start.cwd, desk.folder.path().join("sub"));
    assert_eq!((start.stdin.as_slice(), start.timeout), (&b"in"[..], Duration::from_secs(5)));
    assert_eq!(start.rights, Rights::Usual { network: true });
}

#[test]
fn what_did_not_end_by_itself_is_a_failure_that_keeps_what_it_wrote() {
    let desk = Desk::new();
    for (end, code, words) in [
        (End::Signaled { signal: 9, out_of_memory: true }, Code::Signaled, "signal KILL after 1.2 s: memory ran out"),
        (End::TimedOut, Code::TimedOut, "its time was over"),
        (End::Stopped, Code::Stopped, "Stopped after"),
        (End::NotFound, Code::NoProgram, "no such program"),
        (End::NotExecutable("denied".to_owned()), Code::NotExecutable, "denied"),
    ] {
        let programs = Fake { left: 2, err: seen("bad\n"), ..fake(end, "half\n") };
        let outcome = run(&desk, Some(&programs), "run_command", &json!({ "argv": ["x"] }));
        assert_eq!(outcome.code, Some(code), "{outcome:?}");
        assert!(outcome.text.contains(words), "{}", outcome.text);
        assert!(
            outcome.text.contains("half\n") && outcome.text.contains("On standard error:\nbad"),
            "{}",
            outcome.text
        );
        assert!(outcome.text.contains("left 2 processes behind"), "{}", outcome.text);
    }
}

#[test]
fn what_the_system_would_not_take_is_refused_before_anything_runs() {
    let (desk, programs) = (Desk::new(), fake(End::Exited(0), ""));
    for (tool, arguments) in [
        ("run_command", json!({ "argv": [] })),
        ("run_command", json!({ "argv": [""] })),
        ("run_command", json!({ "argv": ["a\0b"] })),
        ("run_command", json!({ "argv": ["x".repeat(128 << 10)] })),
        ("run_command", json!({ "argv": ["x"], "timeout_s": 0 })),
        ("run_command", json!({ "argv": ["x"], "timeout_s": 3_601 })),
        ("run_command", json!({ "argv": ["x"], "cwd": "../outside" })),
        ("run_command", json!({ "argv": ["x"], "cwd": "nowhere" })),
        ("run_script", json!({ "script": "x", "interpreter": "tclsh" })),
        ("run_script", json!({ "script": "x".repeat((1 << 20) + 1) })),
        ("start_service", json!({ "name": "", "argv": ["x"] })),
        ("start_service", json!({ "name": "a", "argv": ["x"], "ready_s": 0 })),
        ("verify_and_record", json!({ "claim": " ", "argv": ["x"] })),
        ("verify_and_record", json!({ "claim": "c", "argv": ["x"], "expected": "{", "expected_match": "json_equals" })),
        ("vcs_diff", json!({ "head": "a" })),
        ("vcs_diff", json!({ "base": "--output=/tmp/x" })),
        ("vcs_log", json!({ "count": 0 })),
        ("vcs_show", json!({ "rev": "HEAD", "path": "../x" })),
        ("vcs_show", json!({ "rev": "-x" })),
    ] {
        let outcome = run(&desk, Some(&programs), tool, &arguments);
        assert!(outcome.code.is_some(), "{tool} {}", outcome.text);
        assert!(programs.asked.borrow().is_empty(), "{tool} ran");
    }
    let outcome = run(&desk, None, "run_command", &json!({ "argv": ["x"] }));
    assert_eq!(outcome.code, Some(Code::HiddenByPolicy));
}

#[test]
fn a_script_is_a_file_that_its_interpreter_reads() {
    let (desk, programs) = (Desk::new(), fake(End::Exited(0), ""));
    let outcome = run(&desk, Some(&programs), "run_script", &json!({ "script": "exit", "interpreter": "bash" }));
    assert_eq!(outcome.text, "Exit 0 after 1.2 s. It wrote nothing.");
    assert_eq!(programs.asked.borrow()[0].argv, ["bash", "/scratch/script-4"]);
}

#[test]
fn a_receipt_says_what_was_run_and_whether_it_holds() {
    let desk = Desk::new();
    for (end, output, holds) in [
        (End::Exited(0), "all ok", json!(true)),
        (End::Exited(0), "nothing", json!(false)),
        (End::Exited(1), "all ok", json!(false)),
        (End::TimedOut, "all ok", json!(false)),
    ] {
        let programs = fake(end, output);
        let arguments = json!({ "claim": "tests pass", "argv": ["t"], "expected": "ok" });
        let outcome = run(&desk, Some(&programs), "verify_and_record", &arguments);
        let receipt = &outcome.facts["receipt"];
        assert_eq!((&receipt["holds"], &receipt["claim"]), (&holds, &json!("tests pass")), "{outcome:?}");
        assert_eq!(outcome.code.is_none(), holds == json!(true), "{outcome:?}");
    }
    let cut = Fake { out: Seen { lost: 9, ..seen("x") }, ..fake(End::Exited(0), "") };
    let outcome =
        run(&desk, Some(&cut), "verify_and_record", &json!({ "claim": "c", "argv": ["t"], "expected": "ok" }));
    assert_eq!((outcome.code, &outcome.facts["receipt"]["holds"]), (Some(Code::NotVerified), &Value::Null));
}

#[test]
fn git_is_asked_without_locks_programs_of_the_repository_or_a_way_to_write() {
    let desk = Desk::new();
    desk.put("src/a.rs", "x");
    for (tool, arguments, words) in [
        ("vcs_status", json!({}), vec!["status", "."]),
        ("vcs_status", json!({ "path": "src" }), vec![":(literal)src"]),
        (
            "vcs_diff",
            json!({ "base": "main", "head": "x" }),
            vec!["--no-ext-diff", "--end-of-options", "main", "x", "--"],
        ),
        ("vcs_diff", json!({ "staged": true, "summary": true }), vec!["--cached", "--stat=120"]),
        ("vcs_log", json!({ "count": 3 }), vec!["--max-count=3", "HEAD"]),
        ("vcs_show", json!({ "rev": "HEAD~1", "path": "src/a.rs" }), vec!["HEAD~1:./src/a.rs"]),
    ] {
        let programs = fake(End::Exited(0), "");
        run(&desk, Some(&programs), tool, &arguments);
        let asked = programs.asked.borrow();
        let start = asked.first().unwrap();
        assert!(words.iter().all(|word| start.argv.iter().any(|given| given == word)), "{tool} {:?}", start.argv);
        assert!(start.env.contains(&("GIT_OPTIONAL_LOCKS", "0")) && start.rights == Rights::Look);
    }
    let programs = Fake { err: seen("fatal: not a git repository (or any of"), ..fake(End::Exited(128), "") };
    assert_eq!(run(&desk, Some(&programs), "vcs_log", &json!({})).code, Some(Code::NoRepository));
    let programs = Fake { err: seen("fatal: bad revision"), ..fake(End::Exited(128), "") };
    assert_eq!(run(&desk, Some(&programs), "vcs_log", &json!({ "rev": "no" })).code, Some(Code::NotFound));
    assert_eq!(run(&desk, Some(&fake(End::Exited(0), "")), "vcs_diff", &json!({})).text, "There is no difference.");
}

#[test]
fn a_service_is_ready_when_it_says_so() {
    let (desk, programs) = (Desk::new(), fake(End::Exited(0), "up"));
    let start = |ready: &str| json!({ "name": "web", "argv": ["serve"], "ready_text": ready });
    assert!(
        run(&desk, Some(&programs), "start_service", &start("up")).text.starts_with("It is ready. Service web runs")
    );
    assert_eq!(run(&desk, Some(&programs), "start_service", &start("no")).code, Some(Code::NotReady));
    let outcome = run(&desk, Some(&programs), "stop_service", &json!({ "name": "db" }));
    assert_eq!(outcome.text, "There is no service \"db\". There is: web.");
    assert_eq!(run(&desk, Some(&programs), "service_status", &json!({})).text, "You started no service.");
}
