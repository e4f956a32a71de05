//! One call, from its request to its end: a route, a place on it, money, the send, and what follows.
//!
//! The money is set aside at the last moment before a byte can leave, and what came of a send is recorded before the worker hears of
//! the end. Nothing that may have reached a provider is sent again.

use super::asked::Asked;
use super::book::{Book, Candidate};
use super::calls::Asker;
use super::late;
use super::local::{InUse, Local, LocalError};
use super::receipt;
use super::recorder::Recorder;
use super::tap::{Held, Tap};
use crate::life::configuration::Configuration;
use ouroboros_domain::{MoneyInput, Reservation, SendAnswer, SendEnd};
use ouroboros_gateway::dialect::{Rejection, RejectionClass};
use ouroboros_gateway::gate::Gate;
use ouroboros_gateway::retry::{Class, History, Policy, Step};
use ouroboros_gateway::route::RouteId;
use ouroboros_gateway::transport::{Exchange, Sending, Sent, Transport, Unsent};
use ouroboros_proto::agent::{ModelEnd, ModelFailure, ModelRequest, Parked, Piece};
use ouroboros_proto::kind::{Millis, SendId, WaitReason};
use ouroboros_secrets::SharedMasker;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::Notify;

/// A pause that is longer is told to the worker.
const TOLD_PAUSE: Millis = Millis::new(1_000);

/// A send that takes longer is recorded as on its way. Until then it counts like that anyway.
const SHOWN_AFTER: Millis = Millis::new(50);

/// What calls need.
pub struct Context {
    /// Where money is asked for.
    pub asked: Asked,
    /// Routes, keys and prices.
    pub book: Arc<Book>,
    /// Connections.
    pub transport: Arc<Transport>,
    /// Places on routes.
    pub gate: Arc<Gate>,
    /// How often and how long, besides other things.
    pub configuration: Arc<Configuration>,
    /// Hides keys in what is told.
    pub masker: SharedMasker,
    /// Keeps what was sent and what came back; `None` when that is not wanted.
    pub recorder: Option<Recorder>,
}

impl Context {
    fn policy(&self) -> Policy {
        Policy { retries: self.configuration.settings().models_retries, ..Policy::default() }
    }
}

/// Runs a call. `None` when the server leaves before the end.
pub async fn run(context: &Context, asker: &Asker, request: Vec<u8>) -> Option<ModelEnd> {
    let request: ModelRequest = match serde_json::from_slice(&request) {
        Ok(request) => request,
        Err(error) => return Some(failed(ModelFailure::Invalid, format!("the request cannot be read: {error}"))),
    };
    let candidates = match context.book.candidates(request.route.as_deref()).await {
        Ok(candidates) => candidates,
        Err(none) => return block(context, asker, WaitReason::NoRoute, None, none.to_string()).await,
    };
    let last = candidates.last().map(|last| last.route.id.clone());
    let call = Call { context, asker, request: &request };
    call.say_which(&candidates).await;
    let mut ordinal = 0;
    let mut rest = candidates.iter().peekable();
    while let Some(candidate) = rest.next() {
        let next = rest.peek().map(|next| &next.route.id);
        match call.on(candidate, next, &mut ordinal).await? {
            Course::Over(end) => return Some(end),
            Course::OtherRoute => {}
        }
    }
    Some(no_route(last.as_ref(), "no route is left to try".to_owned()))
}

/// What follows on another route, if anything.
enum Course {
    Over(ModelEnd),
    OtherRoute,
}

/// Why a try ended before anything was sent, or with nothing more to say.
enum Stop {
    Over(ModelEnd),
    /// The inference server of our own does not run, in words.
    NoModel(String),
}

struct Call<'a> {
    context: &'a Context,
    asker: &'a Asker,
    request: &'a ModelRequest,
}

