//! Builds what the core accepts from what was asked.

use super::check::{self, refuse};
use super::continued::Before;
use super::{Admission, Stop, directory};
use crate::http::operations::Admission as Rules;
use crate::http::reference;
use ouroboros_domain::{Content, KeyHash, NewTask, Policy, Spec};
use ouroboros_proto::agent::{CallImage, Instruction, Job, Message, Mode, ModelRequest, OutputSchema, Part, Role};
use ouroboros_proto::api::{
    AgentSpec, ApiError, AskSpec, Code, CommandSpec, Continued, FromSpec, ImageSpec, StoredAsk, StoredSpec, SubmitOne,
};
use ouroboros_proto::kind::hex::hex;
use ouroboros_proto::kind::{Allowance, Millis, TaskId, WorkKind};
use ouroboros_proto::limits;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Bodies over this size go to the content store before the task is accepted; smaller ones travel with it.
const INLINE: usize = 16 << 10;
/// Characters of a question that stand for it in lists.
const HEAD_CHARS: usize = 200;

/// Builds the tasks of one request. What they share is looked at once.
pub struct Builder<'a> {
    admission: &'a Admission<'a>,
    rules: Rules,
    directories: BTreeSet<String>,
    environment: Option<(Asked, Content)>,
    stored: BTreeSet<[u8; 32]>,
}

type Asked = (BTreeMap<String, String>, bool);

impl<'a> Builder<'a> {
    /// For one request.
    pub fn new(admission: &'a Admission<'a>, rules: Rules) -> Self {
        Self { admission, rules, directories: BTreeSet::new(), environment: None, stored: BTreeSet::new() }
    }

    /// One task.
    pub fn build(&mut self, mut one: SubmitOne) -> Result<NewTask, Stop> {
        check::task(&one, &self.rules)?;
        let key = key(&mut one)?;
        let after = self.after(&one.after)?;
        let parent = self.parent(one.parent.as_deref())?;
        let max_cost = max_cost(one.max_cost.as_deref())?;
        let before = self.before(one.agent.as_mut())?;
        let inherit = before.as_ref().map(|before| before.inherit);
        let isolation = before.as_ref().map_or(self.rules.isolation, |before| before.isolation);
        let mut workspace = None;
        let (kind, spec, contents) = match (one.ask.take(), one.agent.take()) {
            (Some(ask), _) => self.question(ask, one.name.take())?,
            (None, Some(agent)) => {
                let acts = agent.mode.unwrap_or(self.rules.mode) != Mode::Observe && !agent.parallel;
                let built = self.agent(agent, before.map(|before| before.continued), one.name.take())?;
                workspace = acts.then(|| Arc::from(built.1.cwd.as_str()));
                built
            }
            (None, None) => self.command(&mut one)?,
        };
        Ok(NewTask {
            id: TaskId::mint(),
            kind,
            spec: Spec::New(json(&spec)?.into()),
            contents,
            key,
            priority: one.priority,
            delay: one.delay_ms.filter(|delay| *delay > 0).map(Millis::new),
            after,
            hold: one.hold,
            policy: Policy {
                rerun: one.rerun,
                retries: one.retries,
                timeout: match one.timeout_ms {
                    None => self.rules.timeout,
                    Some(0) => None,
                    Some(millis) => Some(Millis::new(millis)),
                },
                isolation: one.isolation.unwrap_or(isolation),
                max_cost,
            },
            parent,
            inherit,
            workspace,
        })
    }

    fn command(&mut self, one: &mut SubmitOne) -> Result<(WorkKind, StoredSpec, Vec<Content>), Stop> {
        let stdin = check::stdin(&mut one.command)?;
        let cwd = self.directory(one.command.cwd.take())?;
        let env = self.environment(&mut one.command)?;
        let mut contents = vec![env];
        if let Some(bytes) = stdin {
            contents.push(self.content(bytes)?);
        }
        let mut hashes = contents.iter().map(|content| hex(&content.hash));
        let spec = StoredSpec {
            argv: std::mem::take(&mut one.command.argv),
            cwd,
            umask: one.command.umask,
            env: hashes.next().unwrap_or_default(),
            stdin: hashes.next(),
            pty: one.command.pty,
            name: one.name.take(),
            ask: None,
            agent: None,
            from: None,
        };
        Ok((WorkKind::Command, spec, contents))
    }

