//! Routes to models: which there are, which one is taken, and the inference server of our own.

use super::rig::{PRICED, Rig, cost, is_over, sends, states};
use super::scene::numbers;
use serde_json::{Value, json};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use support::home::{find, kill};
use support::{Provider, program, until};

/// No route is named.
const UNNAMED: (&str, &str) = ("models.default", "''");
/// The usual key is not there.
const WITHOUT_KEY: (&str, &str) = ("OPENAI_API_KEY", "");

#[test]
fn without_a_route_nothing_is_queued_unless_it_is_to_wait() {
    let good = "sk-the-only-one-of-openai-01";
    let script = format!("[models.gpt-5]\n{PRICED}");
    let rig = Rig::start(&script, &[UNNAMED], &[WITHOUT_KEY]);
    let refused = rig.home.run(&["ask", "anybody?"]);
    assert_eq!(refused.code, 3, "{refused:?}");
    assert!(refused.err.contains("no_model_route") && refused.err.contains("keys set"), "{refused:?}");
    rig.get("/api/models");
    let (status, unknown) =
        rig.call("POST", "/api/tasks", &json!({ "ask": { "prompt": "hi", "route": "openai/gpt-5" } }));
    assert_eq!((status, &unknown["code"]), (409, &"no_model_route".into()), "{unknown:#}");
    assert_eq!(numbers(&rig.home), Vec::<String>::new());
    let task = rig.submit(json!({ "ask": { "prompt": "whenever you can", "wait_model": true } }));
    rig.waits(&task, "no_route");
    rig.post("/api/keys", &json!({ "provider": "openai", "key": good }));
    let ended = rig.reaches(&task, "completed");
    assert_eq!(sends(&ended)[0]["route"], "openai/gpt-5", "{ended:#}");
    assert_eq!(rig.home.run(&["ask", "and now?"]).out, "and now?");
}

#[test]
fn who_waits_for_a_route_goes_on_once_the_settings_name_one() {
    let rig = Rig::start(PRICED, &[UNNAMED], &[WITHOUT_KEY]);
    let task = rig.submit(json!({ "ask": { "prompt": "as soon as there is one", "wait_model": true } }));
    rig.waits(&task, "no_route");
    let url = format!("'{}'", rig.provider.url("compatible"));
    rig.set(&[("models.compatible_url", &url), ("models.default", "'openai-compatible/m'")]);
    let ended = rig.reaches(&task, "completed");
    assert_eq!(sends(&ended)[0]["route"], "openai-compatible/m", "{ended:#}");
}

#[test]
fn the_default_is_what_is_set_then_who_has_a_key_then_what_runs_here() {
    let script = "[models.gpt-5]\n[models.\"gpt-5.1\"]\n[models.claude-sonnet-4-5]\n[models.\"qwen3:8b\"]\n";
    let provider = Provider::start(script);
    let ollama = provider.url("ollama");
    let variables = [WITHOUT_KEY, ("OLLAMA_HOST", ollama.as_str())];
    let mut rig = Rig::idle(provider, &[UNNAMED], &variables);
    rig.up();
    let default = |rig: &Rig| rig.post("/api/models/refresh", &Value::Null)["default"].as_str().unwrap().to_owned();
    assert_eq!(default(&rig), "ollama/qwen3:8b");
    rig.set(&[("models.local_command", "'true --port {port}'"), ("models.local_file", "'/srv/own.gguf'")]);
    assert_eq!(default(&rig), "local/own");
    rig.post("/api/keys", &json!({ "provider": "anthropic", "key": "sk-ant-of-a-test-000001" }));
    assert_eq!(default(&rig), "anthropic/claude-sonnet-4-5");
    rig.post("/api/keys", &json!({ "provider": "openai", "key": "sk-one-of-openai-000001" }));
    assert_eq!(default(&rig), "openai/gpt-5.1");
    rig.set(&[("models.default", "'anthropic/gpt-5'")]);
    assert_eq!(default(&rig), "anthropic/gpt-5");
    rig.set(&[("models.default", "'openai'")]);
    assert_eq!(default(&rig), "openai/gpt-5.1", "a provider's name is enough");
    rig.set(&[("models.default", "'local/own'")]);
    let shown = rig.post("/api/models/refresh", &Value::Null);
    assert_eq!(shown["default"], "local/own");
    assert!(!shown["problems"].to_string().contains("models.default"), "{shown:#}");
    rig.set(&[("models.default", "'nobody/gpt-5'"), ("models.fallbacks", "'openai/gpt-5.1, nobody/else'")]);
    let shown = rig.post("/api/models/refresh", &Value::Null);
    assert_eq!(shown["default"], Value::Null, "{shown:#}");
    let problems = shown["problems"].to_string();
    assert!(problems.contains("models.default: it names nobody/gpt-5"), "{shown:#}");
    assert!(
        problems.contains("models.fallbacks: it names nobody/else") && !problems.contains("openai/gpt-5.1"),
        "{shown:#}"
    );
}

