//! An installation whose models are those of a scripted provider, and the ledger held against what that provider billed.
//!
//! Every base URL leads to the provider or to a port that nobody listens at, so no scenario asks anybody outside.

use super::scene::request;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use support::{Home, Provider, until};

/// A model at a dollar a million tokens of the prompt and two of the answer, as the provider bills it.
pub const PRICED: &str = "[models.m]\n[prices.m]\ninput = 1000\noutput = 2000\n";

/// Nobody listens there.
const NOWHERE: &str = "http://127.0.0.1:1/v1";

/// The installation and its provider.
pub struct Rig {
    pub home: Home,
    pub provider: Provider,
    settings: Mutex<BTreeMap<String, String>>,
    variables: Vec<(String, String)>,
    /// The prompt of each task, by its number.
    asked: Mutex<BTreeMap<String, String>>,
}

impl Rig {
    /// A running one with this script, these settings (as TOML values), and these variables besides the usual or in place of them; an
    /// empty one is taken away.
    #[track_caller]
    pub fn start(script: &str, settings: &[(&str, &str)], variables: &[(&str, &str)]) -> Self {
        let mut rig = Self::idle(Provider::start(script), settings, variables);
        rig.up();
        rig
    }

    /// The same, before it is started.
    #[track_caller]
    pub fn idle(provider: Provider, settings: &[(&str, &str)], variables: &[(&str, &str)]) -> Self {
        let usual = [
            ("OPENAI_API_KEY", "sk-usual-key-of-openai-0001".to_owned()),
            ("OPENAI_BASE_URL", provider.url("openai")),
            ("ANTHROPIC_BASE_URL", provider.url("anthropic")),
            ("GOOGLE_GEMINI_BASE_URL", provider.url("gemini")),
            ("OPENROUTER_BASE_URL", provider.url("openrouter")),
            ("OLLAMA_HOST", NOWHERE.to_owned()),
            ("LLAMACPP_BASE_URL", NOWHERE.to_owned()),
            ("LMSTUDIO_BASE_URL", NOWHERE.to_owned()),
            ("VLLM_BASE_URL", NOWHERE.to_owned()),
            // Providers whose address no variable says are only reached with TLS.
            ("HTTPS_PROXY", NOWHERE.trim_end_matches("/v1").to_owned()),
        ];
        let mut all: BTreeMap<String, String> =
            usual.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        all.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        all.retain(|_, value| !value.is_empty());
        let rig = Self {
            home: Home::new(),
            provider,
            settings: Mutex::default(),
            variables: all.into_iter().collect(),
            asked: Mutex::default(),
        };
        rig.write(&[
            ("server.listen", "'127.0.0.1:0'"),
            ("server.stop_timeout", "'30s'"),
            ("queue.slots", "4"),
            ("models.default", "'openai/m'"),
        ]);
        rig.write(settings);
        rig
    }

    /// Starts it.
    #[track_caller]
    pub fn up(&mut self) {
        let variables: Vec<(&str, &str)> =
            self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.home.up_with(&variables);
    }

