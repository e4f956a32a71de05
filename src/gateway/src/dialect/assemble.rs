//! An answer that is put together from the events of a stream.

use super::draft::{Draft, MAX_CALLS};
use super::rejection::Rejection;
use super::wire::Event;
use super::{Dialect, Headers, anthropic, gemini, ollama, openai_chat, openai_responses};
use crate::route::Route;
use ouroboros_proto::agent::{ModelAnswer, Piece, TokenUsage};

/// An answer has at most this many bytes: its texts, arguments and what is kept of the provider's own.
pub const MAX_ANSWER_BYTES: usize = 4 << 20;

/// Why a stream gives no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StreamFault {
    /// The provider says so inside the stream.
    #[error("the provider broke the answer off: {}", .0.message)]
    ProviderError(Box<Rejection>),
    /// It ended before its terminal frame.
    #[error("the answer ended before it was whole")]
    Incomplete,
    /// What came is not the format.
    #[error("the answer is malformed: {0}")]
    Malformed(String),
    /// The answer is larger than [`MAX_ANSWER_BYTES`], or calls more tools than one answer may.
    #[error("the answer is larger than {MAX_ANSWER_BYTES} bytes, or calls more than {MAX_CALLS} tools")]
    TooLarge,
}

/// A format's state while an answer comes.
pub(super) trait Stream: std::fmt::Debug + Send {
    /// Takes an event.
    fn feed(&mut self, draft: &mut Draft, event: &Event) -> Result<(), StreamFault>;
    /// Whether the last event was there.
    fn is_complete(&self) -> bool;
    /// Puts what is left into the draft: the stream has ended.
    fn finish(&mut self, draft: &mut Draft) -> Result<(), StreamFault>;
}

/// Puts one answer together. After a fault it only says what was counted so far.
#[derive(Debug)]
pub struct Assembler {
    draft: Draft,
    stream: Box<dyn Stream>,
}

impl Assembler {
    pub(super) fn new(dialect: Dialect, route: &Route) -> Self {
        let stream: Box<dyn Stream> = match dialect {
            Dialect::OpenaiChat => Box::new(openai_chat::Chat::default()),
            Dialect::OpenaiResponses => Box::new(openai_responses::Responses::default()),
            Dialect::AnthropicMessages => Box::new(anthropic::Messages::default()),
            Dialect::Gemini => Box::new(gemini::Generate::default()),
            Dialect::Ollama => Box::new(ollama::Lines::default()),
        };
        Self { draft: Draft::new(route), stream }
    }

    /// Reads the response's headers: the request's id.
    pub fn headers(&mut self, headers: Headers<'_>) {
        self.draft.headers(headers);
    }

    /// Takes an event; gives what can be shown of it.
    ///
    /// # Errors
    /// When there will be no answer. Feeding it further is pointless.
    pub fn feed(&mut self, event: &Event) -> Result<Vec<Piece>, StreamFault> {
        self.stream.feed(&mut self.draft, event).map_err(|fault| self.with_usage(fault))?;
        Ok(self.draft.take_pieces())
    }

    /// Whether the answer's terminal frame was read: nothing more is needed, and a connection that breaks now does no harm. What still
    /// comes may be fed.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.stream.is_complete()
    }

    /// What was counted so far: for a stream that broke.
    #[must_use]
    pub fn usage(&self) -> Option<TokenUsage> {
        self.draft.usage()
    }

    /// The provider's id of the request, if it is known.
    #[must_use]
    pub fn provider_request(&self) -> Option<&str> {
        self.draft.provider_request()
    }

    /// The answer: the stream has ended.
    ///
    /// # Errors
    /// When it is not whole, or what came is no answer.
    pub fn finish(mut self) -> Result<ModelAnswer, StreamFault> {
        match self.stream.finish(&mut self.draft) {
            Ok(()) => self.draft.answer(),
            Err(fault) => Err(self.with_usage(fault)),
        }
    }

    fn with_usage(&self, fault: StreamFault) -> StreamFault {
        match fault {
            StreamFault::ProviderError(mut rejection) => {
                rejection.usage = rejection.usage.or(self.draft.usage());
                rejection.request_id = rejection.request_id.or(self.draft.provider_request().map(str::to_owned));
                StreamFault::ProviderError(rejection)
            }
            fault @ (StreamFault::Incomplete | StreamFault::Malformed(_) | StreamFault::TooLarge) => fault,
        }
    }
}