#[test]
fn servers_of_this_machine_are_found_answer_and_cost_nothing() {
    let provider = Provider::start(PRICED);
    let (ollama, compatible) = (provider.url("ollama"), provider.url("compatible"));
    let variables = [
        WITHOUT_KEY,
        ("OLLAMA_HOST", ollama.as_str()),
        ("LLAMACPP_BASE_URL", compatible.as_str()),
        ("LMSTUDIO_BASE_URL", compatible.as_str()),
        ("VLLM_BASE_URL", compatible.as_str()),
    ];
    // What costs nothing needs no allowance.
    let mut rig = Rig::idle(provider, &[UNNAMED, ("limits.total", "'0'")], &variables);
    rig.up();
    for name in ["ollama", "llamacpp", "lmstudio", "vllm"] {
        let prompt = format!("a question for {name}");
        let task = rig.ask_on(&format!("{name}/m"), &prompt);
        let ended = rig.ends(&task);
        assert_eq!((&ended["status"], cost(&sends(&ended)[0])), (&"completed".into(), Some(0)), "{ended:#}");
        assert_eq!(rig.said(&task).0, prompt);
    }
    assert!(rig.provider.chats().iter().all(|record| record["key"].is_null()));
    assert_eq!(rig.get("/api/state")["spending"]["accounted_nanos"], 0);
    rig.set(&[("models.discover", "false")]);
    assert_eq!(rig.post("/api/models/refresh", &Value::Null)["routes"], json!([]));
}

#[test]
fn what_is_paused_goes_on_without_money_once_its_route_costs_nothing() {
    let provider = Provider::start(PRICED);
    let ollama = provider.url("ollama");
    let mut rig = Rig::idle(provider, &[("limits.total", "'0'")], &[("OLLAMA_HOST", ollama.as_str())]);
    rig.up();
    rig.price("openai/m");
    let task = rig.ask("what is it worth?");
    rig.reaches(&task, "paused");
    let resume = format!("/api/tasks/{task}/resume");
    let (status, refused) = rig.call("POST", &resume, &Value::Null);
    assert_eq!((status, &refused["code"]), (409, &"nothing_left".into()), "{refused:#}");
    rig.set(&[("models.default", "'ollama/m'")]);
    assert_eq!(rig.post("/api/models/refresh", &Value::Null)["default"], "ollama/m");
    rig.post(&resume, &Value::Null);
    let ended = rig.reaches(&task, "completed");
    assert_eq!((sends(&ended).len(), cost(&sends(&ended)[0])), (1, Some(0)), "{ended:#}");
}

/// An address that leads to `to` once `open` is set; until then whoever calls is hung up on.
fn gate(to: &str, open: &Arc<AtomicBool>) -> String {
    let (host, path) = to.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, host, open) = (listener.local_addr().unwrap(), host.to_owned(), Arc::clone(open));
    thread::spawn(move || {
        for caller in listener.incoming().map_while(Result::ok) {
            let Some(called) = open.load(Ordering::Acquire).then(|| TcpStream::connect(&host)) else { continue };
            let called = called.unwrap();
            for (mut from, mut into) in [(caller.try_clone().unwrap(), called.try_clone().unwrap()), (called, caller)] {
                thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut into);
                    let _ = into.shutdown(Shutdown::Write);
                });
            }
        }
    });
    format!("http://{address}/{path}")
}