    /// Changes settings for the next start.
    pub fn write(&self, settings: &[(&str, &str)]) {
        let mut all = self.settings.lock().unwrap();
        all.extend(settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        self.home.configure(&all.iter().map(|(name, value)| format!("{name} = {value}\n")).collect::<String>());
    }

    /// Changes settings of the running server.
    #[track_caller]
    pub fn set(&self, settings: &[(&str, &str)]) {
        self.write(settings);
        self.command(&json!({ "command": "reload" }));
    }

    /// What the server answers: status and body.
    #[track_caller]
    pub fn call(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        if method == "GET" {
            return until("the server answers", || request(&self.home, method, path, &body));
        }
        // What was done without an answer is not done twice.
        request(&self.home, method, path, &body).unwrap_or_else(|| panic!("no answer to {method} {path}"))
    }

    /// What stands there, whatever it is.
    #[track_caller]
    pub fn bytes(&self, path: &str) -> (u16, Vec<u8>) {
        until("the server answers", || super::scene::bytes(&self.home, path))
    }

    /// What stands there.
    #[track_caller]
    pub fn get(&self, path: &str) -> Value {
        let (status, body) = self.call("GET", path, &Value::Null);
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// Does something that must succeed.
    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.call("POST", path, body);
        assert!((200..300).contains(&status), "{path} {body}: {status} {answer}");
        answer
    }

    /// Does something to the system as a whole.
    #[track_caller]
    pub fn command(&self, command: &Value) {
        self.post("/api/command", command);
    }

    /// Says what a route costs: the same as the script's model `m`.
    #[track_caller]
    pub fn price(&self, route: &str) {
        self.post("/api/model-catalog", &json!({ "route": route, "input": "1", "output": "2" }));
    }

    /// Asks something on the default route; the task's number.
    #[track_caller]
    pub fn ask(&self, prompt: &str) -> String {
        self.submit(json!({ "ask": { "prompt": prompt } }))
    }

    /// Asks on this route.
    #[track_caller]
    pub fn ask_on(&self, route: &str, prompt: &str) -> String {
        self.submit(json!({ "ask": { "prompt": prompt, "route": route } }))
    }

    /// Submits a question or a task in words with everything that goes with it.
    #[track_caller]
    pub fn submit(&self, body: Value) -> String {
        let number = self.post("/api/tasks", &body)["number"].to_string();
        let kind = if body["ask"].is_null() { "agent" } else { "ask" };
        let prompt = body[kind]["prompt"].as_str().unwrap().to_owned();
        self.asked.lock().unwrap().insert(number.clone(), prompt);
        number
    }

    /// Submits several at once.
    #[track_caller]
    pub fn submit_many(&self, bodies: Vec<Value>) {
        let answer = self.post("/api/tasks", &json!({ "tasks": bodies }));
        let mut asked = self.asked.lock().unwrap();
        for (task, body) in answer["tasks"].as_array().unwrap().iter().zip(&bodies) {
            asked.insert(task["number"].to_string(), body["ask"]["prompt"].as_str().unwrap().to_owned());
        }
    }

    /// A task as it is shown.
    #[track_caller]
    pub fn task(&self, number: &str) -> Value {
        self.get(&format!("/api/tasks/{number}"))
    }

    /// Waits until a task stands so; the task.
    #[track_caller]
    pub fn reaches(&self, number: &str, status: &str) -> Value {
        let mut last = Value::Null;
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            until(&format!("task {number} is {status}"), || {
                last = self.task(number);
                (last["status"] == status).then_some(())
            });
        }));
        assert!(found.is_ok(), "task {number} is not {status} but {last:#}");
        last
    }

    /// Waits until a task is over; the task.
    #[track_caller]
    pub fn ends(&self, number: &str) -> Value {
        until(&format!("task {number} is over"), || Some(self.task(number)).filter(is_over))
    }

    /// Waits until a task waits for a model, and for what.
    #[track_caller]
    pub fn waits(&self, number: &str, reason: &str) -> Value {
        let task = self.reaches(number, "waiting");
        assert_eq!(task["wait"]["reason"], reason, "{task:#}");
        task
    }

    /// Waits until the provider has this many requests for answers.
    #[track_caller]
    pub fn asked(&self, count: usize) -> Vec<Value> {
        until(&format!("the provider is asked {count} times"), || {
            Some(self.provider.chats()).filter(|chats| chats.len() >= count)
        })
    }

    /// The answer as far as it is written, and what was said beside it.
    #[track_caller]
    pub fn said(&self, number: &str) -> (String, String) {
        let (text, words) = (self.home.run(&["logs", number]), self.home.run(&["logs", "--stderr", number]));
        assert_eq!((text.code, words.code), (0, 0), "{text:?} {words:?}");
        (text.out, words.out)
    }

    /// How `wait` ends for a task.
    #[track_caller]
    pub fn code(&self, number: &str) -> i32 {
        self.home.run(&["wait", number]).code
    }

    /// Every task with its sends, oldest first.
    #[track_caller]
    pub fn tasks(&self) -> Vec<Value> {
        let mut numbers = Vec::new();
        let mut path = "/api/tasks?limit=1000".to_owned();
        loop {
            let page = self.get(&path);
            numbers.extend(page["tasks"].as_array().unwrap().iter().map(|task| task["number"].as_u64().unwrap()));
            let Some(next) = page["next"].as_str() else { break };
            path = format!("/api/tasks?limit=1000&cursor={next}");
        }
        numbers.sort_unstable();
        numbers.iter().map(|number| self.task(&number.to_string())).collect()
    }

    /// Waits until another server answers than this one.
    #[track_caller]
    pub fn succeeded(&self, server: i32) {
        until("another server answers", || {
            let (_, state) = request(&self.home, "GET", "/api/state", b"")?;
            (state["pid"].as_i64()? != i64::from(server)).then_some(())
        });
    }

    /// Kills the server and waits for the next one.
    #[track_caller]
    pub fn kill_server(&self) {
        let server = self.home.server();
        support::home::kill(server);
        self.succeeded(server);
    }

    /// Holds the ledger against what the provider received and billed.
    #[track_caller]
    pub fn balance(&self) -> Balance {
        let asked = self.asked.lock().unwrap().clone();
        Balance::of(&self.provider.chats(), &self.tasks(), &asked, &self.get("/api/cost-breakdown"))
    }
}

