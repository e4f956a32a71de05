//! A real call that shows whether a route works: a task like any other, with a tool that the model is made to call.

use super::followed::Followed;
use crate::supervisor::{Handle, Status};
use ouroboros_domain::{Content, NewTask, Policy, Spec, TaskCommand};
use ouroboros_proto::agent::{Message, ModelRequest, ToolChoice, ToolSpec};
use ouroboros_proto::api::{ApiError, Code, ModelTestAnswer, StoredAsk, StoredSpec};
use ouroboros_proto::kind::hex::hex;
use ouroboros_proto::kind::{
    AttemptId, Cost, Ending, Event, Failure, Isolation, Millis, Outcome, Priority, SendState, TaskId, TokenUsage,
    WorkKind, clock,
};
use ouroboros_secrets::SharedMasker;
use ouroboros_store::{Layout, Reader};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

/// The tool that is asked for.
const TOOL: &str = "report_weather";
/// Most bytes of the answer that are shown.
const SHOWN: usize = 4_096;
/// How long it may take; a local model may have to be loaded first.
const BOUND: Millis = Millis::seconds(660);

/// What a trial needs.
pub struct Trial {
    /// The supervisor.
    pub handle: Handle,
    /// Where missed events are read.
    pub reader: Reader,
    /// Where output lies.
    pub layout: Layout,
    /// Hides keys.
    pub masker: SharedMasker,
}

/// What was heard of the task.
#[derive(Default)]
struct Heard {
    attempt: Option<AttemptId>,
    usage: TokenUsage,
    cost: Option<Cost>,
    problem: Option<String>,
    /// Nothing more will be heard that matters here.
    over: bool,
    /// The task has an outcome.
    settled: bool,
}

impl Trial {
    /// What is shown of the system.
    #[must_use]
    pub fn status(&self) -> Arc<Status> {
        Arc::clone(&self.handle.status().borrow())
    }

    /// Calls the route and tells what came back.
    ///
    /// # Errors
    /// It could not be queued.
    pub async fn run(&self, route: String) -> Result<ModelTestAnswer, ApiError> {
        let begun = clock::boot();
        let events = self.handle.events();
        let task = task(&route)?;
        let id = task.id;
        let accepted = self.handle.submit(vec![task]).await?;
        let number = accepted.first().map(|(_, number, _)| *number).unwrap_or_default();
        let mut followed = Followed::new(events, self.reader.clone(), id, number);
        let mut heard = Heard::default();
        let waiting = async {
            while !heard.over {
                let Some(row) = followed.next().await else { return };
                heard.take(row.event);
            }
        };
        if tokio::time::timeout(BOUND.duration(), waiting).await.is_err() || !heard.over {
            self.call_off(id).await;
            return Err(ApiError::new(
                Code::Internal,
                format!("Task {number} with the call did not end in time and was cancelled."),
            )
            .remedy(format!("Look at it with `ouroboros show {number}`.")));
        }
        if !heard.settled {
            self.call_off(id).await;
        }
        let text = self.output(heard.attempt, "stdout");
        let said = self.output(heard.attempt, "stderr");
        let (tool_call, text) = split(&text);
        let well_formed = tool_call.as_ref().is_some_and(|(name, arguments)| {
            let arguments: Option<serde_json::Value> = serde_json::from_str(arguments).ok();
            name == TOOL
                && arguments.is_some_and(|arguments| arguments.get("city").is_some_and(|city| city.is_string()))
        });
        let problem = match heard.problem {
            Some(problem) if said.trim().is_empty() => Some(problem),
            Some(_) => Some(said.trim().to_owned()),
            None if tool_call.is_none() => Some("the model answered without calling the tool".to_owned()),
            None if !well_formed => Some("the tool was called with arguments that do not follow its schema".to_owned()),
            None => None,
        };
        Ok(ModelTestAnswer {
            route,
            works: problem.is_none(),
            problem,
            text,
            tool_call,
            usage: heard.usage,
            cost: heard.cost,
            elapsed_ms: clock::boot().since(begun).get(),
        })
    }

