//! Keys of providers: they go to their provider and are found nowhere else, however they are set and whoever repeats them.

use super::rig::{PRICED, Rig, is_over};
use super::scene::{walk, workers};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use support::{Provider, until};

/// Kept by the server: provider and key, each of another shape.
const KEPT: [(&str, &str); 12] = [
    ("openai", "sk-proj-Zk3vQ0a8_Lw5rT1xYb7N-mC9eJ2uH4sG6dF"),
    ("anthropic", "sk-ant-api03-q7Xw2Lr9Vb4Nc8Md1Kf6Hj3Gs5Tp0Yz_AA"),
    ("openrouter", "sk-or-v1-9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c"),
    ("gemini", "AIzaSyD3kQ9vX2mN7bL5cR8tW1yZ6pH4jF0gS3d"),
    ("groq", "gsk_8Kd02jfLmQpX7vRtY3nBzW5c"),
    ("mistral", "x7Kp2mQv9Lr4Tn8Wb3Yc6Zd1Hf5Js0Ga"),
    ("deepseek", "0a1b2c3d4e5f60718293a4b5c6d7e8f9"),
    ("xai", "xai-Qm4Wn7Eb2Rv9Tc5Yx1Uz8Ik3Ol6Pj0"),
    ("together", "tgp_v1_Hy6Gt5Fr4De3Sw2Aq1Zx9Cv8Bn7Mk"),
    ("fireworks", "fw_3ZkLmQpX7vRtY3nBzW5cHs"),
    ("cerebras", "csk+w8/Kd02jfLmQ=pX7vRtY3nBz=="),
    ("openai-compatible", "p\"l\\a'c<e>&d%41{k}e|y~9Qz7Xw"),
];

