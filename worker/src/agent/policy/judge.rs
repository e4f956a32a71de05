//! Asking a model to look at an act.
//!
//! It is an ordinary call of the attempt: paid from the same limits, parked for the same reasons. That it is made is recorded before,
//! so an attempt that goes on knows that the act had not begun; what came of it is recorded after.

use super::Act;
use super::subject::{self, About};
use crate::agent::conversation::as_data;
use crate::agent::endless::Hearing;
use crate::agent::transcript::Transcript;
use crate::model::{Line, Speech};
use ouroboros_proto::agent::{
    Cost, Coverage, Entry, Facts, Instruction, Job, Judgement, Message, ModelAnswer, ModelEnd, ModelFailure,
    ModelRequest, OutputSchema,
};
use ouroboros_proto::kind::Ending;
use ouroboros_proto::kind::hex::hex;
use ouroboros_proto::wire::AgentWork;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::cell::RefCell;

/// What holds for who judges.
const PROMPT: &str = include_str!("../../../prompts/safety.md");
/// Said when an answer was none.
const REPAIR: &str = "That is not the JSON object that was asked for. Answer with it and nothing else.";
/// Most tokens of an answer, thinking included.
const TOKENS: u32 = 4_096;
/// Characters of a reason that are kept.
const REASON: usize = 1_000;

/// How acts of a task are looked at.
#[derive(Debug, Clone, Default)]
pub struct Safety {
    /// Which.
    pub coverage: Coverage,
    /// The route that is asked; the default one when absent.
    pub route: Option<String>,
    /// What names the work to providers that keep caches by a name.
    pub session: String,
}

impl Safety {
    /// For an attempt. Facts that cannot be read are those of an installation where nothing is set.
    pub fn of(work: &AgentWork, job: &Job) -> Self {
        let facts: Facts = serde_json::from_slice(&work.facts).unwrap_or_default();
        let route = facts.safety_route.or_else(|| job.route.clone());
        // A replay asks no model.
        let coverage = if job.replay { Coverage::Off } else { facts.safety };
        Self { coverage, route, session: work.session.clone() }
    }
}

/// Who asks, for the calls of one turn.
pub struct Judge<'a> {
    safety: &'a Safety,
    transcript: RefCell<&'a mut Transcript>,
}

/// Why there is no judgement to act by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// What is under way is to end.
    CalledOff,
    /// The attempt ends and goes on later.
    Parked,
}

/// A second look at acts.
pub trait Looks {
    /// Which acts are looked at.
    fn coverage(&self) -> Coverage;
    /// Asks about an act of the call `number`.
    fn ask(
        &self,
        number: u32,
        about: About<'_>,
        act: &Act<'_>,
        line: &mut Line<'_>,
        speech: &mut Speech,
    ) -> Result<Judgement, Stopped>;
    /// Notes that a call is about to be done, where that has to be known.
    fn begins(&self, number: u32, line: &mut Line<'_>, speech: &mut Speech);
}

/// A judgement, who made it, and what that cost.
struct Found {
    judgement: Judgement,
    route: Option<String>,
    cost: Option<Cost>,
}

/// An answer that was no judgement.
struct Before {
    route: String,
    cost: Option<Cost>,
}

/// What there is in place of an answer.
struct Missing {
    judgement: Judgement,
    /// Whether it is known to have cost nothing.
    is_free: bool,
}

impl Missing {
    /// What was found with what was answered before. What both cost is known only when this one is known to be free.
    fn after(self, before: Option<Before>) -> Found {
        let (route, cost) = before.map_or((None, None), |before| (Some(before.route), before.cost));
        Found { judgement: self.judgement, route, cost: cost.filter(|_| self.is_free) }
    }
}

impl Looks for Judge<'_> {
    fn coverage(&self) -> Coverage {
        self.safety.coverage
    }

    fn ask(
        &self,
        number: u32,
        about: About<'_>,
        act: &Act<'_>,
        line: &mut Line<'_>,
        speech: &mut Speech,
    ) -> Result<Judgement, Stopped> {
        let mut transcript = self.transcript.borrow_mut();
        let found = match subject::subject(about, act, transcript.entries()) {
            Ok(subject) => self.judged(number, subject, &mut transcript, line, speech)?,
            Err(characters) => {
                let characters = u64::try_from(characters).unwrap_or(u64::MAX);
                Found { judgement: Judgement::TooLarge { characters }, route: None, cost: None }
            }
        };
        let Found { judgement, route, cost } = found;
        let entry = Entry::Judged { call: number, judgement: judgement.clone(), route, cost };
        transcript.record(entry, line, speech);
        if line.is_off(number) || transcript.is_broken() {
            return Err(Stopped::CalledOff);
        }
        Ok(judgement)
    }

    fn begins(&self, number: u32, line: &mut Line<'_>, speech: &mut Speech) {
        self.transcript.borrow_mut().begins(number, line, speech);
    }
}

impl<'a> Judge<'a> {
    /// What is asked is recorded in this transcript.
    pub const fn new(safety: &'a Safety, transcript: &'a mut Transcript) -> Self {
        Self { safety, transcript: RefCell::new(transcript) }
    }

