//! `start_service`, `service_status`, `stop_service`: programs that run beside the work, and end with the attempt.

use super::{
    Ready, Rights, Service, Start, argv_schema, checked, cwd_schema, directory, network_schema, programs, told,
};
use crate::arguments::{self, Arguments};
use crate::outcome::{Attempt, Code, Outcome};
use crate::registry::{Access, Call, Tool};
use ouroboros_proto::agent::ToolSpec;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// How long a service may take to be ready when the call does not say.
const READY: u64 = 30;
/// How long at most.
const MOST_READY: u64 = 600;
/// How long one is watched of which no word is waited for.
const SETTLED: Duration = Duration::from_secs(1);
/// Characters of a service's name.
const NAME_CHARS: usize = 40;
/// Bytes of what it wrote that a status shows of each service, from the end.
const SHOWN_BYTES: usize = 16 << 10;

/// Starts one.
pub struct StartService;
/// Shows them.
pub struct ServiceStatus;
/// Ends one.
pub struct StopService;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Starting {
    name: String,
    argv: Vec<String>,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    ready_text: Option<String>,
    #[serde(default)]
    ready_port: Option<u16>,
    #[serde(default)]
    ready_s: Option<u64>,
    #[serde(default)]
    network: Option<bool>,
}

impl Arguments for Starting {
    const EXAMPLE: &'static str =
        r#"{"name":"web","argv":["python3","-m","http.server","8000"],"ready_text":"Serving"}"#;
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
}

impl Arguments for Named {
    const EXAMPLE: &'static str = r#"{"name":"web"}"#;
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    #[serde(default)]
    name: Option<String>,
}

impl Arguments for Asked {
    const EXAMPLE: &'static str = r#"{"name":"web"}"#;
}

impl Tool for StartService {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "start_service".to_owned(),
            description:
                "Starts a program that runs on beside your work, such as a server to test against. It must stay in the \
                          foreground. It ends when the task does; service_status shows what it writes."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "name": { "type": "string", "description": "What you call it." },
                    "argv": argv_schema(),
                    "cwd": cwd_schema(),
                    "ready_text": { "type": "string", "description": "Text that it writes when it is ready. It is waited for." },
                    "ready_port": {
                        "type": "integer", "minimum": 1, "maximum": 65_535,
                        "description": "Port of this machine on which it listens when it is ready. It is waited for. Needs network."
                    },
                    "ready_s": {
                        "type": "integer", "minimum": 1, "maximum": MOST_READY,
                        "description": format!("Seconds that may take; {READY} when absent.")
                    },
                    "network": network_schema()
                },
                "required": ["name", "argv"],
                "additionalProperties": false
            }),
        }
    }

    fn access(&self) -> Access {
        Access::Run
    }

    fn run(&self, call: &Call<'_>, arguments: &str) -> Outcome {
        start(call, arguments).unwrap_or_else(|outcome| outcome)
    }
}

impl Tool for ServiceStatus {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "service_status".to_owned(),
            description: "Shows the services that you started: whether they run, and the end of what they wrote."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": { "name": { "type": "string", "description": "One of them; all when absent." } },
                "additionalProperties": false
            }),
        }
    }

    fn access(&self) -> Access {
        Access::Run
    }

    fn run(&self, call: &Call<'_>, arguments: &str) -> Outcome {
        status(call, arguments).unwrap_or_else(|outcome| outcome)
    }
}

impl Tool for StopService {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "stop_service".to_owned(),
            description: "Ends a service that you started, and everything it started.".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": { "name": { "type": "string", "description": "Which." } },
                "required": ["name"],
                "additionalProperties": false
            }),
        }
    }

    fn access(&self) -> Access {
        Access::Run
    }

    fn run(&self, call: &Call<'_>, arguments: &str) -> Outcome {
        stop(call, arguments).unwrap_or_else(|outcome| outcome)
    }
}

