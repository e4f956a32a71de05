//! What the HTTP side is told and asks about models, keys and prices.

use super::asked::Asked;
use super::book::{Book, Known, NoRoute};
use super::late;
use super::trial::Trial;
use super::view;
use crate::http::Models;
use futures_util::future::BoxFuture;
use ouroboros_gateway::gate::Gate;
use ouroboros_gateway::price::{PerMillion, Price};
use ouroboros_gateway::route::RouteId;
use ouroboros_gateway::transport::{Fetch, FetchError, Transport};
use ouroboros_gateway::{dialect::RejectionClass, providers};
use ouroboros_proto::api::{
    ApiError, CatalogView, Code, KeySet, KeyTest, KeyView, KeysView, ModelTestAnswer, ModelsView, PriceSet,
};
use ouroboros_proto::kind::{Millis, NanoDollars, SendId};
use std::sync::Arc;
use tokio::runtime;

/// The desk.
pub struct Desk {
    /// Routes, keys and prices.
    pub book: Arc<Book>,
    /// How routes do.
    pub gate: Arc<Gate>,
    /// Where money is told.
    pub asked: Asked,
    /// Connections.
    pub transport: Arc<Transport>,
    /// Makes real calls.
    pub trial: Trial,
    /// Tells that routes or keys changed.
    pub changed: Arc<dyn Fn() + Send + Sync>,
    /// Where looking happens.
    pub runtime: runtime::Handle,
}

impl Desk {
    fn look_later(&self) {
        let (book, changed) = (Arc::clone(&self.book), Arc::clone(&self.changed));
        self.runtime.spawn(async move {
            book.look().await;
            changed();
        });
    }

    fn view(&self, known: &Known) -> ModelsView {
        view::models(&self.book, known, &self.gate, &self.trial.status())
    }
}

impl Models for Desk {
    fn settled(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.book.settled().await;
            // A provider that could not be asked then may answer now.
            if self.book.misses_default() {
                self.book.look().await;
                // Nobody is woken to find what was there before: who only looks at routes would start work for nothing.
                if !self.book.misses_default() {
                    (self.changed)();
                }
            }
        })
    }

    fn hide(&self, text: &str) -> String {
        self.trial.masker.mask_str(text).into_owned()
    }

    fn routes(&self) -> ModelsView {
        self.view(&self.book.known())
    }

    fn check(&self, route: Option<&str>) -> Result<(), ApiError> {
        if !self.book.has_looked() {
            return Ok(());
        }
        let known = self.book.known();
        self.book.find(&known, route).map(drop).map_err(|none| no_route(&none, self.book.problems(&known)))
    }

    fn is_free(&self, route: Option<&str>) -> bool {
        self.book.is_free(&self.book.known(), route)
    }

    fn sees(&self, route: Option<&str>) -> Option<bool> {
        self.book.facts(route).images
    }

    fn refresh(&self) -> BoxFuture<'_, ModelsView> {
        Box::pin(async {
            self.book.look().await;
            (self.changed)();
            self.routes()
        })
    }

    fn test(&self, route: String) -> BoxFuture<'_, Result<ModelTestAnswer, ApiError>> {
        Box::pin(async move {
            self.book.settled().await;
            self.check(Some(&route))?;
            self.trial.run(route).await
        })
    }

    fn receipt(&self, send: SendId, amount: NanoDollars) -> BoxFuture<'_, Result<(), ApiError>> {
        Box::pin(async move {
            // The answer says that it is recorded, or that there was nothing to record.
            match self.asked.ask(send, late::by_owner(send, amount)).await {
                Some(_) => Ok(()),
                None => Err(ApiError::new(
                    Code::NotUnresolved,
                    "The receipt was not recorded: the call is being settled at this moment, what is stored of it cannot be read, \
                     or the server leaves.",
                )
                .remedy("Look at it with `ouroboros show TASK`, and try again if its cost is still not known.")),
            }
        })
    }

    fn catalog(&self) -> Vec<CatalogView> {
        let known = self.book.known();
        let entry = |(id, entry): (&RouteId, &ouroboros_gateway::catalogue::Entry)| CatalogView {
            route: id.to_string(),
            window: entry.facts.window,
            price: entry.price.as_ref().map(view::price),
        };
        known.catalogue.routes.iter().map(entry).collect()
    }

    fn set_price(&self, set: PriceSet) -> Result<CatalogView, ApiError> {
        let route = RouteId::from(set.route.clone());
        let price = owner_price(&set)?;
        let removed = price.is_none();
        self.book
            .set_price(route.clone(), price)
            .map_err(|error| ApiError::new(Code::Internal, format!("The price was not changed: {error}")))?;
        if removed {
            self.look_later();
        }
        let known = self.book.known();
        let entry = known.catalogue.routes.get(&route);
        Ok(CatalogView {
            route: set.route,
            window: entry.and_then(|entry| entry.facts.window),
            price: self.book.price(&known, &route).as_ref().map(view::price),
        })
    }

    fn keys(&self) -> Result<KeysView, ApiError> {
        self.book.keys.look();
        Ok(self.book.keys.view())
    }

    fn set_key(&self, key: KeySet) -> Result<KeyView, ApiError> {
        let view = self.book.keys.set(key)?;
        self.look_later();
        Ok(view)
    }

    fn remove_key(&self, provider: &str) -> Result<(), ApiError> {
        self.book.keys.remove(provider)?;
        self.look_later();
        Ok(())
    }

    fn test_key(&self, provider: String) -> BoxFuture<'_, Result<KeyTest, ApiError>> {
        Box::pin(async move {
            let Some((secret, found)) = self.book.keys.key(&provider) else {
                return Err(ApiError::new(Code::UnknownProvider, format!("There is no key of {provider}."))
                    .remedy(format!("Set one with `ouroboros keys set {provider}`.")));
            };
            let Some(known) = self.book.provider(&provider) else {
                return Err(ApiError::new(Code::UnknownProvider, format!("Where {provider} is, is not known."))
                    .remedy("Set `models.compatible_url`."));
            };
            let fetch = Fetch {
                provider: &known,
                path: providers::key_path(&known),
                headers: known.dialect.models_headers(),
                key: Some(secret.expose()),
                body: None,
                connect: Millis::seconds(10),
                whole: Millis::seconds(20),
                max_bytes: 8 << 20,
            };
            let (accepted, detail) = match self.transport.fetch(&fetch).await {
                Ok(_) => (Some(true), format!("{provider} accepts the key in {found}.")),
                Err(FetchError::Rejected { rejection, .. }) if rejection.class == RejectionClass::Auth => {
                    (Some(false), format!("{provider} does not accept the key in {found}: {}", rejection.message))
                }
                Err(error) => (None, format!("Whether {provider} accepts the key could not be found out: {error}")),
            };
            let detail = self.trial.masker.mask_str(&detail).into_owned();
            Ok(KeyTest { provider, accepted, detail })
        })
    }
}

