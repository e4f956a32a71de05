//! The API as an OpenAPI document, made from the table of routes and the descriptions of the JSON shapes.
//!
//! `docs/openapi.json` is this document; a test compares them.

mod agent;
mod money;
mod requests;
mod schema;
mod shapes;
mod system;

use super::auth::Access;
use super::routes::{Endpoint, ROUTES, Route, Shape};
use ouroboros_proto::api::{API_VERSION, Code};
use serde_json::{Map, Value, json};
pub use shapes::schemas;
use std::collections::BTreeSet;

/// The document.
#[must_use]
pub fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES {
        let entry = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Value::Object(methods) = entry {
            methods.insert(route.verb.as_str().to_lowercase(), operation(route));
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Ouroboros",
            "version": API_VERSION.to_string(),
            "license": { "name": "MIT", "identifier": "MIT" },
            "description": "Requests refuse unknown fields and parameters; answers may gain fields. Times are RFC 3339 in UTC, \
                durations integer milliseconds, sizes bytes. Unknown is null, never zero. Over the Unix socket its owner needs no \
                proof; over TCP programs send the token, and the page its cookie with a confirmation.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
                "session": { "type": "apiKey", "in": "cookie", "name": "ouroboros-{installation}",
                    "description": "Given by /login. Requests to the API need the header Ouroboros-Confirm beside it." },
            },
        },
    })
}

fn operation(route: &Route) -> Value {
    let mut responses = Map::new();
    let (status, shape) = route.answer;
    responses.insert(status.to_string(), json!({ "description": "Success.", "content": content(shape) }));
    if status == 204 {
        responses.insert(status.to_string(), json!({ "description": "Success." }));
    }
    if matches!(route.endpoint, Endpoint::Submit | Endpoint::Say) {
        responses.insert(
            "200".to_owned(),
            json!({ "description": "Accepted before, with the same key.", "content": content(shape) }),
        );
    }
    if route.endpoint == Endpoint::Logs {
        responses.insert("206".to_owned(), json!({ "description": "The range.", "content": content(shape) }));
    }
    responses.insert(
        "default".to_owned(),
        json!({ "description": "Why not.", "content": content(Shape::Json("ApiError")) }),
    );
    let mut operation = Map::new();
    operation.insert("operationId".to_owned(), name(route.endpoint).into());
    operation.insert("summary".to_owned(), route.about.into());
    operation.insert("responses".to_owned(), responses.into());
    let parameters = parameters(route);
    if !parameters.is_empty() {
        operation.insert("parameters".to_owned(), parameters.into());
    }
    if let Some((body, required)) = route.body {
        operation.insert("requestBody".to_owned(), json!({ "required": required, "content": content(body) }));
    }
    operation.insert(
        "security".to_owned(),
        match route.access {
            Access::Public => json!([]),
            Access::Page => json!([{ "session": [] }, { "token": [] }]),
            Access::Login => json!([{ "token": [] }, { "session": [] }]),
        },
    );
    operation.into()
}

fn parameters(route: &Route) -> Vec<Value> {
    let mut parameters: Vec<Value> = route
        .path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| {
            let schema = if name == "stream" {
                json!({ "type": "string", "enum": ["stdout", "stderr"] })
            } else {
                json!({ "type": "string" })
            };
            json!({ "name": name, "in": "path", "required": true, "schema": schema })
        })
        .collect();
    parameters.extend(route.query.iter().map(|param| {
        json!({ "name": param.name, "in": "query", "description": param.about, "schema": { "type": param.kind } })
    }));
    parameters
}

fn content(shape: Shape) -> Value {
    let reference = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    match shape {
        Shape::Json(name) => json!({ "application/json": { "schema": reference(name) } }),
        Shape::Either(one, other) => {
            json!({ "application/json": { "schema": { "oneOf": [reference(one), reference(other)] } } })
        }
        Shape::List(name) => json!({ "application/json": { "schema": { "type": "array", "items": reference(name) } } }),
        Shape::Object => json!({ "application/json": { "schema": { "type": "object" } } }),
        Shape::Events => json!({ "text/event-stream": { "schema": { "type": "string" } } }),
        Shape::Bytes => json!({ "application/octet-stream": {} }),
        Shape::Text(media) => {
            let mut media_types = Map::new();
            media_types.insert(media.to_owned(), json!({ "schema": { "type": "string" } }));
            media_types.into()
        }
        Shape::Empty => json!({}),
    }
}

/// Every code with its status, for the description of errors.
fn codes() -> Vec<&'static str> {
    Code::ALL.iter().map(|code| code.as_str()).collect::<BTreeSet<_>>().into_iter().collect()
}

const fn name(endpoint: Endpoint) -> &'static str {
    match endpoint {
        Endpoint::Health => "health",
        Endpoint::State => "state",
        Endpoint::Submit => "submit",
        Endpoint::List => "listTasks",
        Endpoint::Show => "showTask",
        Endpoint::Transcript => "taskTranscript",
        Endpoint::Say => "say",
        Endpoint::Interrupt => "interrupt",
        Endpoint::Changes => "changes",
        Endpoint::Undo => "undo",
        Endpoint::Remove => "removeTask",
        Endpoint::TaskEvents => "taskEvents",
        Endpoint::Logs => "logs",
        Endpoint::Cancel => "cancel",
        Endpoint::Retry => "retry",
        Endpoint::Hold => "hold",
        Endpoint::Release => "release",
        Endpoint::Resume => "resumeTask",
        Endpoint::Prioritise => "prioritise",
        Endpoint::Events => "events",
        Endpoint::Processes => "processes",
        Endpoint::Config => "config",
        Endpoint::Command => "command",
        Endpoint::EndSessions => "endSessions",
        Endpoint::Logout => "logout",
        Endpoint::Metrics => "metrics",
        Endpoint::OpenApi => "openapi",
        Endpoint::Models => "models",
        Endpoint::RefreshModels => "refreshModels",
        Endpoint::TestModel => "testModel",
        Endpoint::Catalog => "modelCatalog",
        Endpoint::SetPrice => "setPrice",
        Endpoint::Exchange => "sendExchange",
        Endpoint::Receipt => "sendReceipt",
        Endpoint::Keys => "keys",
        Endpoint::SetKey => "setKey",
        Endpoint::RemoveKey => "removeKey",
        Endpoint::TestKey => "testKey",
        Endpoint::Costs => "costs",
        Endpoint::Requests => "requests",
        Endpoint::Request => "request",
        Endpoint::AnswerRequest => "answerRequest",
        Endpoint::Rules => "rules",
        Endpoint::RemoveRule => "removeRule",
        Endpoint::LogIn => "logIn",
        Endpoint::Index => "page",
        Endpoint::Asset => "asset",
    }
}