/// Whether a task has settled.
pub fn is_over(task: &Value) -> bool {
    ["completed", "failed", "cancelled"].contains(&task["status"].as_str().unwrap_or_default())
}

/// The states of a task's sends, oldest first.
pub fn states(task: &Value) -> Vec<&str> {
    sends(task).iter().map(|send| send["state"].as_str().unwrap()).collect()
}

/// A task's sends, oldest first.
pub fn sends(task: &Value) -> &[Value] {
    task["sends"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// What a send is known to have cost.
pub fn cost(send: &Value) -> Option<u64> {
    send["cost"]["amount"].as_u64()
}

/// A ledger that agrees with the provider.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// Requests that the provider received.
    pub received: usize,
    /// Known costs.
    pub settled: u64,
    /// Bounds of what is not known.
    pub unresolved: u64,
    /// Sends of which nothing is known.
    pub unknown: usize,
}

impl Balance {
    /// Every request of the provider has exactly one row: by its id, or, where no answer could bring the id, a row of the task that
    /// asked, whose bound covers what was billed. No row claims an answer that the provider did not give. The sums that are shown are
    /// those of the rows.
    #[track_caller]
    fn of(received: &[Value], tasks: &[Value], asked: &BTreeMap<String, String>, shown: &Value) -> Self {
        let mut balance = Self { received: received.len(), ..Self::default() };
        let mut rows = BTreeMap::new();
        let mut silent: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
        for task in tasks {
            let number = task["number"].to_string();
            for send in sends(task).iter().filter(|send| send["state"] != "released") {
                match (send["state"].as_str().unwrap(), cost(send)) {
                    ("settled", Some(cost)) => balance.settled += cost,
                    _ => balance.unresolved += send["bound_nanos"].as_u64().unwrap(),
                }
                match send["provider_request"].as_str() {
                    Some(id) => assert!(rows.insert(id, send).is_none(), "{id} stands in the ledger twice"),
                    None => silent.entry(asked[&number].as_str()).or_default().push(send),
                }
            }
        }
        let prompts: BTreeSet<&String> = asked.values().collect();
        assert!(silent.is_empty() || prompts.len() == asked.len(), "prompts tell tasks apart");
        for record in received {
            let billed = record["cost_nanos"].as_u64().unwrap();
            let ids = [&record["id"], &record["request_id"]];
            let row = ids.into_iter().filter_map(Value::as_str).find_map(|id| rows.remove(id));
            let row = row.unwrap_or_else(|| Self::silent(record, &mut silent, billed));
            balance.unknown += usize::from(row["state"] != "settled");
            match cost(row) {
                Some(cost) if row["cost"]["source"] != "local" => assert_eq!(cost, billed, "{row:#} {record:#}"),
                Some(_) => {}
                None => assert!(row["bound_nanos"].as_u64().unwrap() >= billed, "{row:#} {record:#}"),
            }
        }
        assert!(rows.is_empty(), "answers that nobody gave: {rows:#?}");
        for row in silent.values().flatten() {
            assert_ne!(row["state"], "settled", "an answer that nobody gave: {row:#}");
        }
        assert_eq!(shown["whole"]["settled_nanos"], balance.settled, "{shown:#}");
        let unsure = ["reserved_nanos", "unresolved_nanos"].map(|name| shown["whole"][name].as_u64().unwrap());
        assert_eq!(unsure.iter().sum::<u64>(), balance.unresolved, "{shown:#}");
        balance
    }

    /// The row without an id that stands for this request.
    #[track_caller]
    fn silent<'a>(record: &Value, silent: &mut BTreeMap<&str, Vec<&'a Value>>, billed: u64) -> &'a Value {
        let body = record["body"].to_string();
        let rows = silent.iter_mut().find(|(prompt, _)| body.contains(&Value::from(**prompt).to_string()));
        let rows = rows.map(|(_, rows)| rows).unwrap_or_else(|| panic!("no row stands for {record:#}"));
        let fits = |row: &&Value| row["bound_nanos"].as_u64().unwrap() >= billed;
        let place = rows.iter().position(fits).unwrap_or_else(|| panic!("no row is left for {record:#}"));
        rows.remove(place)
    }
}