    fn question(&mut self, ask: AskSpec, name: Option<String>) -> Result<(WorkKind, StoredSpec, Vec<Content>), Stop> {
        if !ask.wait_model {
            self.admission.models.check(ask.route.as_deref())?;
        }
        let head = ask.prompt.chars().take(HEAD_CHARS).collect();
        let route = ask.route.clone();
        let request = json(&request(ask))?;
        check::within(&limits::ASK_BYTES, request.len(), "ask")?;
        let content = self.content(request)?;
        let asked = StoredAsk { request: hex(&content.hash), head, route };
        Ok((WorkKind::Ask, StoredSpec::question(asked, name), vec![content]))
    }

    /// The task that one in words continues, which says what it does not say itself.
    fn before(&self, agent: Option<&mut AgentSpec>) -> Result<Option<Before>, Stop> {
        let Some(agent) = agent else { return Ok(None) };
        let replayed = agent.replay.as_ref().map(|task| FromSpec { task: task.clone(), round: None });
        let find = |from: &FromSpec| Before::find(self.admission, from, replayed.is_some());
        let before = replayed.as_ref().or(agent.from.as_ref()).map(find).transpose()?;
        if let Some(before) = &before {
            before.fill(agent);
        }
        Ok(before)
    }

    fn agent(
        &mut self,
        agent: AgentSpec,
        from: Option<Continued>,
        name: Option<String>,
    ) -> Result<(WorkKind, StoredSpec, Vec<Content>), Stop> {
        let replay = agent.replay.is_some();
        if !agent.wait_model && !replay {
            self.admission.models.check(agent.route.as_deref())?;
        }
        if !agent.images.is_empty() && self.admission.models.sees(agent.route.as_deref()) == Some(false) {
            return Err(no_images(agent.route.as_deref()).into());
        }
        let folder = self.folder(agent.folder)?;
        let head = agent.prompt.chars().take(HEAD_CHARS).collect();
        let max_rounds = agent.max_rounds.unwrap_or(self.rules.max_rounds);
        let job = Job {
            prompt: agent.prompt,
            route: agent.route.clone(),
            effort: agent.effort,
            max_rounds,
            mode: agent.mode.unwrap_or(self.rules.mode),
            path: agent.path,
            output_schema: agent.output_schema,
            replay,
            images: agent
                .images
                .into_iter()
                .map(|ImageSpec { media_type, data }| CallImage { media_type, data })
                .collect(),
        };
        let body = json(&job)?;
        check::within(&limits::ASK_BYTES, body.len(), "agent")?;
        let content = self.content(body)?;
        let job = StoredAsk { request: hex(&content.hash), head, route: agent.route };
        Ok((WorkKind::Agent, StoredSpec { from, ..StoredSpec::agent(job, folder, name) }, vec![content]))
    }

    fn parent(&self, name: Option<&str>) -> Result<Option<TaskId>, Stop> {
        let Some(name) = name else { return Ok(None) };
        let found = self.after(&[name.to_owned()])?;
        Ok(found.first().copied())
    }

    fn directory(&mut self, asked: Option<String>) -> Result<String, Stop> {
        let home = || self.admission.surroundings.home.as_ref().and_then(|home| home.to_str()).map(str::to_owned);
        let Some(cwd) = asked.or_else(home) else {
            return Err(refuse(
                Code::BadDirectory,
                "command.cwd",
                "No directory is named and the owner's home is not known",
            )
            .into());
        };
        if self.directories.contains(&cwd) {
            return Ok(cwd);
        }
        check::directory(&cwd)?;
        directory::check(&cwd, self.admission.may_block)?;
        self.directories.insert(cwd.clone());
        Ok(cwd)
    }

    /// A folder to act in, by its one path: what tasks do in it is told apart by that.
    fn folder(&mut self, asked: String) -> Result<String, Stop> {
        check::directory(&asked)?;
        let real = directory::real(&asked, self.admission.may_block)?;
        check::directory(&real)?;
        Ok(real)
    }

