//! A real model, run by a real inference server that the server starts itself.
//!
//! The model is small: that it answers, calls a tool under a grammar and can be stopped is shown here, not what it knows. Ignored
//! unless `./scripts/test --llm` has fetched it.

use super::scene::Ending;
use serde_json::Value;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use support::home::{find, kill};
use support::{DEADLINE, Home, Ran, program, until};

/// A question whose answer takes a while.
const LONG: &str = "Tell me a very long story about a dragon.";
/// One whose answer does not.
const SHORT: &str = "What is the capital of France?";
/// The name of the model, and of its route below `local/`.
const MODEL: &str = "SmolLM2-135M-Instruct.Q4_1";

/// An installation with a model of its own.
struct Scene {
    home: Home,
}

/// The inference server as `ps` shows it.
struct Server {
    pid: i32,
    port: u16,
    task: String,
}

impl Scene {
    #[track_caller]
    fn new(idle: &str) -> Self {
        let dir = std::env::var_os("OUROBOROS_LLM_DIR").map(PathBuf::from);
        let dir = dir.expect("OUROBOROS_LLM_DIR is not set; run ./scripts/test --llm, which fetches what is needed");
        let script = dir.join("server").join("server.mjs");
        let mut home = Home::new();
        home.configure(&format!(
            "[server]\nlisten = '127.0.0.1:0'\nstop_timeout = '30s'\n\
             [models]\ndiscover = false\nlocal_idle = '{idle}'\nlocal_file = '{}/{MODEL}.gguf'\n\
             local_command = '{} {} --model {{model}} --port {{port}}'\n",
            dir.display(),
            node().display(),
            script.display(),
        ));
        home.up();
        Self { home }
    }

    fn ask(&self, arguments: &[&str]) -> Ran {
        self.home.run(&[&["ask"], arguments].concat())
    }

    /// Starts to ask; the answer goes to the file.
    fn asking(&self, arguments: &[&str], answer: &Path) -> Ending {
        let mut command = self.home.command(program("ouroboros"));
        command.arg("ask").args(arguments).stdin(Stdio::null());
        command.stdout(File::create(answer).unwrap()).stderr(Stdio::piped());
        Ending::of(command.spawn().unwrap())
    }

    /// Waits until some of the answer is there, while it is still being written.
    #[track_caller]
    fn answers(answer: &Path, asking: &mut Ending) {
        until("the answer begins", || (std::fs::metadata(answer).unwrap().len() > 0).then_some(()));
        assert!(!asking.is_over(), "all of the answer came at once");
    }

    #[track_caller]
    fn server(&self) -> Option<Server> {
        let shown = self.home.run(&["ps", "--json"]);
        let shown: Value = serde_json::from_str(&shown.out).ok()?;
        let processes = shown["processes"].as_array()?.clone();
        let found = processes.iter().find(|one| one["command"].as_str().is_some_and(|it| it.contains("server.mjs")))?;
        let (_, port) = found["command"].as_str()?.rsplit_once("--port ")?;
        assert_eq!(found["recorded"], true, "{found}");
        Some(Server {
            pid: i32::try_from(found["pid"].as_i64()?).unwrap(),
            port: port.trim().parse().unwrap(),
            task: found["task"].to_string(),
        })
    }

    #[track_caller]
    fn is_gone(&self) {
        until("no inference server runs", || {
            (!self.home.alive().iter().any(|found| found.command.contains("server.mjs"))).then_some(())
        });
    }

    #[track_caller]
    fn says(&self, server: &Server, words: &str) {
        until(&format!("the inference server says {words:?}"), || {
            self.home.run(&["logs", &server.task]).out.contains(words).then_some(())
        });
    }

    #[track_caller]
    fn shown(&self, task: &str) -> Value {
        self.home.run(&["show", task, "--json"]).json()
    }
}

impl Server {
    /// Answers that it is writing.
    #[track_caller]
    fn busy(&self) -> u64 {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let body = answer.get(answer.find('{').unwrap()..=answer.rfind('}').unwrap()).unwrap();
        let body: Value = serde_json::from_str(body).unwrap();
        body["busy"].as_u64().unwrap()
    }
}

fn node() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let mut dirs = std::env::split_paths(&path);
    dirs.find_map(|dir| dir.join("node").canonicalize().ok()).expect("node is missing; 20 or later is needed")
}

#[test]
#[ignore = "needs a model: ./scripts/test --llm"]
fn an_answer_comes_in_pieces_and_costs_nothing() {
    let scene = Scene::new("10m");
    let listed = scene.home.run(&["models"]);
    assert!(listed.out.contains(&format!("local/{MODEL}")), "{listed:?}");
    assert!(scene.server().is_none(), "it is started when it is needed");
    let answer = scene.home.path().join("answer");
    let mut asking = scene.asking(&["--max-tokens", "150", LONG], &answer);
    Scene::answers(&answer, &mut asking);
    let question = asked(&scene);
    let asked = asking.ran();
    assert_eq!(asked.code, 0, "{asked:?}");
    assert!(asked.err.contains("the local model is being loaded"), "{asked:?}");
    let shown = scene.shown(&question);
    let cost = &shown["cost"];
    assert_eq!((&cost["settled_nanos"], &cost["unresolved_nanos"], &cost["sends"]), (&0.into(), &0.into(), &1.into()));
    assert!(cost["input_tokens"].as_u64() > Some(0) && cost["output_tokens"].as_u64() > Some(10), "{shown:#}");
    assert_eq!(shown["sends"][0]["cost"]["source"], "local", "{shown:#}");
    let server = scene.server().expect("`ps` shows it");
    for words in ["is loaded after", &format!("+ {} tokens", cost["output_tokens"])] {
        scene.says(&server, words);
    }
    let task = scene.shown(&server.task);
    assert_eq!((&task["kind"], &task["status"]), (&"model".into(), &"running".into()), "{task:#}");
}