/// In the environment, each behind another that is kept; the last ones belong to nobody who has a place for keys.
const AROUND: [(&str, &str); 8] = [
    ("OPENAI_API_KEY", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJvdXJvIn0.Xk29vQpL0aBcDeFg"),
    ("ANTHROPIC_API_KEY", "sk-ant-oat01-M3Nb6Vc9Xz2Lk5Jh8Gf1Ds4Ap7Qo0W"),
    ("OPENROUTER_API_KEY", "sk-or-v1-1122334455667788990011223344556677889900"),
    ("GEMINI_API_KEY", "AIzaSyB8wE5rT2yU9iO6pA3sD0fG7hJ4kL1zX6c"),
    ("GROQ_API_KEY", "gsk_Zx9Cv8Bn7Mk6Jh5Gf4Ds3Aq2"),
    ("MISTRAL_API_KEY", "Lr4Tn8Wb3Yc6Zd1Hf5Js0Gax7Kp2mQv9"),
    ("DEEPSEEK_API_KEY", "f9e8d7c6b5a49382716050f1e2d3c4b5"),
    ("XAI_API_KEY", "xai-Zp0Lo9Ki8Ju7Hy6Gt5Fr4De3Sw2Aq1"),
];

/// Every key as it is, and as JSON writes it.
fn needles() -> Vec<(&'static str, String)> {
    let keys = KEPT.iter().chain(&AROUND).copied();
    keys.flat_map(|(name, key)| {
        let quoted = Value::from(key).to_string();
        [key.to_owned(), quoted.trim_matches('"').to_owned()].map(|form| (name, form))
    })
    .collect()
}

/// None of the keys is in it.
#[track_caller]
fn is_clean(place: &str, bytes: &[u8]) {
    // Keys are ASCII: what else is in it does not hide one.
    let text = String::from_utf8_lossy(bytes);
    for (name, needle) in needles() {
        if let Some(at) = text.find(&needle) {
            let (from, to) = (text.floor_char_boundary(at.saturating_sub(200)), at + needle.len());
            panic!("the key of {name} is in {place}: …{}…", text.get(from..to).unwrap_or_default());
        }
    }
}

/// Answers on `openai` never come; everybody else turns everything down and repeats all keys in words, codes and headers.
fn parrot() -> String {
    let all: Vec<&str> = KEPT.iter().chain(&AROUND).map(|(_, key)| *key).collect();
    let words = Value::from(format!("Incorrect API key provided: {}.", all.join(" "))).to_string();
    let headers: String =
        all.iter().enumerate().map(|(place, key)| format!("x-echo-{place} = {}\n", Value::from(*key))).collect();
    format!(
        "{PRICED}[[rule]]\nmatch = {{ text = 'hold on' }}\nsay = 'a long answer, in pieces, that is never whole, as it stalls'\nstall_after_bytes = 900
        [[rule]]\nmatch = {{ text = 'repeat' }}\nsay = {words}
        [[rule]]\nstatus = 400\nerror = {words}\ncode = {}\n[rule.headers]\nx-request-id = 'req-{}'\n{headers}",
        Value::from(all[0]),
        all[1],
    )
}

#[test]
fn no_key_is_found_anywhere_but_where_its_owner_put_it() {
    let provider = Provider::start(&parrot());
    let compatible = provider.url("compatible");
    let mut variables = AROUND.to_vec();
    variables.push(("OPENAI_COMPATIBLE_BASE_URL", compatible.as_str()));
    let mut rig = Rig::idle(provider, &[("log.level", "'debug'"), ("models.retries", "0")], &variables);
    rig.up();
    for (provider, key) in KEPT {
        let set = rig.home.run_with_input(&["keys", "set", provider], format!("{key}\n").as_bytes());
        assert_eq!(set.code, 0, "{provider}: {set:?}");
        is_clean("what `keys set` says", format!("{}{}", set.out, set.err).as_bytes());
    }
    rig.post("/api/models/refresh", &Value::Null);
    let mut tasks: Vec<String> = ["openai", "anthropic", "gemini", "openrouter", "openai-compatible"]
        .map(|provider| rig.ask_on(&format!("{provider}/m"), &format!("answer me, {provider}")))
        .into();
    // A question may have a key in it, and its answer; they are shown to nobody but in the answer.
    tasks.push(rig.ask(&format!("repeat after me: {}", KEPT[0].1)));
    for task in &tasks {
        until("it is over, or waits for another key", || {
            let shown = rig.task(task);
            (is_over(&shown) || shown["status"] == "waiting").then_some(())
        });
    }
    let held = rig.ask("hold on");
    until("its worker writes", || (!rig.said(&held).0.is_empty()).then_some(()));
    for pid in workers(&rig.home) {
        for file in ["environ", "cmdline"] {
            is_clean(&format!("a worker's {file}"), &std::fs::read(format!("/proc/{pid}/{file}")).unwrap());
        }
    }
    tasks.push(held);
    is_clean_outside(&rig, &tasks);
    is_clean_on_disk(&rig);
}

/// What is shown of tasks and of the system.
#[track_caller]
fn is_clean_outside(rig: &Rig, tasks: &[String]) {
    let run = |arguments: &[&str]| {
        let ran = rig.home.run(arguments);
        is_clean(&format!("{arguments:?}"), format!("{}{}", ran.out, ran.err).as_bytes());
    };
    for provider in KEPT.map(|(provider, _)| provider) {
        run(&["keys", "test", provider]);
    }
    for task in tasks {
        run(&["show", task, "--json"]);
        run(&["show", task]);
        run(&["logs", "--stderr", task]);
        for send in super::rig::sends(&rig.task(task)) {
            for part in ["request", "response"] {
                let path = format!("/api/sends/{}/exchange/{part}", send["id"].as_str().unwrap());
                let (_, kept) = rig.bytes(&path);
                is_clean(&format!("the {part} of {send}"), &kept);
            }
        }
    }
    for arguments in [
        &["tasks", "--json"][..],
        &["events", "--json"],
        &["export"],
        &["models", "--json"],
        &["models"],
        &["keys", "list", "--json"],
        &["keys"],
        &["costs", "--by", "model", "--json"],
        &["status", "--json"],
        &["config", "--json"],
        &["ps", "--json"],
        &["logs", "--server"],
        &["doctor"],
    ] {
        run(arguments);
    }
    for path in [
        "state",
        "tasks",
        "events?follow=false",
        "processes",
        "config",
        "models",
        "model-catalog",
        "keys",
        "cost-breakdown?by=model",
        "health",
        "openapi.json",
    ] {
        let (status, shown) = rig.bytes(&format!("/api/{path}"));
        assert_eq!(status, 200, "{path}");
        is_clean(path, &shown);
    }
    is_clean("the metrics", &rig.bytes("/metrics").1);
    let wrong = json!({ "provider": "openai", "key": format!("{} {}", KEPT[0].1, KEPT[1].1) });
    is_clean("a refusal", &rig.call("POST", "/api/keys", &wrong).1.to_string().into_bytes());
    let misplaced = json!({ "provider": KEPT[0].1, "key": "x" });
    let _ = rig.call("POST", "/api/keys", &misplaced);
}

/// Every file but the questions and answers themselves.
#[track_caller]
fn is_clean_on_disk(rig: &Rig) {
    let own = |path: &Path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("store.db")
            || name.ends_with(".stdout")
            || path.components().any(|part| part.as_os_str() == "content")
    };
    let mut seen = 0;
    for path in walk(rig.home.path()).into_iter().filter(|path| !own(path)) {
        let Ok(bytes) = std::fs::read(&path) else { continue };
        is_clean(&path.display().to_string(), &bytes);
        seen += 1;
    }
    assert!(seen > 5, "only {seen} files were looked at");
    let database = std::fs::read(rig.home.data().join("store.db")).unwrap();
    let database = String::from_utf8_lossy(&database);
    for (name, key) in &KEPT[1..] {
        assert!(!database.contains(key), "the key of {name} is in the database");
    }
}