#[test]
fn a_provider_that_could_not_be_asked_is_asked_again_when_it_is_needed_and_keeps_its_models() {
    let provider = Provider::start("[models.gpt-5]\n");
    let open = Arc::new(AtomicBool::new(false));
    let address = gate(&provider.url("openai"), &open);
    let mut rig = Rig::idle(provider, &[UNNAMED], &[("OPENAI_BASE_URL", address.as_str())]);
    rig.up();
    let refused = rig.home.run(&["ask", "are you there?"]);
    assert_eq!(refused.code, 3, "{refused:?}");
    open.store(true, Ordering::Release);
    let answered = rig.home.run(&["ask", "and now?"]);
    assert_eq!((answered.code, answered.out.as_str()), (0, "and now?"), "{answered:?}");
    // What it listed once is known when it cannot be asked.
    open.store(false, Ordering::Release);
    assert_eq!(rig.post("/api/models/refresh", &Value::Null)["default"], "openai/gpt-5");
    rig.kill_server();
    assert_eq!(rig.post("/api/models/refresh", &Value::Null)["default"], "openai/gpt-5");
}

#[test]
fn a_trial_that_was_judged_makes_no_call_later() {
    let rig = Rig::start(PRICED, &[("models.retries", "0")], &[("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")]);
    let tried = rig.home.run(&["models", "test", "openai/m"]);
    assert_eq!(tried.code, 1, "{tried:?}");
    let numbers = numbers(&rig.home);
    assert_eq!(numbers.len(), 1);
    assert_eq!(rig.ends(&numbers[0])["status"], "cancelled");
}

#[test]
fn a_route_is_tried_with_a_tool() {
    let script = format!(
        "{PRICED}[[rule]]\nmatch = {{ model = 'm' }}\ncall = {{ tool = 'report_weather', arguments = '{{\"city\":\"Paris\"}}' }}
        [[rule]]\nmatch = {{ model = 'lame' }}\nsay = 'It is sunny.'"
    );
    let rig = Rig::start(&script, &[], &[]);
    rig.price("openai/m");
    let tried = rig.home.run(&["models", "test", "openai/m", "--json"]);
    assert_eq!(tried.code, 0, "{tried:?}");
    let tried = tried.json();
    assert_eq!(
        (&tried["works"], &tried["tool_call"]),
        (&true.into(), &json!(["report_weather", "{\"city\":\"Paris\"}"]))
    );
    assert_eq!(tried["cost"]["amount"], rig.provider.chats()[0]["cost_nanos"]);
    let tried = rig.home.run(&["models", "test", "openai/lame"]);
    assert!(tried.code == 1 && format!("{}{}", tried.out, tried.err).contains("without calling the tool"), "{tried:?}");
}

#[test]
fn an_owners_price_holds_for_a_route_that_nobody_lists_also_in_the_next_life() {
    let rig = Rig::start(PRICED, &[], &[]);
    rig.price("openai/unlisted");
    let price = |rig: &Rig| {
        let (_, bytes) = rig.bytes("/api/model-catalog");
        let text = String::from_utf8(bytes).unwrap();
        let all: Value =
            serde_json::from_str(text.get(text.find('[').unwrap()..=text.rfind(']').unwrap()).unwrap()).unwrap();
        let entry = all.as_array().unwrap().iter().find(|entry| entry["route"] == "openai/unlisted").cloned();
        entry.map(|entry| entry["price"]["source"].clone()).unwrap_or_default()
    };
    rig.post("/api/models/refresh", &Value::Null);
    assert_eq!(price(&rig), "owner");
    rig.kill_server();
    rig.post("/api/models/refresh", &Value::Null);
    assert_eq!(price(&rig), "owner");
}