impl Call<'_> {
    /// Says which route is taken where the name that was given is that of several.
    async fn say_which(&self, candidates: &[Candidate]) {
        let (Some(name), Some(first)) = (self.request.route.as_deref(), candidates.first()) else { return };
        let others = self.context.book.others(name, &first.route.id);
        if !others.is_empty() {
            let others = others.iter().map(RouteId::as_str).collect::<Vec<_>>().join(", ");
            self.say(format!("{name} is taken to be {}; there is also {others}", first.route.id)).await;
        }
    }

    /// Tries one route as often as makes sense; `next` is the one after it.
    async fn on(&self, candidate: &Candidate, next: Option<&RouteId>, ordinal: &mut u32) -> Option<Course> {
        let known = self.context.book.learned(&candidate.route.id);
        let mut history = History { other_route: next.is_some(), omitted: known.clone(), ..History::default() };
        loop {
            *ordinal = ordinal.saturating_add(1);
            let tried = match self.once(candidate, &history.omitted, *ordinal).await? {
                Ok(tried) => tried,
                Err(Stop::Over(end)) => return Some(Course::Over(end)),
                Err(Stop::NoModel(detail)) if next.is_some() => return self.elsewhere(candidate, next, &detail).await,
                Err(Stop::NoModel(detail)) => {
                    let (context, reason) = (self.context, WaitReason::Unavailable);
                    return block(context, self.asker, reason, None, detail).await.map(Course::Over);
                }
            };
            let (sent, detail) = tried;
            let class = Class::from(&sent);
            let step = self.context.policy().next(&history, &class, dice());
            history.add(&class, &step);
            self.note_health(candidate, &class, &step, &detail);
            match step {
                Step::Done => {
                    if history.omitted != known {
                        self.context.book.learn(&candidate.route.id, history.omitted);
                    }
                    let Sent::Answered(mut answer) = sent else { return Some(Course::Over(self.malformed())) };
                    answer.window = self.context.book.window(&candidate.route);
                    self.note_anomalies(candidate, &answer.anomalies);
                    return Some(Course::Over(ModelEnd::Answer(answer)));
                }
                Step::Fail(failure) => {
                    let (route, window) = (Some(candidate.route.id.to_string()), window(&class));
                    return Some(Course::Over(ModelEnd::Failed { failure, detail, window, route }));
                }
                Step::OtherRoute => return self.elsewhere(candidate, next, &detail).await,
                Step::Reshape { .. } => {}
                Step::Park { reason, after } => {
                    return block(self.context, self.asker, reason, after, detail).await.map(Course::Over);
                }
                Step::Again { after } => {
                    // A model that is being loaded is looked at often, and said once.
                    if after >= TOLD_PAUSE && history.loading <= 1 {
                        self.say(format!(
                            "{}: {detail}; next try in {} s",
                            candidate.route.id,
                            after.get().div_ceil(1000)
                        ))
                        .await;
                    }
                    if !self.pause(after).await {
                        return Some(Course::Over(called_off()));
                    }
                }
            }
        }
    }

    async fn elsewhere(&self, candidate: &Candidate, next: Option<&RouteId>, detail: &str) -> Option<Course> {
        let next = next.map_or("another route", RouteId::as_str);
        self.say(format!("{}: {detail}; asking {next} instead", candidate.route.id)).await;
        Some(Course::OtherRoute)
    }

    /// Sends once. The outer `None`: the server leaves. The error: the end without anything having been sent by this try.
    async fn once(
        &self,
        candidate: &Candidate,
        omitted: &[String],
        ordinal: u32,
    ) -> Option<Result<(Sent, String), Stop>> {
        let own = match &candidate.own {
            None => None,
            Some(local) => match self.own(local, &candidate.route.id).await {
                Ok(own) => Some(own),
                Err(stop) => return Some(Err(stop)),
            },
        };
        let here = own.as_ref().map(|(url, _)| candidate.at(url));
        let route = here.as_ref().unwrap_or(&candidate.route);
        let permit = tokio::select! {
            permit = self.context.gate.acquire(&route.id, candidate.places) => permit,
            () = self.asker.off.cancelled() => return Some(Err(Stop::Over(called_off()))),
            never = self.say_when_full(&route.id) => match never {},
        };
        let wire = match route.provider.dialect.encode_without(route, self.request, omitted) {
            Ok(wire) => wire,
            Err(error) => return Some(Err(Stop::Over(failed(ModelFailure::Invalid, error.to_string())))),
        };
        let reservation = Reservation {
            send: SendId::mint(),
            worker: self.asker.worker,
            attempt: self.asker.attempt,
            call: self.asker.call,
            ordinal,
            route: route.id.as_str().into(),
            bound: candidate.price.bound(wire.bound_input, wire.bound_output, wire.images),
            basis: candidate.basis,
        };
        let send = reservation.send;
        let mut tap = Tap::new(self.context, self.asker, reservation, !self.request.tools.is_empty());
        let key = candidate.key.as_ref().map(|key| key.expose());
        let sending = Sending { route, wire: &wire, key, timing: candidate.timing };
        let left = tap.left();
        let over = tokio::select! {
            over = self.context.transport.send(&sending, &mut tap) => Some(over),
            () = self.asker.off.cancelled() => None,
            never = self.show_on_its_way(send, &left) => match never {},
        };
        drop(permit);
        match tap.held() {
            Held::Admitted => {}
            // Called off before it was set aside.
            Held::NotAsked => {
                let (sent, detail) = match over {
                    None => return Some(Err(Stop::Over(called_off()))),
                    Some((sent, _)) => self.described(sent),
                };
                return Some(Ok((sent, detail)));
            }
            Held::Answered(answer) => return Some(Err(Stop::Over(turned_down(answer)))),
            Held::ServerLeaves => return None,
        }
        let (sent, exchange) =
            over.unwrap_or_else(|| (Sent::Unknown { reason: "it was called off".to_owned() }, Exchange::default()));
        let off = self.asker.off.is_cancelled();
        let (sent, end) = receipt::of(sent, &exchange, candidate, &wire, &self.context.masker);
        let unresolved = end == SendEnd::Unresolved;
        self.settle(send, end).await?;
        if let Some(request) = exchange.provider_request.as_deref().filter(|_| unresolved) {
            let context = self.context;
            let key = candidate.key.clone();
            late::ask_later(&context.transport, &context.asked, send, &route.provider, key, request);
        }
        if let Some(recorder) = &self.context.recorder {
            recorder.keep(send, wire.body, exchange.response);
        }
        if off && !matches!(sent, Sent::Answered(_)) {
            return Some(Err(Stop::Over(called_off())));
        }
        Some(Ok(self.described(sent)))
    }

    /// Waits until our own inference server answers.
    async fn own(&self, local: &Arc<Local>, route: &RouteId) -> Result<(String, InUse), Stop> {
        if !local.is_up() {
            self.say("the local model is being loaded".to_owned()).await;
        }
        let ready = tokio::select! {
            ready = local.ready() => ready,
            () = self.asker.off.cancelled() => return Err(Stop::Over(called_off())),
        };
        ready.map_err(|error| not_ready(&error, route))
    }

    /// Says that a place on a route is waited for, once that takes a while.
    async fn say_when_full(&self, route: &RouteId) -> Infallible {
        tokio::time::sleep(TOLD_PAUSE.duration()).await;
        self.say(format!("{route} rests or is busy; waiting for a place on it")).await;
        std::future::pending().await
    }

    /// Records that a send is on its way, once it has been for a while: of a short one nobody would see it.
    async fn show_on_its_way(&self, send: SendId, left: &Notify) -> Infallible {
        left.notified().await;
        tokio::time::sleep(SHOWN_AFTER.duration()).await;
        self.context.asked.tell(MoneyInput::Dispatched { send });
        std::future::pending().await
    }

    async fn settle(&self, send: SendId, end: SendEnd) -> Option<()> {
        self.context.asked.ask(send, MoneyInput::Over { send, end }).await.map(drop)
    }

    /// What became of it in words, without keys.
    fn described(&self, sent: Sent) -> (Sent, String) {
        let words = match &sent {
            Sent::Unsent { reason, .. } => reason.clone(),
            Sent::Unknown { reason, .. } => format!("{reason}; it may have cost, and is not sent again"),
            Sent::Rejected(rejection) => said(rejection),
            Sent::BrokenOff(rejection) => {
                format!("the answer broke off: {}; it may have cost, and is not sent again", said(rejection))
            }
            Sent::Unusable { fault, .. } => format!("what came is not usable: {fault}"),
            Sent::Answered(_) => String::new(),
        };
        let words = self.context.masker.mask_str(&words).into_owned();
        (sent, words)
    }

    fn note_health(&self, candidate: &Candidate, class: &Class, step: &Step, detail: &str) {
        let (gate, route, now) = (&self.context.gate, &candidate.route.id, ouroboros_proto::kind::clock::wall());
        match class {
            Class::Answered => gate.answered(route, now),
            Class::Unsent(Unsent::Held) => {}
            Class::Unsent(_) | Class::Unknown | Class::BrokenOff(_) | Class::Unusable { .. } => {
                gate.failed(route, now, detail)
            }
            Class::Rejected { retry_after, .. } => {
                gate.failed(route, now, detail);
                match step {
                    Step::Again { after } => gate.rest(route, *after),
                    // Who waits for the end of a rest holds a slot: a long one is each task's own wait, which is shown.
                    Step::OtherRoute | Step::Park { .. } => {
                        if let Some(after) = retry_after.filter(|after| *after <= self.context.policy().patience) {
                            gate.rest(route, after);
                        }
                    }
                    Step::Reshape { .. } | Step::Fail(_) | Step::Done => {}
                }
            }
        }
    }

    /// What was let pass of an answer. The provider's words can stand in it.
    fn note_anomalies(&self, candidate: &Candidate, anomalies: &[String]) {
        if !anomalies.is_empty() {
            let anomalies = anomalies.join(" ");
            let anomalies = self.context.masker.mask_str(&anomalies);
            tracing::debug!(route = %candidate.route.id, attempt = %self.asker.attempt, %anomalies, "an answer is odd");
        }
    }

    async fn say(&self, words: String) {
        self.asker.piece(&Piece::Status(words)).await;
    }

    /// False when the call was called off meanwhile.
    async fn pause(&self, span: Millis) -> bool {
        tokio::select! {
            () = tokio::time::sleep(span.duration()) => true,
            () = self.asker.off.cancelled() => false,
        }
    }

    fn malformed(&self) -> ModelEnd {
        failed(ModelFailure::Malformed, "the answer is not one".to_owned())
    }
}

