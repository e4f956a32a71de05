//! Servers of this machine: Ollama, llama.cpp, LM Studio, vLLM, and what is compatible with one of them.
//!
//! Sources: `docs.ollama.com/api`, llama.cpp's `tools/server/README.md`, `lmstudio.ai/docs/app/api/endpoints/rest`,
//! `docs.vllm.ai/en/latest/serving/openai_compatible_server`.

use super::Answer;
use super::account::{Bounds, ListError, list};
use crate::dialect::{Dialect, SHOW_PATH, count, parse_lm_studio, parse_show, show_body};
use crate::route::{ModelFacts, Provider};
use crate::transport::{Fetch, FetchError, Transport};
use futures_util::StreamExt;
use futures_util::stream;
use ouroboros_proto::kind::Millis;
use serde_json::Value;

/// A server of this machine is there at once or not at all.
const HERE: Bounds = Bounds { connect: Millis::new(300), whole: Millis::new(1_500), bytes: 8 << 20 };
/// Models of which more than the name is asked.
const MAX_SHOWN: usize = 64;
/// Questions at a time.
const AT_A_TIME: usize = 4;

pub(super) async fn ask(transport: &Transport, provider: &Provider, key: Option<&str>) -> Result<Answer, ListError> {
    let server = Server { transport, provider, key };
    let answer = match (provider.dialect, provider.name.as_str()) {
        (Dialect::Ollama, _) => server.ollama().await,
        (_, "llamacpp" | "local") => server.llama_cpp().await,
        (_, "lmstudio") => server.lm_studio().await,
        (_, _) => server.models().await,
    };
    answer.map_err(absent)
}

/// A port that nobody listens at, or that answers in another language.
fn absent(error: ListError) -> ListError {
    match error {
        ListError::Fetch(FetchError::Unreachable(_) | FetchError::Broken(_) | FetchError::Late(_))
        | ListError::Parse(_)
        | ListError::Late(_) => ListError::Absent,
        error @ ListError::Fetch(FetchError::Rejected { .. }) if !error.is_busy() => ListError::Absent,
        error @ (ListError::Fetch(_) | ListError::Absent) => error,
    }
}

struct Server<'a> {
    transport: &'a Transport,
    provider: &'a Provider,
    key: Option<&'a str>,
}

impl Server<'_> {
    async fn ollama(&self) -> Result<Answer, ListError> {
        if self.json(self.provider, "/api/version").await?.get("version").and_then(Value::as_str).is_none() {
            return Err(ListError::Absent);
        }
        let listed = list(self.transport, self.provider, self.key, HERE).await?;
        let shown = stream::iter(listed.into_iter().take(MAX_SHOWN).map(|facts| self.shown(facts)));
        Ok(Answer { models: shown.buffered(AT_A_TIME).collect().await, slots: None })
    }

    /// A model with what Ollama shows of it; with what was known before when it does not.
    async fn shown(&self, facts: ModelFacts) -> ModelFacts {
        let body = show_body(&facts.model);
        match self.fetch(self.provider, SHOW_PATH, Some(&body)).await {
            Ok(body) => parse_show(self.provider, &facts.model, &body).unwrap_or(facts),
            Err(_) => facts,
        }
    }

    async fn llama_cpp(&self) -> Result<Answer, ListError> {
        let root = self.root();
        // While it loads, it says so here; everything else about it comes after that.
        self.fetch(&root, "/health", None).await?;
        let mut answer = self.models().await?;
        let Ok(props) = self.json(&root, "/props").await else { return Ok(answer) };
        answer.slots = count(props.get("total_slots")).and_then(|slots| usize::try_from(slots).ok());
        let window = count(props.get("default_generation_settings").and_then(|settings| settings.get("n_ctx")));
        let vision = props.get("modalities").and_then(|modalities| modalities.get("vision")).and_then(Value::as_bool);
        // These are of the model that is loaded, which is known only when there is one.
        if let [facts] = answer.models.as_mut_slice() {
            facts.window = window.or(facts.window);
            facts.images = vision.or(facts.images);
        }
        Ok(answer)
    }

    async fn lm_studio(&self) -> Result<Answer, ListError> {
        let own = self.fetch(&self.root(), "/api/v0/models", None).await;
        match own.ok().and_then(|own| parse_lm_studio(&own).ok()) {
            Some(models) => Ok(Answer { models, slots: None }),
            None => self.models().await,
        }
    }

    async fn models(&self) -> Result<Answer, ListError> {
        let models = list(self.transport, self.provider, self.key, HERE).await?;
        Ok(Answer { models, slots: None })
    }

    /// The server itself, outside the part of it that is compatible with OpenAI.
    fn root(&self) -> Provider {
        let base = &self.provider.base_url;
        Provider { base_url: base.strip_suffix("/v1").unwrap_or(base).to_owned(), ..self.provider.clone() }
    }

    async fn json(&self, provider: &Provider, path: &str) -> Result<Value, ListError> {
        let body = self.fetch(provider, path, None).await?;
        serde_json::from_slice(&body).map_err(|_| ListError::Absent)
    }

    async fn fetch(&self, provider: &Provider, path: &str, body: Option<&[u8]>) -> Result<Vec<u8>, FetchError> {
        let Bounds { connect, whole, bytes } = HERE;
        let fetch = Fetch { provider, path, headers: &[], key: self.key, body, connect, whole, max_bytes: bytes };
        self.transport.fetch(&fetch).await
    }
}
