//! How the rest of the server talks to the supervisor.

use super::inbox::{Inbox, Message};
use super::live::{Heard, LiveRegistry, Progress};
use super::status::{Life, Status};
use ouroboros_domain::{
    EventRow, Input, NewMessage, NewTask, QueueCommand, Refusal, Reply, RequestId, RequestInput, ShutdownKind,
    TaskCommand,
};
use ouroboros_proto::api::{ApiError, Code};
use ouroboros_proto::kind::{AttemptId, LimitScope, TaskId, TaskNumber, UtcMicros};
use ouroboros_proto::limits;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{broadcast, oneshot, watch};

/// What an owner's request came to.
pub type Answer = Result<Reply, ApiError>;

/// A clonable way to reach the supervisor. All answers come after their facts are durable.
#[derive(Clone)]
pub struct Handle {
    pub(super) inbox: Arc<Inbox>,
    pub(super) requests: Arc<AtomicU64>,
    pub(super) events: broadcast::Sender<Arc<[EventRow]>>,
    pub(super) status: watch::Receiver<Arc<Status>>,
    pub(super) live: Arc<LiveRegistry>,
    pub(super) life: Arc<Life>,
    pub(super) panic: Arc<dyn Fn() + Send + Sync>,
}

impl Handle {
    /// A handle on the supervisor that reads `inbox`.
    #[must_use]
    pub fn new(
        inbox: Arc<Inbox>,
        events: broadcast::Sender<Arc<[EventRow]>>,
        status: watch::Receiver<Arc<Status>>,
        live: Arc<LiveRegistry>,
        life: Arc<Life>,
        panic: Arc<dyn Fn() + Send + Sync>,
    ) -> Self {
        Self { inbox, requests: Arc::default(), events, status, live, life, panic }
    }

    /// Accepts all of `tasks` or none, in one commit.
    ///
    /// # Errors
    /// A refusal of admission, or storage trouble.
    pub async fn submit(&self, tasks: Vec<NewTask>) -> Result<Vec<(TaskId, TaskNumber, bool)>, ApiError> {
        match self.ask(|request| Input::Submit { request, tasks }).await? {
            Reply::Accepted(accepted) => Ok(accepted),
            other => Err(unexpected(&other)),
        }
    }

    /// Does something to one task. [`Reply::Accepted`] for a retry, [`Reply::Done`] for the rest.
    ///
    /// # Errors
    /// Why it was not done.
    pub async fn task(&self, task: TaskId, command: TaskCommand) -> Answer {
        self.ask(|request| Input::Task { request, task, command }).await
    }

    /// Does something about what tasks ask, or about rules.
    ///
    /// # Errors
    /// Why it was not done.
    pub async fn requests(&self, input: impl FnOnce(RequestId) -> RequestInput) -> Answer {
        self.ask(|request| Input::Request(input(request))).await
    }

    /// Says something to a task in words: the message's number, and whether an earlier request made it.
    ///
    /// # Errors
    /// Why it was not accepted.
    pub async fn say(&self, message: NewMessage) -> Result<(u32, bool), ApiError> {
        match self.ask(|request| Input::Message { request, message }).await? {
            Reply::Heard(number, duplicate) => Ok((number, duplicate)),
            other => Err(unexpected(&other)),
        }
    }

    /// Does something to the whole queue.
    ///
    /// # Errors
    /// Why it was not done.
    pub async fn queue(&self, command: QueueCommand) -> Answer {
        self.ask(|request| Input::Queue { request, command }).await
    }

    /// Ends the server; answers with the running tasks that are interrupted or waited for.
    ///
    /// # Errors
    /// Storage trouble; the server ends all the same.
    pub async fn shutdown(&self, kind: ShutdownKind, drain: bool) -> Result<Vec<TaskNumber>, ApiError> {
        match self.ask(|request| Input::Shutdown { request: Some(request), kind, drain }).await? {
            Reply::Ending(tasks) => Ok(tasks),
            other => Err(unexpected(&other)),
        }
    }

    /// Kills everything at once and leaves with the panic code; does not return to anybody.
    pub fn panic(&self) {
        (self.panic)();
    }

    /// Puts an input in the housekeeping lane; false when that is full.
    pub fn housekeeping(&self, input: Input) -> bool {
        self.inbox.push_housekeeping(Message::quiet(input))
    }

    /// Makes the supervisor look at its surroundings again.
    pub fn nudge(&self) {
        self.inbox.nudge();
    }

    /// Forgets idempotency keys that were used before this; the store has forgotten them already.
    pub fn keys_expired(&self, before: UtcMicros) {
        self.inbox.expire_keys(before);
    }

    /// Committed events from now on, in order. A receiver that lags reads the missing ones from the store.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<Arc<[EventRow]>> {
        self.events.subscribe()
    }

    /// The latest committed facts, and a way to wait for newer ones.
    #[must_use]
    pub fn status(&self) -> watch::Receiver<Arc<Status>> {
        self.status.clone()
    }

    /// How far the output of a task's running attempt has grown; `None` while none runs.
    #[must_use]
    pub fn progress(&self, task: TaskId) -> Option<watch::Receiver<Progress>> {
        self.live.subscribe(task)
    }

    /// What the model of a running attempt has written of an answer, after what is known: as [`LiveRegistry::answer`] says.
    #[must_use]
    pub fn answer(&self, task: TaskId, attempt: AttemptId, known: (u32, usize)) -> Option<(usize, Heard)> {
        self.live.answer(task, attempt, known)
    }

    /// Facts about this life.
    #[must_use]
    pub fn life(&self) -> &Life {
        &self.life
    }

    async fn ask(&self, input: impl FnOnce(RequestId) -> Input) -> Answer {
        let request = RequestId(self.requests.fetch_add(1, Ordering::Relaxed));
        let (reply, answer) = oneshot::channel();
        if !self.inbox.push_owner(Message::asked(input(request), request, reply)) {
            return Err(ApiError::limit(&limits::PENDING_REQUESTS, limits::PENDING_REQUESTS.max + 1)
                .remedy("Try again in a moment."));
        }
        match answer.await {
            Ok(Ok(Reply::Refused(refusal))) => Err(refused(&refusal)),
            Ok(answer) => answer,
            Err(_) => Err(ApiError::new(Code::Stopping, "The server is leaving; the request was not accepted.")
                .remedy("Start it again with `ouroboros up` and repeat the request.")),
        }
    }
}

