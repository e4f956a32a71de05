//! Every path that is answered, as data. Routing, access, query checks and the OpenAPI document are made from this table.

use super::auth::Access::{self, Login, Page, Public};

/// A method that is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Reads.
    Get,
    /// Acts.
    Post,
    /// Removes.
    Delete,
}

impl Verb {
    /// As it stands in a request.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

/// What answers.
#[expect(missing_docs, reason = "the table below says what each does")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    Health,
    State,
    Submit,
    List,
    Show,
    Transcript,
    Say,
    Interrupt,
    Changes,
    Undo,
    Remove,
    TaskEvents,
    Logs,
    Cancel,
    Retry,
    Hold,
    Release,
    Resume,
    Prioritise,
    Events,
    Processes,
    Config,
    Command,
    EndSessions,
    Logout,
    Metrics,
    OpenApi,
    Models,
    RefreshModels,
    TestModel,
    Catalog,
    SetPrice,
    Exchange,
    Receipt,
    Keys,
    SetKey,
    RemoveKey,
    TestKey,
    Costs,
    Requests,
    Request,
    AnswerRequest,
    Rules,
    RemoveRule,
    LogIn,
    Index,
    Asset,
}

/// What a body holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// JSON of this schema.
    Json(&'static str),
    /// JSON of either schema.
    Either(&'static str, &'static str),
    /// A JSON list of this schema.
    List(&'static str),
    /// Any JSON object.
    Object,
    /// Server-sent events.
    Events,
    /// Bytes.
    Bytes,
    /// Text of this media type.
    Text(&'static str),
    /// Nothing.
    Empty,
}

/// A query parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// `integer`, `string` or `boolean`.
    pub kind: &'static str,
    /// What it does.
    pub about: &'static str,
}

/// One method of one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// The method.
    pub verb: Verb,
    /// The path, with parameters in braces.
    pub path: &'static str,
    /// What answers.
    pub endpoint: Endpoint,
    /// What a caller must prove.
    pub access: Access,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// Its query parameters; others are refused.
    pub query: &'static [Param],
    /// Its request body, and whether one must be there.
    pub body: Option<(Shape, bool)>,
    /// Status and body of success.
    pub answer: (u16, Shape),
}

const fn param(name: &'static str, kind: &'static str, about: &'static str) -> Param {
    Param { name, kind, about }
}

const fn get(path: &'static str, endpoint: Endpoint, access: Access, answer: Shape, about: &'static str) -> Route {
    Route { verb: Verb::Get, path, endpoint, access, about, query: &[], body: None, answer: (200, answer) }
}

const fn post(path: &'static str, endpoint: Endpoint, status: u16, answer: Shape, about: &'static str) -> Route {
    Route { verb: Verb::Post, path, endpoint, access: Login, about, query: &[], body: None, answer: (status, answer) }
}

const fn delete(path: &'static str, endpoint: Endpoint, about: &'static str) -> Route {
    Route {
        verb: Verb::Delete,
        path,
        endpoint,
        access: Login,
        about,
        query: &[],
        body: None,
        answer: (204, Shape::Empty),
    }
}

impl Route {
    const fn query(mut self, query: &'static [Param]) -> Self {
        self.query = query;
        self
    }

    const fn body(mut self, body: Shape, required: bool) -> Self {
        self.body = Some((body, required));
        self
    }
}

const AFTER: Param = param(
    "after",
    "integer",
    "Give events after this one; `Last-Event-ID` says the same and wins. 410 when they are no longer kept.",
);

