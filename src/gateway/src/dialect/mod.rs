//! The providers' wire formats, and the translation from and to the one form of `proto::agent`. Pure: no I/O, no clock, no keys kept.
//!
//! | module | what it is for |
//! |---|---|
//! | `wire` | what is sent, how the answer is framed, how much it can be at most |
//! | `assemble` | an answer put together from the events of a stream |
//! | `rejection` | what a provider's refusal means |
//! | `models` | what a provider's catalogue says |
//! | `openai_chat`, `openai_responses`, `anthropic`, `gemini`, `ollama` | a format each |
//!
//! Invariants: every request streams and carries a bound on its answer; [`Wire::bound_input`] is never below what the provider counts
//! for the prompt; a number that the provider did not give stays `None`; an answer is whole only after its terminal frame; what has no
//! word in our form is kept as `Native` or named in `anomalies`.
//!
//! Left out: the connection, retries, keys, and what an answer costs by the catalogue.

mod anthropic;
mod assemble;
mod conversation;
mod decimal;
mod draft;
mod gemini;
mod generation;
mod json;
mod models;
mod ollama;
mod openai_chat;
mod openai_responses;
mod read;
mod rejection;
#[cfg(test)]
mod tests;
mod wire;

pub use assemble::{Assembler, StreamFault};
pub use generation::{generation_cost, generation_path};
pub(crate) use models::count;
pub use models::{Models, ParseError};
pub(crate) use ollama::{SHOW_PATH, parse_show, show_body};
pub(crate) use openai_chat::parse_lm_studio;
pub use rejection::{Hint, Rejection, RejectionClass};
pub use wire::{DEFAULT_MAX_OUTPUT, EncodeError, Event, Framing, Wire};

use crate::route::{Provider, Route};
use ouroboros_proto::agent::ModelRequest;
use serde::{Deserialize, Serialize};
use wire::Omit;

/// A response's header by its name, which is given in lower case.
pub type Headers<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A wire format. Each says where the base URL of its provider ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// OpenAI chat completions, and what is compatible with it: `https://api.openai.com/v1`.
    OpenaiChat,
    /// OpenAI Responses: `https://api.openai.com/v1`.
    OpenaiResponses,
    /// Anthropic Messages: `https://api.anthropic.com/v1`.
    AnthropicMessages,
    /// Google Gemini `generateContent`: `https://generativelanguage.googleapis.com/v1beta`.
    Gemini,
    /// Ollama `/api/chat`: `http://127.0.0.1:11434`.
    Ollama,
}

impl Dialect {
    /// All.
    pub const ALL: [Self; 5] =
        [Self::OpenaiChat, Self::OpenaiResponses, Self::AnthropicMessages, Self::Gemini, Self::Ollama];

    /// What is sent for this request on this route: always a stream, always with a bound on the answer.
    ///
    /// # Errors
    /// When the request cannot be said in this format, or would escape its bounds.
    pub fn encode(self, route: &Route, request: &ModelRequest) -> Result<Wire, EncodeError> {
        self.encode_without(route, request, &[])
    }

    /// As [`Dialect::encode`], without the fields that the provider did not accept, by the names in
    /// [`RejectionClass::UnsupportedField`]. A field that bounds the answer is not left out but said in its other spelling.
    ///
    /// # Errors
    /// As for [`Dialect::encode`], and when no spelling of the bound is left.
    pub fn encode_without(self, route: &Route, request: &ModelRequest, omit: &[String]) -> Result<Wire, EncodeError> {
        let omit = Omit(omit);
        match self {
            Self::OpenaiChat => openai_chat::encode(route, request, omit),
            Self::OpenaiResponses => openai_responses::encode(route, request, omit),
            Self::AnthropicMessages => anthropic::encode(route, request, omit),
            Self::Gemini => gemini::encode(route, request, omit),
            Self::Ollama => ollama::encode(route, request, omit),
        }
    }

    /// Puts the answer of one request together.
    #[must_use]
    pub fn assembler(self, route: &Route) -> Assembler {
        Assembler::new(self, route)
    }

    /// The header that carries the key.
    #[must_use]
    pub fn auth_header(self, key: &str) -> (&'static str, String) {
        match self {
            Self::OpenaiChat | Self::OpenaiResponses | Self::Ollama => ("authorization", format!("Bearer {key}")),
            Self::AnthropicMessages => ("x-api-key", key.to_owned()),
            Self::Gemini => ("x-goog-api-key", key.to_owned()),
        }
    }

    /// What an answer with a status other than 2xx means.
    #[must_use]
    pub fn rejection(self, status: u16, headers: Headers<'_>, body: &[u8]) -> Rejection {
        rejection::read(self, status, headers, body)
    }

    /// Where the catalogue is, appended to the base URL; further pages are in [`Models::next`]. It is asked for with `GET` and the
    /// headers of [`Dialect::models_headers`].
    #[must_use]
    pub const fn models_path(self) -> &'static str {
        match self {
            Self::OpenaiChat | Self::OpenaiResponses => "/models",
            Self::AnthropicMessages => "/models?limit=1000",
            Self::Gemini => "/models?pageSize=1000",
            Self::Ollama => "/api/tags",
        }
    }

    /// Headers of a question to the catalogue, besides the key.
    #[must_use]
    pub const fn models_headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::AnthropicMessages => &[("anthropic-version", anthropic::VERSION)],
            Self::OpenaiChat | Self::OpenaiResponses | Self::Gemini | Self::Ollama => &[],
        }
    }

    /// What a page of the catalogue says.
    ///
    /// # Errors
    /// When it is no catalogue of this format.
    pub fn parse_models(self, provider: &Provider, body: &[u8]) -> Result<Models, ParseError> {
        match self {
            Self::OpenaiChat | Self::OpenaiResponses => openai_chat::parse_models(provider, body),
            Self::AnthropicMessages => anthropic::parse_models(provider, body),
            Self::Gemini => gemini::parse_models(provider, body),
            Self::Ollama => ollama::parse_tags(provider, body),
        }
    }
}