/// A rig whose own inference server is a provider of its own.
fn own(idle: &str, script: &str) -> Rig {
    let mut rig = Rig::idle(Provider::start(""), &[UNNAMED], &[WITHOUT_KEY]);
    let path = rig.home.path().join("own.toml");
    std::fs::write(&path, script).unwrap();
    let binary = program("provider");
    let command = format!(
        "'{} --listen 127.0.0.1:{{port}} --script \"{}\" --journal \"{}\"'",
        binary.display(),
        path.display(),
        rig.home.path().join("own.journal").display()
    );
    rig.write(&[("models.local_command", &command), ("models.local_idle", idle)]);
    rig.up();
    rig
}

/// The process of our own inference server, and its task.
fn inference(rig: &Rig) -> Option<(i32, String)> {
    let shown: Value = serde_json::from_str(&rig.home.run(&["ps", "--json"]).out).ok()?;
    let processes = shown["processes"].as_array()?;
    let own = processes.iter().find(|one| one["command"].as_str().is_some_and(|it| it.contains("own.toml")))?;
    Some((i32::try_from(own["pid"].as_i64()?).unwrap(), own["task"].to_string()))
}

#[track_caller]
fn is_gone(rig: &Rig) {
    until("it is gone", || (!rig.home.alive().iter().any(|found| found.command.contains("own.toml"))).then_some(()));
}

#[test]
fn our_own_inference_server_is_started_on_demand_and_ended_when_it_is_idle() {
    let rig = own("'1s'", "");
    assert_eq!(rig.home.run(&["models", "--json"]).json()["default"], "local/model");
    assert!(inference(&rig).is_none());
    let task = rig.ask("who is there?");
    let ended = rig.reaches(&task, "completed");
    assert_eq!(
        (rig.said(&task).0.as_str(), states(&ended), cost(&sends(&ended)[0])),
        ("who is there?", vec!["settled"], Some(0))
    );
    is_gone(&rig);
    // It is started again when it is needed again.
    let again = rig.ask("still there?");
    rig.reaches(&again, "completed");
    is_gone(&rig);
}

#[test]
fn our_own_inference_server_is_a_task_without_a_slot_and_comes_back_when_it_dies() {
    let rig = own(
        "'10m'",
        "[[rule]]\nmatch = { text = 'begun' }\nsay = 'a long answer, in pieces, that will not end'\nstall_after_bytes = 900\n",
    );
    rig.reaches(&rig.ask("first"), "completed");
    let (pid, number) = inference(&rig).unwrap();
    until("only it runs, and holds no slot", || (rig.get("/api/state")["slots"]["busy"] == 0).then_some(()));
    assert_eq!(find(&rig.task(&number), "kind"), Some(&"model".into()));
    let cut = rig.ask("begun");
    until("a part of the answer is written", || (!rig.said(&cut).0.is_empty()).then_some(()));
    kill(pid);
    assert_eq!(rig.ends(&cut)["status"], "failed");
    assert!(is_over(&rig.ends(&number)));
    let next = rig.ask("and now?");
    rig.reaches(&next, "completed");
    assert_ne!(inference(&rig).unwrap().0, pid);
}

#[test]
fn nothing_of_our_own_inference_server_outlives_a_stop_or_a_panic() {
    for (verb, code) in [("stop", 0), ("panic", 99)] {
        let mut rig = own("'10m'", "");
        rig.reaches(&rig.ask("are you there?"), "completed");
        assert!(inference(&rig).is_some());
        let _ = rig.home.run(&[verb]);
        assert_eq!(rig.home.launcher_ends(), code);
        rig.home.is_empty();
    }
}

#[test]
fn an_inference_server_that_does_not_come_up_is_waited_for() {
    let rig = own("'10m'", "this is no script");
    let task = rig.ask("anybody?");
    let waiting = rig.waits(&task, "unavailable");
    assert!(sends(&waiting).is_empty(), "{waiting:#}");
    let said = rig.said(&task).1;
    assert!(said.contains("the local model ended before it answered; `ouroboros logs"), "{said}");
    std::fs::write(rig.home.path().join("own.toml"), "").unwrap();
    // It is not started at once, but soon.
    until("it has come up", || {
        let _ = rig.call("POST", &format!("/api/tasks/{task}/resume"), &Value::Null);
        (rig.task(&task)["status"] == "completed").then_some(())
    });
}