/// The table.
pub const ROUTES: &[Route] = &[
    get("/api/health", Endpoint::Health, Public, Shape::Json("Health"), "Whether a task accepted now can run now, and what is wrong."),
    get("/api/state", Endpoint::State, Login, Shape::Json("StateView"), "The system in numbers."),
    post("/api/tasks", Endpoint::Submit, 201, Shape::Either("SubmitAnswer", "SubmitManyAnswer"),
        "Accepts one task, or all of a list or none. Durable when answered. 200 when the idempotency key (field `key`, or the \
         header `Idempotency-Key` for one task) was used before with the same body.")
        .body(Shape::Either("SubmitOne", "SubmitMany"), true),
    get("/api/tasks", Endpoint::List, Login, Shape::Json("TaskPage"),
        "Tasks, newest first. A page may be shorter than `limit`, even empty, and still have a `next`.")
        .query(&[
            param("cursor", "string", "`next` of the page before."),
            param("limit", "integer", "Tasks in this page, 1 to 1000; 100 when absent."),
            param("status", "string", "Only tasks that stand so: status words, with commas between."),
            param("name", "string", "Only tasks with this in their name, upper and lower case alike."),
        ]),
    get("/api/tasks/{id}", Endpoint::Show, Login, Shape::Json("TaskView"),
        "One task with its command and attempts. `id` is a number, an id, or `last`, here and below."),
    delete("/api/tasks/{id}", Endpoint::Remove, "Forgets a settled task with its output."),
    get("/api/tasks/{id}/events", Endpoint::TaskEvents, Login, Shape::Events,
        "What happens to one task: recorded events (`event: event`, `EventView`, with their number as id), then live ones, \
         `event: caught_up` between them, `event: end` after the task has settled. With `output`, what it writes \
         (`event: output`, `LiveOutput`): every kept byte once, all of an attempt before the event that ends it. With \
         `entries`, what a task in words does and hears (`event: entry`, `EntryView`), each once it is durable, and the text that its \
         model is writing (`event: piece`, `LivePiece`), which the entry of the whole answer follows.")
        .query(&[
            AFTER,
            param("output", "boolean", "Whether output is given too."),
            param("from_stdout", "integer", "Offset to begin at in standard output of the attempt under way at `after`, else of the first."),
            param("from_stderr", "integer", "The same of standard error."),
            param("entries", "boolean", "Whether the transcript of a task in words is given too."),
            param("from_entry", "integer", "Place of the entry to begin at; the first of its own when absent."),
        ]),
    get("/api/tasks/{id}/logs/{stream}", Endpoint::Logs, Login, Shape::Bytes,
        "Bytes of `stdout` or `stderr`. One `Range: bytes=…` is honoured, in offsets of the stream as it was written; a range \
         that runs into bytes that are not kept ends there. `Ouroboros-Gap: first-last` names bytes that are not kept, \
         `Ouroboros-Written` counts those that were written.")
        .query(&[
            param("attempt", "integer", "Which attempt, from 1; the last when absent."),
            param("follow", "boolean", "Whether to go on until the attempt is over. Bytes that are not kept are then replaced by a line that says so."),
            param("from", "integer", "Offset to begin at, with `follow`."),
            param("tail", "integer", "Only this many bytes of the end; fewer, even none, when fewer are kept."),
        ]),
    post("/api/tasks/{id}/cancel", Endpoint::Cancel, 200, Shape::Json("TaskView"), "Cancels; the wish is durable when answered.")
        .body(Shape::Json("CancelRequest"), false),
    post("/api/tasks/{id}/retry", Endpoint::Retry, 201, Shape::Json("SubmitAnswer"), "Submits a settled task again, as a new one."),
    post("/api/tasks/{id}/hold", Endpoint::Hold, 200, Shape::Json("TaskView"), "Keeps a task from starting."),
    post("/api/tasks/{id}/release", Endpoint::Release, 200, Shape::Json("TaskView"), "Lets a held task start."),
    post("/api/tasks/{id}/resume", Endpoint::Resume, 200, Shape::Json("TaskView"),
        "Lets a task go on that waits for its owner to let it spend more, or for a model.")
        .body(Shape::Json("ResumeRequest"), false),
    post("/api/tasks/{id}/priority", Endpoint::Prioritise, 200, Shape::Json("TaskView"), "Changes a task's place in the queue.")
        .body(Shape::Json("PriorityRequest"), true),
    get("/api/events", Endpoint::Events, Login, Shape::Events,
        "Everything that happens, as `/api/tasks/{id}/events` without output and end. Live only, unless `after` or `tail` is given.")
        .query(&[
            AFTER,
            param("tail", "integer", "Begin with this many of the newest events."),
            param("task", "string", "Only events of this task."),
            param("type", "string", "Only events of these types, with commas between."),
            param("follow", "boolean", "Whether to go on after what is recorded; true when absent. Without it, and without `after` and `tail`, everything kept is given."),
        ]),
    get("/api/processes", Endpoint::Processes, Login, Shape::List("ProcessView"), "Every process of this installation."),
    get("/api/config", Endpoint::Config, Login, Shape::Object, "Every setting, its value and where it came from."),
    post("/api/command", Endpoint::Command, 200, Shape::Json("CommandAnswer"), "Does something to the system as a whole.")
        .body(Shape::Json("CommandRequest"), true),
    get("/api/models", Endpoint::Models, Login, Shape::Json("ModelsView"),
        "Every route to a model, which one is taken when none is named, and what was looked for in vain."),
    post("/api/models/refresh", Endpoint::RefreshModels, 200, Shape::Json("ModelsView"), "Looks for routes again."),
    post("/api/models/test", Endpoint::TestModel, 200, Shape::Json("ModelTestAnswer"),
        "Makes a real call with a tool on a route. It costs what it costs, and is recorded.")
        .body(Shape::Json("ModelTest"), true),
    get("/api/model-catalog", Endpoint::Catalog, Login, Shape::List("CatalogView"), "Prices and windows, as far as they are known."),
    post("/api/model-catalog", Endpoint::SetPrice, 200, Shape::Json("CatalogView"),
        "Sets the owner's own price of a route; without amounts it is removed. Durable when answered.")
        .body(Shape::Json("PriceSet"), true),
    get("/api/keys", Endpoint::Keys, Login, Shape::Json("KeysView"),
        "Which providers have a key and where it was found. No key is ever given."),
    post("/api/keys", Endpoint::SetKey, 200, Shape::Json("KeyView"),
        "Keeps a key for a provider. Durable and in use when answered; it cannot be read back.")
        .body(Shape::Json("KeySet"), true),
    delete("/api/keys/{provider}", Endpoint::RemoveKey, "Forgets a key that was kept."),
    post("/api/keys/{provider}/test", Endpoint::TestKey, 200, Shape::Json("KeyTest"),
        "Asks the provider whether it accepts its key. Costs nothing."),
    get("/api/tasks/{id}/transcript", Endpoint::Transcript, Login, Shape::Json("TranscriptView"),
        "What a task in words did and heard, with keys hidden. A part of it; `next` tells where the next one begins.")
        .query(&[param("from", "integer", "The first entry, counted from 1; 1 when absent.")]),
    post("/api/tasks/{id}/messages", Endpoint::Say, 201, Shape::Json("MessageAnswer"),
        "Says something to a task in words that has not delivered yet. Durable when answered; the task takes it before it asks its \
         model again. 200 when the header `Idempotency-Key` was used for this task before with the same body.")
        .body(Shape::Json("MessageRequest"), true),
    post("/api/tasks/{id}/interrupt", Endpoint::Interrupt, 200, Shape::Json("TaskView"),
        "Stops the turn of a task in words that is under way: the model's call is called off, tools that run are cancelled. The task \
         then goes on with its next turn, or, with `hold`, waits for a message (or another interrupt without `hold`). With `call` only that call \
         of a tool is cancelled, and the turn goes on; one of a turn that is over, or was not made, is refused.")
        .body(Shape::Json("InterruptRequest"), false),
    get("/api/tasks/{id}/changes", Endpoint::Changes, Login, Shape::Json("ChangesView"),
        "What a task in words changed in its folder: its files as they were before, against what they are now, with keys hidden."),
    post("/api/tasks/{id}/undo", Endpoint::Undo, 200, Shape::Json("UndoAnswer"),
        "Takes back what a task in words changed, file by file, unless it is running. What somebody else has changed since is left alone \
         without `force`. What an undo replaces is kept too.")
        .body(Shape::Json("UndoRequest"), false),
    get("/api/sends/{id}/exchange/{part}", Endpoint::Exchange, Login, Shape::Bytes,
        "What was sent (`request`) or came back (`response`), byte for byte, with keys hidden; as long as it is kept."),
    post("/api/sends/{id}/receipt", Endpoint::Receipt, 200, Shape::Json("SendView"),
        "Records what a send cost when that is not known: it was given up as unresolved, or its answer did not say. Once.")
        .body(Shape::Json("SendReceipt"), true),
    get("/api/cost-breakdown", Endpoint::Costs, Login, Shape::Json("CostBreakdown"),
        "What models cost, in at most 1000 groups. What is set aside or not known is never put together with what was spent.")
        .query(&[
            param("by", "string", "What a group is: task, tree, route, model or day; task when absent."),
            param("since", "string", "Only sends from this time on, such as 2026-11-30T00:00:00Z."),
            param("until", "string", "Only sends before this time."),
            param("task", "string", "Only sends of this task."),
            param("route", "string", "Only sends on this route."),
            param("check", "boolean", "Whether the sum that limits count is compared with all rows; `warning` says when they differ."),
        ]),
    get("/api/requests", Endpoint::Requests, Login, Shape::Json("RequestsView"),
        "What tasks ask their owner, those that were asked last first.")
        .query(&[
            param("state", "string", "`open` gives only what waits for an answer; `all`, or absent, everything kept."),
            param("task", "string", "Only requests of this task."),
        ]),
    get("/api/requests/{id}/{number}", Endpoint::Request, Login, Shape::Json("RequestView"),
        "One request: `id` names the task, `number` the request of it."),
    post("/api/requests/{id}/{number}/answer", Endpoint::AnswerRequest, 200, Shape::Json("RequestView"),
        "Answers a request, once. Durable when answered; the task goes on at once, or hears it when it asks again.")
        .body(Shape::Json("AnswerRequest"), true),
    get("/api/rules", Endpoint::Rules, Login, Shape::Json("RulesView"),
        "What the owner allowed for longer than once. Rules for a single task go with it."),
    delete("/api/rules/{rule}", Endpoint::RemoveRule, "Takes a rule back. What runs hears of it with its next answer."),
    delete("/api/sessions", Endpoint::EndSessions, "Logs every browser out."),
    post("/api/logout", Endpoint::Logout, 204, Shape::Empty, "Logs this browser out."),
    get("/metrics", Endpoint::Metrics, Login, Shape::Text("text/plain; version=0.0.4"), "The system in numbers, for Prometheus."),
    get("/api/openapi.json", Endpoint::OpenApi, Public, Shape::Object, "This document."),
    get("/login", Endpoint::LogIn, Public, Shape::Text("text/html"), "Logs a browser in with a code of `ouroboros open`.")
        .query(&[param("code", "string", "The code; it works once, for five minutes.")]),
    get("/", Endpoint::Index, Page, Shape::Text("text/html"), "The page."),
    get("/assets/{name}", Endpoint::Asset, Public, Shape::Bytes, "Scripts and styles of the page."),
];