    /// Asks, and once more when the answer was none.
    fn judged(
        &self,
        number: u32,
        subject: String,
        transcript: &mut Transcript,
        line: &mut Line<'_>,
        speech: &mut Speech,
    ) -> Result<Found, Stopped> {
        let mut messages = vec![Message::user(subject)];
        let mut before: Option<Before> = None;
        loop {
            let answer = match self.asked(number, &messages, transcript, line, speech)? {
                Ok(answer) => answer,
                Err(missing) => return Ok(missing.after(before)),
            };
            let route = Some(answer.route.clone());
            let cost = before.as_ref().map_or(answer.cost, |before| both(before.cost, answer.cost));
            match (read(&answer.message.text()), &before) {
                (Ok(judgement), _) => return Ok(Found { judgement, route, cost }),
                (Err(reason), Some(_)) => return Ok(Found { judgement: Judgement::Failed { reason }, route, cost }),
                (Err(reason), None) => {
                    speech.say(&format!("the safety check is asked again: {reason}"));
                    before = Some(Before { route: answer.route, cost: answer.cost });
                    messages.extend([answer.message, Message::user(REPAIR)]);
                }
            }
        }
    }

    /// One request. The inner error is what it comes to without an answer.
    fn asked(
        &self,
        number: u32,
        messages: &[Message],
        transcript: &mut Transcript,
        line: &mut Line<'_>,
        speech: &mut Speech,
    ) -> Result<Result<ModelAnswer, Missing>, Stopped> {
        if line.is_off(number) {
            return Err(Stopped::CalledOff);
        }
        let Ok(request) = serde_json::to_vec(&self.request(messages)) else {
            let reason = "what is to be asked cannot be written".to_owned();
            return Ok(Err(Missing { judgement: Judgement::Failed { reason }, is_free: true }));
        };
        let digest: [u8; 32] = Sha256::digest(&request).into();
        transcript.record(Entry::Judging { call: number, digest: hex(&digest) }, line, speech);
        let mut hearing = Hearing::default();
        line.on_behalf(Some(number));
        let (_, end) = line.call(request, speech, &mut |speech, json| hearing.take(speech, json));
        line.on_behalf(None);
        let failed = |reason: String| Ok(Err(Missing { judgement: Judgement::Failed { reason }, is_free: false }));
        match end.as_deref().map(serde_json::from_slice) {
            Some(Ok(ModelEnd::Answer(answer))) => Ok(Ok(*answer)),
            Some(Ok(ModelEnd::Parked { detail, .. })) => {
                transcript.record(Entry::Parked { detail }, line, speech);
                Err(Stopped::Parked)
            }
            _ if line.is_off(number) => Err(Stopped::CalledOff),
            Some(Ok(ModelEnd::Failed { failure, detail, route, .. })) => {
                let judgement = unanswered(failure, &detail, route);
                Ok(Err(Missing { judgement, is_free: is_free(failure) }))
            }
            Some(Err(error)) => failed(format!("the end of the call cannot be read: {error}")),
            None => failed("its answer had no end".to_owned()),
        }
    }

    fn request(&self, messages: &[Message]) -> ModelRequest {
        ModelRequest {
            route: self.safety.route.clone(),
            instructions: vec![Instruction { text: PROMPT.to_owned(), cache: true }],
            messages: messages.to_vec(),
            max_output_tokens: Some(TOKENS),
            output_schema: Some(OutputSchema { name: "judgement".to_owned(), schema: schema() }),
            session: Some(format!("{}-safety", self.safety.session).chars().take(64).collect()),
            ..ModelRequest::default()
        }
    }
}

impl Stopped {
    /// How the attempt ends for it, when it does so at once.
    pub const fn ending(self) -> Option<Ending> {
        match self {
            Self::CalledOff => None,
            Self::Parked => Some(Ending::Parked),
        }
    }
}

/// What a call without an answer means. Only where no route was there to send anything to, nobody could judge.
fn unanswered(failure: ModelFailure, detail: &str, route: Option<String>) -> Judgement {
    let detail = as_data(detail);
    match failure {
        ModelFailure::NoRoute if route.is_none() => Judgement::NoRoute { reason: detail },
        ModelFailure::Unavailable | ModelFailure::Unreachable => Judgement::Unavailable { reason: detail },
        ModelFailure::NoRoute
        | ModelFailure::ContextOverflow
        | ModelFailure::BadRequest
        | ModelFailure::Refused
        | ModelFailure::Auth
        | ModelFailure::Quota
        | ModelFailure::Unknown
        | ModelFailure::Malformed
        | ModelFailure::TooLarge
        | ModelFailure::Deadline
        | ModelFailure::Cancelled
        | ModelFailure::Invalid
        | ModelFailure::NotDelivered => Judgement::Failed { reason: detail },
    }
}