#[test]
#[ignore = "needs a model: ./scripts/test --llm"]
fn a_grammar_makes_it_call_the_tool() {
    let scene = Scene::new("10m");
    let tried = scene.home.run(&["models", "test", &format!("local/{MODEL}"), "--json"]);
    assert_eq!(tried.code, 0, "{tried:?}");
    let tried = tried.json();
    assert_eq!((&tried["works"], &tried["tool_call"][0]), (&true.into(), &"report_weather".into()), "{tried}");
    assert_eq!((&tried["cost"]["amount"], &tried["cost"]["source"]), (&0.into(), &"local".into()), "{tried}");
}

#[test]
#[ignore = "needs a model: ./scripts/test --llm"]
fn a_question_that_is_cancelled_frees_the_model_at_once() {
    let scene = Scene::new("10m");
    let answer = scene.home.path().join("answer");
    let mut asking = scene.asking(&[LONG], &answer);
    Scene::answers(&answer, &mut asking);
    let server = scene.server().unwrap();
    assert_eq!(server.busy(), 1);
    let question = asked(&scene);
    assert_eq!(scene.home.run(&["cancel", &question]).code, 0);
    assert_eq!(asking.ran().code, 130);
    until("the model is free", || (server.busy() == 0).then_some(()));
    scene.says(&server, "tokens: abort");
    let next = scene.ask(&[SHORT]);
    assert_eq!(next.code, 0, "{next:?}");
    assert!(next.out.contains("Paris"), "{next:?}");
    assert!(!next.err.contains("is being loaded"), "it runs already: {next:?}");
    assert_eq!(scene.server().unwrap().pid, server.pid);
}

#[test]
#[ignore = "needs a model: ./scripts/test --llm"]
fn one_that_was_killed_or_is_idle_leaves_nothing_and_is_started_again() {
    let scene = Scene::new("10m");
    let answer = scene.home.path().join("answer");
    let mut asking = scene.asking(&[LONG], &answer);
    Scene::answers(&answer, &mut asking);
    let first = scene.server().unwrap();
    kill(first.pid);
    let cut = asking.ran();
    assert_eq!(cut.code, 1, "{cut:?}");
    assert!(cut.err.contains("is not sent again"), "{cut:?}");
    scene.home.reaches(&first.task, "failed");
    scene.is_gone();

    assert_eq!(scene.home.run(&["config", "set", "models.local_idle", "1s"]).code, 0);
    let again = scene.ask(&[SHORT]);
    assert!((again.code, again.out.contains("Paris")) == (0, true), "{again:?}");
    scene.is_gone();
    let idle = scene.home.run(&["tasks", "--json"]).json();
    let idle = find(&idle, "tasks").and_then(|tasks| tasks[0]["number"].as_u64()).unwrap().to_string();
    assert_eq!(scene.shown(&idle)["kind"], "model");
    scene.home.reaches(&idle, "cancelled");
    let last = scene.ask(&[SHORT]);
    assert!((last.code, last.out.contains("Paris")) == (0, true), "{last:?}");
}

#[test]
#[ignore = "needs a model: ./scripts/test --llm"]
fn it_goes_with_the_server_whatever_ends_that() {
    let mut scene = Scene::new("10m");
    let answer = scene.home.path().join("answer");
    let mut asking = scene.asking(&[LONG], &answer);
    Scene::answers(&answer, &mut asking);
    let (first, server) = (scene.server().unwrap(), scene.home.server());
    kill(server);
    until("the inference server is gone", || support::census::stat(first.pid).is_none().then_some(()));
    until("another server answers", || {
        let status = scene.home.run(&["status", "--json"]);
        (status.code == 0 && scene.home.server() != server).then_some(())
    });
    let cut = asking.ran();
    assert_eq!(cut.code, 125, "{cut:?}");
    assert_eq!(scene.ask(&[SHORT]).code, 0);
    assert_ne!(scene.server().unwrap().pid, first.pid);
    let drained = scene.home.run(&["stop", "--drain"]);
    assert_eq!(drained.code, 0, "{drained:?}");
    assert_eq!(scene.home.launcher_ends(), 0);
    scene.home.is_empty();

    scene.home.up();
    let mut asking = scene.asking(&[LONG], &answer);
    Scene::answers(&answer, &mut asking);
    let _ = scene.home.run(&["panic"]);
    assert_eq!(scene.home.launcher_ends(), 99);
    scene.home.is_empty();
}

/// The number of the question that is running.
#[track_caller]
fn asked(scene: &Scene) -> String {
    let tasks = scene.home.run(&["tasks", "--json", "--status", "running"]).json();
    let found = find(&tasks, "tasks").and_then(Value::as_array).cloned().unwrap_or_default();
    let question = found.iter().find(|task| task["kind"] == "ask").unwrap_or_else(|| panic!("{tasks}"));
    question["number"].to_string()
}