    fn after(&self, names: &[String]) -> Result<Vec<TaskId>, Stop> {
        let mut tasks = Vec::with_capacity(names.len());
        for name in names {
            // Whether an id exists is the core's to say, after it has looked at the idempotency key.
            let task = match name.parse() {
                Ok(id) => Some(id),
                Err(_) if !self.admission.may_block => return Err(Stop::WouldBlock),
                Err(_) => reference::find(self.admission.view, name)?.map(|(id, _)| id),
            };
            let task = task.ok_or_else(|| {
                refuse(Code::UnknownDependency, "after", &format!("There is no task {name} to come after"))
            })?;
            if !tasks.contains(&task) {
                tasks.push(task);
            }
        }
        Ok(tasks)
    }

    fn environment(&mut self, command: &mut CommandSpec) -> Result<Content, Stop> {
        let asked = (std::mem::take(&mut command.env), command.clean_env);
        if let Some((known, content)) = &self.environment
            && *known == asked
        {
            return Ok(content.clone());
        }
        let mut env = if asked.1 { BTreeMap::new() } else { self.admission.surroundings.env.clone() };
        env.extend(asked.0.iter().map(|(name, value)| (name.clone(), value.clone())));
        check::environment(&env)?;
        let content = self.content(json(&env)?)?;
        self.environment = Some((asked, content.clone()));
        Ok(content)
    }

    fn content(&mut self, bytes: Vec<u8>) -> Result<Content, Stop> {
        let hash: [u8; 32] = Sha256::digest(&bytes).into();
        if bytes.len() <= INLINE {
            return Ok(Content { hash, bytes: Arc::from(bytes), in_file: false });
        }
        if !self.admission.may_block {
            return Err(Stop::WouldBlock);
        }
        if self.stored.insert(hash) {
            self.admission.operations.store_content(hash, &bytes)?;
        }
        Ok(Content { hash, bytes: Arc::from([]), in_file: true })
    }
}

fn no_images(route: Option<&str>) -> ApiError {
    let route = route.map_or_else(|| "the default route".to_owned(), |route| format!("the route {route}"));
    refuse(Code::NoImages, "agent.images", &format!("There are images with it, and {route} takes none"))
        .remedy("`ouroboros models` lists the routes there are.")
}

/// The request that a question comes to.
fn request(ask: AskSpec) -> ModelRequest {
    let images = ask.images.into_iter().map(|image| Part::Image { media_type: image.media_type, data: image.data });
    let text = (!ask.prompt.is_empty()).then(|| Part::text(ask.prompt));
    ModelRequest {
        route: ask.route,
        instructions: ask.system.map(|text| Instruction { text, cache: false }).into_iter().collect(),
        messages: vec![Message { role: Role::User, parts: images.chain(text).collect() }],
        max_output_tokens: ask.max_output_tokens,
        effort: ask.effort,
        output_schema: ask.output_schema.map(|schema| OutputSchema { name: "answer".to_owned(), schema }),
        ..ModelRequest::default()
    }
}

/// What a task may spend.
///
/// # Errors
/// It is neither an amount nor `none`.
pub fn max_cost(text: Option<&str>) -> Result<Option<Allowance>, ApiError> {
    let read = |text: &str| {
        Allowance::read(text)
            .map_err(|why| refuse(Code::BadField, "max_cost", &format!("The limit {text:?} is {why}, and not none")))
    };
    text.map(read).transpose()
}

/// Hashes of the key and of the request without it. The request is hashed as it was understood, so that white space and the
/// order of fields do not matter.
fn key(one: &mut SubmitOne) -> Result<Option<(KeyHash, KeyHash)>, ApiError> {
    let Some(key) = one.key.take() else { return Ok(None) };
    Ok(Some((half(key.as_bytes()), half(&json(one)?))))
}

/// The first half of a SHA-256.
pub fn half(bytes: &[u8]) -> KeyHash {
    let digest: [u8; 32] = Sha256::digest(bytes).into();
    let mut first = [0; 16];
    for (to, from) in first.iter_mut().zip(digest) {
        *to = from;
    }
    first
}

fn json<T: serde::Serialize>(value: &T) -> Result<Vec<u8>, ApiError> {
    serde_json::to_vec(value)
        .map_err(|error| ApiError::new(Code::Internal, format!("a request could not be stored: {error}")))
}