/// Why a question is refused, what was looked for, and what to do.
fn no_route(none: &NoRoute, problems: Vec<String>) -> ApiError {
    let looked = "Looked for: the setting `models.default`, a key of a provider in the environment and in `ouroboros keys`, \
                  a local model (`models.local_command`), and servers on the usual ports of Ollama, llama.cpp, LM Studio and vLLM.";
    match none {
        NoRoute::None => {
            ApiError::new(Code::NoModelRoute, format!("There is no route to a model; nothing was queued. {looked}"))
                .remedy(
                    "Set a key: `ouroboros keys set openai` (or anthropic, openrouter, gemini, …).\n\
                     Or start a local server, such as `ollama serve`, then `ouroboros models --refresh`.\n\
                     Or let it wait, with `--wait-model`.",
                )
                .detail(serde_json::json!({ "problems": problems }))
        }
        NoRoute::Unknown(name) => {
            ApiError::new(Code::NoModelRoute, format!("No route is called {name:?}; nothing was queued."))
                .remedy("`ouroboros models` lists the routes there are.")
                .detail(serde_json::json!({ "problems": problems }))
        }
    }
}

fn owner_price(set: &PriceSet) -> Result<Option<Price>, ApiError> {
    let amount = |text: &Option<String>| match text {
        None => Ok(None),
        Some(text) => {
            let amount = NanoDollars::read(text).map(|amount| Some(PerMillion(amount.get())));
            amount.map_err(|why| {
                ApiError::new(Code::BadField, format!("The price {text:?} is {why}; nothing was changed."))
            })
        }
    };
    let (cached, cache_write) = (amount(&set.cached)?, amount(&set.cache_write)?);
    match (amount(&set.input)?, amount(&set.output)?) {
        (Some(input), Some(output)) => Ok(Some(Price { input, output, cached, cache_write, ..Price::free() })),
        (None, None) if cached.is_none() && cache_write.is_none() => Ok(None),
        _ => Err(ApiError::new(Code::BadField, "A price has at least `input` and `output`; nothing was changed.")),
    }
}