/// The task is to wait; the answer says how.
async fn block(
    context: &Context,
    asker: &Asker,
    reason: WaitReason,
    after: Option<Millis>,
    detail: String,
) -> Option<ModelEnd> {
    let send = SendId::mint();
    let input = MoneyInput::Blocked { send, worker: asker.worker, attempt: asker.attempt, reason, after };
    let end = turned_down(context.asked.ask(send, input).await?);
    Some(match end {
        ModelEnd::Parked { park, detail: said } => {
            let detail = if detail.is_empty() { said } else { detail };
            ModelEnd::Parked { park, detail }
        }
        end @ (ModelEnd::Answer(_) | ModelEnd::Failed { .. }) => end,
    })
}

/// What the worker is told when nothing may be sent.
fn turned_down(answer: SendAnswer) -> ModelEnd {
    match answer {
        SendAnswer::Paused(limit) => ModelEnd::Parked {
            park: Parked::Paused { limit },
            detail: format!("the {} limit leaves too little", limit.as_str()),
        },
        SendAnswer::Waiting { reason, until } => ModelEnd::Parked {
            park: Parked::Waiting { reason, until },
            detail: format!("waits for a model: {}", reason.as_str().replace('_', " ")),
        },
        SendAnswer::Admitted | SendAnswer::Ending | SendAnswer::Recorded => called_off(),
    }
}