    /// A trial that has been judged must not make its call later, unasked.
    async fn call_off(&self, task: TaskId) {
        if let Err(error) = self.handle.task(task, TaskCommand::Cancel { grace: None }).await {
            tracing::warn!(%task, error = %error.message, "a trial that was judged cannot be cancelled");
        }
    }

    fn output(&self, attempt: Option<AttemptId>, stream: &str) -> String {
        let Some(attempt) = attempt else { return String::new() };
        let path = format!("{}.{stream}", self.layout.output_base(&attempt).display());
        let bytes = std::fs::read(path).unwrap_or_default();
        let shown = bytes.get(..SHOWN).unwrap_or(&bytes);
        self.masker.mask_str(&String::from_utf8_lossy(shown)).into_owned()
    }
}

impl Heard {
    fn take(&mut self, event: Event) {
        match event {
            Event::Started { attempt, .. } => self.attempt = Some(attempt),
            Event::Sent { state: SendState::Settled, cost, usage, .. } => {
                self.cost = cost;
                self.usage = usage;
            }
            Event::Settled { outcome, .. } => {
                (self.over, self.settled) = (true, true);
                self.problem = match outcome {
                    Outcome::Completed => None,
                    Outcome::Failed(Failure::Ended(Ending::ModelFailed { failure })) => {
                        Some(failure.as_str().replace('_', " "))
                    }
                    Outcome::Failed(_) => Some("the call failed".to_owned()),
                    Outcome::Cancelled(_) => Some("the call was cancelled".to_owned()),
                };
            }
            Event::Paused { limit } => {
                self.over = true;
                self.problem = Some(format!("the {} limit leaves too little", limit.as_str()));
            }
            Event::WaitsForModel { reason, .. } => {
                self.over = true;
                self.problem = Some(format!("it waits: {}", reason.as_str().replace('_', " ")));
            }
            _ => {}
        }
    }
}

/// The worker writes a call of a tool as a line of its own: `NAME ARGUMENTS`.
fn split(text: &str) -> (Option<(String, String)>, String) {
    let marker = format!("{TOOL} ");
    let (calls, rest): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with(&marker));
    let call = calls.first().and_then(|line| line.split_once(' '));
    (call.map(|(name, arguments)| (name.to_owned(), arguments.to_owned())), rest.join("\n"))
}

fn task(route: &str) -> Result<NewTask, ApiError> {
    let request = ModelRequest {
        route: Some(route.to_owned()),
        messages: vec![Message::user("Report the weather in Paris: call the tool, with the city as its argument.")],
        tools: vec![ToolSpec {
            name: TOOL.to_owned(),
            description: "Reports the weather in a city.".to_owned(),
            parameters: serde_json::json!({
                "type": "object",
                "properties": { "city": { "type": "string", "description": "The city's name" } },
                "required": ["city"],
                "additionalProperties": false
            }),
        }],
        tool_choice: ToolChoice::Required,
        max_output_tokens: Some(1_024),
        ..ModelRequest::default()
    };
    let internal =
        |error: serde_json::Error| ApiError::new(Code::Internal, format!("the call cannot be made: {error}"));
    let body = serde_json::to_vec(&request).map_err(internal)?;
    let hash: [u8; 32] = Sha256::digest(&body).into();
    let asked = StoredAsk { request: hex(&hash), head: format!("test of {route}"), route: Some(route.to_owned()) };
    let spec = StoredSpec::question(asked, Some(format!("test of {route}")));
    Ok(NewTask {
        id: TaskId::mint(),
        kind: WorkKind::Ask,
        spec: Spec::New(serde_json::to_vec(&spec).map_err(internal)?.into()),
        contents: vec![Content { hash, bytes: Arc::from(body), in_file: false }],
        key: None,
        priority: Priority::High,
        delay: None,
        after: Vec::new(),
        hold: false,
        policy: Policy { rerun: false, retries: 0, timeout: None, isolation: Isolation::Namespace, max_cost: None },
        parent: None,
        inherit: None,
        workspace: None,
    })
}