fn start(call: &Call<'_>, arguments: &str) -> Attempt<Outcome> {
    let asked: Starting = arguments::read(arguments, call.limits.argument_bytes)?;
    let name = asked.name.trim();
    if name.is_empty() || name.chars().count() > NAME_CHARS || name.chars().any(char::is_control) {
        let words = format!("A name has 1 to {NAME_CHARS} characters. Nothing was done.");
        return Err(Outcome::not_ok(Code::BadArguments, words));
    }
    let seconds = asked.ready_s.unwrap_or(READY);
    if !(1..=MOST_READY).contains(&seconds) {
        let words = format!("ready_s is 1 to {MOST_READY}. Nothing was done.");
        return Err(Outcome::not_ok(Code::BadArguments, words));
    }
    let network = asked.network.unwrap_or(false);
    if asked.ready_port == Some(0) {
        return Err(Outcome::not_ok(Code::BadArguments, "ready_port is 1 to 65535. Nothing was done."));
    }
    if asked.ready_port.is_some() && !network {
        let words = "ready_port needs network: a service without it cannot listen on a port. Set network to true, or wait for a text \
            with ready_text. Nothing was done.";
        return Err(Outcome::not_ok(Code::BadArguments, words));
    }
    let (says, port) = (asked.ready_text.filter(|text| !text.is_empty()), asked.ready_port);
    let waits = says.is_some() || port.is_some();
    let ready = Ready { says, port, within: if waits { Duration::from_secs(seconds) } else { SETTLED } };
    let start = Start {
        argv: checked(asked.argv)?,
        script: None,
        cwd: directory(call, asked.cwd.as_deref())?,
        stdin: Vec::new(),
        env: Vec::new(),
        timeout: Duration::MAX,
        rights: Rights::Usual { network },
        apart: false,
    };
    let (service, is_ready) = programs(call)?.start(name, start, &ready)?;
    let told = told(&service, call);
    let facts = facts(&service);
    Ok(match (&service.end, is_ready) {
        (Some(_), _) => Outcome::not_ok(Code::ServiceEnded, format!("It is over already. {told}")).with(facts),
        (None, true) => Outcome::ok(format!("It is ready. {told}"), facts),
        (None, false) => {
            let words = format!(
                "It runs, but was not ready after {seconds} seconds. Look at it again with service_status. {told}"
            );
            Outcome::not_ok(Code::NotReady, words).with(facts)
        }
    })
}

fn status(call: &Call<'_>, arguments: &str) -> Attempt<Outcome> {
    let asked: Asked = arguments::read(arguments, call.limits.argument_bytes)?;
    let mut services = programs(call)?.services();
    let names: Vec<String> = services.iter().map(|service| service.name.clone()).collect();
    if let Some(name) = asked.name {
        services.retain(|service| service.name == name);
        if services.is_empty() {
            return Err(missing(&name, &names));
        }
    }
    if services.is_empty() {
        return Ok(Outcome::ok("You started no service.", json!({ "services": 0 })));
    }
    let told: Vec<String> = services.iter().map(|service| told(service, call)).collect();
    Ok(Outcome::ok(told.join("\n\n"), json!({ "services": services.len() })))
}

fn stop(call: &Call<'_>, arguments: &str) -> Attempt<Outcome> {
    let asked: Named = arguments::read(arguments, call.limits.argument_bytes)?;
    let programs = programs(call)?;
    let service = programs.stop(&asked.name)?;
    Ok(Outcome::ok(format!("It is ended, with everything it started. {}", told(&service, call)), facts(&service)))
}

/// What is said when there is no service of a name.
#[must_use]
pub fn missing(name: &str, names: &[String]) -> Outcome {
    let known =
        if names.is_empty() { "You started none.".to_owned() } else { format!("There is: {}.", names.join(", ")) };
    let name: String = name.chars().take(NAME_CHARS).collect();
    Outcome::not_ok(Code::NoService, format!("There is no service {name:?}. {known}"))
}

fn told(service: &Service, call: &Call<'_>) -> String {
    let time = told::seconds(service.took);
    let state = match &service.end {
        None => format!("runs as process {} for {time}.", service.pid),
        Some(end) => format!("is over. {}", told::ending(end, service.took)),
    };
    let text = told::text(&service.output, call.mask);
    let from = text.len().saturating_sub(SHOWN_BYTES);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let shown = text.get(from..).unwrap_or_default();
    let cut = if from > 0 { "[what came before is left out]\n" } else { "" };
    let wrote =
        if shown.trim().is_empty() { "It wrote nothing.".to_owned() } else { format!("It wrote:\n{cut}{shown}") };
    format!("Service {} {state} {wrote}", service.name)
}

fn facts(service: &Service) -> Value {
    json!({ "service": service.name, "pid": service.pid, "runs": service.end.is_none() })
}
