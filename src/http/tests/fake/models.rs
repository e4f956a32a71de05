//! Routes, keys and prices.

use super::World;
use crate::http::models::Models;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ouroboros_domain::{AnswerKind, Receipt};
use ouroboros_proto::api::{
    ApiError, CatalogView, Code, HealthView, KeyProvider, KeySet, KeyTest, KeyView, KeysView, ModelTestAnswer,
    ModelsView, PriceSet, PriceView, RouteView, Timestamp,
};
use ouroboros_proto::kind::{Cost, CostSource, NanoDollars, SendId, SendState, TokenUsage, UtcMicros};

pub(crate) const ROUTE: &str = "openai/gpt-5.1";
const SOON: Timestamp = Timestamp(UtcMicros::new(1_796_040_000_000_000));

/// What stands for a key in texts.
pub const PLANTED: &str = "sk-planted-0123456789";

impl Models for World {
    fn settled(&self) -> BoxFuture<'_, ()> {
        self.store().settled = true;
        std::future::ready(()).boxed()
    }

    fn routes(&self) -> ModelsView {
        let route = RouteView {
            id: ROUTE.to_owned(),
            provider: "openai".to_owned(),
            model: "gpt-5.1".to_owned(),
            found: "OPENAI_API_KEY".to_owned(),
            window: Some(400_000),
            max_output: Some(128_000),
            tools: Some(true),
            images: Some(true),
            price: Some(price()),
            health: HealthView {
                state: "cooling".to_owned(),
                reason: Some("it was overloaded".to_owned()),
                cooling_until: Some(SOON),
                in_flight: 1,
            },
        };
        ModelsView {
            default: Some(ROUTE.to_owned()),
            why: "the only one".to_owned(),
            routes: vec![route],
            problems: vec!["nothing answers on port 11434".to_owned()],
            limits: Vec::new(),
        }
    }

    fn check(&self, route: Option<&str>) -> Result<(), ApiError> {
        match (self.store().no_route.clone(), route) {
            (Some(error), _) => Err(error),
            (None, None | Some(ROUTE)) => Ok(()),
            (None, Some(other)) => Err(ApiError::new(Code::NoModelRoute, format!("No route is called {other}."))),
        }
    }

    fn is_free(&self, route: Option<&str>) -> bool {
        route.is_none()
    }

    fn sees(&self, route: Option<&str>) -> Option<bool> {
        Some(route.is_none())
    }

    fn refresh(&self) -> BoxFuture<'_, ModelsView> {
        let mut found = self.routes();
        found.problems.clear();
        std::future::ready(found).boxed()
    }

    fn test(&self, route: String) -> BoxFuture<'_, Result<ModelTestAnswer, ApiError>> {
        let answer = self.check(Some(&route)).map(|()| ModelTestAnswer {
            route,
            works: true,
            problem: Some("none".to_owned()),
            text: String::new(),
            tool_call: Some(("probe".to_owned(), "{}".to_owned())),
            usage: TokenUsage { input: Some(10), output: Some(2), ..TokenUsage::default() },
            cost: Some(Cost { amount: NanoDollars::new(7), source: CostSource::Provider }),
            elapsed_ms: 2,
        });
        std::future::ready(answer).boxed()
    }

    fn receipt(&self, send: SendId, amount: NanoDollars) -> BoxFuture<'_, Result<(), ApiError>> {
        let mut store = self.store();
        store.receipts.push((send, amount));
        let amount = store.known_cost.unwrap_or(amount);
        let row = store.sends.iter_mut().find(|row| row.id == send).unwrap();
        row.state = SendState::Settled;
        row.receipt = Some(Box::new(Receipt {
            answer: AnswerKind::Unusable,
            cost: Some(Cost { amount, source: CostSource::Owner }),
            usage: TokenUsage::default(),
            model: "".into(),
            provider_request: "".into(),
        }));
        drop(store);
        std::future::ready(Ok(())).boxed()
    }

    fn hide(&self, text: &str) -> String {
        text.replace(PLANTED, "[secret]")
    }

    fn catalog(&self) -> Vec<CatalogView> {
        vec![CatalogView { route: ROUTE.to_owned(), window: Some(400_000), price: Some(price()) }]
    }

    fn set_price(&self, price: PriceSet) -> Result<CatalogView, ApiError> {
        let route = price.route.clone();
        self.store().prices.push(price);
        Ok(CatalogView { route, window: None, price: None })
    }

    fn keys(&self) -> Result<KeysView, ApiError> {
        Ok(KeysView {
            keys: self.store().keys.iter().map(view).collect(),
            protection: "In a file that only its owner can read.".to_owned(),
            problems: vec!["the keyring is locked".to_owned()],
            providers: vec![KeyProvider { name: "openai".to_owned(), variables: vec!["OPENAI_API_KEY".to_owned()] }],
        })
    }

    fn set_key(&self, key: KeySet) -> Result<KeyView, ApiError> {
        known(&key.provider)?;
        let kept = view(&key);
        self.store().keys.push(key);
        Ok(kept)
    }

    fn remove_key(&self, provider: &str) -> Result<(), ApiError> {
        known(provider)?;
        self.store().keys.retain(|key| key.provider != provider);
        Ok(())
    }

    fn test_key(&self, provider: String) -> BoxFuture<'_, Result<KeyTest, ApiError>> {
        let answer =
            known(&provider).map(|()| KeyTest { provider, accepted: Some(true), detail: "It does.".to_owned() });
        std::future::ready(answer).boxed()
    }
}

fn price() -> PriceView {
    PriceView {
        input_nanos_per_million: 1_250_000_000,
        output_nanos_per_million: 10_000_000_000,
        cached_nanos_per_million: Some(1),
        cache_write_nanos_per_million: Some(1),
        source: "models.dev".to_owned(),
        at: Some(SOON),
    }
}

fn known(provider: &str) -> Result<(), ApiError> {
    match provider {
        "openai" => Ok(()),
        other => Err(ApiError::new(Code::UnknownProvider, format!("No provider is called {other}."))),
    }
}

fn view(key: &KeySet) -> KeyView {
    let ending = key.key.chars().rev().take(4).collect::<Vec<_>>().into_iter().rev().collect();
    KeyView { provider: key.provider.clone(), found: "kept".to_owned(), ending, set_at: Some(SOON) }
}