/// The window that an overflow names.
fn window(class: &Class) -> Option<u64> {
    match class {
        Class::Rejected { class: RejectionClass::ContextOverflow { window }, .. }
        | Class::BrokenOff(RejectionClass::ContextOverflow { window }) => *window,
        Class::Rejected { .. }
        | Class::BrokenOff(_)
        | Class::Unsent(_)
        | Class::Unknown
        | Class::Unusable { .. }
        | Class::Answered => None,
    }
}

/// What the provider said.
fn said(rejection: &Rejection) -> String {
    match &rejection.code {
        Some(code) => format!("{} ({code})", rejection.message),
        None => rejection.message.clone(),
    }
}

fn called_off() -> ModelEnd {
    failed(ModelFailure::Cancelled, "it was called off".to_owned())
}

/// What follows where our own inference server cannot be had. The route is named: it is there, and does not work.
fn not_ready(error: &LocalError, route: &RouteId) -> Stop {
    match error {
        LocalError::NotConfigured | LocalError::BadCommand(_) => Stop::Over(no_route(Some(route), error.to_string())),
        LocalError::PortTaken(_)
        | LocalError::NotStarted(_)
        | LocalError::Ended(_)
        | LocalError::Silent(_)
        | LocalError::Resting(_)
        | LocalError::Leaving => Stop::NoModel(error.to_string()),
    }
}

/// No route can be taken; the last one that was tried is named.
fn no_route(tried: Option<&RouteId>, detail: String) -> ModelEnd {
    ModelEnd::Failed { failure: ModelFailure::NoRoute, detail, window: None, route: tried.map(RouteId::to_string) }
}

fn failed(failure: ModelFailure, detail: String) -> ModelEnd {
    ModelEnd::Failed { failure, detail, window: None, route: None }
}

fn dice() -> u64 {
    SendId::mint().as_bytes().last_chunk::<8>().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_of_our_own_that_does_not_work_is_named() {
        let route = RouteId::new("local", "m");
        for error in [LocalError::NotConfigured, LocalError::BadCommand("a quote is not closed")] {
            let Stop::Over(ModelEnd::Failed { failure, route: named, .. }) = not_ready(&error, &route) else {
                panic!("it ends");
            };
            assert_eq!((failure, named.as_deref()), (ModelFailure::NoRoute, Some("local/m")), "{error}");
        }
        assert!(matches!(not_ready(&LocalError::Resting(3), &route), Stop::NoModel(_)));
    }
}