#[test]
fn keys_are_set_listed_tried_and_forgotten() {
    let (good, bad) = ("sk-the-good-one-of-openai-7421", "sk-some-other-one-of-openai-9");
    let rig = Rig::start(&format!("keys = ['{good}']\n{PRICED}"), &[], &[("OPENAI_API_KEY", "")]);
    let set = |key: &str| rig.home.run_with_input(&["keys", "set", "openai"], key.as_bytes());
    assert_eq!(rig.home.run(&["keys", "list", "--json"]).json()["keys"], json!([]));
    assert_eq!(rig.home.run(&["keys", "test", "openai"]).code, 1);
    assert_eq!(set(bad).code, 0);
    let tried = rig.home.run(&["keys", "test", "openai"]);
    assert!(tried.code == 1 && tried.out.contains("not accepted"), "{tried:?}");
    assert_eq!(set(good).code, 0);
    let tried = rig.home.run(&["keys", "test", "openai"]);
    assert!(tried.code == 0 && tried.out.contains("accepted"), "{tried:?}");
    // OpenRouter shows its models to everybody, with any key.
    assert_eq!(rig.home.run_with_input(&["keys", "set", "openrouter"], bad.as_bytes()).code, 0);
    let tried = rig.home.run(&["keys", "test", "openrouter"]);
    assert!(tried.code == 1 && tried.out.contains("not accepted"), "{tried:?}");
    assert_eq!(rig.home.run(&["keys", "rm", "openrouter"]).code, 0);
    let listed = rig.home.run(&["keys", "list", "--json"]).json();
    let kept = &listed["keys"][0];
    assert_eq!((&kept["provider"], &kept["ending"]), (&"openai".into(), &"7421".into()), "{listed:#}");
    for file in ["secrets.age", "secrets.identity"] {
        let mode = std::fs::metadata(rig.home.data().join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600, "{file}");
    }
    // The next life finds it, and a copy of the data has it only sealed, without what opens it.
    rig.kill_server();
    rig.ends(&rig.ask("with the kept key"));
    let copy = rig.home.path().join("copy");
    assert_eq!(rig.home.run(&["backup", &copy.display().to_string()]).code, 0);
    let copied = if copy.is_dir() { walk(&copy) } else { vec![copy] };
    assert!(!copied.is_empty());
    for path in copied {
        assert!(!path.ends_with("secrets.identity"), "{}", path.display());
        let bytes = std::fs::read(&path).unwrap();
        assert!(!bytes.windows(good.len()).any(|window| window == good.as_bytes()), "{}", path.display());
    }
    assert_eq!(rig.home.run(&["keys", "rm", "openai"]).code, 0);
    let again = rig.home.run(&["keys", "rm", "openai"]);
    assert!(again.code != 0 && again.err.contains("No key of openai is kept"), "{again:?}");
    assert_eq!(rig.home.run(&["keys", "list", "--json"]).json()["keys"], json!([]));
    for wrong in ["nobody", "openai"] {
        let refused = rig.home.run_with_input(&["keys", "set", wrong], if wrong == "openai" { b"a b" } else { b"key" });
        assert_ne!(refused.code, 0, "{refused:?}");
    }
}
