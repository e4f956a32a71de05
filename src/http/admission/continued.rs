//! A task in words that goes on from another one: what it begins with, and what it takes over where it does not say.

use super::check::refuse;
use super::{Admission, Stop};
use crate::http::view::View;
use crate::http::{reference, render};
use ouroboros_domain::{Inherit, TaskState};
use ouroboros_proto::agent::{Job, Mode};
use ouroboros_proto::api::{AgentSpec, ApiError, Code, Continued, FromSpec, StoredSpec};
use ouroboros_proto::kind::hex::unhex;
use ouroboros_proto::kind::{Isolation, TaskId, WorkKind};
use serde::Deserialize;

/// The task that is continued.
pub struct Before {
    /// What the core is told of it.
    pub inherit: Inherit,
    /// What is shown of it.
    pub continued: Continued,
    /// Where it ran.
    pub isolation: Isolation,
    spec: StoredSpec,
    /// What it was given to do; `None` when that is no longer kept.
    job: Option<Job>,
}

impl Before {
    /// The task that `from` names, and what of it is taken over.
    ///
    /// # Errors
    /// There is none, it is none in words, or it has not recorded that round.
    pub fn find(admission: &Admission<'_>, from: &FromSpec, replay: bool) -> Result<Self, Stop> {
        if !admission.may_block {
            return Err(Stop::WouldBlock);
        }
        let view = admission.view;
        let (task, number) = reference::require(view, &from.task)?;
        let record = view.task(task)?.ok_or_else(|| reference::unknown(&from.task))?;
        if record.row.kind != WorkKind::Agent {
            let error =
                ApiError::new(Code::NotInWords, format!("Task {number} is not one in words; nothing was accepted."));
            return Err(error.remedy("Only tasks in words can be continued.").into());
        }
        let spec = render::spec(&record).ok_or_else(|| {
            ApiError::new(
                Code::Expired,
                format!("What task {number} was asked for is no longer kept; nothing was accepted."),
            )
        })?;
        // What has settled grows no more, so the cut is what it will be when the core decides.
        let is_settled = matches!(record.row.state, TaskState::Settled { .. });
        let Some(cut) = cut(view, task, from.round)? else {
            return Err(ApiError::new(
                Code::UnknownRound,
                format!(
                    "Task {number} has not recorded answer {} of its model; nothing was accepted.",
                    from.round.unwrap_or(0)
                ),
            )
            .remedy(format!("`ouroboros show {number} --transcript` shows its rounds."))
            .into());
        };
        let entries = (is_settled || from.round.is_some()).then_some(cut.entries);
        Ok(Self {
            inherit: Inherit { task, entries },
            continued: Continued { task, number, round: cut.rounds, fork: from.round.is_some(), replay },
            isolation: record.row.policy.isolation,
            job: job(view, &spec)?,
            spec,
        })
    }

    /// Says for `agent` what it does not say itself.
    pub fn fill(&self, agent: &mut AgentSpec) {
        if agent.folder.is_empty() {
            agent.folder.clone_from(&self.spec.cwd);
        }
        if self.continued.replay {
            let head = || self.spec.agent.as_ref().map(|job| job.head.clone()).unwrap_or_default();
            agent.prompt = self.job.as_ref().map_or_else(head, |job| job.prompt.clone());
            agent.mode = agent.mode.or(Some(Mode::Observe));
            // It is not asked, and says what it would see.
            agent.route = self.spec.agent.as_ref().and_then(|job| job.route.clone());
            return;
        }
        if agent.route.is_none() {
            agent.route = self.spec.agent.as_ref().and_then(|job| job.route.clone());
        }
        agent.effort = agent.effort.or(self.job.as_ref().and_then(|job| job.effort));
        agent.mode = agent.mode.or(self.job.as_ref().map(|job| job.mode));
    }
}

/// Checks what needs nothing but the request.
///
/// # Errors
/// The first thing that is wrong.
pub fn check(agent: &AgentSpec) -> Result<(), ApiError> {
    if agent.replay.is_some() {
        let with = |given: bool, name: &str| {
            let words = format!("What is replayed has no {name} of its own");
            if given { Err(refuse(Code::BadField, &format!("agent.{name}"), &words)) } else { Ok(()) }
        };
        with(agent.from.is_some(), "from")?;
        with(agent.route.is_some(), "route")?;
        with(!agent.prompt.is_empty(), "prompt")?;
        with(!agent.images.is_empty(), "images")?;
        return with(agent.output_schema.is_some(), "output_schema");
    }
    match &agent.from {
        None if agent.folder.is_empty() => {
            Err(refuse(Code::BadDirectory, "agent.folder", "It is not said in which folder it works"))
        }
        Some(FromSpec { round: Some(0), .. }) => {
            Err(refuse(Code::BadField, "agent.from.round", "Rounds are counted from 1"))
        }
        None | Some(_) => Ok(()),
    }
}

/// What a task was given to do; `None` when that is no longer kept.
fn job(view: &dyn View, spec: &StoredSpec) -> Result<Option<Job>, ApiError> {
    let Some(hash) = spec.agent.as_ref().and_then(|job| unhex(&job.request)) else { return Ok(None) };
    let body = view.content(&hash)?;
    Ok(body.and_then(|body| serde_json::from_slice(&body).ok()))
}

/// Where a transcript is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cut {
    /// Entries before it.
    entries: u32,
    /// Answers of the model among them.
    rounds: u32,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: String,
}

/// Behind all that a task did and heard, or behind that answer of its model with the results of its calls; `None` when there is no
/// such answer yet.
fn cut(view: &dyn View, task: TaskId, round: Option<u32>) -> Result<Option<Cut>, ApiError> {
    let mut cut = Cut { entries: 0, rounds: 0 };
    loop {
        let page = view.transcript(task, u64::from(cut.entries).saturating_add(1))?;
        if page.is_empty() {
            return Ok(round.is_none_or(|round| round == cut.rounds).then_some(cut));
        }
        for entry in &page {
            let Kind { kind } = serde_json::from_str(entry).map_err(|error| {
                ApiError::new(Code::Internal, format!("the transcript cannot be read: {error}; nothing was accepted"))
            })?;
            let is_there = round == Some(cut.rounds);
            if is_there && kind != "results" {
                return Ok(Some(cut));
            }
            cut.entries = cut.entries.saturating_add(1);
            if is_there {
                return Ok(Some(cut));
            }
            if kind == "answered" {
                cut.rounds = cut.rounds.saturating_add(1);
            }
        }
    }
}
