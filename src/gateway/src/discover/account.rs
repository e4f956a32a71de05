//! The catalogue of an account.

use crate::dialect::{Hint, ParseError, RejectionClass};
use crate::providers::known;
use crate::route::{ModelFacts, Provider};
use crate::transport::{Fetch, FetchError, Timing, Transport};
use ouroboros_proto::kind::Millis;
use tokio::time::timeout;

/// A catalogue has at most this many pages.
const MAX_PAGES: usize = 20;
/// A provider offers at most this many models.
const MAX_MODELS: usize = 5_000;

/// How long an answer may take and how large it may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) connect: Millis,
    pub(super) whole: Millis,
    pub(super) bytes: usize,
}

/// For a provider elsewhere. The connection can be used for the first request.
pub(super) const REMOTE: Bounds =
    Bounds { connect: Timing::REMOTE.connect, whole: Millis::seconds(10), bytes: 8 << 20 };

/// Why there is no catalogue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// Nobody answers there, or somebody else does.
    #[error("no such server answers at this address")]
    Absent,
    /// The answer did not come.
    #[error("its catalogue cannot be read: {0}")]
    Fetch(#[from] FetchError),
    /// What came is no catalogue.
    #[error("its catalogue cannot be read: {0}")]
    Parse(#[from] ParseError),
    /// It took too long.
    #[error("its catalogue did not come within {} s", .0.get() / 1_000)]
    Late(Millis),
}

impl ListError {
    /// The provider is there, and cannot say more at the moment.
    pub(super) fn is_busy(&self) -> bool {
        match self {
            Self::Fetch(FetchError::Rejected { rejection, .. }) => {
                // Any server can ask for a password; one of models says so in its own words.
                let worded = rejection.code.as_ref().is_some_and(|code| code.parse::<u16>().is_err());
                (worded && rejection.class == RejectionClass::Auth) || rejection.hint == Some(Hint::Loading)
            }
            Self::Fetch(_) | Self::Absent | Self::Parse(_) | Self::Late(_) => false,
        }
    }
}

/// OpenRouter's public catalogue: it needs no key, and none is sent.
///
/// # Errors
/// When it cannot be read.
pub async fn public_catalogue(
    transport: &Transport,
    variable: &(dyn Fn(&str) -> Option<String> + Sync),
) -> Result<Vec<ModelFacts>, ListError> {
    let provider = known("openrouter").and_then(|known| known.provider(variable)).ok_or(ListError::Absent)?;
    list(transport, &provider, None, REMOTE).await
}

/// All pages of a provider's catalogue.
pub(super) async fn list(
    transport: &Transport,
    provider: &Provider,
    key: Option<&str>,
    bounds: Bounds,
) -> Result<Vec<ModelFacts>, ListError> {
    match timeout(bounds.whole.duration(), pages(transport, provider, key, bounds)).await {
        Ok(models) => models,
        Err(_) => Err(ListError::Late(bounds.whole)),
    }
}

async fn pages(
    transport: &Transport,
    provider: &Provider,
    key: Option<&str>,
    bounds: Bounds,
) -> Result<Vec<ModelFacts>, ListError> {
    let mut models = Vec::new();
    let mut path = provider.dialect.models_path().to_owned();
    let mut room = bounds.bytes;
    for _ in 0..MAX_PAGES {
        let fetch = Fetch {
            provider,
            path: &path,
            headers: provider.dialect.models_headers(),
            key,
            body: None,
            connect: bounds.connect,
            whole: bounds.whole,
            max_bytes: room,
        };
        let body = transport.fetch(&fetch).await?;
        room = room.saturating_sub(body.len());
        let page = provider.dialect.parse_models(provider, &body)?;
        models.extend(page.models);
        match page.next {
            Some(next) if models.len() < MAX_MODELS => path = next,
            Some(_) | None => break,
        }
    }
    models.truncate(MAX_MODELS);
    Ok(models)
}
