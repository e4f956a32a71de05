//! One request: what it asks, the rule that fits, what is recorded and billed, and the response.

use crate::answer::{self, Answer};
use crate::fault::Fault;
use crate::frames::Frames;
use crate::money::{Price, Tokens, dollars};
use crate::play::{BrokenOff, Play};
use crate::record::{End, Entry, Facts, Key, Ledger, lock};
use crate::rule::{Bill, Cut, Rule};
use crate::script::{Live, Script};
use crate::wire::{self, Asked, Dialect, Endpoint, Route};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::header::{HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use ouroboros_proto::kind::clock;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Most bytes of a request.
const LARGEST: usize = 64 << 20;

/// Headers that carry a key.
const KEYS: [&str; 3] = ["x-api-key", "x-goog-api-key", "api-key"];

/// The server's state.
pub struct Provider {
    live: Mutex<Live>,
    ledger: Arc<Ledger>,
    numbers: AtomicU64,
    /// Makes ids differ from those of another run.
    life: i64,
}

/// A request that was read and understood.
struct Taken {
    number: u64,
    tail: String,
    route: Route,
    asked: Asked,
    parts: Parts,
    body: Value,
    key: Option<String>,
    script: Arc<Script>,
    rule: Arc<Rule>,
}

/// What the response is, before anything happens to it.
struct Prepared {
    status: u16,
    content_type: &'static str,
    headers: Vec<(String, String)>,
    frames: Frames,
    billed: Tokens,
    price: Price,
    cost: Option<u64>,
}

impl Provider {
    /// One with this script.
    pub fn new(script: Script, journal: Option<File>) -> Self {
        Self {
            live: Mutex::new(Live::new(script)),
            ledger: Arc::new(Ledger::new(journal)),
            numbers: AtomicU64::new(0),
            life: clock::wall().get(),
        }
    }

    /// Answers one request.
    ///
    /// # Errors
    /// The script breaks the connection off.
    pub async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        reset: Arc<AtomicBool>,
    ) -> Result<Response<Play>, BrokenOff> {
        let (parts, body) = request.into_parts();
        let Ok(body) = Limited::new(body, LARGEST).collect().await else {
            return Ok(plain(413, "the request is too large".to_owned()));
        };
        let body = body.to_bytes();
        if let Some(control) = self.control(&parts, &body) {
            return Ok(control);
        }
        let Some(route) = wire::route(parts.uri.path(), parts.uri.query().unwrap_or_default()) else {
            return Ok(plain(404, format!("there is nothing at {}", parts.uri.path())));
        };
        let taken = self.take(route, parts, &body);
        let prepared = self.prepare(&taken);
        let entry = self.record(&taken, &prepared);
        let rule = &taken.rule;
        if let Some(wait) = rule.stall_before_ms {
            match wait.span() {
                Some(span) => tokio::time::sleep(span).await,
                None => std::future::pending().await,
            }
        }
        if rule.half_open {
            std::future::pending::<()>().await;
        }
        if let Some(how) = rule.hang_up {
            entry.end(End::Cut);
            reset.store(how == Cut::Reset, Relaxed);
            return Err(BrokenOff);
        }
        Ok(respond(prepared, rule, reset, entry))
    }

    fn control(&self, parts: &Parts, body: &Bytes) -> Option<Response<Play>> {
        match (&parts.method, parts.uri.path()) {
            (&Method::GET, "/record") => Some(plain(200, self.ledger.json().to_string())),
            (&Method::DELETE, "/record") => {
                self.ledger.clear();
                Some(plain(200, "{}".to_owned()))
            }
            (&Method::POST, "/script") => match Script::parse(&String::from_utf8_lossy(body)) {
                Ok(script) => {
                    *lock(&self.live) = Live::new(script);
                    Some(plain(200, "{}".to_owned()))
                }
                Err(error) => Some(plain(400, error.to_string())),
            },
            // How Ollama and llama.cpp are told from anything else that listens.
            (&Method::GET, "/ollama/api/version") => Some(plain(200, r#"{"version":"0.12.0"}"#.to_owned())),
            (&Method::GET, "/health") => Some(plain(200, r#"{"status":"ok"}"#.to_owned())),
            _ => None,
        }
    }

    fn take(&self, route: Route, parts: Parts, body: &Bytes) -> Taken {
        let raw = String::from_utf8_lossy(body).into_owned();
        let body: Value = serde_json::from_str(&raw).unwrap_or_else(|_| Value::String(raw.clone()));
        let mut asked = route.dialect.speaks().ask(&route, &body);
        asked.raw = raw;
        let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (number, rule, script) = {
            let mut live = lock(&self.live);
            let number = self.numbers.fetch_add(1, Relaxed).saturating_add(1);
            (number, live.choose(number, &asked, &header), Arc::clone(&live.script))
        };
        let key = key(&parts);
        let tail = format!("{:x}{number:08x}", self.life);
        Taken { number, tail, route, asked, parts, body, key, script, rule: rule.unwrap_or_default() }
    }

    fn prepare(&self, taken: &Taken) -> Prepared {
        let Taken { asked, rule, script, tail, .. } = taken;
        let speaks = asked.dialect.speaks();
        let request = speaks.header(tail);
        let named = request.as_ref().map_or_else(|| tail.clone(), |(_, id)| id.clone());
        let mut headers: Vec<(String, String)> = vec![];
        headers.extend(request.map(|(name, id)| (name.to_owned(), id)));
        let mut prepared = Prepared {
            status: rule.status.unwrap_or(200),
            content_type: "application/json",
            headers,
            frames: Frames::default(),
            billed: Tokens::default(),
            price: Price::default(),
            cost: None,
        };
        let public = (asked.dialect, asked.endpoint) == (Dialect::Openrouter, Endpoint::Models);
        let turned_down = !script.keys.is_empty()
            && !public
            && asked.dialect != Dialect::Ollama
            && !taken.key.as_ref().is_some_and(|key| script.keys.contains(key));
        let fault = if turned_down {
            Some(Fault::key(asked, &named, speaks.bad_key()))
        } else {
            Fault::of(rule, asked, &named)
        };
        if let Some(body) = rule.body.clone().filter(|_| !turned_down) {
            prepared.frames.raw(body);
        } else if let Some(fault) = fault {
            prepared.status = fault.status;
            prepared.headers.extend(fault.retry_after.clone().map(|after| ("retry-after".to_owned(), after)));
            prepared.frames.raw(speaks.fault(&fault));
        } else {
            match asked.endpoint {
                Endpoint::Chat => chat(taken, &named, &mut prepared),
                Endpoint::Models => prepared.frames.raw(speaks.models(script)),
                Endpoint::Show => {
                    let (status, body) = crate::ollama::show(script, &asked.model);
                    prepared.status = status;
                    prepared.frames.raw(body);
                }
                Endpoint::Key => prepared.frames.raw(r#"{"data":{"label":"a key","usage":0,"limit":null}}"#),
                Endpoint::Generation => self.generation(taken, &mut prepared),
            }
        }
        prepared.headers.extend(rule.headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        prepared
    }

    fn generation(&self, taken: &Taken, prepared: &mut Prepared) {
        let id = taken.route.named.as_deref().unwrap_or_default();
        let (status, body) = crate::openrouter::generation(id, self.ledger.find(id));
        prepared.status = status;
        prepared.frames.raw(body);
    }

    fn record(&self, taken: &Taken, prepared: &Prepared) -> Entry {
        let Taken { asked, rule, .. } = taken;
        let speaks = asked.dialect.speaks();
        self.ledger.open(Facts {
            number: taken.number,
            id: speaks.id(&taken.tail),
            request_id: speaks.header(&taken.tail).map(|(_, id)| id),
            dialect: asked.dialect,
            endpoint: asked.endpoint,
            model: asked.model.clone(),
            method: taken.parts.method.to_string(),
            route: address(&taken.parts),
            headers: shown(&taken.parts.headers),
            key: taken.key.as_deref().map(Key::of),
            body: taken.body.clone(),
            status: (!rule.half_open && rule.hang_up.is_none()).then_some(prepared.status),
            billed: prepared.billed,
            price: prepared.price,
            cost: prepared.cost,
            endless: u64::from(prepared.frames.endless),
        })
    }
}

/// The frames of an answer and its bill.
fn chat(taken: &Taken, request: &str, prepared: &mut Prepared) {
    let Taken { asked, rule, script, tail, .. } = taken;
    let speaks = asked.dialect.speaks();
    let (parts, cut) = answer::parts(rule, asked, tail);
    let truth = rule.usage.or(answer::count(&parts, asked));
    let price = script.prices.get(&asked.model).copied().unwrap_or_default();
    let fixed = rule.cost.as_ref().map(|cost| cost.nanos);
    let answer = Answer {
        tail: tail.clone(),
        model: rule.substitute_model.clone().unwrap_or_else(|| asked.model.clone()),
        created: clock::wall().get(),
        stop: answer::stop(rule, &parts, cut),
        parts,
        fault: rule.error_frame.as_ref().map(|frame| Fault::frame(frame, asked, request)),
        told: answer::told(rule, truth),
        cost: rule.cost.as_ref().map_or_else(|| dollars(price.of(&truth)), |cost| cost.text.clone()),
        include_usage: asked.include_usage,
    };
    if asked.stream {
        prepared.content_type = speaks.stream_type();
        speaks.stream(&answer, &mut prepared.frames);
    } else if let Some(fault) = &answer.fault {
        prepared.frames.raw(speaks.fault(fault));
    } else {
        prepared.frames.raw(speaks.whole(&answer));
    }
    let answers = !rule.half_open && rule.hang_up.is_none();
    if rule.bill.map_or(answers, |bill| bill == Bill::Whole) {
        (prepared.billed, prepared.price, prepared.cost) = (truth, price, fixed);
    }
}

fn respond(prepared: Prepared, rule: &Rule, reset: Arc<AtomicBool>, entry: Entry) -> Response<Play> {
    let mut response = Response::new(Play::scripted(prepared.frames, rule, reset, entry));
    *response.status_mut() = StatusCode::from_u16(prepared.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let head = response.headers_mut();
    head.insert("content-type", HeaderValue::from_static(prepared.content_type));
    for (name, value) in prepared.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            head.insert(name, value);
        }
    }
    response
}

fn plain(status: u16, body: String) -> Response<Play> {
    let mut response = Response::new(Play::plain(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

/// The key, wherever the dialect puts it.
fn key(parts: &Parts) -> Option<String> {
    let text = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let bearer = text("authorization").map(|value| value.strip_prefix("Bearer ").unwrap_or(&value).to_owned());
    let query = parts.uri.query().unwrap_or_default();
    let named = || query.split('&').find_map(|pair| pair.strip_prefix("key=")).map(str::to_owned);
    bearer.or_else(|| KEYS.into_iter().find_map(text)).or_else(named)
}

/// Headers without keys.
fn shown(headers: &HeaderMap) -> BTreeMap<String, String> {
    let secret = |name: &str| name == "authorization" || KEYS.contains(&name);
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let all = headers.iter().map(|(name, value)| (name.as_str(), value));
    all.filter(|(name, _)| !secret(name)).map(|(name, value)| (name.to_owned(), text(value))).collect()
}

/// Path and query without a key.
fn address(parts: &Parts) -> String {
    let query = parts.uri.query().unwrap_or_default();
    let kept: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("key=")).collect();
    if kept.is_empty() { parts.uri.path().to_owned() } else { format!("{}?{}", parts.uri.path(), kept.join("&")) }
}
