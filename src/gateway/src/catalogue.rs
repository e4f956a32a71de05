//! What is known of all routes, with prices as facts: each with its source and its date.
//!
//! Where a price comes from, best first: the owner; nothing for a server of this machine; the provider's own catalogue; OpenRouter's
//! public catalogue for a model of the same name at OpenAI, Anthropic or Google, when the route goes to that provider itself. A price is
//! never taken from a model with a similar name.
//!
//! What was known outlives a look that could not ask, and nothing else: a model that its provider does not list any
//! more is forgotten, and what was learned at one address is not believed at another.

mod prices;
#[cfg(test)]
mod tests;

use crate::discover::Routes;
use crate::price::Price;
use crate::route::{ModelFacts, Provider, RouteId};
use ouroboros_proto::kind::UtcMicros;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is known of all routes. Travels as JSON.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Catalogue {
    /// By route.
    #[serde(default)]
    pub routes: BTreeMap<RouteId, Entry>,
}

/// What is known of a route.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The model. Its price is in `price`.
    pub facts: ModelFacts,
    /// Where its provider was when it listed it; `None` for a route that only the owner names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// What it costs; `None` when nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<PriceFact>,
}

/// A price, and who says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceFact {
    /// It.
    pub price: Price,
    /// Who.
    pub source: PriceSource,
    /// When it was read.
    pub at: UtcMicros,
}

/// Who says what a model costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PriceSource {
    /// The owner.
    Owner,
    /// The server runs here.
    Local,
    /// The provider's own catalogue.
    Provider,
    /// OpenRouter's public catalogue.
    Openrouter,
}

impl Entry {
    /// Of a route that nobody lists.
    #[must_use]
    pub fn unlisted(route: &RouteId) -> Self {
        let facts = ModelFacts { model: route.model().to_owned(), ..ModelFacts::default() };
        Self { facts, base_url: None, price: None }
    }
}

impl Catalogue {
    /// What is known of these routes at this time. `public` is OpenRouter's catalogue, `None` when it was not read;
    /// `owner` are the owner's prices.
    #[must_use]
    pub fn of(routes: &Routes, public: Option<&[ModelFacts]>, owner: &BTreeMap<RouteId, Price>, at: UtcMicros) -> Self {
        let public = prices::Public::of(public.unwrap_or_default());
        let entry = |(id, route): (&RouteId, &crate::route::Route)| {
            let own = || {
                let source = if route.provider.local { PriceSource::Local } else { PriceSource::Provider };
                let price = if route.provider.local { Some(Price::free()) } else { route.facts.price.clone() };
                Some((price?, source))
            };
            let price = owner
                .get(id)
                .map(|price| (price.clone(), PriceSource::Owner))
                .or_else(own)
                .or_else(|| Some((public.price(route)?, PriceSource::Openrouter)));
            let facts = ModelFacts { price: None, ..route.facts.clone() };
            let price = price.map(|(price, source)| PriceFact { price, source, at });
            (id.clone(), Entry { facts, base_url: Some(route.provider.base_url.clone()), price })
        };
        let listed = routes.routes.iter().map(entry);
        Self { routes: listed.collect() }.with_owners(owner, at)
    }

    /// With the owner's prices of routes that nobody lists: a model can be named all the same.
    #[must_use]
    pub fn with_owners(mut self, owner: &BTreeMap<RouteId, Price>, at: UtcMicros) -> Self {
        for (id, price) in owner {
            let entry = self.routes.entry(id.clone()).or_insert_with(|| Entry::unlisted(id));
            entry.price = Some(PriceFact { price: price.clone(), source: PriceSource::Owner, at });
        }
        self
    }

    /// With what was known before and could not be asked now: all of a provider that did not list its models, and
    /// prices of a public catalogue that was not read. `routes` and `public` are those of [`Catalogue::of`]. The
    /// owner's prices are not among what is kept: those that still hold are here already.
    #[must_use]
    pub fn with_older(mut self, older: Self, routes: &Routes, public: Option<&[ModelFacts]>) -> Self {
        for (id, entry) in older.routes {
            let found = routes.providers.iter().find(|found| found.provider.name == id.provider());
            let listed = found.is_some_and(|found| found.listed);
            let here = found.is_none_or(|found| entry.base_url.as_deref() == Some(&found.provider.base_url));
            if entry.base_url.is_none() || !here {
                continue;
            }
            let price = entry.price.filter(|fact| match fact.source {
                PriceSource::Owner => false,
                PriceSource::Local | PriceSource::Provider => !listed,
                PriceSource::Openrouter => !listed || public.is_none(),
            });
            match self.routes.get_mut(&id) {
                Some(known) => known.price = known.price.take().or(price),
                None if listed => {}
                None => {
                    self.routes.insert(id, Entry { price, ..entry });
                }
            }
        }
        self
    }

    /// The models that a provider listed when it was last asked at this address.
    #[must_use]
    pub fn models(&self, provider: &Provider) -> Vec<ModelFacts> {
        let of_it = self.routes.iter().filter(|(id, entry)| {
            id.provider() == provider.name && entry.base_url.as_deref() == Some(&provider.base_url)
        });
        of_it.map(|(_, entry)| entry.facts.clone()).collect()
    }

    /// What a route costs.
    #[must_use]
    pub fn price(&self, route: &RouteId) -> Option<&PriceFact> {
        self.routes.get(route)?.price.as_ref()
    }

    /// Puts the prices into the routes.
    pub fn apply(&self, routes: &mut Routes) {
        for (id, route) in &mut routes.routes {
            route.facts.price = self.price(id).map(|fact| fact.price.clone());
        }
    }

    /// What a route is assumed to cost of which nobody says it: the highest of each price that is known here. `None` when none is.
    #[must_use]
    pub fn highest(&self) -> Option<Price> {
        let known = self.routes.values().filter_map(|entry| entry.price.as_ref());
        let charged = known.filter(|fact| fact.source != PriceSource::Local);
        charged.flat_map(|fact| prices::all(&fact.price)).reduce(|a, b| a.dearer(&b))
    }
}