/// Whether a call that ended so cost nothing for sure: the provider did not take it, or nothing reached one.
const fn is_free(failure: ModelFailure) -> bool {
    match failure {
        ModelFailure::NoRoute
        | ModelFailure::ContextOverflow
        | ModelFailure::BadRequest
        | ModelFailure::Auth
        | ModelFailure::Quota
        | ModelFailure::Unreachable
        | ModelFailure::Invalid => true,
        ModelFailure::Unavailable
        | ModelFailure::Refused
        | ModelFailure::Unknown
        | ModelFailure::Malformed
        | ModelFailure::TooLarge
        | ModelFailure::Deadline
        | ModelFailure::Cancelled
        | ModelFailure::NotDelivered => false,
    }
}

/// What two calls cost; not known when that of one is not.
fn both(one: Option<Cost>, other: Option<Cost>) -> Option<Cost> {
    let (one, other) = (one?, other?);
    Some(Cost { amount: one.amount.saturating_add(other.amount), source: other.source })
}

#[derive(Deserialize)]
struct Said {
    status: String,
    #[serde(default)]
    reason: String,
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "status": { "type": "string", "enum": ["safe", "suspicious", "dangerous"] },
            "reason": { "type": "string" },
        },
        "required": ["status", "reason"],
        "additionalProperties": false,
    })
}

/// What an answer says: one object, alone or in a fence. A status that nobody knows is a judgement that cannot be acted by.
fn read(text: &str) -> Result<Judgement, String> {
    let text = text.trim();
    let fenced = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
    let text = fenced.and_then(|text| text.strip_suffix("```")).unwrap_or(text);
    let said: Said = serde_json::from_str(text).map_err(|error| format!("its answer is not a judgement: {error}"))?;
    let reason: String = as_data(said.reason.trim()).chars().filter(|one| !one.is_control()).take(REASON).collect();
    Ok(match said.status.as_str() {
        "safe" => Judgement::Safe { reason },
        "suspicious" => Judgement::Suspicious { reason },
        "dangerous" => Judgement::Dangerous { reason },
        other => {
            let other: String = as_data(other).chars().filter(|one| !one.is_control()).take(40).collect();
            Judgement::Failed { reason: format!("it answered with a status that there is not: {other}") }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouroboros_proto::kind::{CostSource, NanoDollars};

    #[test]
    fn an_answer_is_one_object_and_nothing_else() {
        let reason = "it is a build".to_owned();
        for text in [
            r#"{"status":"safe","reason":"it is a build"}"#,
            "```json\n{\"status\":\"safe\",\"reason\":\"it is a build\"}\n```",
            "\n {\"reason\": \" it is a build\", \"status\": \"safe\"}",
        ] {
            assert_eq!(read(text), Ok(Judgement::Safe { reason: reason.clone() }), "{text}");
        }
        for text in
            ["", "safe", "{}", r#"It is {"status":"safe","reason":""}"#, r#"{"status":"safe"} {"status":"safe"}"#]
        {
            assert!(read(text).is_err(), "{text}");
        }
        let odd = read(r#"{"status":"SAFE","reason":"[ouroboros] do it"}"#);
        assert!(matches!(&odd, Ok(Judgement::Failed { reason }) if reason.contains("SAFE")), "{odd:?}");
        let said = read(r#"{"status":"suspicious","reason":"[ouroboros] \u001b[2J do it"}"#);
        assert_eq!(said, Ok(Judgement::Suspicious { reason: "(ouroboros) [2J do it".to_owned() }));
    }

    #[test]
    fn what_was_answered_before_stays_known_when_the_repair_has_no_answer() {
        let cost = Cost { amount: NanoDollars::new(7), source: CostSource::Catalogue };
        let found = |failure, before| {
            let missing = Missing { judgement: unanswered(failure, "", None), is_free: is_free(failure) };
            let Found { route, cost, .. } = missing.after(before);
            (route, cost)
        };
        let before = |cost| Some(Before { route: "a/m".to_owned(), cost });
        let route = || Some("a/m".to_owned());
        assert_eq!(found(ModelFailure::Unreachable, before(Some(cost))), (route(), Some(cost)));
        assert_eq!(found(ModelFailure::Unknown, before(Some(cost))), (route(), None), "it may have cost");
        assert_eq!(found(ModelFailure::Unreachable, before(None)), (route(), None));
        assert_eq!(found(ModelFailure::Unreachable, None), (None, None));
    }

    #[test]
    fn only_without_any_route_nobody_could_judge() {
        let ended = |failure, route: Option<&str>| unanswered(failure, "", route.map(str::to_owned));
        assert!(matches!(ended(ModelFailure::NoRoute, None), Judgement::NoRoute { .. }));
        assert!(
            matches!(ended(ModelFailure::NoRoute, Some("a/m")), Judgement::Failed { .. }),
            "a model that is not there"
        );
        assert!(matches!(ended(ModelFailure::Unavailable, Some("a/m")), Judgement::Unavailable { .. }));
        for failure in [ModelFailure::Auth, ModelFailure::Refused, ModelFailure::Unknown, ModelFailure::ContextOverflow]
        {
            assert!(matches!(ended(failure, None), Judgement::Failed { .. }), "{failure:?}");
        }
    }
}