fn unexpected(reply: &Reply) -> ApiError {
    ApiError::new(Code::Internal, format!("the supervisor gave an answer of another kind: {reply:?}"))
}

fn refused(refusal: &Refusal) -> ApiError {
    match refusal {
        Refusal::QueueFull { max } => {
            ApiError::new(Code::QueueFull, format!("The queue holds {max} tasks and is full; nothing was accepted."))
                .remedy("Wait until some have run, remove some, or raise `queue.max_tasks`.")
        }
        Refusal::Stopping => ApiError::new(Code::Stopping, "The server is stopping; nothing was accepted.")
            .remedy("Start it again with `ouroboros up` and repeat the request."),
        Refusal::KeyConflict { task } => ApiError::new(
            Code::KeyConflict,
            format!("This idempotency key was used for task {task} with another request; nothing was accepted."),
        )
        .remedy("Use a new key for a new request, or repeat the first request unchanged.")
        .detail(serde_json::json!({ "task": task })),
        Refusal::UnknownDependency { task } => ApiError::new(
            Code::UnknownDependency,
            format!("There is no task {task} to come after; nothing was accepted."),
        ),
        Refusal::DependencyFailed { task } => ApiError::new(
            Code::DependencyFailed,
            format!("Task {task} did not complete, so nothing can come after it; nothing was accepted."),
        )
        .remedy(format!("Retry it with `ouroboros retry {task}` and name the new task.")),
        Refusal::UnknownTask => ApiError::new(Code::UnknownTask, "There is no such task."),
        Refusal::AlreadySettled => {
            ApiError::new(Code::AlreadySettled, "The task has already ended; its outcome does not change.")
        }
        Refusal::NotSettled => ApiError::new(Code::NotSettled, "The task has not ended yet; nothing was changed.")
            .remedy("Cancel it first, or wait until it has ended."),
        Refusal::AlreadyRunning => {
            ApiError::new(Code::AlreadyRunning, "The task is already running; this is only for tasks that wait.")
        }
        Refusal::HasDependents => {
            ApiError::new(Code::NotSettled, "Other tasks wait for this one; nothing was changed.")
                .remedy("Remove or cancel those first.")
        }
        Refusal::ParentNotLive { task } => ApiError::new(
            Code::ParentNotLive,
            format!("Task {task} does not exist or has ended, so nothing can belong to it; nothing was accepted."),
        ),
        Refusal::NotInWords => {
            ApiError::new(Code::NotInWords, "The task is not one in words; this is only for those. Nothing was changed.")
        }
        Refusal::NotListening { task } => ApiError::new(
            Code::NotListening,
            format!("Task {task} has delivered or ended, or is being cancelled: it hears nothing more. Nothing was changed."),
        )
        .remedy(format!("Go on with a new task: `ouroboros run --continue {task} \"what is to be done\"`.")),
        Refusal::TooManyMessages { limit } => ApiError::limit(limit, limit.max.saturating_add(1))
            .remedy("Wait until it has taken some: it does before it asks its model again."),
        Refusal::NotRunning => ApiError::new(Code::NotRunning, "No turn of the task is under way; nothing was changed."),
        Refusal::StillAtWork { task } => ApiError::new(
            Code::NotSettled,
            format!("Task {task} is still at work, so nothing can continue it; nothing was accepted."),
        )
        .remedy(format!(
            "Say it to the task itself with `ouroboros send {task} \"…\"`, or begin beside it with `ouroboros run --fork {task}@ROUND`."
        )),
        Refusal::NotPaused => {
            ApiError::new(Code::NotPaused, "The task waits neither for its owner nor for a model; nothing was changed.")
                .remedy("Look at it with `ouroboros show`; a pause may have been followed by another.")
        }
        Refusal::StillPausing => {
            ApiError::new(Code::StillPausing, "The task is still saving itself; nothing was changed.")
                .remedy("Try again in a moment.")
        }
        Refusal::RequestClosed => {
            ApiError::new(Code::RequestClosed, "The request is not open any more; nothing was changed.")
                .remedy("Look at it with `ouroboros requests --all`.")
        }
        Refusal::TooManyRules { max } => ApiError::limit(&limits::RULES, max.saturating_add(1))
            .remedy("Remove some with `ouroboros rules remove ID`, or answer for this once."),
        Refusal::UnknownRule => {
            ApiError::new(Code::UnknownRule, "There is no such rule.").remedy("`ouroboros rules` lists them.")
        }
        Refusal::NothingLeft { limit } => ApiError::new(
            Code::NothingLeft,
            format!("The {} limit leaves nothing to spend; nothing was changed.", limit.as_str()),
        )
        .remedy(match limit {
            LimitScope::Task => "Give the task more with `ouroboros resume ID --max-cost DOLLARS`.".to_owned(),
            LimitScope::Total | LimitScope::Hour | LimitScope::Tree => {
                format!("Raise it with `ouroboros config set limits.{} DOLLARS`, then resume the task.", limit.as_str())
            }
        }),
    }
}
